/* SPDX-License-Identifier: BSD-3-Clause */
/* Fat-tree, Jellyfish and leaf-spine networks. */
#include <model/topology.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/rng.h>

enum { FAT_TREE_K_MAXIMUM = 128, JELLYFISH_TRIES = 100, JELLYFISH_SWITCHES_MAXIMUM = 5000 };

/* A network under construction. Keeps the first error; later calls then do nothing. */
struct builder {
	struct topology *topology;
	double MBps;
	struct error *err;
	int code;
};

static uint32_t add_node(struct builder *builder, enum topology_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static uint32_t add_node(struct builder *builder, enum topology_kind kind, const char *format, ...)
{
	char name[TOPOLOGY_NAME_BYTES];
	int64_t node = 0;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof name, format, arguments);
	va_end(arguments);
	if (builder->code == 0)
		node = topology_add_node(builder->topology, kind, name, builder->err);
	if (node < 0)
		builder->code = (int)node;
	return node < 0 ? 0 : (uint32_t)node;
}

static void add_link(struct builder *builder, uint32_t a, uint32_t b)
{
	int64_t link = 0;

	if (builder->code == 0)
		link = topology_add_link(builder->topology, a, b, builder->MBps, builder->MBps, builder->err);
	if (link < 0)
		builder->code = (int)link;
}

static struct builder begin(double MBps, struct error *err)
{
	struct builder builder = {.topology = topology_create(), .MBps = MBps, .err = err};

	if (!builder.topology)
		builder.code = error_set(err, ENOMEM, "out of memory");
	return builder;
}

static struct topology *finish(struct builder *builder)
{
	if (builder->code == 0)
		return builder->topology;
	topology_destroy(builder->topology);
	return NULL;
}

/*
 * Adds only the switches that the hosts need: aggregation switches if there is more than one edge switch, and core
 * switches if there is more than one pod.
 */
struct topology *topology_fat_tree(uint32_t k, uint32_t hosts, double MBps, struct error *err)
{
	uint32_t half = k / 2, full = k * half * half, edges, pods, host = 0;
	uint32_t core[FAT_TREE_K_MAXIMUM / 2 * FAT_TREE_K_MAXIMUM / 2], aggregation[FAT_TREE_K_MAXIMUM / 2];
	struct builder builder;

	if (k < 2 || k > FAT_TREE_K_MAXIMUM || k % 2 != 0) {
		error_set(err, EINVAL, "bad k %u; expected an even number from 2 to %d", k, FAT_TREE_K_MAXIMUM);
		return NULL;
	}
	hosts = hosts ? hosts : full;
	if (hosts > full) {
		error_set(err, EINVAL, "%u hosts; a Fat-tree with k = %u has at most %u", hosts, k, full);
		return NULL;
	}
	edges = (hosts + half - 1) / half;
	pods = (edges + half - 1) / half;
	builder = begin(MBps, err);
	for (uint32_t c = 0; pods > 1 && c < half * half; c++)
		core[c] = add_node(&builder, TOPOLOGY_SWITCH, "core%u", c);
	for (uint32_t p = 0; p < pods; p++) {
		uint32_t of_pod = p + 1 < pods ? half : edges - p * half;

		for (uint32_t a = 0; edges > 1 && a < half; a++) {
			aggregation[a] = add_node(&builder, TOPOLOGY_SWITCH, "agg%u.%u", p, a);
			for (uint32_t c = 0; pods > 1 && c < half; c++)
				add_link(&builder, aggregation[a], core[a * half + c]);
		}
		for (uint32_t e = 0; e < of_pod; e++) {
			uint32_t edge = add_node(&builder, TOPOLOGY_SWITCH, "edge%u.%u", p, e);

			for (uint32_t a = 0; edges > 1 && a < half; a++)
				add_link(&builder, edge, aggregation[a]);
			for (uint32_t h = 0; h < half && host < hosts; h++, host++)
				add_link(&builder, add_node(&builder, TOPOLOGY_HOST, "h%u", host), edge);
		}
	}
	return finish(&builder);
}

static struct topology *leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts, double MBps, struct error *err)
{
	struct builder builder;

