/* SPDX-License-Identifier: BSD-3-Clause */
#include "families.h"

#include <errno.h>
#include <stdlib.h>

#include <base/rng.h>

enum { COST_MOST = 10000, CAPACITY_MOST = 1000 };

/* A network under construction; `failed` stays set, so that it is checked once, at the end. */
struct family_builder {
	struct rng rng;
	int32_t node_count, arc_count;
	size_t room;
	int32_t *tail, *head, *capacity;
	int64_t *cost, *supply;
	bool failed;
};

static int32_t draw(struct family_builder *builder, int32_t low, int32_t high)
{
	return low + (int32_t)rng_below(&builder->rng, (uint64_t)(high - low) + 1);
}

static void set_nodes(struct family_builder *builder, int32_t count)
{
	builder->node_count = count;
	builder->supply = calloc((size_t)count, sizeof *builder->supply);
	builder->failed = !builder->supply;
}

static bool resize(void **array, size_t count, size_t bytes)
{
	void *grown = realloc(*array, count * bytes);

	if (grown)
		*array = grown;
	return grown != NULL;
}

static void grow(struct family_builder *builder)
{
	size_t room = builder->room ? builder->room * 2 : 1 << 16;

	builder->failed = !resize((void **)&builder->tail, room, sizeof *builder->tail) ||
			  !resize((void **)&builder->head, room, sizeof *builder->head) ||
			  !resize((void **)&builder->capacity, room, sizeof *builder->capacity) ||
			  !resize((void **)&builder->cost, room, sizeof *builder->cost);
	builder->room = builder->failed ? builder->room : room;
}

static void add_arc(struct family_builder *builder, int32_t tail, int32_t head, int32_t capacity, int32_t cost)
{
	if (!builder->failed && (size_t)builder->arc_count == builder->room)
		grow(builder);
	if (builder->failed)
		return;
	builder->tail[builder->arc_count] = tail;
	builder->head[builder->arc_count] = head;
	builder->capacity[builder->arc_count] = capacity;
	builder->cost[builder->arc_count++] = cost;
}

static void send(struct family_builder *builder, int32_t from, int32_t to, int32_t units)
{
	if (builder->failed)
		return;
	builder->supply[from] += units;
	builder->supply[to] -= units;
}

/* From every plant to every shop. */
static void draw_transport(struct family_builder *builder, int32_t size)
{
	set_nodes(builder, 2 * size);
	for (int32_t i = 0; i < size; i++) {
		send(builder, i, size + i, draw(builder, 1, CAPACITY_MOST));
		for (int32_t j = 0; j < size; j++)
			add_arc(builder, i, size + j, CAPACITY_MOST * size, draw(builder, 1, COST_MOST));
	}
}

/* As many workers as jobs; each worker has arcs to 24 random jobs and one that makes the problem feasible. */
static void draw_assignment(struct family_builder *builder, int32_t size)
{
	set_nodes(builder, 2 * size);
	for (int32_t i = 0; i < size; i++) {
		send(builder, i, size + i, 1);
		add_arc(builder, i, size + i, 1, draw(builder, 1, COST_MOST));
		for (int32_t k = 0; k < 24; k++)
			add_arc(builder, i, size + draw(builder, 0, size - 1), 1, draw(builder, 1, COST_MOST));
	}
}

/* Random sources and sinks, an expensive ring of large capacity through all nodes, and random arcs (as NETGEN does). */
static void draw_ring(struct family_builder *builder, int32_t nodes, int32_t arcs, int32_t ends)
{
	set_nodes(builder, nodes);
	for (int32_t k = 0; k < ends; k++)
		send(builder, draw(builder, 0, nodes - 1), draw(builder, 0, nodes - 1), CAPACITY_MOST);
	for (int32_t v = 0; v < nodes; v++)
		add_arc(builder, v, (v + 1) % nodes, CAPACITY_MOST * ends, COST_MOST);
	for (int32_t a = nodes; a < arcs; a++)
		add_arc(builder, draw(builder, 0, nodes - 1), draw(builder, 0, nodes - 1),
			draw(builder, 1, CAPACITY_MOST), draw(builder, 1, COST_MOST));
}

static void draw_sparse(struct family_builder *builder, int32_t size)
{
	draw_ring(builder, size, 8 * size, size / 64);
}

static void draw_dense(struct family_builder *builder, int32_t size)
{
	draw_ring(builder, size, size * size / 4, size / 16);
}

