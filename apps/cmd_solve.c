/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora solve: a min-cost flow problem in DIMACS form, its cost, its flow and its proof. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <base/log.h>
#include <base/ns.h>
#include <base/progress.h>
#include <sched/mcf/algorithms.h>
#include <sched/mcf/cut.h>
#include <sched/mcf/dimacs.h>
#include <sched/mcf/verify.h>

#include "commands.h"

enum { ALGORITHMS_MOST = 8, NODES_NAMED = 8 };

struct settings {
	int algorithm; /* row of mcf_algorithms */
	bool flow, verify, json;
};

struct run {
	const char *name; /* of the file */
	struct mcf_network network;
	struct mcf_solution solution;
	struct mcf_cut cut; /* if that is infeasible */
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
	"Exit status: 0 optimal (and, with --verify, proved so), 1 bad file or failed proof, 2 usage,\n"
	"3 infeasible: standard error names nodes whose supply exceeds the capacity of the arcs that leave them.\n";

static bool is_in_cut(const struct run *run, int32_t node)
{
	return run->solution.potential[node] >= run->cut.least_potential;
}

/* "1, 5, 7, ..." */
static void print_cut_nodes(const struct run *run, FILE *out)
{
	int32_t named = 0;

	for (int32_t v = 0; v < run->network.problem.node_count && named < NODES_NAMED; v++) {
		if (is_in_cut(run, v))
			fprintf(out, "%s%" PRId32, named++ == 0 ? "" : ", ", v + 1);
	}
	if (named < run->cut.nodes)
		fputs(", ...", out);
}

static void print_cut(const struct run *run, FILE *out)
{
	const struct mcf_cut *cut = &run->cut;

	int64_t units = cut->supply + cut->lower_in;

	fprintf(out, "c infeasible: %s: %" PRId64 " %s to leave %" PRId32 " of the %" PRId32 " nodes (", run->name,
		units, units == 1 ? "unit has" : "units have", cut->nodes, run->network.problem.node_count);
	print_cut_nodes(run, out);
	fputc(')', out);
	if (cut->lower_in > 0)
		fprintf(out, ", %" PRId64 " of supply and %" PRId64 " that lower bounds send there", cut->supply,
			cut->lower_in);
	if (cut->arcs == 0)
		fputs(", but no arc leaves them\n", out);
	else
		fprintf(out, ", but the %" PRId32 " %s out of them can carry %" PRId64 "\n", cut->arcs,
			cut->arcs == 1 ? "arc" : "arcs", cut->capacity);
}

static int fail_solve(const struct run *run)
{
	struct error err = {0};

	switch (run->solution.status) {
	case MCF_INFEASIBLE:
		print_cut(run, stderr);
		return COMMAND_NEGATIVE;
	case MCF_UNSUITED:
		error_set(&err, EINVAL, "%s: algorithm %s cannot solve a network of this shape; --algorithm auto can",
			  run->name, run->solution.statistics.algorithm);
		break;
	case MCF_COST_RANGE:
		error_set(&err, ERANGE, "%s: the total cost of the answer does not fit 64 bits", run->name);
		break;
	default:
		error_set(&err, ENOMEM, "%s: solving failed: %s", run->name, mcf_status_name(run->solution.status));
		break;
	}
	return command_fail(&err, COMMAND_FAILED);
}

/* The last member: it may be far larger than all the others. */
static void print_json_flow(const struct run *run)
{
	const struct mcf_problem *problem = &run->network.problem;
	const char *before = "\n    ";

	fputs(",\n  \"flow\": [", stdout);
	for (int32_t a = 0; a < problem->arc_count; a++) {
		if (run->solution.flow[a] == 0)
			continue;
		printf("%s[%" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 "]", before, a + 1, problem->tail[a] + 1,
		       problem->head[a] + 1, run->solution.flow[a]);
		before = ",\n    ";
	}
	fputs("\n  ]", stdout);
}

static json_t *cut_json(const struct run *run)
{
	const struct mcf_cut *cut = &run->cut;
	json_t *first = json_array();

	for (int32_t v = 0; v < run->network.problem.node_count && json_array_size(first) < NODES_NAMED; v++) {
		if (is_in_cut(run, v) && json_array_append_new(first, json_integer(v + 1)) != 0)
			break;
	}
	return json_pack("{s:i, s:o, s:I, s:I, s:i, s:I}", "nodes", (int)cut->nodes, "first_nodes", first, "supply",
			 (json_int_t)cut->supply, "lower_in", (json_int_t)cut->lower_in, "arcs", (int)cut->arcs,
			 "capacity", (json_int_t)cut->capacity);
}

static json_t *answer_json(const struct run *run)
{
	const struct mcf_statistics *statistics = &run->solution.statistics;
	json_t *root = json_pack(
		"{s:s, s:s, s:s?, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "schema", "nomora.solve/1",
		"status", mcf_status_name(run->solution.status), "algorithm", statistics->algorithm, "nodes",
		(int)run->network.problem.node_count, "arcs", (int)run->network.problem.arc_count, "collapsed_nodes",
		(int)statistics->aggregated_nodes, "collapsed_arcs", (int)statistics->aggregated_arcs, "pivots",
		(json_int_t)statistics->pivots, "pushes", (json_int_t)statistics->pushes, "relabels",
		(json_int_t)statistics->relabels, "phases", (json_int_t)statistics->phases, "parse_s", run->parse_s,
		"reduce_s", statistics->reduce_s, "solve_s", statistics->solve_s);

	if (!root)
		return NULL;
	if (run->solution.status == MCF_OPTIMAL)
		json_object_set_new(root, "cost", json_integer(run->solution.cost));
	if (run->solution.status == MCF_INFEASIBLE)
		json_object_set_new(root, "cut", cut_json(run));
	if (run->verified) {
		json_object_set_new(root, "verified", json_true());
		json_object_set_new(root, "verify_s", json_real(run->verify_s));
	}
	return root;
}

static int print_json(const struct run *run, bool flow)
{
	enum { END_BYTES = 2 }; /* "\n}", which the flow goes before */
	json_t *root = answer_json(run);
	char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;

	json_decref(root);
	if (!text)
		return -1;
	printf("%.*s", (int)strlen(text) - END_BYTES, text);
	if (flow && run->solution.status == MCF_OPTIMAL)
		print_json_flow(run);
	puts("\n}");
	free(text);
	return 0;
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
	error_set(&err, EBADMSG, "%s: the answer of %s is WRONG: %s: %s", run->name, run->solution.statistics.algorithm,
		  mcf_fault_name(verdict.fault), verdict.text);
	return command_fail(&err, COMMAND_FAILED);
}

/* What the answer says beside its status. 0, or the exit code. */
static int look_into(struct run *run)
{
	struct error err = {0};
	int code = 0;

	if (run->solution.status == MCF_INFEASIBLE)
		code = mcf_cut_find(&run->network.problem, run->solution.potential, &run->cut);
	if (code == 0)
		return 0;
	error_set(&err, -code,
		  code == -ENOMEM ? "out of memory" : "%s: the answer of %s is WRONG: infeasible without a proof",
		  run->name, run->solution.statistics.algorithm);
	return command_fail(&err, COMMAND_FAILED);
}

static int report(const struct settings *settings, struct run *run)
{
	bool answered = run->solution.status == MCF_OPTIMAL || run->solution.status == MCF_INFEASIBLE;
	int code = settings->verify && answered ? verify(run) : 0;
	struct error err = {0};

	if (code == 0)
		code = look_into(run);
	if (code != 0)
		return code;
	if (settings->json)
		code = print_json(run, settings->flow);
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
	struct run run = {.name = strcmp(path, "-") == 0 ? "standard input" : path};
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
			      "how to solve it; auto aggregates identical nodes and chooses"),
		OPTION_FLAG(struct settings, flow, "flow", 'f', "print f lines: tail, head, flow of every arc in use"),
		OPTION_FLAG(struct settings, verify, "verify", 'v', "prove the answer: feasible, slack, primal = dual"),
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
