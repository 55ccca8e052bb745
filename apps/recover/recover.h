/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of `nomora recover` share. */
#ifndef APPS_RECOVER_H
#define APPS_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <base/error.h>
#include <model/recovery.h>
#include <sched/recovery/recovery.h>

struct recover_settings {
	int filter, solver, sharing, experiment;
	int64_t eta, runs, seed;
	double deadline_ms, link_MBps, at_s;
	bool json, compare, each_server, apply;
	const char *generate, *coflows, *fail, *output, *lab, *result;
};

/* The answer as text, or as nomora.recover/1. 0 or -1 if out of memory. */
int recover_print(const struct recovery_scenario *scenario, const struct recovery_answer *answer);
json_t *recover_json(const struct recovery_scenario *scenario, const struct recovery_answer *answer,
		     const struct recover_settings *settings);
struct recovery_options recover_options(const struct recover_settings *settings);
void recover_print_proof(const struct recovery_scenario *scenario, const struct recovery_answer *answer, FILE *out);

/* Each prints, or adds its part to root if that is not NULL. 0 or -errno with err set. */
int recover_compare(const struct recovery_scenario *scenario, const struct recovery_answer *answer,
		    const struct recover_settings *settings, json_t *root, struct error *err);
int recover_each_server(struct recovery_scenario *scenario, const struct recover_settings *settings, json_t *root,
			struct error *err);

/* The scenario on the hosts of a lab. An exit code. */
int recover_apply(struct recovery_scenario *scenario, const struct recover_settings *settings);

#endif
