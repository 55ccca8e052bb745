/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomora solve: solves a min-cost flow problem in DIMACS form and prints its cost and flow. If the problem is
 * infeasible, prints a cut that proves it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <base/ns.h>
#include <base/progress.h>
#include <sched/mcf/algorithms.h>
#include <sched/mcf/dimacs.h>
#include <sched/mcf/verify.h>

#include "commands.h"

enum { ALGORITHMS_MOST = 8 };

struct settings {
	int algorithm; /* index of the row in mcf_algorithms */
	bool flow, verify, json;
};

struct run {
	struct mcf_network network;
	struct mcf_solution solution;
	struct mcf_answer answer;
};

static const char teach[] =
	"FILE holds one problem, plain or gzip, - is stdin:\n"
	"  p min 4 5\n"
	"  n 1 2\n"
	"  n 4 -2\n"
	"  a 1 2 0 4 2      (tail, head, lower bound, capacity, cost)\n"
	"  a 1 3 0 2 2\n"
	"  a 2 3 0 2 1\n"
	"  a 2 4 0 3 3\n"
	"  a 3 4 0 5 1\n"
	"\n"
	"  $ nomora solve --flow --verify net.dimacs\n"
	"  s 6\n"
	"  f 1 3 2\n"
	"  f 3 4 2\n"
	"\n"
	"Exit status: 0 optimal (and, with --verify, proved so), 1 bad file or failed proof, 2 usage,\n"
	"3 infeasible: standard error names nodes of a set whose supply exceeds the capacity\n"
	"of the arcs that leave it.\n";

static int fail_solve(const struct run *run, struct error *err)
{
	switch (run->solution.status) {
	case MCF_INFEASIBLE:
		mcf_answer_print_cut(&run->answer, stderr);
		return COMMAND_NEGATIVE;
	case MCF_UNSUITED:
		return error_set(err, EINVAL,
				 "%s: algorithm %s cannot solve a network of this shape; --algorithm auto can",
				 run->answer.name, run->solution.statistics.algorithm);
	case MCF_COST_RANGE:
		return error_set(err, ERANGE, "%s: the total cost of the answer does not fit 64 bits",
				 run->answer.name);
	default:
		return error_set(err, ENOMEM, "%s: solving failed: %s", run->answer.name,
				 mcf_status_name(run->solution.status));
	}
}

static int verify(struct run *run, struct error *err)
{
	struct ns start = ns_now_monotonic();
	struct mcf_verdict verdict;

	run->answer.verified = mcf_verify(&run->network.problem, &run->solution, &verdict);
	run->answer.verify_s = ns_to_s(ns_sub(ns_now_monotonic(), start));
	if (run->answer.verified)
		return 0;
	return error_set(err, EBADMSG, "%s: the answer of %s is WRONG: %s: %s", run->answer.name,
			 run->solution.statistics.algorithm, mcf_fault_name(verdict.fault), verdict.text);
}

/*
 * If the problem is infeasible, finds the cut that proves it: a set of nodes whose supply exceeds the capacity of the
 * arcs that leave the set.
 */
static int look_into(struct run *run, struct error *err)
{
	int code = run->solution.status == MCF_INFEASIBLE
			   ? mcf_cut_find(&run->network.problem, run->solution.potential, &run->answer.cut)
			   : 0;

	if (code == 0)
		return 0;
	return error_set(err, -code,
			 code == -ENOMEM ? "out of memory"
					 : "%s: the answer of %s is WRONG: it says infeasible, but no cut proves this",
			 run->answer.name, run->solution.statistics.algorithm);
}

static int report(const struct settings *settings, struct run *run, struct error *err)
{
	bool answered = run->solution.status == MCF_OPTIMAL || run->solution.status == MCF_INFEASIBLE;
	int code = settings->verify && answered ? verify(run, err) : 0;

	if (code == 0)
		code = look_into(run, err);
	if (code != 0)
		return code;
	if (settings->json)
		code = mcf_answer_print_json(&run->answer, settings->flow, stdout);
	else if (run->solution.status == MCF_OPTIMAL)
		code = mcf_dimacs_write_solution(&run->network.problem, &run->solution, settings->flow, stdout);
	if (command_flush(err) < 0)
		return COMMAND_FAILED;
	if (code < 0)
		return error_set(err, ENOMEM, "out of memory");
	return run->solution.status == MCF_OPTIMAL ? COMMAND_OK : fail_solve(run, err);
}

static void show_work(void *context, const struct mcf_statistics *work)
{
	char note[64];

	if (work->pivots > 0)
		snprintf(note, sizeof note, "%s, %" PRIu64 " pivots", work->algorithm, work->pivots);
	else
		snprintf(note, sizeof note, "%s, phase %" PRIu64, work->algorithm, work->phases);
	progress_update(context, 0, note);
}

static int solve_file(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;
	const char *path = operands->items[0];
	struct ns start = ns_now_monotonic();
	struct run run = {.answer.name = strcmp(path, "-") == 0 ? "standard input" : path};
	struct progress *bar;
	int code;

	if (mcf_dimacs_read(path, &run.network, err) < 0)
		return COMMAND_FAILED;
	run.answer.parse_s = ns_to_s(ns_sub(ns_now_monotonic(), start));
	run.answer.problem = &run.network.problem;
	run.answer.solution = &run.solution;
	bar = progress_create(stderr, "solving", 0);
	run.solution.watcher = (struct mcf_watcher){show_work, bar};
	mcf_solve(&mcf_algorithms[settings->algorithm], &run.network.problem, &run.solution);
	progress_destroy(bar);
	code = report(settings, &run, err);
	mcf_solution_free(&run.solution);
	mcf_network_free(&run.network);
	return code;
}

int command_solve(int argc, char **argv)
{
	const char *names[ALGORITHMS_MOST + 1] = {0};
	const struct option_row rows[] = {
		OPTION_CHOICE(struct settings, algorithm, "algorithm", 'a', "NAME", names,
			      "algorithm; auto aggregates identical nodes and then chooses one"),
		OPTION_FLAG(struct settings, flow, "flow", 'f', "print f lines: tail, head, flow of every arc in use"),
		OPTION_FLAG(struct settings, verify, "verify", 'v',
			    "prove the answer: feasibility, complementary slackness, primal = dual"),
		OPTION_FLAG(struct settings, json, "json", 'j',
			    "print cost, counts and times as JSON, with --flow the flow too"),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora solve",
		.operands = "FILE",
		.summary = "Solve a minimum-cost flow problem in DIMACS form, exactly.",
		.teach = teach,
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct settings settings = {0};

	for (int i = 0; i < ALGORITHMS_MOST && mcf_algorithms[i].name; i++)
		names[i] = mcf_algorithms[i].name;
	return command_run(&usage, argc, argv, &settings, solve_file);
}