/* Few sources, and many random arcs per node: long paths that share arcs. */
static void draw_few_ends(struct family_builder *builder, int32_t size)
{
	draw_ring(builder, size, 8 * size, 4);
}

/* A square grid of two-way streets; those of row 0 and all that lead down have a large capacity. */
static void draw_grid(struct family_builder *builder, int32_t size)
{
	int32_t wide = CAPACITY_MOST * size;

	set_nodes(builder, size * size);
	for (int32_t k = 0; k < size; k++)
		send(builder, draw(builder, 0, size * size - 1), draw(builder, 0, size * size - 1), CAPACITY_MOST);
	for (int32_t y = 0; y < size; y++) {
		for (int32_t x = 0; x < size; x++) {
			int32_t here = y * size + x, right = y * size + (x + 1) % size,
				down = (y + 1) % size * size + x;
			int32_t across = y == 0 ? wide : draw(builder, 1, CAPACITY_MOST);

			add_arc(builder, here, right, across, draw(builder, 1, COST_MOST));
			add_arc(builder, right, here, across, draw(builder, 1, COST_MOST));
			add_arc(builder, here, down, wide, draw(builder, 1, COST_MOST));
			add_arc(builder, down, here, draw(builder, 1, CAPACITY_MOST), draw(builder, 1, COST_MOST));
		}
	}
}

/*
 * After GOTO (grid on torus): one source, one sink; each node has forward arcs of small capacity, with random lengths
 * up to the square root of the number of nodes and a cost that grows with the square of the length. An expensive chain
 * of large capacity takes the rest.
 */
static void draw_torus(struct family_builder *builder, int32_t size)
{
	int32_t nodes = size, reach = 1;

	while (reach * reach < size)
		reach++;
	set_nodes(builder, nodes);
	send(builder, 0, nodes - 1, reach * CAPACITY_MOST);
	for (int32_t v = 0; v + 1 < nodes; v++)
		add_arc(builder, v, v + 1, reach * CAPACITY_MOST, COST_MOST);
	for (int32_t v = 0; v < nodes; v++) {
		for (int32_t k = 0; k < 7; k++) {
			int32_t length = draw(builder, 1, reach);

			add_arc(builder, v, (v + length) % nodes, draw(builder, 1, CAPACITY_MOST),
				length * length * draw(builder, 1, 8));
		}
	}
}

/*
 * GOTO with fixed arc lengths: each node has seven forward arcs of k * k parts of the reach, so that long arcs are
 * expensive and few arcs are alike.
 */
static void draw_goto(struct family_builder *builder, int32_t size)
{
	int32_t reach = 1;

	while (reach * reach < size)
		reach++;
	set_nodes(builder, size);
	send(builder, 0, size - 1, reach * CAPACITY_MOST);
	for (int32_t v = 0; v + 1 < size; v++)
		add_arc(builder, v, v + 1, reach * CAPACITY_MOST, 10 * COST_MOST);
	for (int32_t v = 0; v < size; v++) {
		for (int32_t k = 1; k < 8; k++) {
			int32_t length = 1 + k * k * reach / 64;

			add_arc(builder, v, (v + length) % size, draw(builder, 1, CAPACITY_MOST),
				length * length + draw(builder, 0, 3 * length * length));
		}
	}
}

/* A grid of `length` rows from one source to one sink, crossed by two-way streets of small capacity. */
static void draw_strip(struct family_builder *builder, int32_t length, int32_t width)
{
	int32_t source = length * width, sink = source + 1;

	set_nodes(builder, length * width + 2);
	send(builder, source, sink, 300 * width);
	for (int32_t y = 0; y < width; y++) {
		add_arc(builder, source, y, CAPACITY_MOST, 0);
		add_arc(builder, (length - 1) * width + y, sink, CAPACITY_MOST, 0);
	}
	for (int32_t x = 0; x < length; x++) {
		for (int32_t y = 0; y < width; y++) {
			int32_t here = x * width + y;

			if (x + 1 < length)
				add_arc(builder, here, here + width, draw(builder, CAPACITY_MOST / 2, CAPACITY_MOST),
					draw(builder, 1, COST_MOST));
			if (y + 1 == width)
				continue;
			add_arc(builder, here, here + 1, draw(builder, 1, CAPACITY_MOST), draw(builder, 1, COST_MOST));
			add_arc(builder, here + 1, here, draw(builder, 1, CAPACITY_MOST), draw(builder, 1, COST_MOST));
		}
	}
}

