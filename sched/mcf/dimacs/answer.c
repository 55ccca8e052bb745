/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/mcf/dimacs.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <base/json.h>

enum { NODES_NAMED = 8 };

static bool is_in_cut(const struct mcf_answer *answer, int32_t node)
{
	return answer->solution->potential[node] >= answer->cut.least_potential;
}

/* Prints "1, 5, 7, ...". */
static void print_cut_nodes(const struct mcf_answer *answer, FILE *out)
{
	int32_t named = 0;

	for (int32_t v = 0; v < answer->problem->node_count && named < NODES_NAMED; v++) {
		if (is_in_cut(answer, v))
			fprintf(out, "%s%" PRId32, named++ == 0 ? "" : ", ", v + 1);
	}
	if (named < answer->cut.nodes)
		fputs(", ...", out);
}

void mcf_answer_print_cut(const struct mcf_answer *answer, FILE *out)
{
	const struct mcf_cut *cut = &answer->cut;

	int64_t units = cut->supply + cut->lower_in;

	fprintf(out, "c infeasible: %s: %" PRId64 " %s to leave %" PRId32 " of the %" PRId32 " nodes (", answer->name,
		units, units == 1 ? "unit has" : "units have", cut->nodes, answer->problem->node_count);
	print_cut_nodes(answer, out);
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

/* The flow is printed last, as it may be far larger than all other members. */
static void print_json_flow(const struct mcf_answer *answer, FILE *out)
{
	const struct mcf_problem *problem = answer->problem;
	const char *before = "\n    ";

	fputs(",\n  \"flow\": [", out);
	for (int32_t a = 0; a < problem->arc_count; a++) {
		if (answer->solution->flow[a] == 0)
			continue;
		fprintf(out, "%s[%" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 "]", before, a + 1,
			problem->tail[a] + 1, problem->head[a] + 1, answer->solution->flow[a]);
		before = ",\n    ";
	}
	fputs("\n  ]", out);
}

static json_t *cut_json(const struct mcf_answer *answer)
{
	const struct mcf_cut *cut = &answer->cut;
	json_t *first = json_array();

	for (int32_t v = 0; v < answer->problem->node_count && json_array_size(first) < NODES_NAMED; v++) {
		if (is_in_cut(answer, v) && json_array_append_new(first, json_integer(v + 1)) != 0)
			break;
	}
	return json_pack("{s:i, s:o, s:I, s:I, s:i, s:I}", "nodes", (int)cut->nodes, "first_nodes", first, "supply",
			 (json_int_t)cut->supply, "lower_in", (json_int_t)cut->lower_in, "arcs", (int)cut->arcs,
			 "capacity", (json_int_t)cut->capacity);
}

static json_t *answer_json(const struct mcf_answer *answer)
{
	const struct mcf_statistics *statistics = &answer->solution->statistics;
	json_t *root = json_pack("{s:s, s:s, s:s?, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "schema",
				 "nomora.solve/1", "status", mcf_status_name(answer->solution->status), "algorithm",
				 statistics->algorithm, "nodes", (int)answer->problem->node_count, "arcs",
				 (int)answer->problem->arc_count, "collapsed_nodes", (int)statistics->aggregated_nodes,
				 "collapsed_arcs", (int)statistics->aggregated_arcs, "pivots",
				 (json_int_t)statistics->pivots, "pushes", (json_int_t)statistics->pushes, "relabels",
				 (json_int_t)statistics->relabels, "phases", (json_int_t)statistics->phases, "parse_s",
				 answer->parse_s, "reduce_s", statistics->reduce_s, "solve_s", statistics->solve_s);

	if (!root)
		return NULL;
	if (answer->solution->status == MCF_OPTIMAL)
		json_object_set_new(root, "cost", json_integer(answer->solution->cost));
	if (answer->solution->status == MCF_INFEASIBLE)
		json_object_set_new(root, "cut", cut_json(answer));
	if (answer->verified) {
		json_object_set_new(root, "verified", json_true());
		json_object_set_new(root, "verify_s", json_real(answer->verify_s));
	}
	return root;
}

int mcf_answer_print_json(const struct mcf_answer *answer, bool flow, FILE *out)
{
	enum { END_BYTES = 2 }; /* " }", before which the flow is inserted */
	json_t *root = answer_json(answer);
	char *text = json_dump_whole(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6));

	json_decref(root);
	if (!text)
		return -ENOMEM;
	fprintf(out, "%.*s", (int)strlen(text) - END_BYTES, text);
	if (flow && answer->solution->status == MCF_OPTIMAL)
		print_json_flow(answer, out);
	fputs("\n}\n", out);
	free(text);
	return 0;
}
