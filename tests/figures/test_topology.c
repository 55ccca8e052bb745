/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <figures/figures.h>
#include <plot/chart.h>

enum { MOST = 600 };

static struct network_picture drawn;
static struct network_picture_node nodes[MOST];
static struct network_picture_link links[MOST];
static char title[80], subtitle[160];

/* Takes the place of the function that draws: keeps a copy of the picture. */
int network_picture_save(const struct network_picture *picture, const char *path, struct error *err)
{
	drawn = *picture;
	cr_assert(picture->node_count <= MOST && picture->link_count <= MOST);
	memcpy(nodes, picture->nodes, picture->node_count * sizeof *nodes);
	memcpy(links, picture->links, picture->link_count * sizeof *links);
	snprintf(title, sizeof title, "%s", picture->title);
	snprintf(subtitle, sizeof subtitle, "%s", picture->subtitle);
	return strcmp(path, "a.svg") == 0 ? 0 : error_set(err, EINVAL, "%s", path);
}

static double loads[2 * MOST];

/* The picture's nodes keep the names of the topology, which must outlive them. */
static void draw(const struct topology *topology)
{
	struct error err = {0};

	cr_assert_eq(figures_topology_save(topology, loads, "a network", "a.svg", &err), 0, "%s", err.text);
}

static void check_node(const struct topology *topology, const char *name, double x, double y, bool labelled)
{
	int64_t node = topology_find_node(topology, name);

	cr_assert_geq(node, 0, "%s", name);
	cr_expect_float_eq(nodes[node].x, x, 1e-9, "%s: %g", name, nodes[node].x);
	cr_expect_float_eq(nodes[node].y, y, 1e-9, "%s: %g", name, nodes[node].y);
	cr_expect_eq(nodes[node].box, topology->nodes[node].kind == TOPOLOGY_SWITCH);
	cr_expect_eq(nodes[node].label != NULL, labelled, "%s", name);
	cr_expect(!labelled || strcmp(nodes[node].label, name) == 0);
}

static uint32_t add(struct topology *topology, enum topology_kind kind, const char *name)
{
	return (uint32_t)topology_add_node(topology, kind, name, NULL);
}

static void join(struct topology *topology, uint32_t a, uint32_t b, double MBps, double back_MBps)
{
	cr_assert_geq(topology_add_link(topology, a, b, MBps, back_MBps, NULL), 0);
}

/* Two leaves under a spine, and a switch that no host reaches, which is drawn in the upper row. */
Test(figures_topology, switches_are_in_rows_by_their_distance_from_the_hosts)
{
	struct topology *topology = topology_create();
	uint32_t spine = add(topology, TOPOLOGY_SWITCH, "spine"), h1 = add(topology, TOPOLOGY_HOST, "h1");
	uint32_t leaf1 = add(topology, TOPOLOGY_SWITCH, "leaf1"), leaf2 = add(topology, TOPOLOGY_SWITCH, "leaf2");
	uint32_t h2 = add(topology, TOPOLOGY_HOST, "h2"), h3 = add(topology, TOPOLOGY_HOST, "h3");

	add(topology, TOPOLOGY_SWITCH, "alone");
	join(topology, h1, leaf1, 100, 100);
	join(topology, leaf1, h2, 100, 50);
	join(topology, h3, leaf2, 100, 100);
	join(topology, leaf1, spine, 200, 200);
	join(topology, spine, leaf2, 10, 10);
	topology->links[3].up = false;
	memset(loads, 0, sizeof loads);
	loads[0] = 25;
	loads[1] = 50;
	loads[3] = 10; /* of 50 */
	loads[8] = 6;
	draw(topology);
	check_node(topology, "h1", 0.5 / 3, 1, true);
	check_node(topology, "h2", 1.5 / 3, 1, true);
	check_node(topology, "h3", 2.5 / 3, 1, true);
	check_node(topology, "leaf1", 0.25, 0.5, true);
	check_node(topology, "leaf2", 0.75, 0.5, true);
	check_node(topology, "spine", 0.25, 0, true);
	check_node(topology, "alone", 0.75, 0, true);
	cr_expect_str_eq(title, "a network");
	cr_expect_str_eq(subtitle, "3 hosts, 4 switches, 5 links; the busiest direction carries 60 %");
	cr_expect_str_eq(drawn.unit, "load of a direction (% of its capacity)");
	cr_expect_eq(drawn.node_count, 7);
	cr_expect_eq(drawn.link_count, 5);
	cr_expect_eq(drawn.width, 700, "the least width");
	cr_expect_eq(drawn.height, 110 + 3 * 150);
	for (uint32_t l = 0; l < 5; l++) {
		static const double forwards[] = {0.25, 0, 0, 0, 0.6}, backwards[] = {0.5, 0.2, 0, 0, 0};

		cr_expect_eq(links[l].a, topology->links[l].a);
		cr_expect_eq(links[l].b, topology->links[l].b);
		cr_expect_float_eq(links[l].forwards, forwards[l], 1e-12);
		cr_expect_float_eq(links[l].backwards, backwards[l], 1e-12);
		cr_expect_eq(links[l].down, l == 3);
	}
	loads[0] = 250;
	loads[9] = 11;
	draw(topology);
	cr_expect(links[0].forwards == 1 && links[4].backwards == 1, "no load is over the capacity");
	topology_destroy(topology);
}

