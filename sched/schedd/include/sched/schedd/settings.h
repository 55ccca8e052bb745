/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's command line: a table of options, which fills struct schedd_settings, and the conversion of these
 * settings to struct schedd_options.
 */
#ifndef SCHED_SCHEDD_SETTINGS_H
#define SCHED_SCHEDD_SETTINGS_H

#include <base/options.h>
#include <sched/schedd/schedd.h>

struct schedd_settings {
	const char *state, *socket, *listen, *token_file, *extender, *extender_token_file, *cluster, *curves, *latency;
	int statistic, policy, weights;
	struct migration_settings moves;
	const char *windows, *admin_group;
	int64_t user_tasks, connections;
	bool salvage;
	int64_t round_ms, attempts;
	double journal_days, start_timeout_s, retry_s, max_age_s, omega_per_s, beta_per_s;
	bool require_measured, no_executor, journal_brief;
};

extern const struct option_row schedd_option_rows[];

/*
 * Sets the defaults of all settings except `socket`, which the caller sets. Call it before using the option rows: it
 * fills in the names of the policies.
 */
void schedd_settings_default(struct schedd_settings *settings);

/* The daemon's options, and the memory to which they point. */
struct schedd_setup {
	struct schedd_options options;
	char address[64], extender[64];
	char *token, *extender_token;
};
/*
 * Converts the settings to options without reading any file. Returns 0, or -EINVAL with err set if a setting is bad.
 */
int schedd_setup_read(const struct schedd_settings *settings, struct schedd_setup *setup, struct error *err);
/* Reads the tokens if there are any. 0 or -errno with err set. */
int schedd_setup_read_token(const struct schedd_settings *settings, struct schedd_setup *setup, struct error *err);
void schedd_setup_free(struct schedd_setup *setup);

#endif
