/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora solve: a min-cost flow problem in DIMACS form, its cost, its flow and its proof. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include <base/log.h>
#include <base/ns.h>
#include <base/progress.h>
#include <mcf/algorithms.h>
#include <mcf/dimacs.h>
#include <mcf/verify.h>

#include "command.h"

int command_solve(int argc, char **argv);

enum { ALGORITHMS_MOST = 8 };

struct settings {
	int algorithm; /* row of mcf_algorithms */
	bool flow, verify, json;
};

struct run {
	struct mcf_network network;
	struct mcf_solution solution;
	double parse_s, verify_s;
	bool verified;
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
	"Exit status: 0 optimal (and, with --verify, proved so), 1 the file or the proof is bad, 3 infeasible.\n";

static int fail_solve(const struct run *run)
{
	struct error err = {0};

	switch (run->solution.status) {
	case MCF_INFEASIBLE:
		fputs("c infeasible: the supplies cannot all be sent within the capacities\n", stderr);
		return COMMAND_NEGATIVE;
	case MCF_UNSUITED:
		error_set(&err, EINVAL, "algorithm %s cannot solve a network of this shape; --algorithm auto can",
			  run->solution.statistics.algorithm);
		break;
	case MCF_COST_RANGE:
		error_set(&err, ERANGE, "the total cost of the answer does not fit 64 bits");
		break;
	default:
		error_set(&err, ENOMEM, "solving failed: %s", mcf_status_name(run->solution.status));
		break;
	}
	return command_fail(&err, COMMAND_FAILED);
}

static int print_json(const struct run *run)
{
	const struct mcf_statistics *statistics = &run->solution.statistics;
	json_t *root = json_pack(
		"{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "schema", "nomora.solve/1",
		"status", mcf_status_name(run->solution.status), "algorithm", statistics->algorithm, "nodes",
		(int)run->network.problem.node_count, "arcs", (int)run->network.problem.arc_count, "collapsed_nodes",
		(int)statistics->collapsed_nodes, "collapsed_arcs", (int)statistics->collapsed_arcs, "pivots",
		(json_int_t)statistics->pivots, "pushes", (json_int_t)statistics->pushes, "relabels",
		(json_int_t)statistics->relabels, "phases", (json_int_t)statistics->phases, "parse_s", run->parse_s,
		"reduce_s", statistics->reduce_s, "solve_s", statistics->solve_s);
	int code = -1;

	if (!root)
		return -1;
	if (run->solution.status == MCF_OPTIMAL)
		json_object_set_new(root, "cost", json_integer(run->solution.cost));
	if (run->verified) {
		json_object_set_new(root, "verified", json_true());
		json_object_set_new(root, "verify_s", json_real(run->verify_s));
	}
	code = json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(root);
	return code;
}

static int verify(struct run *run)
{
	struct ns start = ns_now_monotonic();
	struct mcf_verdict verdict;
	struct error err = {0};

	run->verified = mcf_verify(&run->network.problem, &run->solution, &verdict);
	run->verify_s = ns_to_s(ns_sub(ns_now_monotonic(), start));
	if (run->verified)
		return 0;
	error_set(&err, EBADMSG, "the answer of %s is WRONG: %s: %s", run->solution.statistics.algorithm,
		  mcf_fault_name(verdict.fault), verdict.text);
	return command_fail(&err, COMMAND_FAILED);
}

static int report(const struct settings *settings, struct run *run)
{
	bool answered = run->solution.status == MCF_OPTIMAL || run->solution.status == MCF_INFEASIBLE;
	int code = settings->verify && answered ? verify(run) : 0;
	struct error err = {0};

	if (code != 0)
		return code;
	if (settings->json && answered)
		code = print_json(run);
	else if (run->solution.status == MCF_OPTIMAL)
		code = mcf_dimacs_write_solution(&run->network.problem, &run->solution, settings->flow, stdout);
	if (command_flush(&err) == 0 && code < 0)
		error_set(&err, ENOMEM, "out of memory");
	if (err.code)
		return command_fail(&err, COMMAND_FAILED);
	return run->solution.status == MCF_OPTIMAL ? COMMAND_OK : fail_solve(run);
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

static int solve_file(const struct settings *settings, const char *path)
{
	struct ns start = ns_now_monotonic();
	struct run run = {0};
	struct error err = {0};
	struct progress *bar;
	int code;

	if (mcf_dimacs_read(path, &run.network, &err) < 0)
		return command_fail(&err, COMMAND_FAILED);
	run.parse_s = ns_to_s(ns_sub(ns_now_monotonic(), start));
	bar = progress_create(stderr, "solving", 0);
	run.solution.watcher = (struct mcf_watcher){show_work, bar};
	mcf_solve(&mcf_algorithms[settings->algorithm], &run.network.problem, &run.solution);
	progress_destroy(bar);
	code = report(settings, &run);
	mcf_solution_free(&run.solution);
	mcf_network_free(&run.network);
	return code;
}

int command_solve(int argc, char **argv)
{
	const char *names[ALGORITHMS_MOST + 1] = {0};
	const struct option_row rows[] = {
		OPTION_CHOICE(struct settings, algorithm, "algorithm", 'a', "NAME", names,
			      "how to solve it; auto collapses what is identical and chooses"),
		OPTION_FLAG(struct settings, flow, "flow", 'f', "print f lines: tail, head, flow of every arc in use"),
		OPTION_FLAG(struct settings, verify, "verify", 'v', "prove the answer: feasible, slack, primal = dual"),
		OPTION_FLAG(struct settings, json, "json", 'j', "print cost, counts and times as JSON"),
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
	struct option_operands operands;
	int code;

	for (int i = 0; i < ALGORITHMS_MOST && mcf_algorithms[i].name; i++)
		names[i] = mcf_algorithms[i].name;
	code = command_parse(&usage, argc, argv, &settings, &operands);
	if (code >= 0)
		return code;
	code = solve_file(&settings, operands.items[0]);
	options_free(&operands);
	return code;
}