Test(figures_topology, a_row_has_labels_if_all_fit)
{
	static const struct {
		int hosts, width;
		bool labelled;
	} cases[] = {{14, 700, true}, {15, 710, true}, {16, 744, true}, {112, 4000, true}, {113, 4000, false}};

	memset(loads, 0, sizeof loads);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct topology *topology = topology_create();
		uint32_t leaf = add(topology, TOPOLOGY_SWITCH, "leaf");

		for (int h = 0; h < cases[i].hosts; h++) {
			char name[16];

			snprintf(name, sizeof name, "h%d", h);
			join(topology, leaf, add(topology, TOPOLOGY_HOST, name), 1, 1);
		}
		draw(topology);
		check_node(topology, "leaf", 0.5, 0, true);
		check_node(topology, "h0", 0.5 / cases[i].hosts, 1, cases[i].labelled);
		cr_expect_eq(drawn.width, cases[i].width, "%d: %d", cases[i].hosts, drawn.width);
		cr_expect_eq(drawn.height, 110 + 2 * 150);
		cr_expect_str_eq(strstr(subtitle, "; the"), "; the busiest direction carries 0 %");
		topology_destroy(topology);
	}
}

/* `switches` in a ring, each with `hosts` hosts. */
static struct topology *ring(uint32_t switches, uint32_t hosts)
{
	struct topology *topology = topology_create();

	for (uint32_t s = 0; s < switches; s++) {
		char name[16];

		snprintf(name, sizeof name, "s%u", s);
		add(topology, TOPOLOGY_SWITCH, name);
	}
	for (uint32_t s = 0; s < switches; s++) {
		for (uint32_t h = 0; h < hosts; h++) {
			char name[24];

			snprintf(name, sizeof name, "s%uh%u", s, h);
			join(topology, add(topology, TOPOLOGY_HOST, name), s, 1, 1);
		}
		if (switches > 2 || s == 0)
			join(topology, s, (s + 1) % switches, 1, 1);
	}
	return topology;
}

Test(figures_topology, switches_that_all_have_hosts_are_on_a_circle)
{
	struct topology *topology = ring(4, 2);
	double aside = M_PI / 8;

	draw(topology);
	check_node(topology, "s0", 0.86, 0.5, true);
	check_node(topology, "s1", 0.5, 0.86, true);
	check_node(topology, "s2", 0.14, 0.5, true);
	check_node(topology, "s3", 0.5, 0.14, true);
	check_node(topology, "s0h0", 0.5 + 0.48 * cos(aside), 0.5 - 0.48 * sin(aside), true);
	check_node(topology, "s0h1", 0.5 + 0.48 * cos(aside), 0.5 + 0.48 * sin(aside), true);
	check_node(topology, "s1h0", 0.5 + 0.48 * sin(aside), 0.5 + 0.48 * cos(aside), true);
	check_node(topology, "s1h1", 0.5 - 0.48 * sin(aside), 0.5 + 0.48 * cos(aside), true);
	cr_expect_eq(drawn.width, 920);
	cr_expect_eq(drawn.height, 820);
	topology_destroy(topology);
	topology = ring(2, 1);
	draw(topology);
	check_node(topology, "s0", 0.25, 0, true);
	cr_expect_eq(drawn.height, 110 + 2 * 150, "two switches are no circle");
	topology_destroy(topology);
}

Test(figures_topology, a_circle_has_up_to_sixty_labels)
{
	struct topology *topology = ring(60, 1);

	draw(topology);
	check_node(topology, "s0", 0.86, 0.5, true);
	check_node(topology, "s0h0", 0.98, 0.5, true);
	topology_destroy(topology);
	topology = ring(61, 1);
	draw(topology);
	check_node(topology, "s0", 0.86, 0.5, false);
	check_node(topology, "s0h0", 0.98, 0.5, false);
	topology_destroy(topology);
	topology = ring(31, 2);
	draw(topology);
	check_node(topology, "s0", 0.86, 0.5, true);
	cr_expect_null(nodes[topology_find_node(topology, "s0h0")].label);
	topology_destroy(topology);
}

Test(figures_topology, hosts_alone_are_in_the_middle_and_errors_come_back)
{
	struct topology *topology = topology_create();
	struct error err = {0};

	add(topology, TOPOLOGY_HOST, "h1");
	draw(topology);
	check_node(topology, "h1", 0.5, 0.5, true);
	cr_assert_eq(figures_topology_save(topology, loads, "t", "b.svg", &err), -EINVAL);
	topology_destroy(topology);
}
