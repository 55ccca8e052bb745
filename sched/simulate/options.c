/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/simulate/simulate.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include <sched/migration/migration.h>
#include <sched/policy/policy.h>

static const char *const places[] = {"any", "best", NULL};
const char *const simulate_workers[] = {"same-round", "next-round", NULL};
const char *const simulate_roots[] = {"any", "best", "first", "solver", NULL};

const struct option_row simulate_option_rows[] = {
	OPTION_HEADING("Workload"),
	OPTION_STRING(struct simulate_options, trace, "trace", 't', "DIR", "folder of Google clusterdata-2011-2"),
	OPTION_STRING(struct simulate_options, journal, "journal", 0, "FILE",
		      "journal of the live scheduler or of --record, instead of a trace"),
	OPTION_FLAG(struct simulate_options, live, "live", 0,
		    "repeat the live scheduler's own calls in the --journal and compare its decisions"),
	OPTION_STRING(struct simulate_options, swf, "swf", 0, "FILE", "trace in the Standard Workload Format"),
	OPTION_STRING(struct simulate_options, sacct, "sacct", 0, "FILE",
		      "output of Slurm's sacct -P -a -o JobID,Submit,Start,End,ElapsedRaw,NTasks,AllocCPUS"),
	OPTION_STRING(struct simulate_options, csv, "csv", 0, "FILE",
		      "table of jobs: CSV with the columns job, submit, run, tasks and optionally curve, root, gang "
		      "and graph"),
	OPTION_INTEGER(struct simulate_options, machines, "machines", 'm', "N", 1, 1000000,
		       "number of machines; default: 12500 for a synthetic workload, with --swf, --sacct or --csv as "
		       "many as it needs"),
	OPTION_DOUBLE(struct simulate_options, load, "load", 0, "SHARE", 0.01, 1.5,
		      "share of slots in use in a synthetic workload"),
	OPTION_STRING(struct simulate_options, from, "from", 0, "WHEN",
		      "begin at this hour or date of the workload, with the tasks that run then; default: its first "
		      "submission"),
	OPTION_STRING(struct simulate_options, until, "until", 0, "WHEN",
		      "end at this hour or date, as 12.5, 2026-11-23 or 2026-11-23T18:14:29; default: the workload's "
		      "end"),
	OPTION_DOUBLE(struct simulate_options, hours, "hours", 0, "H", 0, 100000,
		      "simulated time, instead of --until; 0 = to the workload's end, 24 of a synthetic one"),
	OPTION_DOUBLE(struct simulate_options, fraction, "fraction", 0, "SHARE", 0.0001, 1,
		      "share of machines and jobs to keep, by a hash of their ids"),
	OPTION_DOUBLE(struct simulate_options, speed_up, "speed-up", 0, "X", 0.001, 1000,
		      "jobs arrive X times as fast"),
	OPTION_FLAG(struct simulate_options, keep_single, "keep-single", 0, "keep jobs with one task"),
	OPTION_FLAG(struct simulate_options, strict, "strict", 0, "refuse the trace at its first bad row"),
	OPTION_HEADING("Policies"),
	OPTION_LIST(struct simulate_options, policies, "policy", 'p', "SPEC",
		    "policy with parameters; can be given several times; default: the paper's four without preemption"),
	OPTION_STRING(struct simulate_options, curves, "curves", 'C', "DIR",
		      "folder of curves, files NAME.json; default: the curves that come with nomora"),
	OPTION_STRING(struct simulate_options, curve_mix, "curve-mix", 0, "TEXT",
		      "NAME=SHARE,...: share of the jobs that get each curve"),
	OPTION_STRING(struct simulate_options, job_curves, "job-curves", 0, "FILE",
		      "CSV with the columns job and curve; the other jobs get their curves by --curve-mix"),
	OPTION_FLAG(struct simulate_options, interpolate, "interpolate", 0,
		    "interpolate between a curve's steps of 10 us; without it, take the nearest step as in the paper"),
	OPTION_FLAG(struct simulate_options, two_digits, "two-significant-digits", 0,
		    "costs are 1 / p rounded to two significant digits, times 100; without it, to two decimals"),
	OPTION_CHOICE(struct simulate_options, workers, "workers", 0, "WHEN", simulate_workers,
		      "place tasks in their root's round, or in the next one, as in the paper"),
	OPTION_CHOICE(struct simulate_options, roots, "roots", 0, "HOW", simulate_roots,
		      "slot for a job's root: any = a random free slot, best = one in a rack with enough free slots "
		      "for the job, first = on the first machine with a free slot, solver = where the answer of the "
		      "cost-scaling solver puts it"),
	OPTION_CHOICE(struct simulate_options, spill, "spill", 0, "HOW", places,
		      "slot for a task that the flow network sends to a rack or the cluster, not to one machine: any = "
		      "a random free one there, best = the best one"),
	OPTION_INTEGER(struct simulate_options, machine_arcs, "machine-arcs", 0, "N", 0, 1000000,
		       "keep the N cheapest arcs of a task to machines; 0 = all up to p_m, as in the paper"),
	ROW_WEIGHTS(struct simulate_options, weights),
	ROW_GAMMA(struct simulate_options, gamma),
	ROW_OMEGA(struct simulate_options, omega_per_s),
	ROW_BETA(struct simulate_options, beta_per_s),
	ROW_UNSCHEDULED_CAPACITY(struct simulate_options, unscheduled_capacity),
	OPTION_HEADING("Cluster"),
	OPTION_INTEGER(struct simulate_options, slots, "slots", 0, "N", 1, 100000,
		       "slots of a machine; default: those in the trace, or else 12"),
	OPTION_STRING(struct simulate_options, topology, "topology", 0, "RxM",
		      "racks per pod and machines per rack, as in 16x48"),
	OPTION_HEADING("Latency"),
	OPTION_DOUBLE(struct simulate_options, rack_us, "rack-us", 0, "US", 0, 1e6,
		      "round trip within a rack; a pair has 0.5 to 1 times this; default: the journal's, or else 70"),
	OPTION_DOUBLE(struct simulate_options, pod_us, "pod-us", 0, "US", 0, 1e6,
		      "round trip within a pod; a pair has 0.8 to 1.2 times this; default: the journal's, or else 200"),
	OPTION_DOUBLE(struct simulate_options, across_us, "across-us", 0, "US", 0, 1e6,
		      "round trip between pods; a pair has 0.8 to 1.2 times this; default: the journal's, or else 520"),
	OPTION_DOUBLE(struct simulate_options, spread, "spread", 0, "D", 0, 2,
		      "standard deviation of the round trip's logarithm, between series"),
	OPTION_DOUBLE(struct simulate_options, drift, "drift", 0, "D", 0, 2,
		      "standard deviation of the round trip's logarithm, over an hour"),
	OPTION_DOUBLE(struct simulate_options, noise, "noise", 0, "D", 0, 2,
		      "standard deviation of the round trip's logarithm, from second to second"),
	OPTION_DOUBLE(struct simulate_options, spike_chance, "spikes", 0, "P", 0, 1,
		      "probability, for each second of a series, of a spike of 5 times the latency"),
	OPTION_STRING(
		struct simulate_options, series, "series", 0, "PATH",
		"recorded round trips (a value a second, a mesh's history or its matrix): a folder with rack*, pod*, "
		"across*, or a file"),
	OPTION_INTEGER(struct simulate_options, latency_age_s, "latency-age", 0, "S", 0, 86400,
		       "the policy knows the round trips of S seconds ago"),
	OPTION_DOUBLE(struct simulate_options, measurement_error, "measurement-error", 0, "SHARE", 0, 2,
		      "standard deviation of the logarithm of the round trips that the policy knows"),
	OPTION_HEADING("Rounds"),
	OPTION_DOUBLE(struct simulate_options, round_s, "round-s", 0, "S", 0, 1e6,
		      "time from round to round; 0 = a round when something has changed"),
	OPTION_STRING(struct simulate_options, solver_time, "solver-time", 0, "HOW",
		      "duration of a round: zero, a number of seconds, work, measured or published"),
	OPTION_DOUBLE(struct simulate_options, migration_cost_s, "migration-cost-s", 0, "S", 0, 1e6,
		      "run time that a migration adds"),
	OPTION_FLAG(struct simulate_options, lose_work, "lose-work", 0,
		    "evicted and migrated tasks restart from the beginning"),
	OPTION_INTEGER(struct simulate_options, seed, "seed", 0, "N", 0, 9007199254740991.,
		       "seed of all random choices"),
	OPTION_FLAG(struct simulate_options, check, "check", 0, "check after each round that no task is lost"),
	ROWS_MIGRATION(struct simulate_options, 0,
		       "move running tasks by the rules of nomora schedd; advise: only count the moves"),
	OPTION_HEADING("Output"),
	OPTION_STRING(struct simulate_options, output, "output", 'o', "DIR",
		      "write summary.json, jobs.csv, rounds-N.csv and report.html"),
	OPTION_STRING(struct simulate_options, record, "record", 0, "FILE",
		      "write the journal of the run (nomora.journal/1); needs exactly one --policy"),
	OPTION_STRING(struct simulate_options, write_trace, "write-trace", 0, "DIR",
		      "write the simulated workload in the schema of Google clusterdata-2011-2"),
	OPTION_FLAG(struct simulate_options, gap, "gap", 0,
		    "prove how far the tasks of each round can be from the least cost; slow in large clusters"),
	OPTION_FLAG(struct simulate_options, json, "json", 0, "print the summary as JSON, nomora.simulate/1"),
	OPTION_INTEGER(struct simulate_options, processes, "processes", 'j', "N", 1, 64,
		       "policies to simulate at a time"),
	OPTION_LIST(struct simulate_options, what_if, "what-if", 0, "KEY=VALUE",
		    "run again with this option changed, and print the differences"),
	OPTION_STRING(struct simulate_options, sweep, "sweep", 0, "KEY=V1,V2,...",
		      "run at each value of this option; print a table, write sweep.csv and sweep.svg"),
	OPTION_INTEGER(struct simulate_options, seeds, "seeds", 0, "N", 2, 1000,
		       "number of seeds of --what-if; each is run without and with the change"),
	OPTION_END,
};

