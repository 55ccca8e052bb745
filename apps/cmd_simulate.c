/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora simulate: a trace-driven day of one or more policies, with the paper's metrics and figures. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/file.h>
#include <base/stop.h>
#include <sched/live/calls.h>
#include <sched/simulate/simulate.h>

#include "commands.h"
#include "rows.h"

static const char teach[] =
	"Simulates each policy over a workload: Google clusterdata-2011-2 (--trace), a scheduler's journal "
	"(--journal), or\n"
	"a synthetic day of the trace's shape.\n"
	"Defaults are the paper's rules; each is a switch. Policies are NAME[:KEY=VALUE,...] with the keys p_m, p_r,\n"
	"preemption, beta and round_s. Example:\n"
	"\n"
	"  $ nomora simulate --machines 1250 --hours 1 -o day\n"
	"  $ nomora simulate --trace google2011 -C curves -p random -p nomora:p_m=105,p_r=110,preemption,beta=1 -o "
	"day\n"
	"  $ nomora simulate --machines 1250 --hours 1 -C curves --what-if slots=11\n"
	"  $ nomora simulate --machines 1250 --hours 1 -C curves --sweep slots=11,12,13 -j 2 -o slots\n"
	"\n"
	"Exit status: 0, also when a signal stopped it and partial results were written; 1 bad file; 2 usage.\n";

static const char *const places[] = {"any", "best", NULL};

