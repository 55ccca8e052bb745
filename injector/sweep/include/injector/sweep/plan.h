/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a sweep: the delays, the repetitions, the commands and where they run, the metrics, and the gates. A gate
 * is a check of one attempt at a run; an attempt that fails it is refused and repeated. A plan file has lines `name =
 * value`; the names are those of sweep_plan_rows. Each row is also an option of the command, which overrides the file.
 * Strings are borrowed (from argv or the file's strings). Plain data.
 */
#ifndef SWEEP_PLAN_H
#define SWEEP_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/options.h>

enum sweep_plan_order { SWEEP_PLAN_RANDOM, SWEEP_PLAN_ASCENDING, SWEEP_PLAN_DESCENDING, SWEEP_PLAN_AS_GIVEN };
enum sweep_plan_restart { SWEEP_PLAN_RESTART_SWEEP, SWEEP_PLAN_RESTART_RUN };
enum sweep_plan_failure { SWEEP_PLAN_FAILURE_STOP, SWEEP_PLAN_FAILURE_SKIP };

struct sweep_plan {
	const char *application;
	/* the schedule */
	const char *delays;
	int direction; /* enum sweep_direction of model */
	int64_t repetitions;
	int order; /* enum sweep_plan_order */
	int64_t seed;
	int64_t reference_every; /* a reference run (model/sweep.h) precedes every N runs; 0 = none */
	/* the path */
	const char *injector, *lab;
	int64_t lab_hosts, lab_racks;
	const char *lab_inject, *lab_injector_arguments;
	const char *server_host, *client_host, *server_address, *client_address;
	const char *ssh_config; /* file for ssh -F; NULL = ssh's default */
	/* the phases */
	const char *setup, *server, *server_ready, *before_run, *warm_up, *client, *after_run, *teardown;
	int server_restart; /* enum sweep_plan_restart */
	int64_t nice;       /* nice value of the plan's commands */
	bool keep_awake;
	double settle_s, cool_down_s, timeout_s, ready_timeout_s;
	/* what is measured */
	struct option_list metrics;
	/* gates */
	int64_t attempts;
	double maximum_stall_percent, maximum_disturbed_percent, maximum_steal_percent, maximum_busy_percent,
		maximum_load;
	double quiet_patience_s; /* longest wait for other programs to stop using the processors */
	bool rtt_check;
	int64_t rtt_count;
	double rtt_tolerance_percent, rtt_tolerance_us;
	double precision_percent; /* maximum standard error of the mean at each delay, percent of the mean; 0 = no limit
				   */
	int on_failure;           /* enum sweep_plan_failure */
	/* options of the command */
	const char *folder; /* folder of the plan's file; not a row */
	const char *text;   /* the whole plan, as sweep_plan_print() with all settings, for the log; not a row */
	const char *output;
	bool keep_output, dry_run, json, force, share_machine, any_delays, no_baseline, try_once, debug, template;
};

/* Rows for options_parse() over struct sweep_plan, and the default values. */
extern const struct option_row sweep_plan_rows[];
void sweep_plan_defaults(struct sweep_plan *plan);

/*
 * Checks that the plan has all settings that a sweep needs; messages contain `file`. Does not check metrics and delays:
 * see sweep_metric_parse() and sweep_schedule_parse_delays(). Returns 0, or -EINVAL with err set.
 */
int sweep_plan_check(const struct sweep_plan *plan, const char *file, struct error *err);

/*
 * Checks that the delays can give a curve: at least three different ones with 0 among them. Returns 0 or -EINVAL with
 * err set. Pure.
 */
int sweep_plan_check_delays(const double *delays_us, size_t count, struct error *err);

/* A commented plan as a starting point. */
extern const char sweep_plan_template[];

enum { SWEEP_PLAN_PART_TEXTS = 17, SWEEP_PLAN_PART_NUMBERS = 4 };

/*
 * The parts of a plan: the settings that two plans must share for their rows to be in one file. They are application,
 * direction, commands except teardown, hosts and addresses, injector or lab, priority, keep-awake and metrics. Each
 * name is that of a row of sweep_plan_rows; the name of a list occurs once for each item. Texts are borrowed from the
 * plan or are in `numbers`; "" = not set. lab-hosts and lab-racks are 0 without a lab.
 */
struct sweep_plan_parts {
	size_t count;
	struct sweep_plan_part {
		const char *name, *text;
		char end; /* fingerprint: character that is hashed after the text */
	} items[SWEEP_PLAN_PART_TEXTS + OPTION_LIST_MAXIMUM + SWEEP_PLAN_PART_NUMBERS];
	char numbers[SWEEP_PLAN_PART_NUMBERS][24];
};

void sweep_plan_list_parts(const struct sweep_plan *plan, struct sweep_plan_parts *parts);

/*
 * Returns a hash of the plan's parts. It is stored in the logs of sweeps, so the hash of a plan must be the same in all
 * versions of this program.
 */
uint64_t sweep_plan_fingerprint(const struct sweep_plan *plan);

#endif
