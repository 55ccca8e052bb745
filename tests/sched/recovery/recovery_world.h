/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small random scenarios, and an independent evaluation of placements, computed directly from the flows without code of
 * the room.
 */
#ifndef TESTS_RECOVERY_WORLD_H
#define TESTS_RECOVERY_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <base/rng.h>
#include <model/recovery.h>

struct world_options {
	uint32_t servers, applications, tasks, failed; /* maxima; there is one more server, which fails */
	bool talk;                                     /* flows between failed tasks exist */
	bool links;                                    /* unequal capacities */
	bool cpu;                                      /* tasks need 1 to 3 CPUs, and there are few */
	bool backups;
	bool relaunch;
	bool weights;
	bool ties; /* volumes are from a small set, so that ties occur */
};

struct recovery_scenario *world_create(struct rng *rng, const struct world_options *options);

struct world_value {
	double p, touched, network_MB;
};

/* Checks CPU, backups and failed servers. */
bool world_is_legal(const struct recovery_scenario *s, const uint32_t *server);
struct world_value world_evaluate(const struct recovery_scenario *s, const uint32_t *server);
/* < 0 if a is better; values within 1e-7 are equal. */
int world_compare(const struct world_value *a, const struct world_value *b);

/* Tries all placements. False if none is legal. best: server of each task. */
bool world_brute_force(const struct recovery_scenario *s, struct world_value *best_value, uint32_t *best);

/*
 * The testbed of the paper's section V-A: 8 servers, applications A to E, S0 fails with A1, B1 and C3. The paper's
 * figure does not name every task's server; this layout has the published optima. weight_B: 1 in case I, 2 in case II.
 * NULL if out of memory.
 */
struct recovery_scenario *recovery_testbed(double weight_B);

#endif
