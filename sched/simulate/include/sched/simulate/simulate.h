/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `nomora simulate` behind its command line: options.c has its options, setup.c makes settings and workload
 * from them, window.c chooses the part of the workload, run.c runs the policies in processes, output.c writes
 * summary.json and CSV, report.c the page with the distributions, what_if.c compares two sets of options,
 * sweep.c runs the policies at several values of one option. One thread.
 */
#ifndef SCHED_SIMULATE_SIMULATE_H
#define SCHED_SIMULATE_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/options.h>
#include <model/curve_library.h>
#include <model/batch_trace.h>
#include <model/google_trace.h>
#include <model/journal.h>
#include <sched/sim/generate.h>
#include <sched/sim/sim.h>

enum { SIMULATE_POLICIES_MAXIMUM = 16, SIMULATE_NAME_BYTES = 96 };

struct simulate_options {
	const char *trace, *journal, *swf, *sacct, *csv, *write_trace, *sweep, *series, *record, *curves, *curve_mix,
		*job_curves, *topology, *solver_time, *output, *windows, *from, *until;
	struct migration_settings moves;
	struct option_list policies, what_if;
	int64_t machines, slots, seed, machine_arcs, unscheduled_capacity, gamma, processes, seeds, latency_age_s;
	double hours, load, fraction, speed_up, round_s, omega_per_s, beta_per_s, migration_cost_s;
	double rack_us, pod_us, across_us, spread, drift, noise, spike_chance, measurement_error;
	bool live, keep_single, interpolate, two_digits, lose_work, strict, check, gap, json;
	int roots, workers, spill, weights;
};

extern const struct option_row simulate_option_rows[];
extern const char *const simulate_workers[]; /* likewise, of simulate_options.workers */
extern const char *const simulate_roots[];   /* names of simulate_options.roots, ended by NULL */
extern const struct simulate_options simulate_defaults;

struct simulate_policy {
	char name[SIMULATE_NAME_BYTES]; /* the policy as given on the command line */
	struct sim_settings settings;
	struct sim_result result;
	bool done;
};

struct simulate {
	const struct simulate_options *options;
	struct workload *workload;
	double origin_s;          /* time 0 of the workload, seconds since 1970; NAN = not known */
	int64_t seen_us;          /* time of the last event of the trace or journal, of which only some have an end */
	int64_t begin_us, end_us; /* time of the workload at which the simulation begins; simulated time */
	struct google_trace_report trace_report;
	struct journal_counts journal_counts;
	struct batch_report batch_report;
	int64_t machines,
		slots; /* number of machines and slots per machine: from the options, otherwise from the trace */
	struct curve_library *library;
	struct rtt_series_set *series; /* NULL = no recorded series: round trips are drawn at random */
	struct simulate_policy policies[SIMULATE_POLICIES_MAXIMUM];
	size_t policy_count;
};

/* Reads or generates the workload, loads the curves, parses the policies. 0 or -errno. */
int simulate_setup(struct simulate *simulate, const struct simulate_options *options, struct error *err);
void simulate_free(struct simulate *simulate);
/* Checks the options as far as possible without reading a file. 0 or -EINVAL. */
int simulate_check(const struct simulate_options *options, struct error *err);

/* True if every policy ran to the end. */
bool simulate_complete(const struct simulate *simulate);
int simulate_write_jobs(const struct simulate *simulate, const char *folder, struct error *err);
int simulate_write_summary(const struct simulate *simulate, const char *folder, struct error *err);
int simulate_print_summary(const struct simulate *simulate, FILE *out);
void simulate_print_table(const struct simulate *simulate, FILE *out);
int simulate_write_report(const struct simulate *simulate, const char *folder, struct error *err);

/*
 * Runs the command without --what-if and --sweep: simulates the policies, writes the files, prints the table or the
 * JSON.
 */
int simulate_day(const struct simulate_options *options, FILE *out, struct error *err);

/* Sets *changed to the options with the changes of --what-if. Returns 0, or -EINVAL with err set. */
int simulate_read_what_if(const struct simulate_options *options, struct simulate_options *changed, struct error *err);
/* Runs both sets of options, each with the same seeds, and prints the differences. */
int simulate_what_if(const struct simulate_options *options, const struct simulate_options *changed, FILE *out,
		     struct error *err);

/* A sweep of the option `key` over `count` values: options[i] are the command's options with the value texts[i]. */
enum { SIMULATE_SWEEP_MAXIMUM = 64, SIMULATE_CHANGE_BYTES = 128 };
struct simulate_sweep {
	char key[64];
	char changes[SIMULATE_SWEEP_MAXIMUM][SIMULATE_CHANGE_BYTES]; /* KEY=VALUE */
	const char *texts[SIMULATE_SWEEP_MAXIMUM];                   /* the VALUE in each of `changes` */
	struct simulate_options options[SIMULATE_SWEEP_MAXIMUM];
	size_t count;
};
/*
 * Reads --sweep KEY=V1,V2,... Returns 0, or -EINVAL or -E2BIG with err set. The struct must not be copied: it has
 * pointers into itself.
 */
int simulate_read_sweep(const struct simulate_options *options, struct simulate_sweep *sweep, struct error *err);
/* Runs the policies at each value, prints a table, and writes sweep.csv and sweep.svg into the folder (may be NULL). */
int simulate_sweep(const struct simulate_sweep *sweep, const char *folder, FILE *out, struct error *err);

#endif
