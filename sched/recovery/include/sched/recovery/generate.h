/* SPDX-License-Identifier: BSD-3-Clause */
/* Random scenarios for measurements, from a few numbers. Pure. */
#ifndef SCHED_RECOVERY_GENERATE_H
#define SCHED_RECOVERY_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <model/recovery.h>

/* Fails random tasks, random servers, or random servers of the first rack. */
enum recovery_failure { RECOVERY_FAIL_TASKS, RECOVERY_FAIL_SERVERS, RECOVERY_FAIL_RACK };

struct recovery_recipe {
	uint32_t servers, applications, tasks; /* tasks of each application, half of them in stage 1 */
	uint32_t failed; /* number of failed tasks if `failure` is RECOVERY_FAIL_TASKS, else of failed servers */
	uint64_t seed;
	enum recovery_failure failure;
	double demand;    /* volumes of failed tasks' flows are multiplied by this */
	bool tight;       /* CPU sizes 1 to 4, 85 % in use */
	uint32_t backups; /* number of servers to which a failed task of stage 1 may go; 0 = all servers */
	uint32_t weight_low, weight_high;
	double link_low_gbps, link_high_gbps; /* speeds of the servers' links: each server has one of the two */
	bool dense; /* each task sends to 3 in 10 others; failed tasks are of the first two applications */
};

/*
 * Parses "servers=500,apps=10,tasks=20,failed=8,seed=1" with, optionally, demand=4, fail=tasks|servers|rack, cpu=tight,
 * backups=2, weights=1-4, links=1:10, dense. 0 or -EINVAL with err set.
 */
int recovery_recipe_parse(const char *text, struct recovery_recipe *recipe, struct error *err);

/* The same recipe gives the same scenario. Returns NULL with err set if the tasks do not fit, or if out of memory. */
struct recovery_scenario *recovery_generate(const struct recovery_recipe *recipe, struct error *err);

#endif
