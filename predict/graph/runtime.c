/* SPDX-License-Identifier: BSD-3-Clause */
#include <predict/graph/graph.h>

#include <errno.h>
#include <stdlib.h>

#include <base/array.h>

enum { PIECES_MAXIMUM = 1000000 };

/* The longest path to a node: its length at latency L is ns + messages * L. */
struct path {
	double ns, messages;
};

static struct path extend(const struct path *paths, const struct execution_node *node, int edge)
{
	const struct path *from = &paths[node->from[edge]];

	return (struct path){from->ns + node->ns[edge], from->messages + node->messages[edge]};
}

/* True if `b` is longer than `a` at L, or as long and longer right above L. */
static bool is_longer(struct path b, struct path a, double latency_ns)
{
	double difference = (b.ns - a.ns) + (b.messages - a.messages) * latency_ns;

	return difference > 0 || (difference == 0 && b.messages > a.messages);
}

/* Sets the longest path of every node; returns that of the last one to end. */
static uint32_t longest(const struct execution_graph *graph, double latency_ns, struct path *paths)
{
	uint32_t last = 0;

	paths[0] = (struct path){0};
	for (size_t i = 1; i < graph->count; i++) {
		const struct execution_node *node = &graph->nodes[i];
		struct path a = extend(paths, node, 0), b = extend(paths, node, 1);

		paths[i] = is_longer(b, a, latency_ns) ? b : a;
		if (is_longer(paths[i], paths[last], latency_ns))
			last = (uint32_t)i;
	}
	return last;
}

/* A node of the whole graph in the smaller one: `ns` after one of its nodes. */
struct folded {
	double ns;
	uint32_t base;
	bool leads_on; /* a later node follows */
};

static bool is_covered(struct execution_edge a, struct execution_edge b)
{
	return a.ns <= b.ns && a.messages <= b.messages;
}

/* True if a path through `b` is at least as long as edge `a` at every latency. */
static bool is_needless(const struct execution_graph *small, struct execution_edge a, struct execution_edge b)
{
	const struct execution_node *via = &small->nodes[b.from];

	if ((a.from == b.from || a.from == EXECUTION_START) && is_covered(a, b))
		return true;
	for (int e = 0; e < 2 && b.from != EXECUTION_START; e++) {
		struct execution_edge longer = {.ns = via->ns[e] + b.ns, .messages = b.messages};

		if (via->from[e] == a.from && is_covered(a, longer))
			return true;
	}
	return false;
}

static struct execution_edge edge_from_base(const struct folded *folded, const struct execution_node *node, int e)
{
	const struct folded *from = &folded[node->from[e]];

	return (struct execution_edge){.from = from->base, .messages = node->messages[e], .ns = from->ns + node->ns[e]};
}

