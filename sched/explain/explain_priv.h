/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXPLAIN_PRIV_H
#define EXPLAIN_PRIV_H

#include <sched/explain/explain.h>

/* Machines with free slots, in the layout's order, and a row of round trips from one root. */
struct vacancies {
	struct vacancy {
		uint32_t column, machine;
		int32_t slots;
	} * items;
	size_t count;
	int64_t slots; /* of all */
	float *rtt_us; /* [the layout's columns] scratch */
};

/* Predicted performance of a task of the job at this round trip to the job's root. */
double explain_performance_at(const struct explain_scene *scene, uint32_t job, double rtt_us);

/*
 * Lists the machines with free slots: by free_slots[machine], or by the present state if that is NULL. 0 or -ENOMEM;
 * call vacancies_free() in either case.
 */
int vacancies_list(const struct explain_scene *scene, const int32_t *free_slots, struct vacancies *vacancies);
void vacancies_free(struct vacancies *vacancies);

/*
 * Returns the mean predicted performance over all free slots, or over all but one on the root's machine
 * (without_roots_slot); NAN if there is none.
 */
double vacancies_mean(const struct explain_scene *scene, struct vacancies *vacancies, uint32_t job, uint32_t root,
		      bool without_roots_slot);
/* The two best machines with a free slot for the job's tasks; -1 = none. */
void vacancies_best(const struct explain_scene *scene, struct vacancies *vacancies, uint32_t job, uint32_t root,
		    int64_t machines[2]);

#endif
