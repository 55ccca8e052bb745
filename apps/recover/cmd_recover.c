/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora recover: places the tasks of failed servers and shares the links. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <sched/experiment/recovery.h>
#include <sched/recovery/generate.h>

#include "command.h"
#include "commands.h"
#include "recover.h"

static const char *const filters[] = {"exact", "peers", "paper", "none", NULL};
static const char *const solvers[] = {"exact", "glpk", NULL};
static const char *const experiments[] = {"testbed", "scale", "runtime", NULL};

static const char *const sharings[] = {"performance", "equal", "tcp", NULL};

static const struct option_row rows[] = {
	OPTION_HEADING("The search"),
	OPTION_CHOICE(
		struct recover_settings, filter, "filter", 'f', "NAME", filters,
		"candidate servers: exact drops none that an optimal answer needs, paper is Algorithm 1, peers adds "
		"the peers' servers to it"),
	OPTION_INTEGER(struct recover_settings, eta, "eta", 0, "N", 1, 1000000,
		       "servers that each task adds in Algorithm 1"),
	OPTION_CHOICE(struct recover_settings, solver, "solver", 's', "NAME", solvers,
		      "exact, or the paper's branch and cut by GLPK"),
	OPTION_DOUBLE(struct recover_settings, deadline_ms, "deadline-ms", 'd', "MS", 0, 1e9,
		      "answer by then, with the gap that is proved; 0 = no deadline"),
	OPTION_HEADING("What to report"),
	OPTION_FLAG(struct recover_settings, json, "json", 'j', "print JSON"),
	OPTION_FLAG(struct recover_settings, compare, "compare", 'c',
		    "compare with random placements and other ways to share links"),
	OPTION_FLAG(struct recover_settings, each_server, "each-server", 'e',
		    "instead of the failure in the scenario: which single server's failure hurts most"),
	OPTION_INTEGER(struct recover_settings, runs, "runs", 'r', "N", 1, 1000000,
		       "random placements in --compare, instances in --experiment"),
	OPTION_INTEGER(struct recover_settings, seed, "seed", 0, "N", 0, 1000000000, "seed of the random placements"),
	OPTION_HEADING("Other sources of a scenario"),
	OPTION_STRING(struct recover_settings, generate, "generate", 'g', "RECIPE",
		      "a random scenario: servers=500,apps=10,tasks=20,failed=8,seed=1; see nomora-recover(1)"),
	OPTION_STRING(struct recover_settings, coflows, "coflows", 0, "FILE",
		      "a trace of the coflow benchmark, with --at and --fail"),
	OPTION_DOUBLE(struct recover_settings, at_s, "at", 0, "S", -1, 1e9,
		      "second of the trace, or of --apply, at which the failure comes"),
	OPTION_STRING(struct recover_settings, fail, "fail", 0, "SERVER", "server, or port of the trace, that fails"),
	OPTION_DOUBLE(struct recover_settings, link_MBps, "link-MBps", 0, "R", 1e-3, 1e9, "links of the trace's ports"),
	OPTION_STRING(struct recover_settings, result, "scenario", 0, "FILE", "write the scenario to FILE (JSON)"),
	OPTION_HEADING("Real transfers"),
	OPTION_FLAG(struct recover_settings, apply, "apply", 'a',
		    "run the flows between the hosts of a lab; with --fail and --at a server fails while they run"),
	OPTION_STRING(struct recover_settings, lab, "lab", 0, "NAME", "the lab of --apply"),
	OPTION_CHOICE(
		struct recover_settings, sharing, "sharing", 0, "NAME", sharings,
		"rates of --apply: performance (eq. 19), equal (fixed shares), tcp (what TCP makes of the links)"),
	OPTION_HEADING("Experiments"),
	OPTION_CHOICE(struct recover_settings, experiment, "experiment", 0, "NAME", experiments,
		      "the paper's figures: testbed (5-11), scale (12-13), runtime (14-15); with -o"),
	OPTION_STRING(struct recover_settings, output, "output", 'o', "DIR", "folder for the experiment's figures"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora recover",
	.operands = "[SCENARIO.json]",
	.summary = "Places the tasks of failed servers and shares the links, jointly and exactly.",
	.teach = "  nomora recover scenario.json\n"
		 "  nomora recover --generate servers=500,apps=10,tasks=20,failed=8 --compare\n"
		 "  nomora recover --experiment testbed -o figures\n"
		 "Exit status: 0 placed, 1 a bad file or no placement before the deadline, 2 usage, 3 the tasks cannot "
		 "be "
		 "placed.\n",
	.rows = rows,
	.operands_maximum = 1,
};

struct recovery_options recover_options(const struct recover_settings *settings)
{
	static const enum recovery_filter by_name[] = {RECOVERY_FILTER_EXACT, RECOVERY_FILTER_PEERS,
						       RECOVERY_FILTER_PAPER, RECOVERY_FILTER_NONE};

	return (struct recovery_options){.filter = by_name[settings->filter],
					 .solver = (enum recovery_solver)settings->solver,
					 .eta = (uint32_t)settings->eta,
					 .deadline_ms = settings->deadline_ms};
}

/* A failure that --fail adds to a scenario. */
static int add_failure(struct recovery_scenario *s, const char *name, struct error *err)
{
	int64_t server = recovery_find_server(s, name);
	bool survivor = false;

	if (server < 0) {
		char port[40];

		snprintf(port, sizeof port, "port%s", name);
		server = recovery_find_server(s, port);
	}
	if (server < 0)
		return error_set(err, ENOENT, "--fail: unknown server '%s'", name);
	recovery_fail_server(s, (uint32_t)server);
	for (uint32_t n = 0; n < s->server_count; n++)
		survivor = survivor || !s->servers[n].failed;
	return survivor ? 0 : error_set(err, EINVAL, "--fail %s: no surviving server", name);
}

static struct recovery_scenario *from_coflows(const struct recover_settings *settings, struct error *err)
{
	struct coflow_trace *trace = coflow_read(settings->coflows, err);
	struct recovery_scenario *s = trace ? coflow_scenario(trace, settings->at_s, settings->link_MBps, err) : NULL;

	if (trace && !s)
		error_prefix(err, "%s", settings->coflows);
	coflow_destroy(trace);
	return s;
}

static struct recovery_scenario *load(const char *path, const struct recover_settings *settings, struct error *err)
{
	struct recovery_recipe recipe;
	struct recovery_scenario *s = NULL;

	if (settings->generate) {
		if (recovery_recipe_parse(settings->generate, &recipe, err) == 0)
			s = recovery_generate(&recipe, err);
	} else {
		s = settings->coflows ? from_coflows(settings, err) : recovery_read(path, err);
	}
	if (s && settings->fail && !settings->apply && add_failure(s, settings->fail, err) < 0) {
		recovery_destroy(s);
		return NULL;
	}
	return s;
}

/* 0 or an exit code. */
static int write_scenario(const struct recovery_scenario *s, const char *path)
{
	struct error err = {0};
	json_t *json = recovery_to_json(s);
	int code = json ? json_write_file(path, json, &err) : error_set(&err, ENOMEM, "out of memory");

	json_decref(json);
	return code < 0 ? command_fail(&err, COMMAND_FAILED) : 0;
}

static int exit_of(const struct recovery_answer *answer)
{
	switch (answer->status) {
	case RECOVERY_INFEASIBLE:
		return COMMAND_NEGATIVE;
	case RECOVERY_UNKNOWN:
		return COMMAND_FAILED;
	default:
		return COMMAND_OK;
	}
}

static int report(struct recovery_scenario *s, const struct recovery_answer *answer,
		  const struct recover_settings *settings, struct error *err)
{
	json_t *root = settings->json ? recover_json(s, answer, settings) : NULL;
	char *text;
	int code = 0;

	if (!settings->json)
		code = recover_print(s, answer) < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
	if (code == 0 && settings->compare && answer->server)
		code = recover_compare(s, answer, settings, root, err);
	if (code == 0 && settings->json) {
		text = root ? json_to_text(root) : NULL;
		code = text && puts(text) >= 0 ? 0 : error_set(err, ENOMEM, "out of memory");
		free(text);
	}
	json_decref(root);
	return code;
}

static int run_each(struct recovery_scenario *s, const struct recover_settings *settings)
{
	json_t *root = settings->json ? json_pack("{s:s}", "schema", "nomora.recover/1") : NULL;
	struct error err = {0};
	int code = recover_each_server(s, settings, root, &err);
	char *text = root && code == 0 ? json_to_text(root) : NULL;

	if (text)
		puts(text);
	free(text);
	json_decref(root);
	if (code == 0)
		code = command_flush(&err);
	return code < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
}

static int run(const char *path, const struct recover_settings *settings)
{
	struct error err = {0};
	struct recovery_scenario *s = load(path, settings, &err);
	struct recovery_options options = recover_options(settings);
	struct recovery_answer answer = {0};
	int code = COMMAND_FAILED;

	if (!s)
		return command_fail(&err, strncmp(err.text, "--generate", 10) == 0 ? COMMAND_USAGE : COMMAND_FAILED);
	if (settings->result && write_scenario(s, settings->result) != 0)
		goto out;
	if (settings->apply) {
		code = recover_apply(s, settings);
		goto out;
	}
	if (settings->each_server) {
		code = run_each(s, settings);
		goto out;
	}
	if (recovery_solve(s, &options, &answer, &err) < 0 || report(s, &answer, settings, &err) < 0 ||
	    command_flush(&err) < 0) {
		command_fail(&err, COMMAND_FAILED);
		goto out;
	}
	if (answer.status == RECOVERY_INFEASIBLE)
		recover_print_proof(s, &answer, stderr);
	code = exit_of(&answer);
	if (answer.status == RECOVERY_UNKNOWN) {
		error_set(&err, ETIMEDOUT, "unknown: no placement was found within %g ms; raise --deadline-ms",
			  settings->deadline_ms);
		command_fail(&err, COMMAND_FAILED);
	}
out:
	recovery_answer_free(&answer);
	recovery_destroy(s);
	return code;
}

static int run_experiment(const struct recover_settings *settings)
{
	struct experiment_rows table = {0};
	struct error err = {0};
	int code = experiment_recovery((enum experiment_recovery)settings->experiment, settings->output,
				       (uint32_t)settings->runs, stderr, &table, &err);

	for (size_t i = 0; code == 0 && i < table.count; i++)
		printf("%-58s %-22s %s\n", table.items[i].what, table.items[i].published, table.items[i].ours);
	free(table.items);
	return code < 0 || command_flush(&err) < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
}

static int check(const struct recover_settings *settings, int operands, struct error *err)
{
	int sources =
		operands + (settings->generate != NULL) + (settings->coflows != NULL) + (settings->experiment >= 0);

	if (sources != 1)
		return error_set(err, EINVAL, "expected one of SCENARIO.json, --generate, --coflows and --experiment");
	if (settings->coflows && (settings->at_s < 0 || !settings->fail))
		return error_set(err, EINVAL, "--coflows needs --at S and --fail PORT");
	if (settings->apply && (settings->fail != NULL) != (settings->at_s >= 0))
		return error_set(err, EINVAL, "--apply: --fail SERVER and --at S go together");
	if ((settings->experiment >= 0) != (settings->output != NULL))
		return error_set(err, EINVAL, "--experiment and -o DIR go together");
	return 0;
}

int command_recover(int argc, char **argv)
{
	struct recover_settings settings = {.experiment = -1,
					    .eta = 1,
					    .runs = 100,
					    .seed = 1,
					    .deadline_ms = 10000,
					    .link_MBps = 125,
					    .at_s = -1,
					    .lab = "lab0"};
	struct option_operands operands;
	struct error err = {0};
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	if (check(&settings, operands.count, &err) < 0)
		code = command_fail(&err, COMMAND_USAGE);
	else if (settings.experiment >= 0)
		code = run_experiment(&settings);
	else
		code = run(operands.count ? operands.items[0] : NULL, &settings);
	options_free(&operands);
	return code;
}