const struct simulate_options simulate_defaults = {
	.curve_mix = "memcached=50,strads=25,tensorflow=25",
	.topology = "16x48",
	.solver_time = "zero",
	.seed = 1,
	.unscheduled_capacity = 1,
	.gamma = COST_GAMMA,
	.processes = 1,
	.moves = MIGRATION_DEFAULTS,
	.seeds = 5,
	.load = 0.9,
	.fraction = 1,
	.speed_up = 1,
	.rack_us = NAN,
	.pod_us = NAN,
	.across_us = NAN,
	.spread = 0.1,
	.drift = 0.1,
	.noise = 0.1,
};

static int assign(struct simulate_options *options, const char *name, const char *change, struct error *err)
{
	int code = option_assign(simulate_option_rows, change, options, err);

	return code < 0 ? error_prefix(err, "--%s", name) : 0;
}

int simulate_read_what_if(const struct simulate_options *options, struct simulate_options *changed, struct error *err)
{
	int code = 0;

	*changed = *options;
	for (size_t i = 0; i < options->what_if.count && code == 0; i++)
		code = assign(changed, "what-if", options->what_if.items[i], err);
	return code < 0 ? code : simulate_check(changed, err);
}

int simulate_read_sweep(const struct simulate_options *options, struct simulate_sweep *sweep, struct error *err)
{
	const char *value = strchr(options->sweep, '='), *end;
	const int key_bytes = value ? (int)(value - options->sweep) : 0;
	int code = 0;

	if (!value || value[1] == '\0')
		return error_set(err, EINVAL, "--sweep '%s': expected KEY=V1,V2,...", options->sweep);
	snprintf(sweep->key, sizeof sweep->key, "%.*s", key_bytes, options->sweep);
	for (sweep->count = 0; *value != '\0' && code == 0; value = end) {
		struct simulate_options *changed;
		char *change;
		int bytes;

		value++;
		end = strchrnul(value, ',');
		if (end == value)
			continue;
		if (sweep->count == SIMULATE_SWEEP_MAXIMUM)
			return error_set(err, E2BIG, "--sweep: expected at most %d values", SIMULATE_SWEEP_MAXIMUM);
		changed = &sweep->options[sweep->count];
		change = sweep->changes[sweep->count];
		bytes = snprintf(change, SIMULATE_CHANGE_BYTES, "%.*s=%.*s", key_bytes, options->sweep,
				 (int)(end - value), value);
		if (bytes >= SIMULATE_CHANGE_BYTES)
			return error_set(err, E2BIG, "--sweep: KEY=VALUE has more than %d characters",
					 SIMULATE_CHANGE_BYTES);
		sweep->texts[sweep->count++] = strchr(change, '=') + 1;
		*changed = *options;
		code = assign(changed, "sweep", change, err);
		code = code < 0 ? code : simulate_check(changed, err);
	}
	return code;
}
