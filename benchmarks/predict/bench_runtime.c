/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_runtime [ROUNDS [RANKS]]: a schedule in GOAL in which each rank computes, sends to and receives from a rank
 * that is 1, 2, 4, ... further, ROUNDS times (2,450 x 1,024 ranks: 10 million nodes): time to read it and build its
 * graph, one longest path, all straight pieces of 0 to 2,000 us of added round trip. Then GLPK on the longest path of a
 * graph of some 4,000 nodes, beside ours.
 */
#include <stdio.h>
#include <stdlib.h>

#include <glpk.h>

#include <base/ns.h>
#include <base/rng.h>
#include <predict/goal/goal.h>
#include <predict/graph/graph.h>

static const struct loggps model = {.latency_ns = 3000, .overhead_ns = 1000, .gap_ns = 0.1, .eager_bytes = 65536};
static const double high_ns = 1003000;

static char *make_schedule(unsigned rounds, unsigned ranks, size_t *bytes)
{
	struct rng rng;
	char *text;
	FILE *out = open_memstream(&text, bytes);

	rng_seed(&rng, 1);
	fprintf(out, "num_ranks %u\n", ranks);
	for (unsigned rank = 0; rank < ranks; rank++) {
		fprintf(out, "rank %u {\n", rank);
		for (unsigned i = 0; i < rounds; i++) {
			unsigned far = (1U << (i % 10)) % ranks, n = 3 * i;

			fprintf(out, "l%u: calc %u\n", n, 500 + (unsigned)rng_below(&rng, 4500));
			fprintf(out, "l%u: send 8b to %u tag 1\n", n + 1, (rank + far) % ranks);
			fprintf(out, "l%u: recv 8b from %u tag 1\n", n + 2, (rank + ranks - far) % ranks);
			if (i > 0)
				fprintf(out, "l%u requires l%u\n", n, n - 1);
			fprintf(out, "l%u requires l%u\nl%u requires l%u\n", n + 1, n, n + 2, n + 1);
		}
		fputs("}\n", out);
	}
	return fclose(out) == 0 ? text : NULL;
}

static double since_s(struct ns begin)
{
	return ns_to_s(ns_sub(ns_now_monotonic(), begin));
}

static void print(const char *figure, double value, const char *unit)
{
	printf("{\"benchmark\": \"runtime\", \"figure\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", figure, value,
	       unit);
}

static int read_graph(unsigned rounds, unsigned ranks, struct execution_graph *graph, double *seconds)
{
	struct error err = {0};
	size_t bytes;
	char *text = make_schedule(rounds, ranks, &bytes);
	struct ns begin = ns_now_monotonic();
	int code = text ? goal_read(file_lines_from_memory("schedule", text, bytes, &err), &model, graph, &err) : -1;

	*seconds = since_s(begin);
	free(text);
	if (code < 0)
		fprintf(stderr, "bench_runtime: %s\n", err.text);
	return code;
}

static int find(const struct execution_graph *graph, double high, struct runtime *runtime, double *seconds)
{
	struct error err = {0};
	struct ns begin = ns_now_monotonic();
	int code = runtime_find(graph, model.latency_ns, high, runtime, &err);

	*seconds = since_s(begin);
	if (code < 0)
		fprintf(stderr, "bench_runtime: %s\n", err.text);
	return code;
}

/* Seconds of GLPK's simplex for the end of the run at one latency, of which *end_ns is the result. */
static double glpk_seconds(const struct execution_graph *graph, double latency_ns, double *end_ns)
{
	glp_prob *lp = glp_create_prob();
	int columns = (int)graph->count + 1;
	glp_smcp parameters;
	struct ns begin;

	glp_init_smcp(&parameters);
	parameters.msg_lev = GLP_MSG_OFF;
	parameters.presolve = GLP_ON;
	parameters.tm_lim = 60000;
	glp_set_obj_dir(lp, GLP_MIN);
	glp_add_cols(lp, columns);
	for (int c = 1; c <= columns; c++)
		glp_set_col_bnds(lp, c, GLP_LO, 0, 0);
	glp_set_obj_coef(lp, columns, 1);
	for (size_t i = 1; i < graph->count; i++)
		for (int e = 0; e < 3; e++) {
			const struct execution_node *node = &graph->nodes[i];
			int row = glp_add_rows(lp, 1), from = e < 2 ? (int)node->from[e] + 1 : (int)i + 1;

			glp_set_row_bnds(lp, row, GLP_LO, e < 2 ? node->ns[e] + node->messages[e] * latency_ns : 0, 0);
			glp_set_mat_row(lp, row, 2, (int[]){0, e < 2 ? (int)i + 1 : columns, from},
					(double[]){0, 1, -1});
		}
	begin = ns_now_monotonic();
	glp_simplex(lp, &parameters);
	*end_ns = glp_get_obj_val(lp);
	glp_delete_prob(lp);
	return since_s(begin);
}

static int beside_glpk(void)
{
	struct execution_graph graph;
	struct runtime runtime;
	double seconds, ours, theirs, end_ns;
	int code = read_graph(2, 512, &graph, &seconds);

	if (code == 0)
		code = find(&graph, model.latency_ns, &runtime, &ours);
	if (code == 0) {
		theirs = glpk_seconds(&graph, model.latency_ns, &end_ns);
		print("nodes of the graph for GLPK", (double)graph.count, "nodes");
		print("two longest paths, ours", ours, "s");
		print("the same end by GLPK's simplex", theirs, "s");
		print("difference of the ends", end_ns - runtime_at(&runtime, model.latency_ns), "ns");
		runtime_free(&runtime);
	}
	execution_graph_free(&graph);
	return code;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 2450, ranks = argc > 2 ? (unsigned)atoi(argv[2]) : 1024;
	struct execution_graph graph;
	struct runtime runtime;
	double seconds;
	int code;

	if (rounds == 0 || ranks < 2) {
		fprintf(stderr, "usage: bench_runtime [ROUNDS [RANKS]]\n");
		return 2;
	}
	code = read_graph(rounds, ranks, &graph, &seconds);
	if (code == 0) {
		print("nodes", (double)graph.count, "nodes");
		print("read and built", seconds, "s");
		code = find(&graph, high_ns, &runtime, &seconds);
	}
	if (code == 0) {
		print("straight pieces", (double)runtime.count, "pieces");
		print("all pieces", seconds, "s");
		print("one longest path", seconds / (double)runtime.longest_paths, "s");
		runtime_free(&runtime);
	}
	execution_graph_free(&graph);
	return code < 0 || beside_glpk() < 0;
}