static void draw_square_grid(struct family_builder *builder, int32_t size)
{
	draw_strip(builder, size, size);
}

static void draw_long_grid(struct family_builder *builder, int32_t size)
{
	draw_strip(builder, size, 16);
}

/*
 * Two-way streets on a plane, with two in five of the cross streets missing; trips of few units, and an expensive
 * direct arc for each trip.
 */
static void draw_roads(struct family_builder *builder, int32_t size)
{
	set_nodes(builder, size * size);
	for (int32_t y = 0; y < size; y++) {
		for (int32_t x = 0; x < size; x++) {
			int32_t here = y * size + x, there[] = {here + 1, here + size};
			bool open[] = {x + 1 < size && (y == 0 || draw(builder, 1, 5) <= 3), y + 1 < size};

			for (int k = 0; k < 2; k++) {
				int32_t length = draw(builder, 10, CAPACITY_MOST);

				if (!open[k])
					continue;
				add_arc(builder, here, there[k], draw(builder, 1, 40), length);
				add_arc(builder, there[k], here, draw(builder, 1, 40), length);
			}
		}
	}
	for (int32_t k = 0; k < size; k++) {
		int32_t from = draw(builder, 0, size * size - 1), to = draw(builder, 0, size * size - 1);

		send(builder, from, to, 10);
		add_arc(builder, from, to, 10, 100 * COST_MOST);
	}
}

/* No supplies, but half of the arcs have negative costs: negative cycles have to be saturated. */
static void draw_circulation(struct family_builder *builder, int32_t size)
{
	set_nodes(builder, size);
	for (int32_t a = 0; a < 8 * size; a++)
		add_arc(builder, draw(builder, 0, size - 1), draw(builder, 0, size - 1),
			draw(builder, 1, CAPACITY_MOST), draw(builder, -COST_MOST / 2, COST_MOST / 2));
}

/* A chain in which each link is 500 parallel arcs of small capacity: a convex cost of the flow. */
static void draw_parallel(struct family_builder *builder, int32_t size)
{
	set_nodes(builder, size);
	send(builder, 0, size - 1, 1500);
	for (int32_t v = 0; v + 1 < size; v++) {
		for (int32_t k = 0; k < 500; k++)
			add_arc(builder, v, v + 1, draw(builder, 1, 10), draw(builder, 1, COST_MOST));
	}
}

/* All trips pass through one node. */
static void draw_star(struct family_builder *builder, int32_t size)
{
	set_nodes(builder, size + 1);
	for (int32_t v = 0; v < size; v++) {
		add_arc(builder, v, size, draw(builder, 100, CAPACITY_MOST), draw(builder, 1, COST_MOST));
		add_arc(builder, size, v, draw(builder, 100, CAPACITY_MOST), draw(builder, 1, COST_MOST));
	}
	for (int32_t v = 0; v + 1 < size; v += 2)
		send(builder, v, v + 1, draw(builder, 1, 100));
}

/*
 * Stocks at 50 sites over `size` days: units are stored for a day or shipped in one or two days; supplies are early,
 * demands are late.
 */
static void draw_days(struct family_builder *builder, int32_t size)
{
	enum { SITES = 50 };

	set_nodes(builder, SITES * size);
	for (int32_t day = 0; day + 1 < size; day++) {
		for (int32_t site = 0; site < SITES; site++) {
			int32_t here = day * SITES + site;

			add_arc(builder, here, here + SITES, 100 * CAPACITY_MOST, 1);
			for (int k = 0; k < 4 && day + 2 < size; k++)
				add_arc(builder, here,
					(day + draw(builder, 1, 2)) * SITES + draw(builder, 0, SITES - 1),
					draw(builder, 1, 50), draw(builder, 1, 100));
		}
	}
	for (int32_t day = 0; day < size / 2; day++) {
		for (int k = 0; k < 10; k++) {
			int32_t site = draw(builder, 0, SITES - 1);

			send(builder, day * SITES + site, (day + size / 2) * SITES + site, draw(builder, 1, 20));
		}
	}
}

/*
 * Forty layers, with arcs from each node to six nodes of the next layer, and one expensive arc that bypasses all
 * layers.
 */
