/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora recover: chooses servers for the tasks of failed servers, and shares the capacity of the links. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <lab/recover/apply.h>
#include <sched/recover/recover.h>

#include "commands.h"

/*
 * `fail` is the value of --fail. Without --apply it adds a failure to the scenario (run() copies it to recover.fail).
 * With --apply, that server fails while the flows run.
 */
struct settings {
	struct recover_settings recover;
	int sharing;
	bool each_server, apply;
	const char *fail, *lab, *result;
};

static const char *const sharings[] = {"performance", "equal", "tcp", NULL};

static const struct option_row rows[] = {
	OPTION_HEADING("The search"),
	OPTION_CHOICE(struct settings, recover.filter, "filter", 'f', "NAME", recovery_filter_names,
		      "candidate servers: exact keeps all that an optimal answer may need, paper is Algorithm 1, peers "
		      "is Algorithm 1 plus the peers' servers"),
	OPTION_INTEGER(struct settings, recover.eta, "eta", 0, "N", 1, 1000000,
		       "servers that each task adds in Algorithm 1"),
	OPTION_DOUBLE(struct settings, recover.deadline_ms, "deadline-ms", 'd', "MS", 0, 1e9,
		      "time limit, after which the best answer so far is given with its proved gap; 0 = none"),
	OPTION_HEADING("What to report"),
	OPTION_FLAG(struct settings, recover.json, "json", 'j', "print JSON"),
	OPTION_FLAG(struct settings, recover.compare, "compare", 'c',
		    "compare with random placements and other ways to share links"),
	OPTION_FLAG(struct settings, each_server, "each-server", 'e',
		    "find the single server whose failure hurts most; ignore the scenario's failures"),
	OPTION_INTEGER(struct settings, recover.runs, "runs", 'r', "N", 1, 1000000, "random placements in --compare"),
	OPTION_INTEGER(struct settings, recover.seed, "seed", 0, "N", 0, 1000000000, "seed of the random placements"),
	OPTION_HEADING("Other sources of a scenario"),
	OPTION_STRING(struct settings, recover.generate, "generate", 'g', "RECIPE",
		      "a random scenario: servers=500,apps=10,tasks=20,failed=8,seed=1; see nomora-recover(1)"),
	OPTION_STRING(struct settings, recover.coflows, "coflows", 0, "FILE",
		      "a trace of the coflow benchmark, with --at and --fail"),
	OPTION_DOUBLE(struct settings, recover.at_s, "at", 0, "S", -1, 1e9,
		      "second of the trace, or of --apply, at which the server fails"),
	OPTION_STRING(struct settings, fail, "fail", 0, "SERVER", "server, or port of the trace, that fails"),
	OPTION_DOUBLE(struct settings, recover.link_MBps, "link-MBps", 0, "R", 1e-3, 1e9,
		      "rate of the links of the trace's ports"),
	OPTION_STRING(struct settings, result, "scenario", 0, "FILE", "write the scenario to FILE (JSON)"),
	OPTION_HEADING("Real transfers"),
	OPTION_FLAG(struct settings, apply, "apply", 'a',
		    "run the flows between the hosts of a lab; with --fail and --at a server fails while they run"),
	OPTION_STRING(struct settings, lab, "lab", 0, "NAME", "the lab of --apply"),
	OPTION_CHOICE(struct settings, sharing, "sharing", 0, "NAME", sharings,
		      "rates of --apply: performance (eq. 19), equal (fixed shares), tcp (TCP shares the links)"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora recover",
	.operands = "[SCENARIO.json]",
	.summary = "Choose new servers for the tasks of failed ones, and a rate for every flow.",
	.teach = "  nomora recover scenario.json\n"
		 "  nomora recover --generate servers=500,apps=10,tasks=20,failed=8 --compare\n"
		 "Exit status: 0 placed, 1 failed (a bad file, no placement before the deadline), 2 usage, 3 the tasks "
		 "cannot be placed.\n",
	.rows = rows,
	.operands_maximum = 1,
};

static int apply(struct recovery_scenario *s, const struct settings *settings, struct error *err)
{
	struct lab_recover_settings lab = {.lab = settings->lab,
					   .sharing = settings->sharing,
					   .fail = settings->fail,
					   .fail_at_s = settings->recover.at_s,
					   .options = recover_options(&settings->recover),
					   .json = settings->recover.json,
					   .progress = stderr};

	return lab_recover_apply(s, &lab, stdout, err);
}

static int recover(const struct settings *settings, struct error *err)
{
	struct recovery_scenario *s = recover_load(&settings->recover, err);
	bool infeasible = false;
	int code = 0;

	if (!s)
		return strncmp(err->text, "--generate", 10) == 0 ? COMMAND_USAGE : COMMAND_FAILED;
	if (settings->result)
		code = json_write_file_new(settings->result, recovery_to_json(s), err);
	if (code == 0 && settings->apply)
		code = apply(s, settings, err);
	else if (code == 0 && settings->each_server)
		code = recover_each_server(s, &settings->recover, stdout, err);
	else if (code == 0)
		code = recover_run(s, &settings->recover, stdout, stderr, &infeasible, err);
	recovery_destroy(s);
	return code == 0 && infeasible ? COMMAND_NEGATIVE : code;
}

static int check(const struct settings *settings, int operands, struct error *err)
{
	int sources = operands + (settings->recover.generate != NULL) + (settings->recover.coflows != NULL);

	if (sources != 1)
		return error_set(err, EINVAL, "expected exactly one of SCENARIO.json, --generate and --coflows");
	if (settings->recover.coflows && (settings->recover.at_s < 0 || !settings->fail))
		return error_set(err, EINVAL, "--coflows needs --at S and --fail PORT");
	if (settings->apply && (settings->fail != NULL) != (settings->recover.at_s >= 0))
		return error_set(err, EINVAL, "--apply: --fail SERVER needs --at S, and --at S needs --fail SERVER");
	return 0;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct settings *settings = context;

	settings->recover.path = operands->count ? operands->items[0] : NULL;
	settings->recover.fail = settings->apply ? NULL : settings->fail;
	if (check(settings, operands->count, err) < 0)
		return COMMAND_USAGE;
	return recover(settings, err);
}

int command_recover(int argc, char **argv)
{
	struct settings settings = {.recover = {.eta = 1,
						.runs = 100,
						.seed = 1,
						.deadline_ms = 10000,
						.link_MBps = 125,
						.at_s = -1,
						.progress = stderr},
				    .lab = "lab0"};

	return command_run(&usage, argc, argv, &settings, run);
}