	if (leaves == 0 || spines == 0 || hosts == 0 || (uint64_t)leaves + spines + hosts > TOPOLOGY_NODES_MAXIMUM) {
		error_set(err, EINVAL, "%u leaves, %u spines, %u hosts; expected at least one each, at most %d in all",
			  leaves, spines, hosts, TOPOLOGY_NODES_MAXIMUM);
		return NULL;
	}
	builder = begin(MBps, err);
	for (uint32_t s = 0; s < spines; s++)
		add_node(&builder, TOPOLOGY_SWITCH, "spine%u", s);
	for (uint32_t l = 0; l < leaves; l++) {
		uint32_t leaf = add_node(&builder, TOPOLOGY_SWITCH, "leaf%u", l);

		for (uint32_t s = 0; s < spines; s++)
			add_link(&builder, leaf, s);
	}
	for (uint32_t h = 0; h < hosts; h++)
		add_link(&builder, add_node(&builder, TOPOLOGY_HOST, "h%u", h),
			 spines + (uint32_t)((uint64_t)h * leaves / hosts));
	return finish(&builder);
}

/* A simple graph of switches with fixed degrees, whose edges are swapped at random. */
struct wiring {
	uint32_t switches, edges;
	uint32_t (*ends)[2];       /* the two switches that each edge joins */
	uint32_t (*free_ports)[2]; /* [switches] {number of free ports, switch}, sorted: most free ports first */
	struct hash_table pairs;   /* pair of joined switches -> index of the edge in ends[] */
	struct rng rng;
};

static void wiring_free(struct wiring *wiring)
{
	free(wiring->ends);
	free(wiring->free_ports);
	hash_table_free(&wiring->pairs);
}

