/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads or generates a recovery scenario, solves it (sched/recovery), and prints the explained answer as text or as
 * nomora.recover/1. One thread. lab/recover runs the flows on a lab.
 */
#ifndef SCHED_RECOVER_RECOVER_H
#define SCHED_RECOVER_RECOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <model/recovery.h>
#include <sched/recovery/recovery.h>

struct recover_settings {
	const char *path, *generate, *coflows; /* the scenario's source: exactly one is not NULL */
	double at_s, link_MBps;                /* for `coflows`: time of the failure in the trace, speed of each link */
	const char *fail;                      /* an additional server that fails; may be NULL */
	int filter;                            /* enum recovery_filter */
	int64_t eta, runs, seed;               /* runs: number of random placements in a comparison */
	double deadline_ms;
	bool json, compare;
	FILE *progress; /* for progress bars; may be NULL */
};

/*
 * Reads or generates the scenario. The caller frees it by recovery_destroy(). Returns NULL with err set on failure;
 * EINVAL for a bad recipe.
 */
struct recovery_scenario *recover_load(const struct recover_settings *settings, struct error *err);
struct recovery_options recover_options(const struct recover_settings *settings);

/*
 * Solves the scenario and prints the answer to `out`. If it is infeasible, sets *infeasible and prints the proof to
 * `proof`. 0 or -errno with err set: -ETIMEDOUT if no placement was found before the deadline.
 */
int recover_run(const struct recovery_scenario *scenario, const struct recover_settings *settings, FILE *out,
		FILE *proof, bool *infeasible, struct error *err);

/*
 * Solves the scenario once for each server, with only this server failed, and prints the results, worst first.
 * Overwrites the scenario's failures.
 */
int recover_each_server(struct recovery_scenario *scenario, const struct recover_settings *settings, FILE *out,
			struct error *err);

#endif
