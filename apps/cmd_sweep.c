/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora sweep: carries out a plan of measurements; creates a lab with an injector for it if the plan names one. */
#include "commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <base/log.h>
#include <base/program.h>
#include <base/stop.h>
#include <base/text_stream.h>
#include <injector/sweep/plan.h>
#include <injector/sweep/sweeper.h>
#include <lab/sweep/world.h>

static const struct option_usage usage = {
	.command = "nomora sweep",
	.operands = "PLAN [-o SWEEP.csv] | [--server COMMAND] -- CLIENT ...",
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
		 "and then: nomora sweep memcached.plan -o sweep.csv && nomora fit sweep.csv -o memcached.json\n"
		 "Without a plan: the benchmark's command line follows --, with {server} in place of the server's "
		 "address;\n"
		 "the plan is written beside the sweep, here to redis.plan:\n"
		 "  nomora sweep -o redis.csv --server 'redis-server --port 6379 --bind {server}' \\\n"
		 "      -- redis-benchmark -h {server} -t get -n 5000 -c 1 -q",
	.rows = sweep_plan_rows,
	.operands_minimum = 0,
	.operands_maximum = 1,
	.takes_rest = true,
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

/* Returns the whole plan as a file's text; NULL if out of memory. */
static char *plan_text(const struct sweep_plan *plan)
{
	char *text = NULL;
	size_t bytes;
	FILE *stream = text_stream_open(&text, &bytes);

	if (stream)
		sweep_plan_print(plan, true, stream);
	if (stream)
		fclose(stream);
	return text;
}

/* Checks the parsed plan and carries it out. Returns the exit code. */
static int run_checked(struct sweep_world *world)
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

static int run_plan(struct sweep_world *world)
{
	char *text = plan_text(world->plan); /* before the lab's hosts replace the plan's names */
	int code;

	if (!text)
		return command_fail(&(struct error){.code = ENOMEM, .text = "out of memory"}, COMMAND_FAILED);
	world->plan->text = text;
	code = run_checked(world);
	free(text);
	return code;
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

/* Writes the path of the plan to `path`: that of the sweep, with the ending .plan instead of .csv. */
static int name_plan(const struct sweep_plan *plan, char path[PATH_MAX], struct error *err)
{
	size_t length = strlen(plan->output);

	if (length >= 4 && strcmp(plan->output + length - 4, ".csv") == 0)
		length -= 4;
	if (snprintf(path, PATH_MAX, "%.*s.plan", (int)length, plan->output) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "%s: the name is too long", plan->output);
	return 0;
}

/*
 * Writes the plan, unless the file has it already. A file with another plan is kept, except with --force. Returns 1 if
 * it made the file, 0 if there was one, or a negative code.
 */
static int write_plan(const struct sweep_plan *plan, const char *path, struct error *err)
{
	struct error none = {0};
	char *text = NULL, *old = file_read_all(path, 1 << 20, NULL, &none);
	size_t bytes;
	FILE *stream = text_stream_open(&text, &bytes);
	struct file_writer *writer = NULL;
	int code = 0;

	if (stream) {
		fputs("# Made by nomora sweep from a command line. Repeat it: nomora sweep FILE -o SWEEP.csv\n",
		      stream);
		sweep_plan_print(plan, false, stream);
	}
	if (!stream || fclose(stream) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	else if (old && strcmp(old, text) != 0 && !plan->force)
		code = error_set(err, EEXIST,
				 "%s: exists with another plan; use another --output, or --force to replace it", path);
	else if (!old || strcmp(old, text) != 0)
		writer = file_writer_open(path, err);
	if (code == 0 && writer) {
		fputs(text, file_writer_stream(writer));
		code = file_writer_commit(writer, err);
		if (code == 0)
			log_info("wrote the plan %s", path);
	} else if (code == 0 && (!old || strcmp(old, text) != 0)) {
		code = error_code(err, EIO);
	}
	if (code == 0)
		code = !old;
	free(old);
	free(text);
	return code;
}

/* Makes a plan's file from the client's command line, and runs it with the options that are not part of a plan. */
static int run_command_line(struct sweep_plan *plan, struct option_operands *operands)
{
	const struct {
		bool given;
		const char *option;
	} flags[] = {{plan->try_once, "--try"},    {plan->debug, "--debug"}, {plan->keep_output, "--keep-output"},
		     {plan->dry_run, "--dry-run"}, {plan->force, "--force"}, {plan->share_machine, "--share-machine"},
		     {plan->json, "--json"}};
	char path[PATH_MAX], *words[4 + sizeof flags / sizeof *flags] = {(char *)"sweep", (char *)"--output"};
	struct sweep_command_texts texts;
	struct sweep_plan again;
	struct error err = {0};
	int count = 3, made = 0,
	    code = sweep_plan_from_command(plan, operands->rest_count, operands->rest, &texts, &err);

	if (code == 0)
		code = name_plan(plan, path, &err);
	if (code == 0)
		code = made = write_plan(plan, path, &err);
	if (code < 0) {
		sweep_command_texts_free(&texts);
		return command_fail(&err, code == -EINVAL ? COMMAND_USAGE : COMMAND_FAILED);
	}
	words[2] = (char *)plan->output;
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (flags[i].given)
			words[count++] = (char *)flags[i].option;
	sweep_plan_defaults(&again);
	code = read_plan(count, words, path, &again);
	/* A plan that did not start would only stand in the way of the corrected command. */
	if (made == 1 && code != COMMAND_OK && access(plan->output, F_OK) != 0 && unlink(path) == 0)
		log_info("removed %s again: nothing was measured", path);
	sweep_command_texts_free(&texts);
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
	if (operands.rest_count > 0 && file) {
		options_free(&operands);
		return command_fail(
			&(struct error){.code = EINVAL, .text = "a plan and a command after -- are mutually exclusive"},
			COMMAND_USAGE);
	}
	if (operands.rest_count > 0) {
		bool in_lab = !plan.injector && !plan.lab;

		options_free(&operands);
		if (in_lab)
			sweep_plan_defaults_in_lab(&plan);
		else
			sweep_plan_defaults(&plan);
		code = command_parse(&usage, argc, argv, &plan, &operands);
		code = code >= 0 ? code : run_command_line(&plan, &operands);
		options_free(&operands);
		return code;
	}
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
