/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The load of bench_round: a cluster, its round trips, jobs placed as after a time under load, and the events of each
 * round. Events are drawn before a round's clock starts, from the load's own records, so that the network's memory is
 * as cold as it would be after other work. One thread; any failure ends the process.
 */
#ifndef BENCH_ROUND_LOAD_H
#define BENCH_ROUND_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <base/rng.h>
#include <sched/policy/policy.h>

enum { PER_RACK = 48, RACKS_PER_POD = 16, POD_COLUMNS = PER_RACK * RACKS_PER_POD, EVENTS = 300 };
enum { JOB_TASKS_MEAN = 10, JOB_TASKS_MOST = 60, TASK_WORDS = 2 };
enum { CURVES = 4, DRIFT_US = 10 };

/* One job, as recorded by the load. */
struct job_notes {
	uint64_t tasks[TASK_WORDS]; /* a bit per task: it exists */
	uint32_t root;              /* machine; roots do not move */
	uint8_t curve;
};

struct task_event {
	uint32_t job, task;
	bool arrives;
};

/* Measures all round trips in a root's rack again. */
struct rack_measured {
	uint32_t root;
	float rtt_us[PER_RACK];
};

/* Measures one round trip again. */
struct pair_measured {
	uint32_t root, machine;
	float rtt_us;
};

struct load {
	struct cluster *cluster;
	struct cost_layout *layout;
	struct placer *placer;
	struct flownet *net;
	float *near_us;  /* [machines][POD_COLUMNS] round trips within the pod; those beyond are computed by a hash */
	uint32_t *epoch; /* [machines] number of times that its rack was measured */
	uint32_t *roots; /* [machines] number of jobs whose root runs there */
	uint64_t *measured; /* [machines] round of its last measurement */
	uint64_t round;
	struct job_notes *jobs;
	uint32_t job_count;
	float arc_us[CURVES]; /* the largest round trip that costs at most p_m */
	struct rng rng;
	/* Events of the next round. */
	struct task_event tasks[EVENTS];
	struct rack_measured *racks;
	size_t rack_count;
	struct pair_measured *pairs;
	size_t pair_count;
	uint32_t *moved; /* machines whose round trips changed, for the event */
	size_t moved_count;
	uint64_t *moved_racks; /* [machines][words] */
	uint32_t words;
};

void need(bool holds, const char *what);

void load_start(struct load *load, uint32_t machines);
void load_stop(struct load *load);

/* Draws 300 arrivals and ends, and new costs for `jobs` jobs, redrawn or drifting. */
void load_draw(struct load *load, uint32_t jobs, bool drifting);
/* Applies the drawn changes: stores round trips and passes events to the network. */
void load_happen(struct load *load);

#endif
