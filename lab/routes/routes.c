/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the entries of the wanted routes with the present entries, and orders the changes. */
#include "routes_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/array.h>

struct routes *routes_open(const struct lab *lab, struct error *err)
{
	struct routes *routes;

	if (geteuid() != 0) {
		error_set(err, EPERM, "routes of a lab need root: run it with sudo");
		return NULL;
	}
	routes = calloc(1, sizeof *routes);
	if (!routes) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	routes->lab = lab;
	routes->backend = &routes_netlink;
	if (routes->backend->open(routes, err) == 0)
		return routes;
	routes_close(routes);
	return NULL;
}

void routes_close(struct routes *routes)
{
	if (!routes)
		return;
	routes->backend->close(routes);
	free(routes);
}

static int compare_place(const struct route_entry *a, const struct route_entry *b)
{
	int left[] = {a->from, a->to, a->at}, right[] = {b->from, b->to, b->at};

	for (size_t i = 0; i < sizeof left / sizeof *left; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct route_entry *left = a, *right = b;
	int place = compare_place(left, right);

	return place != 0 ? place : (left->rank > right->rank) - (left->rank < right->rank);
}

static int compare_changes(const void *a, const void *b)
{
	const struct route_change *left = a, *right = b;

	return (left->rank > right->rank) - (left->rank < right->rank);
}

static int list_wanted(const struct lab_route *wanted, size_t count, struct route_entries *entries)
{
	for (size_t i = 0; i < count; i++)
		for (size_t n = 0; n + 1 < wanted[i].node_count; n++) {
			struct route_entry *all =
				array_grow(entries->all, entries->count, &entries->capacity, sizeof *all);

			if (!all)
				return -ENOMEM;
			entries->all = all;
			all[entries->count++] = (struct route_entry){.from = wanted[i].from,
								     .to = wanted[i].to,
								     .at = wanted[i].nodes[n],
								     .next = wanted[i].nodes[n + 1],
								     .rank = (uint32_t)(wanted[i].node_count - 2 - n)};
		}
	if (entries->count > 0)
		qsort(entries->all, entries->count, sizeof *entries->all, compare_entries);
	return 0;
}

/* Returns the first entry with the switch and the pair of hosts of `place`, or NULL. The entries are sorted. */
static const struct route_entry *find(const struct route_entries *entries, const struct route_entry *place)
{
	size_t at;

	SEARCH_LOWER_BOUND(at, 0, entries->count, compare_place(&entries->all[at], place) < 0);
	return at < entries->count && compare_place(&entries->all[at], place) == 0 ? &entries->all[at] : NULL;
}

/*
 * Returns the number of switches that an old route passes after the switch of `entry`. The count is limited, because
 * entries left by a crash may form a loop.
 */
static uint32_t switches_behind(const struct route_entries *present, const struct route_entry *entry)
{
	uint32_t count = 0;

	while (entry && count < LAB_SWITCHES_MAXIMUM) {
		struct route_entry place = {.from = entry->from, .to = entry->to, .at = entry->next};

		entry = find(present, &place);
		count++;
	}
	return count;
}

static bool is_in_force(const struct route_change *change)
{
	return change->wanted && change->present_count == 1 && change->present->next == change->wanted->next &&
	       !change->present->incomplete;
}

/*
 * Merges both lists, which are sorted by pair of hosts and switch, into changes[], which has space for as many elements
 * as both lists. Returns the number of changes.
 */
static size_t list_changes(const struct route_entries *wanted, const struct route_entries *present,
			   struct route_change *changes)
{
	size_t w = 0, p = 0, count = 0;

	while (w < wanted->count || p < present->count) {
		int order = w == wanted->count    ? 1
			    : p == present->count ? -1
						  : compare_place(&wanted->all[w], &present->all[p]);
		struct route_change change = {.present = present->all + p};

		if (order <= 0)
			change.wanted = &wanted->all[w++];
		while (order >= 0 && p < present->count && compare_place(change.present, &present->all[p]) == 0) {
			p++;
			change.present_count++;
		}
		if (is_in_force(&change))
			continue;
		change.rank = change.wanted ? change.wanted->rank
					    : 3 * LAB_SWITCHES_MAXIMUM - switches_behind(present, change.present);
		changes[count++] = change;
	}
	if (count > 0)
		qsort(changes, count, sizeof *changes, compare_changes);
	return count;
}

static int apply(struct routes *routes, const struct route_entries *wanted, const struct route_entries *present,
		 struct routes_changes *done, struct error *err)
{
	struct route_change *changes = calloc(wanted->count + present->count + 1, sizeof *changes);
	size_t count = changes ? list_changes(wanted, present, changes) : 0;
	int code = changes ? 0 : error_set(err, ENOMEM, "out of memory");

	for (size_t i = 0; i < count && code == 0; i++) {
		code = routes->backend->change(routes, &changes[i], err);
		done->set += changes[i].wanted != NULL;
		done->cleared += changes[i].wanted == NULL;
	}
	done->kept = (uint32_t)wanted->count - done->set;
	free(changes);
	return code == 0 ? routes->backend->tidy(routes, wanted, err) : code;
}

int routes_set(struct routes *routes, const struct lab_route *wanted, size_t count, struct routes_changes *changes,
	       struct error *err)
{
	struct route_entries entries = {0}, present = {0};
	struct routes_changes done = {0};
	int code = list_wanted(wanted, count, &entries);

	if (code != 0)
		error_set(err, ENOMEM, "out of memory");
	else
		code = routes->backend->read(routes, &present, err);
	if (code == 0) {
		if (present.count > 0)
			qsort(present.all, present.count, sizeof *present.all, compare_entries);
		code = apply(routes, &entries, &present, &done, err);
	}
	free(entries.all);
	free(present.all);
	if (changes)
		*changes = done;
	return code;
}

int routes_trace(struct routes *routes, const struct routes_packet *packet, int *nodes, struct error *err)
{
	return routes_netlink_trace(routes, packet, nodes, err);
}

/* Returns 1 if the packet passes exactly the switches of the route, 0 if not, or an error of routes_trace(). */
static int takes_route(struct routes *routes, const struct lab_route *route, const struct routes_packet *packet,
		       struct error *err)
{
	int nodes[LAB_SWITCHES_MAXIMUM], passed = routes_trace(routes, packet, nodes, err);

	if (passed < 0)
		return passed;
	return (size_t)passed == route->node_count &&
	       memcmp(nodes, route->nodes, route->node_count * sizeof *nodes) == 0;
}

int routes_find_port(struct routes *routes, const struct lab_route *route, struct routes_packet *packet, uint16_t last,
		     struct error *err)
{
	const struct lab *lab = routes->lab;
	uint16_t first = packet->source_port;
	char path[192] = "";
	size_t bytes = 0;

	for (uint32_t port = first; port <= last; port++) {
		int code;

		packet->source_port = (uint16_t)port;
		code = takes_route(routes, route, packet, err);
		if (code != 0)
			return code < 0 ? code : 0;
	}
	for (size_t n = 0; n < route->node_count && bytes < sizeof path; n++)
		bytes +=
			(size_t)snprintf(path + bytes, sizeof path - bytes, " %s", lab_node_name(lab, route->nodes[n]));
	return error_set(err, EHOSTUNREACH, "no source port from %u to %u takes packets from %s to %s over%s", first,
			 last, lab->hosts[packet->from].name, lab->hosts[packet->to].name, path);
}

int routes_check(struct routes *routes, const struct lab_route *wanted, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct lab_route *route = &wanted[i];
		struct routes_packet packet = {.from = route->from, .to = route->to};
		int code = takes_route(routes, route, &packet, err);

		if (code < 0)
			return code;
		if (code == 0)
			return error_set(err, EXDEV, "packets from %s to %s do not take the route that was set",
					 routes->lab->hosts[route->from].name, routes->lab->hosts[route->to].name);
	}
	return 0;
}
