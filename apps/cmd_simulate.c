/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomora simulate: simulates a day of a cluster under one or more policies, and prints the NoMora paper's metrics and
 * figures. The workload is a trace, a journal or synthetic.
 */
#include <stdio.h>

#include <base/program.h>
#include <base/stop.h>
#include <sched/live/calls.h>
#include <sched/simulate/simulate.h>

#include "commands.h"

static const char teach[] =
	"Simulates each policy over a workload: Google clusterdata-2011-2 (--trace), a scheduler's journal "
	"(--journal), or\n"
	"a synthetic day of the trace's shape.\n"
	"Defaults are the paper's rules; options change them. Policies are NAME[:KEY=VALUE,...] with the keys p_m,\n"
	"p_r, preemption, beta and round_s. Example:\n"
	"\n"
	"  $ nomora simulate --machines 1250 --hours 1 -o day\n"
	"  $ nomora simulate --trace google2011 -C curves -p random -p nomora:p_m=105,p_r=110,preemption,beta=1 -o "
	"day\n"
	"  $ nomora simulate --machines 1250 --hours 1 -C curves --what-if slots=11\n"
	"  $ nomora simulate --machines 1250 --hours 1 -C curves --sweep slots=11,12,13 -j 2 -o slots\n"
	"\n"
	"Exit status: 0, also when a signal stopped it and partial results were written; 1 failed; 2 usage;\n"
	"3 --live found a difference.\n";

static const struct option_usage usage = {
	.command = "nomora simulate",
	.operands = "[--trace DIR|--journal FILE|--swf FILE|--sacct FILE|--csv FILE] [--curves DIR] -o DIR",
	.summary = "Simulate a day of a cluster under one or more scheduling policies.",
	.teach = teach,
	.rows = simulate_option_rows,
};

static int run_what_if(const struct simulate_options *options, struct error *err)
{
	struct simulate_options changed;

	if (simulate_read_what_if(options, &changed, err) < 0)
		return COMMAND_USAGE;
	stop_catch_signals();
	return simulate_what_if(options, &changed, stdout, err);
}

static int run_sweep(const struct simulate_options *options, struct error *err)
{
	static struct simulate_sweep sweep;

	if (simulate_read_sweep(options, &sweep, err) < 0)
		return COMMAND_USAGE;
	stop_catch_signals();
	return simulate_sweep(&sweep, options->output, stdout, err);
}

/* Carries out --live: replays the decisions of a journal and reports the differences. */
static int replay(const struct simulate_options *options, struct error *err)
{
	struct live_replayed replayed;

	if (!options->journal)
		return command_misused(err, "--live needs --journal");
	if (live_replay_file(options->journal, options->record, &replayed, err) < 0)
		return COMMAND_FAILED;
	if (options->json && command_print_json(live_replayed_to_json(&replayed)) != COMMAND_OK)
		return COMMAND_FAILED;
	if (!options->json)
		live_replayed_print(&replayed, stdout);
	return live_replayed_differs(&replayed) ? COMMAND_NEGATIVE : COMMAND_OK;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct simulate_options *options = context;

	(void)operands;
	if (!options->curves && !options->journal)
		options->curves = program_curves();
	if (options->live)
		return replay(options, err);
	if (simulate_check(options, err) < 0)
		return COMMAND_USAGE;
	if (options->what_if.count > 0)
		return run_what_if(options, err);
	if (options->sweep)
		return run_sweep(options, err);
	stop_catch_signals();
	return simulate_day(options, stdout, err);
}

int command_simulate(int argc, char **argv)
{
	struct simulate_options options = simulate_defaults;

	return command_run(&usage, argc, argv, &options, run);
}
