/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <probe/plan/plan.h>

#include "../../support/fail_in_turn.h"

enum { NAMES = 72, RACK = 12, HOURS = 72, EPOCHS = HOURS * 60, REFRESH = 180 };

static struct mesh_plan *plan;
static struct error err;
static uint8_t lists[NAMES][NAMES], before[NAMES][NAMES]; /* by names: whether the first probes the second */
static bool active[NAMES];
static int number_of[NAMES]; /* number in the plan, -1 = not in it */

static void join(int name)
{
	char host[16], rack[16], pod[16];

	snprintf(host, sizeof host, "h%d", name);
	snprintf(rack, sizeof rack, "r%d", name / RACK);
	snprintf(pod, sizeof pod, "p%d", name / RACK / 3);
	number_of[name] = (int)mesh_plan_join(plan, host, rack, pod, &err);
	cr_assert_geq(number_of[name], 0, "%s", err.text);
	active[name] = true;
}

static void drain(int name)
{
	mesh_plan_drain(plan, (uint32_t)number_of[name]);
	active[name] = false;
}

static void leave(int name)
{
	mesh_plan_leave(plan, (uint32_t)number_of[name]);
	number_of[name] = -1;
	active[name] = false;
}

static void read_lists(void)
{
	uint32_t peers[NAMES];

	memcpy(before, lists, sizeof lists);
	memset(lists, 0, sizeof lists);
	for (int from = 0; from < NAMES; from++) {
		size_t count = number_of[from] < 0 ? 0 : mesh_plan_list(plan, (uint32_t)number_of[from], peers);

		for (size_t i = 0; i < count; i++) {
			int to = atoi(mesh_plan_name(plan, peers[i]) + 1);

			cr_assert(active[from] && active[to] && from != to);
			cr_assert_eq(lists[from][to]++, 0, "h%d probes h%d twice", from, to);
		}
	}
}

static void check_racks(void)
{
	for (int from = 0; from < NAMES; from++)
		for (int to = 0; to < NAMES; to++)
			if (from != to && from / RACK == to / RACK && active[from] && active[to])
				cr_assert(lists[from][to], "a rack is a complete graph: h%d, h%d", from, to);
}

static void check_caps(const struct mesh_budget *budget)
{
	int out[NAMES] = {0}, in[NAMES] = {0}, link[NAMES / RACK] = {0};

	for (int from = 0; from < NAMES; from++)
		for (int to = 0; to < NAMES; to++) {
			out[from] += lists[from][to];
			in[to] += lists[from][to];
			link[from / RACK] += from / RACK == to / RACK ? 0 : lists[from][to];
			link[to / RACK] += from / RACK == to / RACK ? 0 : lists[from][to];
		}
	for (int i = 0; i < NAMES; i++) {
		cr_assert_leq(out[i], budget->host_pps * budget->interval_s);
		cr_assert_leq(in[i], budget->reflector_pps * budget->interval_s);
		cr_assert_leq(link[i / RACK], budget->link_pps * budget->interval_s);
	}
}

/* Hosts that join, leave or are drained change other hosts' lists only by their own entries. */
static void check_change(int name)
{
	read_lists();
	check_racks();
	for (int from = 0; from < NAMES; from++)
		for (int to = 0; to < NAMES; to++)
			if (from != name && to != name)
				cr_assert_eq(lists[from][to], before[from][to]);
}

static int since[NAMES][NAMES]; /* epoch of the last probe, or since which both hosts are in the plan */

static void check_ages(int epoch)
{
	for (int from = 0; from < NAMES; from++)
		for (int to = 0; to < NAMES; to++) {
			if (from == to || !active[from] || !active[to] || lists[from][to])
				since[from][to] = epoch;
			cr_assert_leq(epoch - since[from][to], REFRESH, "h%d, h%d: not for %d epochs", from, to,
				      epoch - since[from][to]);
		}
}

static void churn(struct rng *rng)
{
	int name = (int)rng_below(rng, NAMES);

	if (active[name] && rng_below(rng, 2))
		drain(name);
	else if (number_of[name] >= 0 && rng_below(rng, 3) == 0)
		leave(name);
	else
		join(name);
	check_change(name);
}

/* The plan is sometimes written to its file and read back. */
static void reload(void)
{
	json_t *root = mesh_plan_to_json(plan);

	mesh_plan_destroy(plan);
	plan = mesh_plan_from_json("plan", root, &err);
	cr_assert_not_null(plan, "%s", err.text);
	json_decref(root);
	for (int i = 0; i < NAMES; i++) {
		char host[16];

		snprintf(host, sizeof host, "h%d", i);
		cr_assert_eq(number_of[i] >= 0, mesh_plan_find(plan, host) >= 0);
		number_of[i] = (int)mesh_plan_find(plan, host);
	}
	read_lists();
	cr_assert_arr_eq(lists, before, sizeof lists);
}

static void live(bool pods)
{
	/* 11 peers in the rack and up to 12 in others; the links have slightly more capacity than needed. */
	const struct mesh_budget budget = {.interval_s = 0.01,
					   .host_pps = 2300,
					   .reflector_pps = 2300,
					   .link_pps = pods ? 16000 : 20000,
					   .epoch_s = 60,
					   .refresh_s = 60 * REFRESH,
					   .pods = pods};
	struct rng rng;

	rng_seed(&rng, 19);
	plan = mesh_plan_create();
	memset(number_of, -1, sizeof number_of);
	for (int i = 0; i < NAMES; i += 1 + i % 3)
		join(i);
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		cr_assert_eq(mesh_plan_rotate(plan, &budget, &err), 0, "%s", err.text);
		read_lists();
		check_racks();
		check_caps(&budget);
		check_ages(epoch);
		if (epoch % 5 == 0)
			churn(&rng);
		if (epoch % 97 == 0)
			reload();
	}
	mesh_plan_destroy(plan);
}

