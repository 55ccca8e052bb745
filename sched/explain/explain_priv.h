/* SPDX-License-Identifier: BSD-3-Clause */
/* The machines with free slots, and the performance of tasks on them. Private. */
#ifndef EXPLAIN_PRIV_H
#define EXPLAIN_PRIV_H

#include <sched/explain/explain.h>

/* The machines with free slots, in the order of the layout's columns. */
struct vacancies {
	struct vacancy {
		uint32_t column, machine;
		int32_t slots;
	} * items;
	size_t count;
	int64_t slots; /* free slots of all machines */
	float *rtt_us; /* [the layout's columns] work space: round trips from one root */
};

/* Returns the predicted performance of a task of the job at this round trip to the job's root. */
double explain_performance_at(const struct explain_scene *scene, uint32_t job, double rtt_us);

/*
 * Lists the machines with free slots. free_slots[]: by machine, number of free slots; NULL: the present numbers.
 * Returns 0 or -ENOMEM; call vacancies_free() in either case.
 */
int vacancies_list(const struct explain_scene *scene, const int32_t *free_slots, struct vacancies *vacancies);
void vacancies_free(struct vacancies *vacancies);

/*
 * Returns the mean predicted performance over all free slots, or NAN if there is none. without_roots_slot: leaves out
 * one slot of the root's machine, because the root takes it.
 */
double vacancies_mean(const struct explain_scene *scene, struct vacancies *vacancies, uint32_t job, uint32_t root,
		      bool without_roots_slot);
/* Finds the two machines with a free slot where a task of the job performs best, better one first; -1 = none. */
void vacancies_best(const struct explain_scene *scene, struct vacancies *vacancies, uint32_t job, uint32_t root,
		    int64_t machines[2]);

#endif
