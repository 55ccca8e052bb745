/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recovery scenario on the hosts of a lab: its flows as real transfers, and a server that fails while they run. The
 * surviving flows keep the data that they have sent; the failed server's tasks are placed again, and their flows start
 * again from the new servers. Root only; one thread.
 */
#ifndef LAB_RECOVER_APPLY_H
#define LAB_RECOVER_APPLY_H

#include <stdbool.h>
#include <stdio.h>

#include <base/error.h>
#include <sched/recover/recover.h>

enum lab_recover_sharing {
	LAB_RECOVER_PERFORMANCE, /* equation 19 */
	LAB_RECOVER_EQUAL,       /* fixed shares */
	LAB_RECOVER_TCP,         /* no rates are set: TCP shares the links */
};

struct lab_recover_settings {
	const char *lab;
	int sharing;      /* enum lab_recover_sharing */
	const char *fail; /* the server that fails at fail_at_s after the start; NULL = none */
	double fail_at_s;
	struct recovery_options options;
	bool json;      /* print nomora.recover-apply/1 */
	FILE *progress; /* for a progress bar; may be NULL */
};

/* Runs the flows to their end and prints their times to `out`. 0 or -errno with err set. */
int lab_recover_apply(struct recovery_scenario *scenario, const struct lab_recover_settings *settings, FILE *out,
		      struct error *err);

#endif