static int fold_nodes(const struct execution_graph *graph, struct folded *folded, struct execution_graph *small)
{
	for (size_t i = 1; i < graph->count; i++)
		folded[graph->nodes[i].from[0]].leads_on = folded[graph->nodes[i].from[1]].leads_on = true;
	for (size_t i = 1; i < graph->count; i++) {
		struct execution_edge a = edge_from_base(folded, &graph->nodes[i], 0),
				      b = edge_from_base(folded, &graph->nodes[i], 1);
		bool a_only = is_needless(small, b, a), one = a_only || is_needless(small, a, b);
		struct execution_edge only = a_only ? a : b;

		if (one && only.messages == 0 && folded[i].leads_on) {
			folded[i].base = only.from;
			folded[i].ns = only.ns;
			continue;
		}
		folded[i].base =
			one ? execution_add(small, 0, only, (struct execution_edge){0}) : execution_add(small, 0, a, b);
		if (folded[i].base == EXECUTION_START)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Makes a smaller graph with the same longest paths: without edges that another path always covers, and without nodes
 * that come a fixed time after one other node. A schedule in GOAL keeps about a quarter of its nodes.
 */
static int make_small(const struct execution_graph *graph, struct execution_graph *small)
{
	struct folded *folded = calloc(graph->count, sizeof *folded);
	int code = execution_graph_init(small, graph->ranks);

	code = folded && code == 0 ? fold_nodes(graph, folded, small) : -ENOMEM;
	free(folded);
	return code;
}

struct search {
	const struct execution_graph *graph;
	struct runtime *runtime;
	struct path *paths;
	struct error *err;
};

static struct path path_at(struct search *search, double latency_ns)
{
	search->runtime->longest_paths++;
	return search->paths[longest(search->graph, latency_ns, search->paths)];
}

static int add_piece(struct search *search, double from_ns, struct path path)
{
	struct runtime *runtime = search->runtime;
	struct runtime_piece *pieces;

	if (runtime->count >= PIECES_MAXIMUM)
		return error_set(search->err, E2BIG, "the run time has over %d straight pieces", PIECES_MAXIMUM);
	pieces = array_grow(runtime->pieces, runtime->count, &runtime->capacity, sizeof *pieces);
	if (!pieces)
		return error_set(search->err, ENOMEM, "out of memory");
	runtime->pieces = pieces;
	pieces[runtime->count++] = (struct runtime_piece){from_ns, path.ns, path.messages};
	return 0;
}

/*
 * T is convex, so it lies above both lines; if it is not above them where they cross, there is no third one between
 * them. Adds the pieces that begin between the two latencies.
 */
static int split(struct search *search, struct path left, double left_ns, struct path right, double right_ns)
{
	double rise = right.messages - left.messages, cross_ns, crossing;
	struct path middle;
	int code;

	if (rise <= 0)
		return 0;
	cross_ns = (left.ns - right.ns) / rise;
	cross_ns = cross_ns < left_ns ? left_ns : cross_ns > right_ns ? right_ns : cross_ns;
	middle = path_at(search, cross_ns);
	crossing = left.ns + left.messages * cross_ns;
	/* After rounding, the longest path may be one of the two again: a piece needs another slope. */
	if (middle.messages <= left.messages || middle.messages >= right.messages ||
	    middle.ns + middle.messages * cross_ns <= crossing * (1 + 1e-13))
		return add_piece(search, cross_ns, right);
	code = split(search, left, left_ns, middle, cross_ns);
	return code < 0 ? code : split(search, middle, cross_ns, right, right_ns);
}

int runtime_find(const struct execution_graph *graph, double low_ns, double high_ns, struct runtime *runtime,
		 struct error *err)
{
	struct execution_graph small = {0};
	struct search search = {.graph = &small, .runtime = runtime, .err = err};
	struct path left, right;
	int code = make_small(graph, &small);

	*runtime = (struct runtime){.low_ns = low_ns, .high_ns = high_ns};
	search.paths = code == 0 ? calloc(small.count, sizeof *search.paths) : NULL;
	if (!search.paths) {
		code = error_set(err, ENOMEM, "out of memory");
	} else {
		left = path_at(&search, low_ns);
		right = path_at(&search, high_ns);
		code = add_piece(&search, low_ns, left);
		if (code == 0)
			code = split(&search, left, low_ns, right, high_ns);
	}
	free(search.paths);
	execution_graph_free(&small);
	return code;
}

void runtime_free(struct runtime *runtime)
{
	free(runtime->pieces);
	*runtime = (struct runtime){0};
}

double runtime_at(const struct runtime *runtime, double latency_ns)
{
	size_t low = 0, high = runtime->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (runtime->pieces[middle].from_ns <= latency_ns)
			low = middle;
		else
			high = middle;
	}
	return runtime->pieces[low].constant_ns + runtime->pieces[low].messages * latency_ns;
}

double runtime_tolerance(const struct runtime *runtime, double times, bool *beyond)
{
	double most_ns = times * runtime_at(runtime, runtime->low_ns), latency_ns = runtime->high_ns;

	*beyond = runtime_at(runtime, runtime->high_ns) <= most_ns;
	/* The last piece that begins at or below the limit crosses it. */
	for (size_t i = runtime->count; !*beyond && i-- > 0;) {
		const struct runtime_piece *piece = &runtime->pieces[i];

		if (piece->constant_ns + piece->messages * piece->from_ns > most_ns)
			continue;
		if (piece->messages > 0)
			latency_ns = (most_ns - piece->constant_ns) / piece->messages;
		break;
	}
	return latency_ns < runtime->low_ns ? runtime->low_ns : latency_ns;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct runtime_pair *p = a, *q = b;

	if (p->from != q->from)
		return p->from < q->from ? -1 : 1;
	return p->to < q->to ? -1 : p->to > q->to;
}

size_t runtime_pairs_merge(struct runtime_pair *pairs, size_t count)
{
	size_t kept = 0;

	qsort(pairs, count, sizeof *pairs, compare_pairs);
	for (size_t i = 1; i < count; i++)
		if (compare_pairs(&pairs[kept], &pairs[i]) == 0)
			pairs[kept].messages += pairs[i].messages;
		else
			pairs[++kept] = pairs[i];
	return count ? kept + 1 : 0;
}

/* Walks back from `at` along the edges that made its path the longest. */
static struct runtime_pair *walk(const struct execution_graph *graph, const struct path *paths, uint32_t at,
				 double latency_ns, size_t *count)
{
	struct runtime_pair *pairs = NULL, *grown;
	size_t capacity = 0;

	for (*count = 0; at != EXECUTION_START;) {
		const struct execution_node *node = &graph->nodes[at];
		int edge = is_longer(extend(paths, node, 1), extend(paths, node, 0), latency_ns);

		grown = array_grow(pairs, *count, &capacity, sizeof *pairs);
		if (!grown) {
			free(pairs);
			return NULL;
		}
		pairs = grown;
		if (node->messages[edge])
			pairs[(*count)++] = (struct runtime_pair){graph->nodes[node->from[edge]].rank, node->rank,
								  node->messages[edge]};
		at = node->from[edge];
	}
	return pairs ? pairs : calloc(1, sizeof *pairs);
}

struct runtime_pair *runtime_pairs(const struct execution_graph *graph, double latency_ns, size_t *count,
				   struct error *err)
{
	struct path *paths = calloc(graph->count, sizeof *paths);
	struct runtime_pair *pairs =
		paths ? walk(graph, paths, longest(graph, latency_ns, paths), latency_ns, count) : NULL;

	free(paths);
	if (!pairs) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	*count = runtime_pairs_merge(pairs, *count);
	return pairs;
}
