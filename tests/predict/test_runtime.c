/* SPDX-License-Identifier: BSD-3-Clause */
/* T(L) of random graphs against a linear program and against the enumeration of all paths; its laws. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include <glpk.h>

#include <base/rng.h>
#include <predict/graph/graph.h>

enum { GRAPHS = 1000, NODES_MOST = 40, SMALL = 12, LATENCIES = 20, RANKS = 5 };

static const double high_ns = 1000;

static struct execution_graph random_graph(struct rng *rng, size_t nodes)
{
	struct execution_graph graph;

	cr_assert_eq(execution_graph_init(&graph, RANKS), 0);
	while (graph.count < nodes) {
		struct execution_edge edges[2] = {0};
		int count = 1 + (int)rng_below(rng, 2);

		/* Half of the nodes follow one other node: runtime_find() leaves most of these out. */
		for (int i = 0; i < count; i++)
			edges[i] = (struct execution_edge){
				.from = (uint32_t)rng_below(rng, graph.count),
				.messages = (uint16_t)rng_below(rng, 3),
				/* whole numbers make ties frequent */
				.ns = rng_below(rng, 2) ? (double)rng_below(rng, 300) : 300 * rng_uniform(rng),
			};
		cr_assert(execution_add(&graph, (uint32_t)rng_below(rng, RANKS), edges[0], edges[1]));
	}
	return graph;
}

/* The least end that fulfils all edges, by a linear program. */
static double program_time(const struct execution_graph *graph, double latency_ns)
{
	glp_prob *lp = glp_create_prob();
	glp_smcp parameters;
	int columns = (int)graph->count + 1; /* the last one is the end */
	double time;

	glp_init_smcp(&parameters);
	parameters.msg_lev = GLP_MSG_OFF;
	parameters.tol_bnd = parameters.tol_dj = 1e-12;
	glp_set_obj_dir(lp, GLP_MIN);
	glp_add_cols(lp, columns);
	for (int c = 1; c <= columns; c++)
		glp_set_col_bnds(lp, c, GLP_LO, 0, 0);
	glp_set_obj_coef(lp, columns, 1);
	for (size_t i = 1; i < graph->count; i++) {
		const struct execution_node *node = &graph->nodes[i];

		for (int e = 0; e < 3; e++) {
			int row = glp_add_rows(lp, 1);
			int to = e < 2 ? (int)i + 1 : columns, from = e < 2 ? (int)node->from[e] + 1 : (int)i + 1;
			double least = e < 2 ? node->ns[e] + node->messages[e] * latency_ns : 0;

			glp_set_row_bnds(lp, row, GLP_LO, least, 0);
			glp_set_mat_row(lp, row, 2, (int[]){0, to, from}, (double[]){0, 1, -1});
		}
	}
	cr_assert_eq(glp_simplex(lp, &parameters), 0);
	time = glp_get_obj_val(lp);
	glp_delete_prob(lp);
	return time;
}

/* The longest of all paths that end in a node, each followed to its beginning. */
static double enumerate(const struct execution_graph *graph, uint32_t at, double latency_ns)
{
	double best = 0;

	for (int e = 0; e < 2 && at != EXECUTION_START; e++) {
		const struct execution_node *node = &graph->nodes[at];
		double time =
			enumerate(graph, node->from[e], latency_ns) + node->ns[e] + node->messages[e] * latency_ns;

		best = time > best ? time : best;
	}
	return best;
}

static double enumerate_all(const struct execution_graph *graph, double latency_ns)
{
	double best = 0;

	for (uint32_t i = 0; i < graph->count; i++)
		best = fmax(best, enumerate(graph, i, latency_ns));
	return best;
}

static struct runtime find(const struct execution_graph *graph)
{
	struct error err = {0};
	struct runtime runtime;

	cr_assert_eq(runtime_find(graph, 0, high_ns, &runtime, &err), 0, "%s", err.text);
	return runtime;
}

static void check_near(double a, double b)
{
	cr_assert(fabs(a - b) <= 1e-9 * fmax(1, fabs(b)), "%.12g, expected %.12g", a, b);
}

Test(runtime, equals_a_linear_program)
{
	struct rng rng;

	rng_seed(&rng, 1);
	glp_term_out(GLP_OFF);
	for (int g = 0; g < GRAPHS; g++) {
		struct execution_graph graph = random_graph(&rng, 2 + rng_below(&rng, NODES_MOST));
		struct runtime runtime = find(&graph);

		for (int i = 0; i < 4; i++) {
			double latency_ns = i == 0 ? 0 : i == 1 ? high_ns : high_ns * rng_uniform(&rng);

			check_near(runtime_at(&runtime, latency_ns), program_time(&graph, latency_ns));
		}
		runtime_free(&runtime);
		execution_graph_free(&graph);
	}
}

