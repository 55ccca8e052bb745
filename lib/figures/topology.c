/* SPDX-License-Identifier: BSD-3-Clause */
#include <figures/figures.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <plot/chart.h>

/* Pixels. A row has labels if each of its nodes has NODE_WIDTH (switches) or HOST_WIDTH (hosts). */
enum { ROW_HEIGHT = 150, NODE_WIDTH = 64, HOST_WIDTH = 34, WIDTH_LEAST = 700, WIDTH_MOST = 4000, CIRCLE = 820 };

struct plan {
	const struct topology *topology;
	struct topology_adjacency *adjacency;
	uint32_t *row;   /* row of each node: 0 for hosts, 1 for switches with hosts, 2 for the neighbours of those, and
			    so on */
	uint32_t *order; /* nodes, row by row */
	uint32_t *first; /* [rows + 1]: index in order[] of each row's first node */
	uint32_t rows;
	struct network_picture_node *nodes;
	struct network_picture_link *links;
};

/* Breadth-first search from all hosts at once fills row[] and order[]. */
static void find_rows(struct plan *plan)
{
	const struct topology *topology = plan->topology;
	uint32_t head = 0, tail = 0;

	for (uint32_t n = 0; n < topology->node_count; n++) {
		plan->row[n] = topology->nodes[n].kind == TOPOLOGY_HOST ? 0 : UINT32_MAX;
		if (plan->row[n] == 0)
			plan->order[tail++] = n;
	}
	while (head < tail) {
		uint32_t node = plan->order[head++];

		for (uint32_t i = plan->adjacency->first[node]; i < plan->adjacency->first[node + 1]; i++) {
			uint32_t next = plan->adjacency->to[i];

			if (plan->row[next] != UINT32_MAX)
				continue;
			plan->row[next] = plan->row[node] + 1;
			plan->order[tail++] = next;
		}
	}
	for (uint32_t n = 0; n < topology->node_count; n++)
		if (plan->row[n] == UINT32_MAX) { /* not connected to any host */
			plan->row[n] = tail > 0 ? plan->row[plan->order[tail - 1]] : 0;
			plan->order[tail++] = n;
		}
	plan->rows = topology->node_count > 0 ? plan->row[plan->order[tail - 1]] + 1 : 0;
	for (uint32_t i = 0, row = 0; i <= topology->node_count; i++)
		while (row <= plan->rows && (i == topology->node_count || plan->row[plan->order[i]] >= row))
			plan->first[row++] = i;
}

/* Sets the positions of the nodes, row by row. Row 0 is at the bottom. */
static void place_in_rows(struct plan *plan)
{
	for (uint32_t row = 0; row < plan->rows; row++) {
		uint32_t count = plan->first[row + 1] - plan->first[row];

		for (uint32_t i = 0; i < count; i++) {
			struct network_picture_node *node = &plan->nodes[plan->order[plan->first[row] + i]];

			node->x = (i + 0.5) / count;
			node->y = plan->rows > 1 ? 1 - (double)row / (plan->rows - 1) : 0.5;
		}
	}
}

/* Places the switches on a circle, and the hosts of each switch near it on a larger circle. */
static void place_on_circle(struct plan *plan)
{
	const struct topology *topology = plan->topology;
	const uint32_t *switches = plan->order + plan->first[1];
	uint32_t count = plan->first[2] - plan->first[1];

	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = switches[i], hosts = 0, at = 0;
		double angle = 2 * M_PI * i / count, step = 2 * M_PI / count;

		plan->nodes[node].x = 0.5 + 0.36 * cos(angle);
		plan->nodes[node].y = 0.5 + 0.36 * sin(angle);
		for (uint32_t l = plan->adjacency->first[node]; l < plan->adjacency->first[node + 1]; l++)
			hosts += topology->nodes[plan->adjacency->to[l]].kind == TOPOLOGY_HOST;
		for (uint32_t l = plan->adjacency->first[node]; l < plan->adjacency->first[node + 1]; l++) {
			uint32_t host = plan->adjacency->to[l];
			double aside = angle + step * ((at + 0.5) / hosts - 0.5);

			if (topology->nodes[host].kind != TOPOLOGY_HOST)
				continue;
			plan->nodes[host].x = 0.5 + 0.48 * cos(aside);
			plan->nodes[host].y = 0.5 + 0.48 * sin(aside);
			at++;
		}
	}
}

