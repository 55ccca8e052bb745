/* SPDX-License-Identifier: BSD-3-Clause */
/* The reason for each task's server in an answer, and a comparison with other placements. Pure. */
#ifndef SCHED_RECOVERY_EXPLAIN_H
#define SCHED_RECOVERY_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <sched/recovery/recovery.h>

struct recovery_reason {
	uint32_t task, server;
	double load_s;        /* relative load of the task's server; equals p if the server is the bottleneck */
	bool has_next;        /* the task also fits on another server while the other tasks stay */
	uint32_t next_server; /* of these other servers, the one with the lowest p */
	double next_p;
	double random_p;       /* mean p over all servers on which the task fits, its own included */
	uint32_t server_count; /* number of servers on which the task fits */
};

/* reasons: answer->failed_count entries. 0 or -ENOMEM. */
int recovery_explain(const struct recovery_scenario *scenario, const struct recovery_answer *answer,
		     struct recovery_reason *reasons);

/* Mean, least and greatest p of random placements. */
struct recovery_spread {
	uint32_t runs; /* placements found */
	double mean_p, least_p, greatest_p;
};
/* Draws `runs` random placements. candidate: as for recovery_random_placement(). */
struct recovery_spread recovery_random_spread(const struct recovery_scenario *scenario, const bool *candidate,
					      uint32_t runs, uint64_t seed);

#endif
