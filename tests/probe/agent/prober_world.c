/* SPDX-License-Identifier: BSD-3-Clause */
#include "prober_world.h"

#include <criterion/criterion.h>

/* A counter that started at the epoch: CLOCK_COUNTER and CLOCK_WALL show the same time. */
static struct dp_clock fake_clock = {
	.ns_per_cycle = 1,
	.latest = {.counter_ns = INT64_C(1795188663000000000), .wall_ns = INT64_C(1795188663000000000)},
};

struct peer hosts[] = {
	{.name = "self", .address = 1},
	{.name = "a", .address = 2, .has_mac = true, .mac = {2, 0, 0, 0, 0, 2}},
	{.name = "b", .address = 3, .has_mac = true, .mac = {2, 0, 0, 0, 0, 3}},
	{.name = "c", .address = 4, .has_mac = true, .mac = {2, 0, 0, 0, 0, 4}},
};

struct agent_options options_for(uint32_t paths)
{
	return (struct agent_options){.address = 1,
				      .udp_port = 862,
				      .paths = paths,
				      .interval = {3 * NS_PER_MS},
				      .timeout = {100 * NS_PER_MS},
				      .slots = 1,
				      .stall = {100 * NS_PER_US},
				      .seed = 42};
}

struct agent_options options;
struct neighbours neighbours;
struct prober prober;
struct prober_probe probe;
struct agent_row row;

void make_with(const struct peer *items, size_t count)
{
	struct error err = {0};

	cr_assert_eq(prober_create(&prober, &options, &fake_clock, &err), 0, "%s", err.text);
	for (size_t i = 0; i < count; i++)
		cr_assert_eq(prober_add(&prober, &items[i], &neighbours, &err), 0, "%s", err.text);
}

struct stamp at(int64_t ns)
{
	return stamp_at(CLOCK_COUNTER, ns);
}

void take_window(size_t index, int64_t now)
{
	static struct agent_path_row paths[256];

	if (!row.paths) {
		row.paths = paths;
		row.rtt = prober_histogram(&prober, PROBER_ROOM);
		row.undisturbed = prober_histogram(&prober, PROBER_ROOM);
		row.residence = prober_histogram(&prober, PROBER_ROOM);
		row.forward = prober_histogram(&prober, PROBER_ROOM);
		row.backward = prober_histogram(&prober, PROBER_ROOM);
		for (row.path_count = 0; row.path_count < options.paths; row.path_count++)
			paths[row.path_count].rtt = prober_histogram(&prober, PROBER_ROOM);
	}
	prober_window(&prober, index, at(now), &row);
}

void tear_down(void)
{
	prober_free(&prober);
	neighbours_free(&neighbours);
	for (uint32_t i = 0; i < row.path_count; i++)
		histogram_destroy(row.paths[i].rtt);
	histogram_destroy(row.rtt);
	histogram_destroy(row.undisturbed);
	histogram_destroy(row.residence);
	histogram_destroy(row.forward);
	histogram_destroy(row.backward);
	row = (struct agent_row){0};
}