static bool is_circle(const struct plan *plan)
{
	return plan->rows == 2 && plan->first[2] - plan->first[1] > 2;
}

static uint32_t widest_row(const struct plan *plan)
{
	uint32_t most = 1;

	for (uint32_t row = 0; row < plan->rows; row++)
		if (plan->first[row + 1] - plan->first[row] > most)
			most = plan->first[row + 1] - plan->first[row];
	return most;
}

/*
 * Gives a label to each node whose row is narrow enough for all its labels to fit. On a circle, gives labels to the
 * switches or to the hosts if there are at most 60 of them.
 */
static void label_nodes(struct plan *plan, int width)
{
	for (uint32_t n = 0; n < plan->topology->node_count; n++) {
		uint32_t row = plan->row[n], beside = plan->first[row + 1] - plan->first[row];
		bool box = plan->topology->nodes[n].kind == TOPOLOGY_SWITCH;
		int needed = (int)beside * (box ? NODE_WIDTH : HOST_WIDTH);

		plan->nodes[n].box = box;
		if (is_circle(plan) ? beside <= 60 : needed <= width)
			plan->nodes[n].label = plan->topology->nodes[n].name;
	}
}

/* Fills the picture's links with their load, as a share of their capacity. Returns the highest load, 0..1. */
static double load_links(struct plan *plan, const double *MBps)
{
	double most = 0;

	for (uint32_t l = 0; l < plan->topology->link_count; l++) {
		const struct topology_link *link = &plan->topology->links[l];

		plan->links[l] = (struct network_picture_link){.a = link->a,
							       .b = link->b,
							       .forwards = fmin(MBps[2 * l] / link->MBps, 1),
							       .backwards = fmin(MBps[2 * l + 1] / link->back_MBps, 1),
							       .down = !link->up};
		most = fmax(most, fmax(plan->links[l].forwards, plan->links[l].backwards));
	}
	return most;
}

static int draw(struct plan *plan, const double *MBps, const char *title, const char *path, struct error *err)
{
	double most = load_links(plan, MBps);
	int width = (int)widest_row(plan) * HOST_WIDTH + 200;
	char subtitle[160];
	struct network_picture picture = {.title = title,
					  .subtitle = subtitle,
					  .unit = "load of a direction (% of its capacity)",
					  .nodes = plan->nodes,
					  .links = plan->links,
					  .node_count = plan->topology->node_count,
					  .link_count = plan->topology->link_count};

	snprintf(subtitle, sizeof subtitle, "%u hosts, %u switches, %u links; the busiest direction carries %.0f %%",
		 plan->topology->host_count, plan->topology->node_count - plan->topology->host_count,
		 plan->topology->link_count, 100 * most);
	width = width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : width;
	picture.width = is_circle(plan) ? CIRCLE + 100 : width;
	picture.height = is_circle(plan) ? CIRCLE : 110 + (int)plan->rows * ROW_HEIGHT;
	if (is_circle(plan))
		place_on_circle(plan);
	else
		place_in_rows(plan);
	label_nodes(plan, width - 160);
	return network_picture_save(&picture, path, err);
}

int figures_topology_save(const struct topology *topology, const double *MBps, const char *title, const char *path,
			  struct error *err)
{
	size_t nodes = topology->node_count;
	struct plan plan = {.topology = topology, .adjacency = topology_adjacency_create(topology)};
	int code = -ENOMEM;

	plan.row = malloc((nodes + 1) * sizeof *plan.row);
	plan.order = malloc((nodes + 1) * sizeof *plan.order);
	plan.first = calloc(nodes + 2, sizeof *plan.first);
	plan.nodes = calloc(nodes + 1, sizeof *plan.nodes);
	plan.links = calloc((size_t)topology->link_count + 1, sizeof *plan.links);
	if (plan.adjacency && plan.row && plan.order && plan.first && plan.nodes && plan.links) {
		find_rows(&plan);
		code = draw(&plan, MBps, title, path, err);
	} else {
		error_set(err, ENOMEM, "out of memory");
	}
	topology_adjacency_destroy(plan.adjacency);
	free(plan.row);
	free(plan.order);
	free(plan.first);
	free(plan.nodes);
	free(plan.links);
	return code;
}