static uint64_t wiring_key(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

static int more_ports_first(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return a[0] != b[0] ? (a[0] < b[0]) - (a[0] > b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

/*
 * Algorithm of Havel and Hakimi: repeatedly joins the switch that has the most free ports to the switches that have the
 * next most. Ports for which no partner is left stay free, such as one port if their number is odd.
 */
static int wire(struct wiring *wiring)
{
	for (uint32_t round = 0; round < wiring->switches; round++) {
		uint32_t(*of)[2] = wiring->free_ports, ports, to = 1;

		qsort(of, wiring->switches, sizeof *of, more_ports_first);
		for (ports = of[0][0]; ports > 0 && to < wiring->switches && of[to][0] > 0; ports--, to++) {
			of[to][0]--;
			wiring->ends[wiring->edges][0] = of[0][1];
			wiring->ends[wiring->edges][1] = of[to][1];
			if (hash_table_insert(&wiring->pairs, wiring_key(of[0][1], of[to][1]), wiring->edges) < 0)
				return -ENOMEM;
			wiring->edges++;
		}
		of[0][0] = 0;
	}
	return 0;
}

static bool joined(const struct wiring *wiring, uint32_t a, uint32_t b)
{
	return hash_table_find(&wiring->pairs, wiring_key(a, b)) != HASH_TABLE_NONE;
}

static void rejoin(struct wiring *wiring, uint32_t edge, uint32_t a, uint32_t b)
{
	uint32_t *ends = wiring->ends[edge];

	hash_table_remove(&wiring->pairs, hash_table_first(&wiring->pairs, wiring_key(ends[0], ends[1])));
	ends[0] = a;
	ends[1] = b;
	(void)hash_table_insert(&wiring->pairs, wiring_key(a, b), edge); /* cannot fail: a slot was just freed */
}

/*
 * Repeats `count` times: chooses two edges a-b and c-d at random, and replaces them by a-d and c-b if these are new and
 * join different switches. Such swaps can reach every simple graph with these degrees.
 */
static void swap_edges(struct wiring *wiring, uint32_t count)
{
	for (uint32_t i = 0; i < count && wiring->edges > 1; i++) {
		uint32_t one = (uint32_t)rng_below(&wiring->rng, wiring->edges),
			 side = (uint32_t)rng_below(&wiring->rng, 2);
		uint32_t two = (uint32_t)rng_below(&wiring->rng, wiring->edges);
		uint32_t a = wiring->ends[one][side], b = wiring->ends[one][!side];
		uint32_t c = wiring->ends[two][0], d = wiring->ends[two][1];

		if (a == d || b == c || a == c || b == d || joined(wiring, a, d) || joined(wiring, c, b))
			continue;
		rejoin(wiring, one, a, d);
		rejoin(wiring, two, c, b);
	}
}

static struct topology *jellyfish_build(const struct wiring *wiring, uint32_t hosts, double MBps, struct error *err)
{
	struct builder builder = begin(MBps, err);

	for (uint32_t s = 0; s < wiring->switches; s++)
		add_node(&builder, TOPOLOGY_SWITCH, "s%u", s);
	for (uint32_t e = 0; e < wiring->edges; e++)
		add_link(&builder, wiring->ends[e][0], wiring->ends[e][1]);
	for (uint32_t h = 0; h < hosts; h++)
		add_link(&builder, add_node(&builder, TOPOLOGY_HOST, "h%u", h), h % wiring->switches);
	return finish(&builder);
}

static struct topology *jellyfish_connected(struct wiring *wiring, uint32_t hosts, double MBps, struct error *err)
{
	if (wire(wiring) < 0) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	for (int try = 0; try < JELLYFISH_TRIES; try++) {
		struct topology *topology;

		swap_edges(wiring, 10 * wiring->edges);
		topology = jellyfish_build(wiring, hosts, MBps, err);
		if (!topology || topology_connected(topology) == 1)
			return topology;
		topology_destroy(topology);
	}
	error_set(err, EINVAL, "no connected network found; expected more ports per switch");
	return NULL;
}

struct topology *topology_jellyfish(uint32_t switches, uint32_t ports, uint32_t hosts, double MBps, uint64_t seed,
				    struct error *err)
{
	struct wiring wiring = {.switches = switches};
	uint32_t most = switches ? (hosts + switches - 1) / switches : 0;
	struct topology *topology = NULL;

	if (switches == 0 || switches > JELLYFISH_SWITCHES_MAXIMUM || hosts == 0 ||
	    (uint64_t)switches + hosts > TOPOLOGY_NODES_MAXIMUM || ports > UINT16_MAX ||
	    ports < most + (switches > 1) || ports - most >= switches + (switches == 1)) {
		error_set(err, EINVAL,
			  "%u switches, %u ports, %u hosts; expected more ports than hosts per switch and fewer links "
			  "per switch "
			  "than switches",
			  switches, ports, hosts);
		return NULL;
	}
	rng_seed(&wiring.rng, seed);
	wiring.ends = calloc((size_t)switches * ports / 2 + 1, sizeof *wiring.ends);
	wiring.free_ports = calloc(switches, sizeof *wiring.free_ports);
	for (uint32_t s = 0; wiring.free_ports && s < switches; s++) {
		uint32_t of_hosts = hosts / switches + (s < hosts % switches);

		wiring.free_ports[s][0] = switches == 1 ? 0 : ports - of_hosts;
		wiring.free_ports[s][1] = s;
	}
	if (wiring.ends && wiring.free_ports)
		topology = jellyfish_connected(&wiring, hosts, MBps, err);
	else
		error_set(err, ENOMEM, "out of memory");
	wiring_free(&wiring);
	return topology;
}

static bool numbers_after(const char *argument, const char *prefix, uint32_t *numbers, int minimum, int maximum)
{
	size_t length = strlen(prefix);
	int count = 0, used = 0;

	if (strncmp(argument, prefix, length) != 0)
		return false;
	for (argument += length;; argument += used + 1) {
		if (argument[0] < '0' || argument[0] > '9' || sscanf(argument, "%9u%n", &numbers[count], &used) != 1)
			return false;
		count++;
		if (argument[used] != ',' || count == maximum)
			break;
	}
	return count >= minimum && argument[used] == '\0';
}

struct topology *topology_from_argument(const char *argument, double MBps, uint64_t seed, struct error *err)
{
	uint32_t numbers[3] = {0};
	struct stat status;

	if (numbers_after(argument, "fattree:", numbers, 1, 2))
		return topology_fat_tree(numbers[0], numbers[1], MBps, err);
	if (numbers_after(argument, "jellyfish:", numbers, 2, 2))
		return topology_jellyfish(numbers[0], numbers[1], numbers[0], MBps, seed, err);
	if (numbers_after(argument, "jellyfish:", numbers, 3, 3))
		return topology_jellyfish(numbers[0], numbers[1], numbers[2], MBps, seed, err);
	if (numbers_after(argument, "leafspine:", numbers, 3, 3))
		return leaf_spine(numbers[0], numbers[1], numbers[2], MBps, err);
	if (strncmp(argument, "fattree:", 8) == 0 || strncmp(argument, "jellyfish:", 10) == 0 ||
	    strncmp(argument, "leafspine:", 10) == 0) {
		error_set(err, EINVAL,
			  "bad network '%s'; expected fattree:K[,HOSTS], jellyfish:SWITCHES,PORTS[,HOSTS] or "
			  "leafspine:LEAVES,SPINES,HOSTS",
			  argument);
		return NULL;
	}
	if (stat(argument, &status) == 0 && S_ISDIR(status.st_mode))
		return topology_read_lldp(argument, MBps, err);
	return topology_read(argument, MBps, err);
}