static void draw_layers(struct family_builder *builder, int32_t size)
{
	enum { LAYERS = 40, ARCS_A_NODE = 6 };
	int32_t source = LAYERS * size, sink = source + 1;

	set_nodes(builder, LAYERS * size + 2);
	send(builder, source, sink, 50 * size);
	add_arc(builder, source, sink, 50 * size, 100 * COST_MOST);
	for (int32_t v = 0; v < size; v++) {
		add_arc(builder, source, v, CAPACITY_MOST, 0);
		add_arc(builder, source - size + v, sink, CAPACITY_MOST, 0);
	}
	for (int32_t v = 0; v < source - size; v++) {
		for (int32_t k = 0; k < ARCS_A_NODE; k++)
			add_arc(builder, v, (v / size + 1) * size + draw(builder, 0, size - 1), draw(builder, 1, 100),
				draw(builder, 1, COST_MOST));
	}
}

/* Maximum flow through a square grid: an arc back has a negative cost for every unit, the others cost nothing. */
static void draw_most_flow(struct family_builder *builder, int32_t size)
{
	int32_t source = size * size, sink = source + 1;

	draw_square_grid(builder, size);
	if (builder->failed)
		return;
	builder->supply[source] = builder->supply[sink] = 0;
	for (int32_t a = 0; a < builder->arc_count; a++)
		builder->cost[a] = 0;
	add_arc(builder, sink, source, CAPACITY_MOST * size, -1);
}

/* A single path of arcs with equal costs. */
static void draw_path(struct family_builder *builder, int32_t size)
{
	set_nodes(builder, size + 1);
	for (int32_t v = 0; v < size; v++)
		add_arc(builder, v, v + 1, 5, 1);
	send(builder, 0, size, 5);
}

/* Four large jobs, each with an arc to every one of `size` slots, cheapest first, and an expensive arc for waiting. */
static void draw_large_jobs(struct family_builder *builder, int32_t size)
{
	static const int64_t primes[] = {7919, 104729, 1299709, 15485863};
	enum {
		JOBS = sizeof primes / sizeof *primes,
		COST_LEAST = 100,
		COST_WAITING = 1001,
		COSTS = COST_WAITING - COST_LEAST
	};
	int32_t sink = JOBS + size;

	set_nodes(builder, sink + 1);
	for (int32_t job = 0; job < JOBS; job++) {
		int32_t units = size / 5, offset = draw(builder, 0, size - 1);

		for (int32_t rank = 0; rank < size; rank++) {
			int32_t cost = COST_LEAST + (int32_t)((int64_t)rank * COSTS / size);

			/*
			 * `size` is never a multiple of these primes: each job visits every slot once, in its own
			 * order.
			 */
			add_arc(builder, job, JOBS + (int32_t)((offset + rank * primes[job]) % size), units, cost);
		}
		add_arc(builder, job, sink, units, COST_WAITING);
		send(builder, job, sink, units);
	}
	for (int32_t slot = 0; slot < size; slot++)
		add_arc(builder, JOBS + slot, sink, 1, 0);
}

const struct family families[] = {
	{"transport", 500, draw_transport},
	{"assignment", 8000, draw_assignment},
	{"sparse", 16384, draw_sparse},
	{"few_ends", 32768, draw_few_ends},
	{"dense", 1500, draw_dense},
	{"grid", 110, draw_grid},
	{"torus", 8192, draw_torus},
	{"goto", 4096, draw_goto},
	{"square_grid", 100, draw_square_grid},
	{"long_grid", 600, draw_long_grid},
	{"roads", 110, draw_roads},
	{"circulation", 2048, draw_circulation},
	{"parallel", 150, draw_parallel},
	{"star", 10000, draw_star},
	{"days", 150, draw_days},
	{"layers", 300, draw_layers},
	{"most_flow", 100, draw_most_flow},
	{"path", 30000, draw_path},
	{"large_jobs", 20000, draw_large_jobs},
	{NULL, 0, NULL},
};

int family_make(const struct family *family, int32_t size, uint64_t seed, struct mcf_problem *problem)
{
	struct family_builder builder = {0};

	rng_seed(&builder.rng, seed);
	family->draw(&builder, size);
	*problem = (struct mcf_problem){.node_count = builder.node_count,
					.arc_count = builder.arc_count,
					.tail = builder.tail,
					.head = builder.head,
					.capacity = builder.capacity,
					.cost = builder.cost,
					.supply = builder.supply};
	if (!builder.failed)
		return 0;
	family_free(problem);
	return -ENOMEM;
}

void family_free(struct mcf_problem *problem)
{
	free((void *)problem->tail);
	free((void *)problem->head);
	free((void *)problem->capacity);
	free((void *)problem->cost);
	free((void *)problem->supply);
	*problem = (struct mcf_problem){0};
}