static const struct option_row rows[] = {
	OPTION_HEADING("Workload"),
	OPTION_STRING(struct simulate_options, trace, "trace", 't', "DIR", "folder of Google clusterdata-2011-2"),
	OPTION_STRING(struct simulate_options, journal, "journal", 0, "FILE",
		      "journal of the live scheduler or of --record, instead of a trace"),
	OPTION_FLAG(struct simulate_options, live, "live", 0,
		    "repeat the live scheduler's own calls in the --journal and compare its decisions"),
	OPTION_STRING(struct simulate_options, swf, "swf", 0, "FILE", "trace in the Standard Workload Format"),
	OPTION_STRING(struct simulate_options, sacct, "sacct", 0, "FILE",
		      "output of Slurm's sacct -P -a -X -o JobID,Submit,Start,End,NTasks,AllocCPUS"),
	OPTION_INTEGER(struct simulate_options, machines, "machines", 'm', "N", 1, 1000000,
		       "machines of a synthetic workload (12500), of --swf and --sacct (as many as it takes)"),
	OPTION_DOUBLE(struct simulate_options, load, "load", 0, "SHARE", 0.01, 1.5,
		      "slots in use in a synthetic workload"),
	OPTION_DOUBLE(struct simulate_options, hours, "hours", 0, "H", 0.001, 10000, "simulated time"),
	OPTION_DOUBLE(struct simulate_options, fraction, "fraction", 0, "SHARE", 0.0001, 1,
		      "share of machines and jobs to keep, by a hash of their ids"),
	OPTION_DOUBLE(struct simulate_options, speed_up, "speed-up", 0, "X", 0.001, 1000,
		      "submissions come X times faster"),
	OPTION_FLAG(struct simulate_options, keep_single, "keep-single", 0, "keep jobs with one task"),
	OPTION_FLAG(struct simulate_options, strict, "strict", 0, "refuse the trace at its first bad row"),
	OPTION_HEADING("Policies"),
	OPTION_LIST(struct simulate_options, policies, "policy", 'p', "SPEC",
		    "policy with parameters, repeated for several; default: the paper's four without preemption"),
	OPTION_STRING(struct simulate_options, curves, "curves", 'C', "DIR",
		      "folder of curves, NAME.json; without it those that come with nomora"),
	OPTION_STRING(struct simulate_options, curve_mix, "curve-mix", 0, "TEXT",
		      "curves and their shares of the jobs"),
	OPTION_STRING(struct simulate_options, job_curves, "job-curves", 0, "FILE",
		      "CSV with columns job and curve, for jobs outside the mix"),
	OPTION_FLAG(struct simulate_options, interpolate, "interpolate", 0,
		    "interpolate between the 10 us steps of a curve, where the paper takes the nearest"),
	OPTION_CHOICE(struct simulate_options, roots, "roots", 0, "HOW", places,
		      "any: a random free slot; best: a rack with room for the job"),
	OPTION_CHOICE(struct simulate_options, spill, "spill", 0, "HOW", places,
		      "end of a flow through a rack or the cluster: a random free slot or the best"),
	OPTION_INTEGER(struct simulate_options, machine_arcs, "machine-arcs", 0, "N", 0, 1000000,
		       "arcs of a task to machines, the cheapest; 0 = all up to p_m, as in the paper"),
	ROW_GAMMA(struct simulate_options, gamma),
	ROW_OMEGA(struct simulate_options, omega_per_s),
	ROW_UNSCHEDULED_CAPACITY(struct simulate_options, unscheduled_capacity),
	OPTION_HEADING("Cluster"),
	OPTION_INTEGER(struct simulate_options, slots, "slots", 0, "N", 1, 100000,
		       "slots of a machine (12, or as the trace says)"),
	OPTION_DOUBLE(struct simulate_options, slots_per_cpu, "slots-per-cpu", 0, "X", 0, 100000,
		      "slots = CPU capacity times X, in the place of --slots"),
	OPTION_FLAG(struct simulate_options, updates, "updates", 0, "machine updates change the slots"),
	OPTION_STRING(struct simulate_options, topology, "topology", 0, "RxM", "racks of a pod and machines of a rack"),
	OPTION_HEADING("Latency"),
	OPTION_DOUBLE(struct simulate_options, rack_us, "rack-us", 0, "US", 0, 1e6,
		      "level within a rack (times 0.5 to 1)"),
	OPTION_DOUBLE(struct simulate_options, pod_us, "pod-us", 0, "US", 0, 1e6,
		      "level within a pod (times 0.8 to 1.2)"),
	OPTION_DOUBLE(struct simulate_options, across_us, "across-us", 0, "US", 0, 1e6,
		      "level between pods (times 0.8 to 1.2)"),
	OPTION_DOUBLE(struct simulate_options, spread, "spread", 0, "D", 0, 2,
		      "between series, deviation of the logarithm"),
	OPTION_DOUBLE(struct simulate_options, drift, "drift", 0, "D", 0, 2, "over an hour, likewise"),
	OPTION_DOUBLE(struct simulate_options, noise, "noise", 0, "D", 0, 2, "from second to second, likewise"),
	OPTION_DOUBLE(struct simulate_options, spike_chance, "spikes", 0, "P", 0, 1,
		      "chance of a second with 5 times the latency"),
	OPTION_STRING(struct simulate_options, series, "series", 0, "PATH",
		      "recorded series, a value a second, a mesh's history or its matrix: a folder with rack*, pod*, "
		      "across*, or a file"),
	OPTION_HEADING("Rounds"),
	OPTION_DOUBLE(struct simulate_options, round_s, "round-s", 0, "S", 0, 1e6,
		      "time from round to round; 0 = when something has changed"),
	OPTION_STRING(struct simulate_options, solver_time, "solver-time", 0, "HOW",
		      "time a round takes: zero, seconds, work, measured or published"),
	OPTION_DOUBLE(struct simulate_options, work_ns, "work-ns", 0, "NS", 0, 1e6,
		      "of one arc, for --solver-time work"),
	OPTION_DOUBLE(struct simulate_options, migration_cost_s, "migration-cost-s", 0, "S", 0, 1e6,
		      "run time that a migration adds"),
	OPTION_FLAG(struct simulate_options, lose_work, "lose-work", 0, "evicted and migrated tasks begin again"),
	OPTION_INTEGER(struct simulate_options, seed, "seed", 0, "N", 0, 9007199254740991.,
		       "seed of all random choices"),
	OPTION_FLAG(struct simulate_options, check, "check", 0, "check after each round that no task is lost"),
	OPTION_HEADING("Output"),
	OPTION_STRING(struct simulate_options, output, "output", 'o', "DIR",
		      "write summary.json, jobs.csv, rounds-N.csv and report.html"),
	OPTION_STRING(struct simulate_options, record, "record", 0, "FILE",
		      "write the journal of the only policy, nomora.journal/1"),
	OPTION_STRING(struct simulate_options, write_trace, "write-trace", 0, "DIR",
		      "write the simulated workload in the schema of Google clusterdata-2011-2"),
	OPTION_INTEGER(struct simulate_options, checkpoint_s, "checkpoint", 0, "S", 1, 1000000000,
		       "write checkpoint-N of each policy into the folder, every S simulated seconds"),
	OPTION_FLAG(struct simulate_options, resume, "resume", 0,
		    "begin at the checkpoints in the folder, with the options that they were made with"),
	OPTION_FLAG(struct simulate_options, json, "json", 0, "print the summary as JSON, nomora.simulate/1"),
	OPTION_INTEGER(struct simulate_options, processes, "processes", 'j', "N", 1, 64,
		       "policies to simulate at a time"),
	OPTION_LIST(struct simulate_options, what_if, "what-if", 0, "KEY=VALUE",
		    "run again with this option changed, and print the differences"),
	OPTION_STRING(struct simulate_options, sweep, "sweep", 0, "KEY=V1,V2,...",
		      "run at each value of this option; print a table, write sweep.csv and sweep.svg"),
	OPTION_INTEGER(struct simulate_options, seeds, "seeds", 0, "N", 2, 1000, "paired seeds of --what-if"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora simulate",
	.operands = "[--trace DIR|--journal FILE|--swf FILE|--sacct FILE] [--curves DIR] -o DIR",
	.summary = "A day of a cluster under one or more scheduling policies, in virtual time.",
	.teach = teach,
	.rows = rows,
};

static const struct simulate_options defaults = {
	.curve_mix = "memcached=50,strads=25,tensorflow=25",
	.topology = "16x48",
	.solver_time = "zero",
	.seed = 1,
	.unscheduled_capacity = 1,
	.gamma = COST_GAMMA,
	.processes = 1,
	.seeds = 5,
	.hours = 24,
	.load = 0.9,
	.fraction = 1,
	.speed_up = 1,
	.work_ns = 5,
	.rack_us = 70,
	.pod_us = 200,
	.across_us = 520,
	.spread = 0.1,
	.drift = 0.1,
	.noise = 0.1,
};

static int write_output(const struct simulate *simulate, const char *folder, struct error *err)
{
	int code = simulate_write_jobs(simulate, folder, err);

	if (code == 0)
		code = simulate_write_report(simulate, folder, err);
	return code == 0 ? simulate_write_summary(simulate, folder, err) : code;
}

static int make_folder(const char *folder, bool *made, struct error *err)
{
	*made = folder && mkdir(folder, 0777) == 0;
	if (folder && !*made && errno != EEXIST)
		return error_set(err, errno, "cannot make %s: %s", folder, strerror(errno));
	return 0;
}

/* A run that failed leaves no empty folder. */
static void drop_folder(const char *folder, bool made)
{
	if (made)
		(void)rmdir(folder); /* keeps one with files */
}

static int run(const struct simulate_options *options, struct error *err)
{
	struct simulate simulate = {0};
	bool made;
	int code = make_folder(options->output, &made, err);

	if (code == 0)
		code = simulate_setup(&simulate, options, err);
	if (code == 0 && options->write_trace)
		code = google_trace_write(simulate.workload, options->write_trace, err);
	if (code == 0)
		code = simulate_run(&simulate, options->output, err);
	if (code == 0 && options->output)
		code = write_output(&simulate, options->output, err);
	if (code == 0 && options->json)
		code = simulate_print_summary(&simulate, stdout);
	else if (code == 0)
		simulate_print_table(&simulate, stdout);
	simulate_free(&simulate);
	if (code == 0)
		return command_flush(err);
	drop_folder(options->output, made);
	return code;
}

/* As command_parse(). */
static int parse(int argc, char **argv, struct simulate_options *options, struct option_operands *operands)
{
	static char shipped[PATH_MAX];
	int code;

	*options = defaults;
	code = command_parse(&usage, argc, argv, options, operands);
	command_find_data(".", "curves", "", shipped);
	if (!options->curves && !options->journal)
		options->curves = shipped;
	return code;
}

enum { CHANGE_BYTES = 128 };

/* The options once more with each KEY=VALUE as --KEY=VALUE; they point into `texts`, one for each. */
static int parse_changed(int argc, char **argv, const char *const *changes, size_t change_count,
			 char (*texts)[CHANGE_BYTES], struct simulate_options *changed)
{
	char *arguments[OPTION_LIST_MAXIMUM * 2 + 2];
	struct option_operands operands = {0};
	int count = 0, code;

	for (; count < argc && count < OPTION_LIST_MAXIMUM; count++)
		arguments[count] = argv[count];
	for (size_t i = 0; i < change_count; i++) {
		snprintf(texts[i], CHANGE_BYTES, "--%s", changes[i]);
		arguments[count++] = texts[i];
	}
	arguments[count] = NULL;
	code = parse(count, arguments, changed, &operands);
	options_free(&operands);
	return code;
}

static int run_what_if(int argc, char **argv, const struct simulate_options *options, struct error *err)
{
	static char texts[OPTION_LIST_MAXIMUM][CHANGE_BYTES];
	struct simulate_options changed;
	int code = parse_changed(argc, argv, options->what_if.items, options->what_if.count, texts, &changed);

	if (code >= 0)
		return code;
	stop_catch_signals();
	return simulate_what_if(options, &changed, stdout, err) == 0 ? COMMAND_OK : command_fail(err, COMMAND_FAILED);
}

/* KEY=V1,V2,... */
static int run_sweep(int argc, char **argv, const struct simulate_options *options, struct error *err)
{
	static char texts[SIMULATE_SWEEP_MAXIMUM][CHANGE_BYTES];
	static char changes[SIMULATE_SWEEP_MAXIMUM][CHANGE_BYTES];
	static struct simulate_sweep sweep;
	char *key = strdup(options->sweep), *values = key ? strchr(key, '=') : NULL, *save = NULL;
	int code = COMMAND_USAGE;
	bool made;

	if (values)
		*values++ = '\0';
	sweep.key = key;
	for (char *value = values ? strtok_r(values, ",", &save) : NULL; value; value = strtok_r(NULL, ",", &save)) {
		const char *change;

		if (sweep.count == SIMULATE_SWEEP_MAXIMUM) {
			error_set(err, E2BIG, "--sweep: expected at most %d values", SIMULATE_SWEEP_MAXIMUM);
			code = command_fail(err, COMMAND_USAGE);
			goto out;
		}
		change = changes[sweep.count];
		snprintf(changes[sweep.count], CHANGE_BYTES, "%s=%s", key, value);
		sweep.texts[sweep.count] = value;
		code = parse_changed(argc, argv, &change, 1, &texts[sweep.count], &sweep.options[sweep.count]);
		if (code < 0 && simulate_check(&sweep.options[sweep.count], err) != 0)
			code = command_fail(err, COMMAND_USAGE);
		if (code >= 0)
			goto out;
		sweep.count++;
	}
	if (sweep.count == 0) {
		error_set(err, EINVAL, "--sweep '%s': expected KEY=V1,V2,...", options->sweep);
		code = command_fail(err, COMMAND_USAGE);
		goto out;
	}
	stop_catch_signals();
	code = make_folder(options->output, &made, err);
	if (code == 0)
		code = simulate_sweep(&sweep, options->output, stdout, err);
	if (code != 0)
		drop_folder(options->output, made);
	code = code == 0 ? COMMAND_OK : command_fail(err, COMMAND_FAILED);
out:
	free(key);
	return code;
}

static int print_replayed(const struct live_replayed *replayed, bool json, struct error *err)
{
	if (json) {
		json_t *root = json_pack(
			"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "schema", "nomora.replay/1", "segments",
			(json_int_t)replayed->segments, "calls", (json_int_t)replayed->calls, "decisions",
			(json_int_t)replayed->decisions, "recorded", (json_int_t)replayed->recorded, "different",
			(json_int_t)replayed->unmade, "left_out", (json_int_t)replayed->left_out, "performance",
			isnan(replayed->performance) ? json_null() : json_real(replayed->performance));

		return command_print_json(root) == COMMAND_OK ? 0 : -EIO;
	} else {
		printf("%llu calls, %llu decisions: %llu as recorded, %llu different, mean performance %.4f\n",
		       (unsigned long long)replayed->calls, (unsigned long long)replayed->decisions,
		       (unsigned long long)(replayed->recorded - replayed->unmade),
		       (unsigned long long)replayed->unmade, replayed->performance);
		if (replayed->left_out > 0)
			printf("%llu decisions were made before the oldest start that the journal has\n",
			       (unsigned long long)replayed->left_out);
		if (replayed->first[0])
			fputs(replayed->first, stdout);
	}
	return command_flush(err);
}

/* --live: the exit status. */
static int run_live(const struct simulate_options *options, struct error *err)
{
	struct file_lines *lines = options->journal ? file_lines_open(options->journal, err) : NULL;
	struct file_writer *record = lines && options->record ? file_writer_open(options->record, err) : NULL;
	struct live_replayed replayed;
	int code;

	if (!options->journal) {
		error_set(err, EINVAL, "--live needs --journal");
		return command_fail(err, COMMAND_USAGE);
	}
	code = !lines || (options->record && !record)
		       ? -1
		       : live_replay(lines, record ? file_writer_stream(record) : NULL, &replayed, err);
	if (code == 0 && record)
		code = file_writer_commit(record, err);
	else
		file_writer_discard(record);
	file_lines_close(lines);
	if (code == 0)
		code = print_replayed(&replayed, options->json, err);
	if (code < 0)
		return command_fail(err, COMMAND_FAILED);
	return replayed.unmade > 0 || replayed.decisions != replayed.recorded ? COMMAND_NEGATIVE : COMMAND_OK;
}

int command_simulate(int argc, char **argv)
{
	struct simulate_options options;
	struct option_operands operands = {0};
	struct error err = {0};
	int code = parse(argc, argv, &options, &operands);

	if (code < 0 && options.live) {
		code = run_live(&options, &err);
		options_free(&operands);
		return code;
	}
	if (code < 0)
		simulate_check(&options, &err);
	if (code < 0 && err.code)
		code = command_fail(&err, COMMAND_USAGE);
	if (code < 0 && options.what_if.count > 0) {
		code = run_what_if(argc, argv, &options, &err);
	} else if (code < 0 && options.sweep) {
		code = run_sweep(argc, argv, &options, &err);
	} else if (code < 0) {
		stop_catch_signals();
		code = run(&options, &err) == 0 ? COMMAND_OK : command_fail(&err, COMMAND_FAILED);
	}
	options_free(&operands);
	return code;
}
