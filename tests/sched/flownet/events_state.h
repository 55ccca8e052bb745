/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of test_flownet_events, and its comparison with a network built from the same state. */
#ifndef EVENTS_STATE_H
#define EVENTS_STATE_H

#include <criterion/criterion.h>

#include "place_world.h"

enum { JOBS = 16, TASKS = 10, MACHINES = 64, RACKS = 10, CURVES = 5 };

struct day {
	bool preemption;
	double omega_per_s, beta_per_s;
	uint32_t machine_arcs;
	uint64_t seed;
	uint32_t jobs; /* maximum at a time, so that slots suffice; 0 = JOBS */
};

/* The test's own model of the state. */
struct state {
	struct test_world world;
	struct rng rng;
	struct policy_settings settings;
	double now_s;
	bool up[MACHINES], drained[MACHINES];
	float out_us[MACHINES][MACHINES]; /* negative: not measured */
	uint32_t seen_s[MACHINES][MACHINES];
	struct curve *curves[CURVES]; /* by number; NULL: none */
	int32_t curve_of_job[JOBS];   /* -1: no such job */
	bool preemptible[JOBS];
	double gain[JOBS];
	uint32_t machine_name;
	uint32_t jobs;         /* numbers in use */
	uint64_t most_resting; /* maximum number of resting tasks after any round */
	uint64_t seed;         /* of the run, for messages */
};

static inline void done(int code)
{
	cr_assert_eq(code, 0, "code %d", code);
}

/* Minimum cost by the network simplex, without pinned tasks. */
int64_t scratch_cost(const struct flownet *net);

/* With omega or beta, costs depend on the history, which a new network does not have. */
void compare_with_fresh(struct state *state, const struct day *day);

#endif
