/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora sweep: carries out a plan of measurements; creates a lab with an injector for it if the plan names one. */
#include "commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/program.h>
#include <base/stop.h>
#include <injector/sweep/sweeper.h>
#include <lab/sweep/world.h>

static const struct option_usage usage = {
	.command = "nomora sweep",
	.operands = "PLAN [-o SWEEP.csv]",
	.summary = "Run an application's benchmark at each of several injected delays.",
	.teach = "PLAN is a file of lines 'name = value' whose names are the options above, or the name of a plan that "
		 "ships\n"
		 "(memcached, redis, pgbench, nginx); options on the command line override the file.\n"
		 "Each run's rows are on disk before the next run begins: the same command resumes an interrupted "
		 "sweep.\n"
		 "Exit 3: runs were disturbed, or left out (on-failure = skip).\n"
		 "Example, a plan that makes its own rack of two hosts:\n"
		 "  application = memcached\n"
		 "  delays = 0 5 10 20 50 100 200 500\n"
		 "  lab = lab0\n"
		 "  server-host = h1\n"
		 "  client-host = h2\n"
		 "  server = memcached -u nobody -l $NOMORA_SERVER\n"
		 "  server-ready = nomora load $NOMORA_SERVER --fill-only\n"
		 "  client = nomora load $NOMORA_SERVER --no-fill --duration 1 --json\n"
		 "  metric = qps 1/s higher json:qps\n"
		 "  rtt-check = true\n"
		 "and then: nomora sweep memcached.plan -o sweep.csv && nomora fit sweep.csv -o memcached.json",
	.rows = sweep_plan_rows,
	.operands_minimum = 0,
	.operands_maximum = 1,
};

static int print_runs(const struct sweep_plan *plan)
{
	struct sweep_plan_runs runs;
	struct error err = {0};
	int code = sweep_plan_list_runs(plan, &runs, &err);

	if (code != 0)
		return command_fail(&err, code == -ENOMEM ? COMMAND_FAILED : COMMAND_USAGE);
	if (plan->json)
		code = command_print_json(sweep_plan_runs_to_json(&runs));
	else
		sweep_plan_print_runs(plan, &runs, stdout);
	free(runs.items);
	return code;
}

/* Checks the parsed plan and carries it out. Returns the exit code. */
static int run_plan(struct sweep_world *world)
{
	static const enum command_exit codes[] = {
		[SWEEP_COMPLETE] = COMMAND_OK, [SWEEP_FAILED] = COMMAND_FAILED, [SWEEP_DISTURBED] = COMMAND_NEGATIVE};
	struct error err = {0};

	stop_catch_signals();
	signal(SIGPIPE, SIG_IGN);
	if (sweep_world_check(world, &err) != 0)
		return command_fail(&err, world->plan_is_bad ? COMMAND_FAILED : COMMAND_USAGE);
	return world->plan->dry_run ? print_runs(world->plan) : (int)codes[sweep_world_run(world, stdout)];
}

/* Reads the plan's file, then the options of the command line, which override it; then runs the plan. */
static int read_plan(int argc, char **argv, const char *file, struct sweep_plan *plan)
{
	struct sweep_world world = {.claim = -1};
	struct option_operands operands = {0};
	struct option_strings *strings = NULL;
	char path[PATH_MAX];
	struct error err = {0};
	int code;

	world.plan = plan;
	world.file = path;
	program_find_data("plans", file, ".plan", path);
	if (program_path(world.program, &err) != 0 || options_read_file(&usage, path, plan, &strings, &err) < 0) {
		code = command_fail(&err, COMMAND_FAILED);
	} else {
		code = command_parse(&usage, argc, argv, plan, &operands);
		world.strings = strings;
		/*
		 * A plan names a lab to create or the socket of a running injector. On the command line, an empty --lab
		 * cancels the plan's lab, so that --injector can name a running injector; an empty --injector cancels
		 * the plan's injector, so that --lab can create a lab.
		 */
		if (plan->lab && !plan->lab[0])
			plan->lab = NULL;
		if (plan->injector && !plan->injector[0])
			plan->injector = NULL;
		if (code < 0)
			code = run_plan(&world);
	}
	options_free(&operands);
	operands = (struct option_operands){.strings = strings};
	options_free(&operands);
	return code;
}

int command_sweep(int argc, char **argv)
{
	struct sweep_plan plan;
	struct option_operands operands;
	struct error err = {0};
	const char *file;
	int code;

	/* The command line is parsed twice: first to find the plan, then to override the plan's values. */
	sweep_plan_defaults(&plan);
	code = command_parse(&usage, argc, argv, &plan, &operands);
	if (code >= 0)
		return code;
	file = operands.count > 0 ? operands.items[0] : NULL;
	options_free(&operands);
	if (plan.template) {
		fputs(sweep_plan_template, stdout);
		return command_flush(&err) == 0 ? COMMAND_OK : command_fail(&err, COMMAND_FAILED);
	}
	if (!file) {
		error_set(&err, EINVAL, "missing operand PLAN: a file, or one of the shipped plans; usage: %s %s",
			  usage.command, usage.operands);
		return command_fail(&err, COMMAND_USAGE);
	}
	sweep_plan_defaults(&plan);
	return read_plan(argc, argv, file, &plan);
}
