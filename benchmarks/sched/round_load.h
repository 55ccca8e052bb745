/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What bench_round puts on the network: a cluster, its round trips, jobs where a while of load would have left them,
 * and each round's events. Events are drawn before a round's clock starts, from the load's own notes, so that the
 * network's memory is as cold as other work would leave it. One thread; any failure ends the process.
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

/* One job, as the load knows it. */
struct job_notes {
	uint64_t tasks[TASK_WORDS]; /* bits by task: it is there */
	uint32_t root;              /* machine; roots stay where they are */
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
	float *near_us;     /* [machines][POD_COLUMNS] round trips within the pod; beyond it they are a hash */
	uint32_t *epoch;    /* [machines] how often its rack was measured */
	uint32_t *roots;    /* [machines] jobs with their root there */
	uint64_t *measured; /* [machines] in which round last */
	uint64_t round;
	struct job_notes *jobs;
	uint32_t job_count;
	float arc_us[CURVES]; /* round trips up to here cost at most p_m */
	struct rng rng;
	/* Events of the next round. */
	struct task_event tasks[EVENTS];
	struct rack_measured *racks;
	size_t rack_count;
	struct pair_measured *pairs;
	size_t pair_count;
	uint32_t *moved; /* machines whose round trips moved, for the event */
	size_t moved_count;
	uint64_t *moved_racks; /* [machines][words] */
	uint32_t words;
};

void need(bool holds, const char *what);

void load_start(struct load *load, uint32_t machines);
void load_stop(struct load *load);

/* 300 arrivals or ends, and new costs for as many jobs, redrawn or drifting. */
void load_draw(struct load *load, uint32_t jobs, bool drifting);
/* Applies the drawn changes: stores round trips and passes events to the network. */
void load_happen(struct load *load);

#endif
