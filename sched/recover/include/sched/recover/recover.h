/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery from a file or a recipe to an explained answer: the scenario is read or made, solved (sched/recovery), and
 * the answer is printed as text or as nomora.recover/1. One thread. lab/recover runs the flows on a lab.
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
	const char *path, *generate, *coflows; /* the scenario's source: one of them is not NULL */
	double at_s, link_MBps;                /* of coflows */
	const char *fail;                      /* an additional server that fails; may be NULL */
	int filter, solver;                    /* enum recovery_filter, enum recovery_solver */
	int64_t eta, runs, seed;               /* runs: random placements of a comparison */
	double deadline_ms;
	bool json, compare;
	FILE *progress; /* for progress bars; may be NULL */
};

/* Reads or generates the scenario. The caller recovery_destroy()s it; NULL with err set: -EINVAL for a bad recipe. */
struct recovery_scenario *recover_load(const struct recover_settings *settings, struct error *err);
struct recovery_options recover_options(const struct recover_settings *settings);

/*
 * Solves the scenario and prints the answer to `out`; the proof of an infeasible one goes to `proof`. 0 or -errno with
 * err set: -ETIMEDOUT if no placement was found before the deadline.
 */
int recover_run(const struct recovery_scenario *scenario, const struct recover_settings *settings, FILE *out,
		FILE *proof, bool *infeasible, struct error *err);

/* Solves the failure of each single server instead, and prints the worst first. Changes the scenario's failures. */
int recover_each_server(struct recovery_scenario *scenario, const struct recover_settings *settings, FILE *out,
			struct error *err);

#endif