Test(mesh_plan, seventy_two_hours_by_racks)
{
	live(false);
}

Test(mesh_plan, seventy_two_hours_by_pods)
{
	live(true);
}

/* At any time every ordered pair of racks has a pair of hosts, and every host has about the same share. */
Test(mesh_plan, spreads_sessions_evenly)
{
	const struct mesh_budget budget = {.interval_s = 1, .epoch_s = 1, .refresh_s = 1000};
	struct mesh_plan_load load;

	plan = mesh_plan_create();
	for (int i = 0; i < NAMES; i++)
		join(i);
	for (int epoch = 0; epoch < 300; epoch++) {
		cr_assert_eq(mesh_plan_rotate(plan, &budget, &err), 0);
		load = mesh_plan_load(plan);
		cr_assert_eq(load.in_racks, NAMES * (RACK - 1));
		cr_assert_eq(load.between, 30);
		cr_assert_leq(load.host_most, RACK - 1 + 2);
		cr_assert_leq(load.reflector_most, RACK - 1 + 2);
		cr_assert_eq(load.link_most, 10);
	}
	mesh_plan_destroy(plan);
}

Test(mesh_plan, says_which_budget_would_do)
{
	struct mesh_budget budget = {.interval_s = 0.1, .host_pps = 100, .epoch_s = 1, .refresh_s = 1000};

	plan = mesh_plan_create();
	for (int i = 0; i < NAMES; i++)
		join(i);
	cr_assert_eq(mesh_plan_rotate(plan, &budget, &err), -ERANGE);
	cr_assert_not_null(strstr(err.text, "--host-pps: 100"), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "needs 12 sessions of 10 probes per second; set at least 120"), "%s",
			   err.text);
	cr_assert_eq(mesh_plan_load(plan).epoch, 0, "nothing has changed");
	budget.host_pps = 120;
	budget.link_pps = 10;
	cr_assert_eq(mesh_plan_rotate(plan, &budget, &err), -ERANGE);
	cr_assert_not_null(strstr(err.text, "--link-pps: 10 "), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "set at least 100"), "%s", err.text);
	budget.link_pps = 100;
	cr_assert_eq(mesh_plan_rotate(plan, &budget, &err), 0, "%s", err.text);
	mesh_plan_destroy(plan);
}

/* A cursor selects each pair once per turn; with a value beyond the places, a session would be there twice. */
Test(mesh_plan, a_cursor_beyond_its_racks_is_refused)
{
	struct mesh_plan *copy;
	json_t *root, *cursors;

	plan = mesh_plan_create();
	for (int name = 0; name < 2 * RACK; name++)
		join(name);
	root = mesh_plan_to_json(plan);
	cursors = json_object_get(root, "rack_cursors");
	for (size_t i = 0; i < json_array_size(cursors); i++) {
		json_array_set_new(cursors, i, json_integer(RACK - 1));
		copy = mesh_plan_from_json("plan", root, &err);
		cr_expect_not_null(copy, "%s", err.text);
		mesh_plan_destroy(copy);
		json_array_set_new(cursors, i, json_integer(RACK));
		cr_expect_null(mesh_plan_from_json("plan", root, &err));
		json_array_set_new(cursors, i, json_integer(0));
	}
	json_decref(root);
}

Test(mesh_plan, refuses_names_and_moves)
{
	plan = mesh_plan_create();
	join(0);
	cr_assert_eq(mesh_plan_join(plan, "h0", "r1", "p0", &err), -EINVAL);
	cr_assert_eq(mesh_plan_join(plan, "a b", "r0", "p0", &err), -EINVAL);
	cr_assert_eq(mesh_plan_join(plan, "h9", "r0", "p1", &err), -EINVAL, "a rack is in one pod");
	mesh_plan_destroy(plan);
}

/* 12 hosts in 4 racks, of which one leaves; prints the lists of two epochs. */
static int plan_lists(const void *context, char *answer, size_t bytes)
{
	struct mesh_plan *made = mesh_plan_create();
	int64_t code = made ? 0 : -ENOMEM;
	uint32_t peers[16];
	size_t used = 0;

	for (int i = 0; i < 12 && code >= 0; i++) {
		char host[16], rack[16];

		snprintf(host, sizeof host, "h%d", i);
		snprintf(rack, sizeof rack, "r%d", i / 3);
		code = mesh_plan_join(made, host, rack, i < 6 ? "p0" : "p1", &err);
	}
	if (code >= 0)
		mesh_plan_leave(made, 4);
	for (int epoch = 0; epoch < 2 && code >= 0; epoch++) {
		code = mesh_plan_rotate(made, context, &err);
		for (uint32_t host = 0; code >= 0 && host < mesh_plan_hosts(made); host++) {
			size_t count = mesh_plan_name(made, host) ? mesh_plan_list(made, host, peers) : 0;

			for (size_t i = 0; i < count && used < bytes; i++)
				used += (size_t)snprintf(answer + used, bytes - used, "%u>%u ", host, peers[i]);
		}
	}
	mesh_plan_destroy(made);
	return code < 0 ? (int)code : 0;
}

Test(mesh_plan, lack_of_memory_changes_no_list)
{
	struct mesh_budget budget = {.interval_s = 0.1, .host_pps = 60, .epoch_s = 1, .refresh_s = 1000};

	allocations_fail(plan_lists, &budget, "between racks");
	budget.pods = true;
	allocations_fail(plan_lists, &budget, "between pods");
}
