/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a recovery scenario on the hosts of a lab: sends its flows as TCP transfers, and makes a server fail while they
 * run. The surviving flows keep the data that they have sent; the failed server's tasks are placed again, and their
 * flows start again from the new servers. Root only; one thread.
 */
#ifndef LAB_RECOVER_APPLY_H
#define LAB_RECOVER_APPLY_H

#include <stdbool.h>
#include <stdio.h>

#include <base/error.h>
#include <sched/recover/recover.h>

enum lab_recover_sharing {
	LAB_RECOVER_PERFORMANCE, /* sharing_performance (<sched/recovery/sharing.h>), equation 19 */
	LAB_RECOVER_EQUAL,       /* sharing_equal */
	LAB_RECOVER_TCP,         /* no rates are set: TCP shares the links */
};

struct lab_recover_settings {
	const char *lab;
	int sharing;      /* enum lab_recover_sharing */
	const char *fail; /* name of the server that fails, fail_at_s seconds after the start; NULL = none */
	double fail_at_s;
	struct recovery_options options;
	bool json;      /* print nomora.recover-apply/1 */
	FILE *progress; /* where to draw a progress bar; may be NULL */
};

/* Runs the flows until they end and prints their times to `out`. Returns 0, or -errno with err set. */
int lab_recover_apply(struct recovery_scenario *scenario, const struct lab_recover_settings *settings, FILE *out,
		      struct error *err);

#endif
