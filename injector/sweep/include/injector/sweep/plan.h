/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a sweep: the delays, the repetitions, the commands and where they run, the metrics, and the gates. A gate
 * is a check of one attempt at a run; an attempt that fails it is refused and repeated. A plan file has lines `name =
 * value`; the names are those of sweep_plan_rows. Each row is also an option of the command, which overrides the file.
 * Strings are borrowed (from argv or the file's strings). Plain data.
 */
#ifndef SWEEP_PLAN_H
#define SWEEP_PLAN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/options.h>
#include <model/sweep.h>

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
	const char *rule; /* of the injector, without its delay, which the sweep varies; NULL = all packets' delay */
	const char *server_host, *client_host, *server_address, *client_address;
	const char *ssh_config; /* file for ssh -F; NULL = ssh's default */
	/* the phases */
	const char *setup, *server, *server_ready, *before_run, *warm_up, *client, *after_run, *teardown;
	int server_restart; /* enum sweep_plan_restart */
	int64_t nice;       /* nice value of the plan's commands */
	bool keep_awake;
	double settle_s, timeout_s, ready_timeout_s;
	/* what is measured */
	struct option_list metrics;
	/* gates */
	int64_t attempts;
	double maximum_stall_percent, maximum_disturbed_percent, maximum_steal_percent, maximum_busy_percent,
		maximum_load;
	bool rtt_check;
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
 * direction, rule, commands except teardown, hosts and addresses, injector or lab, priority, keep-awake and metrics.
 * Each name is that of a row of sweep_plan_rows; the name of a list occurs once for each item. Texts are borrowed from
 * the plan or are in `numbers`; "" = not set. lab-hosts and lab-racks are 0 without a lab.
 */
struct sweep_plan_parts {
	size_t count;
	struct sweep_plan_part {
		const char *name, *text;
		char end; /* fingerprint: character that is hashed after the text */
	} items[SWEEP_PLAN_PART_TEXTS + OPTION_LIST_MAXIMUM + SWEEP_PLAN_PART_NUMBERS + 1];
	char numbers[SWEEP_PLAN_PART_NUMBERS][24];
};

void sweep_plan_list_parts(const struct sweep_plan *plan, struct sweep_plan_parts *parts);

/*
 * Returns a hash of the plan's parts. It is stored in the logs of sweeps, so the hash of a plan must be the same in all
 * versions of this program.
 */
uint64_t sweep_plan_fingerprint(const struct sweep_plan *plan);

/*
 * A metric of a plan, "NAME UNIT higher|lower HOW", and its value in a benchmark's output. HOW is one of
 *   regex:PATTERN     POSIX extended; the number is the first group, or the whole match if there is no group; the last
 *                     match counts; ^ and $ match at the beginning and end of each line
 *   only:PATTERN      the same, but one match is expected: a program that prints the results of several tests is
 *                     refused, because the last of them alone would be taken
 *   json:a.b[2].c     a number in the first valid JSON object or array that begins at the start of a line
 *   exit              the exit code of the command
 *   elapsed           how long the command ran, in seconds
 */

enum sweep_metric_source { SWEEP_METRIC_REGEX, SWEEP_METRIC_JSON, SWEEP_METRIC_EXIT, SWEEP_METRIC_ELAPSED };

struct sweep_metric_def {
	char name[SWEEP_NAME_BYTES], unit[SWEEP_NAME_BYTES];
	enum sweep_better better;
	enum sweep_metric_source source;
	bool only;          /* SWEEP_METRIC_REGEX: only one match is expected */
	const char *how;    /* the text after "regex:", "only:" or "json:"; borrowed from the parsed text */
	regex_t expression; /* compiled for SWEEP_METRIC_REGEX */
};

/*
 * Parses a metric. Returns 0 and a metric to be freed with sweep_metric_free(), or -errno with err set. `text` must
 * outlive the metric.
 */
int sweep_metric_parse(const char *text, struct sweep_metric_def *metric, struct error *err);
void sweep_metric_free(struct sweep_metric_def *metric);

struct sweep_metric_input {
	const char *output; /* NUL-terminated */
	int exit_code;
	double elapsed_s;
};

/*
 * Extracts the metric's value. Returns 0 and a finite value, or -errno with err set: -ENOENT (not in the output),
 * -EINVAL (not a number).
 */
int sweep_metric_extract(const struct sweep_metric_def *metric, const struct sweep_metric_input *input, double *value,
			 struct error *err);

/*
 * Parses delays, and orders the runs. A random order is random within each repetition, so that a sweep that is cut off
 * has about the same number of runs at every delay. Pure.
 */

enum { SWEEP_SCHEDULE_DELAYS_MAXIMUM = 1000 };

#define SWEEP_SCHEDULE_DELAY_MAXIMUM_US 10000.0

/*
 * Parses "0 5 10", "0,5,10", "0..100/20" (from, to, step), "log:1..1000*7" (seven delays, evenly spaced logarithms) and
 * mixtures of these. Delays are 0..10000 µs in steps of 0.1. Delays of log: are rounded to such a step; any other delay
 * between two steps is an error. `delays_us` must have space for SWEEP_SCHEDULE_DELAYS_MAXIMUM delays; duplicates count
 * once. Returns the number of delays, or -errno with err set.
 */
int sweep_schedule_parse_delays(const char *text, double *delays_us, struct error *err);

struct sweep_schedule_run {
	double delay_us;
	int64_t run; /* number of the repetition, from 0; references have numbers from SWEEP_REFERENCE_RUN on */
};

double sweep_schedule_smallest(const double *delays_us, size_t delay_count);

/*
 * Copies the runs and inserts references (model/sweep.h), which are runs at the smallest delay. A reference precedes
 * every group of `every` runs, and one follows the last run. None is inserted next to a run at the smallest delay. The
 * number of a reference is first_number + the index, in `runs`, of the run after it, so there are gaps between the
 * numbers. `to` must have space for 2 * count + 1 runs. Returns the number of runs in `to`.
 */
size_t sweep_schedule_add_references(const struct sweep_schedule_run *runs, size_t count, double smallest_us,
				     int64_t every, int64_t first_number, struct sweep_schedule_run *to);

struct sweep_plan;

/*
 * Returns the runs of a plan with these delays, and references. Each delay occurs once in each repetition, in the order
 * that the plan sets. If two plans differ only in the number of repetitions, the shorter schedule is the beginning of
 * the longer one. Returns NULL if out of memory. The caller calls free().
 */
struct sweep_schedule_run *sweep_schedule_of_plan(const struct sweep_plan *plan, const double *delays_us,
						  size_t delay_count, size_t *run_count);

/*
 * A plan made from a benchmark's command line. The text {server} in a command is the server's address. The metric is
 * that of a table of known benchmarks. One thread.
 */

/*
 * A benchmark whose output is known: `metric` is as in a plan. `filter`: a command that reads the
 * output and fails if the metric is not in it, for programs that fail although they have measured; NULL = none. The
 * table ends with a NULL name.
 */
struct sweep_benchmark {
	const char *program, *metric, *filter;
};
extern const struct sweep_benchmark sweep_benchmarks[];

/* The texts of a plan that sweep_plan_from_command() made. */
struct sweep_command_texts {
	char *client, *server;
	char name[64];
};

/* The defaults of a command without --injector and --lab: a lab of two hosts, and the gates of the shipped plans. */
void sweep_plan_defaults_in_lab(struct sweep_plan *plan);
/*
 * Completes a plan by the words of the client's command line. The plan has the options of the command; those that are
 * not set get these values: application, the program's name; metric, that of the benchmark; server-ready, if there is a
 * server, the client itself, with a ready-timeout-s of at least timeout-s. Returns 0, or -EINVAL or -ENOMEM with err
 * set. The caller calls sweep_command_texts_free() when it no longer uses the plan, also after an error.
 */
int sweep_plan_from_command(struct sweep_plan *plan, int count, char *const *words, struct sweep_command_texts *texts,
			    struct error *err);
void sweep_command_texts_free(struct sweep_command_texts *texts);

/*
 * Writes the settings that differ from their defaults, or with `all` also those that have their default, as a plan's
 * file, without the options of the command (output, try, ...). Does not check the stream.
 */
void sweep_plan_print(const struct sweep_plan *plan, bool all, FILE *out);

#endif