Test(runtime, equals_the_longest_of_all_paths)
{
	struct rng rng;

	rng_seed(&rng, 2);
	for (int g = 0; g < GRAPHS; g++) {
		struct execution_graph graph = random_graph(&rng, 2 + rng_below(&rng, SMALL));
		struct runtime runtime = find(&graph);

		for (int i = 0; i < LATENCIES; i++) {
			double latency_ns = high_ns * i / (LATENCIES - 1);

			check_near(runtime_at(&runtime, latency_ns), enumerate_all(&graph, latency_ns));
		}
		runtime_free(&runtime);
		execution_graph_free(&graph);
	}
}

static void check_pieces(const struct runtime *runtime)
{
	cr_assert_eq(runtime->pieces[0].from_ns, 0);
	for (size_t i = 1; i < runtime->count; i++) {
		const struct runtime_piece *before = &runtime->pieces[i - 1], *piece = &runtime->pieces[i];

		cr_assert_gt(piece->from_ns, before->from_ns);
		cr_assert_gt(piece->messages, before->messages);
		check_near(piece->constant_ns + piece->messages * piece->from_ns,
			   before->constant_ns + before->messages * piece->from_ns);
	}
	/* Two ends, and at most two more for each piece after the first. */
	cr_assert_leq(runtime->longest_paths, 2 * runtime->count);
}

static void check_pairs(const struct execution_graph *graph, double latency_ns, double slope)
{
	struct error err = {0};
	uint64_t sum = 0;
	size_t count;
	struct runtime_pair *pairs = runtime_pairs(graph, latency_ns, &count, &err);

	cr_assert(pairs, "%s", err.text);
	for (size_t i = 0; i < count; i++) {
		cr_assert(i == 0 || pairs[i - 1].from < pairs[i].from ||
			  (pairs[i - 1].from == pairs[i].from && pairs[i - 1].to < pairs[i].to));
		sum += pairs[i].messages;
	}
	cr_assert_eq((double)sum, slope, "%llu messages, slope %g", (unsigned long long)sum, slope);
	free(pairs);
}

Test(runtime, is_convex_continuous_and_of_few_longest_paths)
{
	struct rng rng;
	size_t pieces = 0;

	rng_seed(&rng, 3);
	for (int g = 0; g < GRAPHS; g++) {
		struct execution_graph graph = random_graph(&rng, 2 + rng_below(&rng, 10 * NODES_MOST));
		struct runtime runtime = find(&graph);

		check_pieces(&runtime);
		pieces += runtime.count;
		for (size_t i = 0; i < runtime.count; i++) {
			double end = i + 1 < runtime.count ? runtime.pieces[i + 1].from_ns : high_ns;

			if (end - runtime.pieces[i].from_ns > 1e-6)
				check_pairs(&graph, (runtime.pieces[i].from_ns + end) / 2, runtime.pieces[i].messages);
		}
		runtime_free(&runtime);
		execution_graph_free(&graph);
	}
	cr_assert_gt(pieces, 2 * GRAPHS); /* the graphs do have breakpoints */
}

Test(runtime, tolerance_is_where_the_run_time_reaches_its_limit)
{
	struct rng rng;

	rng_seed(&rng, 4);
	for (int g = 0; g < GRAPHS; g++) {
		struct execution_graph graph = random_graph(&rng, 2 + rng_below(&rng, 10 * NODES_MOST));
		struct runtime runtime = find(&graph);
		double times = 1 + rng_uniform(&rng), limit = times * runtime_at(&runtime, 0);
		bool beyond;
		double latency_ns = runtime_tolerance(&runtime, times, &beyond);

		cr_assert_eq(beyond, runtime_at(&runtime, high_ns) <= limit);
		if (beyond)
			cr_assert_eq(latency_ns, high_ns);
		else
			check_near(runtime_at(&runtime, latency_ns), limit);
		runtime_free(&runtime);
		execution_graph_free(&graph);
	}
}

/* Sends and receives of random envelopes: the n-th send of an envelope meets its n-th receive. */
Test(matcher, ends_meet_in_their_order)
{
	enum { ENDS = 20000, ENVELOPES = 2 * 2 * 3 * 2 };
	static uint32_t seen[2][ENVELOPES], order[2][ENDS], other;
	struct matcher matcher = {0};
	struct rng rng;
	uint32_t met = 0;

	rng_seed(&rng, 5);
	for (uint32_t i = 0; i < ENDS; i++) {
		uint32_t which = (uint32_t)rng_below(&rng, ENVELOPES);
		bool send = rng_below(&rng, 2);
		struct envelope envelope = {which % 2, which / 2 % 2, which / 4 % 3, which / 12};
		int code = matcher_meet(&matcher, envelope, send, i, &other);

		order[send][i] = seen[send][which]++;
		cr_assert_eq(code, seen[send][which] <= seen[!send][which]);
		if (code == 1)
			cr_assert_eq(order[!send][other], order[send][i]);
		met += code == 1;
	}
	cr_assert_gt(met, ENDS / 3);
	cr_assert_leq(matcher.entry_count, ENDS - 2 * met + ENDS / 4); /* entries are used again */
	matcher_free(&matcher);
}
