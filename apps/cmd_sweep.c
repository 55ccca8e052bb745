/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora sweep: a plan carried out, with a lab and an injector of its own if the plan says so. */
#include "commands.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/log.h>
#include <base/process.h>
#include <base/progress.h>
#include <base/stop.h>
#include <injector/sweep/report.h>
#include <lab/sweep/world.h>

static const struct option_usage usage = {
	.command = "nomora sweep",
	.operands = "PLAN [-o SWEEP.csv]",
	.summary = "Steps an injector through delays and runs an application's benchmark at each, several times.",
	.teach = "PLAN is a file of lines 'name = value' whose names are the options above, or the name of a plan that "
		 "ships\n"
		 "(memcached, redis, pgbench, nginx); options on the command line override the file.\n"
		 "Each run's rows are on the disk before the next begins: the same command resumes a sweep that was "
		 "cut off.\n"
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

static struct progress *bar;

static void show_progress(void *context, size_t done, size_t total, const char *note)
{
	(void)context;
	if (!bar)
		bar = progress_create(stderr, "sweep", total);
	progress_update(bar, done, note);
}

static void say(void *context, const char *line)
{
	(void)context;
	progress_clear(bar);
	log_info("%s", line);
}

static void print_metric(void *context, const struct sweep_metric_def *metric, double value)
{
	const struct sweep_world *world = context;

	if (!world->plan->try_once)
		return;
	progress_clear(bar);
	printf("%-24s %.6g %s (%s is better)\n", metric->name, value, metric->unit, sweep_better_name(metric->better));
}

static int conclude(struct sweep_world *world, const struct sweeper_summary *summary)
{
	const struct sweep_plan *plan = world->plan;
	int code = COMMAND_OK;

	if (plan->try_once)
		return COMMAND_OK;
	if (plan->json)
		code = command_print_json(sweep_summary_to_json(plan, summary));
	else
		sweep_summary_print(plan, summary, stdout);
	if (summary->failed > 0)
		log_warning("%zu run%s left out of %s because the benchmark failed in every attempt; the same command "
			    "tries again",
			    summary->failed, summary->failed == 1 ? " was" : "s were", plan->output);
	if (summary->disturbed > 0)
		log_warning("%zu run%s kept although a gate refused every attempt (column disturbed; reasons in "
			    "%s.log): repeat the sweep on a quieter machine",
			    summary->disturbed, summary->disturbed == 1 ? " was" : "s were", plan->output);
	return code == COMMAND_OK && (summary->failed > 0 || summary->disturbed > 0) ? COMMAND_NEGATIVE : code;
}

static int carry_out(struct sweep_world *world)
{
	const struct sweep_plan *plan = world->plan;
	char *folder = strndupa(world->program, (size_t)(strrchr(world->program, '/') - world->program));
	struct sweeper_hooks hooks = {.make_path = plan->lab ? sweep_world_make_lab : NULL,
				      .progress = show_progress,
				      .say = say,
				      .measured = print_metric,
				      .context = world,
				      .stop = stop_flag(),
				      .program_folder = folder};
	struct sweeper_summary summary = {0};
	struct error err = {0};
	int turn = -1, code = 0;
	bool keep;

	if (!plan->share_machine)
		code = sweeper_take_turn(&hooks, &turn, &err);
	if (!code)
		code = sweeper_run(plan, &hooks, &summary, &err);
	progress_destroy(bar);
	keep = code && code != -EINTR && plan->debug;
	if (keep && (world->guard || !plan->lab))
		sweep_world_print_commands(world, stdout);
	sweep_world_release(world, keep);
	if (turn >= 0)
		close(turn);
	if (code && !plan->try_once && (code == -EINTR || summary.made + summary.found > 0))
		log_info("%zu of %zu runs are in %s; the same command resumes the sweep", summary.made + summary.found,
			 summary.planned, plan->output);
	return code ? command_fail(&err, COMMAND_FAILED) : conclude(world, &summary);
}

/* Runs the sweep in a session of its own: a session's priority is that of all its processes. Does not return. */
static void carry_out_in_session(struct sweep_world *world, pid_t parent) __attribute__((noreturn));

static void carry_out_in_session(struct sweep_world *world, pid_t parent)
{
	struct error err = {0};

	/* Our parent's death asks us to stop, not to die: a lab may have to be removed. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setsid();
	if (getppid() != parent)
		exit(COMMAND_FAILED);
	if (process_set_nice((int)world->plan->nice, &err) != 0)
		exit(command_fail(&err, COMMAND_FAILED));
	exit(carry_out(world));
}

/* Passes signals on to the child; its exit code is ours. */
static int carry_out_with_priority(struct sweep_world *world)
{
	struct error err = {0};
	pid_t parent = getpid(), child;
	bool passed = false;
	int status = 0;

	fflush(NULL);
	child = fork();
	if (child == 0)
		carry_out_in_session(world, parent);
	if (child < 0) {
		error_set(&err, errno, "cannot start a process: %s", strerror(errno));
		return command_fail(&err, COMMAND_FAILED);
	}
	/* Polls, as a signal just before a blocking wait would be missed. */
	while (waitpid(child, &status, WNOHANG) == 0) {
		if (*stop_flag() && !passed) {
			passed = true;
			kill(child, SIGTERM);
		}
		usleep(20000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : COMMAND_FAILED;
}

static int run_sweep(struct sweep_world *world)
{
	struct sweep_plan *plan = world->plan;
	char output[PATH_MAX];
	struct error err = {0};
	int code;

	if (plan->lab && geteuid() != 0) {
		error_set(&err, EPERM, "making the lab '%s' needs root: run it with sudo", plan->lab);
		return command_fail(&err, COMMAND_FAILED);
	}
	if (plan->try_once && sweep_try_prepare(plan, output, &err) != 0)
		return command_fail(&err, COMMAND_FAILED);
	if (plan->debug)
		plan->attempts = 1;
	code = plan->nice != 0 ? carry_out_with_priority(world) : carry_out(world);
	if (plan->try_once)
		sweep_try_tidy(output);
	return code;
}

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

/* The plan is parsed: checks it and carries it out. */
static int run_plan(struct sweep_world *world)
{
	struct error err = {0};

	stop_catch_signals();
	signal(SIGPIPE, SIG_IGN);
	if (sweep_world_check(world, &err) != 0)
		return command_fail(&err, world->plan_is_bad ? COMMAND_FAILED : COMMAND_USAGE);
	return world->plan->dry_run ? print_runs(world->plan) : run_sweep(world);
}

/* Reads the plan's file, then the command line over it. */
static int read_plan(int argc, char **argv, const char *file, struct sweep_plan *plan)
{
	static struct sweep_world world = {.claim = -1};
	struct option_operands operands = {0};
	struct option_strings *strings = NULL;
	char path[PATH_MAX];
	struct error err = {0};
	int code;

	world.plan = plan;
	world.file = path;
	command_find_data("plans", file, ".plan", path);
	if (command_own_program(world.program, &err) != 0 ||
	    options_read_file(&usage, path, plan, &strings, &err) < 0) {
		code = command_fail(&err, COMMAND_FAILED);
	} else {
		code = command_parse(&usage, argc, argv, plan, &operands);
		world.strings = strings;
		/* --lab '' makes a plan that ships one for a running injector, and the reverse. */
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

	/* Twice: first for the plan's name, then over the plan's values. */
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
		error_set(&err, EINVAL, "missing operand PLAN: a file, or one of the plans that ship; usage: %s %s",
			  usage.command, usage.operands);
		return command_fail(&err, COMMAND_USAGE);
	}
	sweep_plan_defaults(&plan);
	return read_plan(argc, argv, file, &plan);
}
