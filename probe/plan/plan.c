/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/name.h>

enum { FIRST_SIDE = 8 };

struct mesh_plan *mesh_plan_create(void)
{
	return calloc(1, sizeof(struct mesh_plan));
}

static void free_groups(struct plan_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		free(groups->items[i].places);
	free(groups->items);
	free(groups->cursors);
}

void mesh_plan_destroy(struct mesh_plan *plan)
{
	if (!plan)
		return;
	free_groups(&plan->racks);
	free_groups(&plan->pods);
	hash_table_free(&plan->names);
	free(plan->hosts);
	free(plan->sessions);
	free(plan);
}

static int64_t find_group(const struct plan_groups *groups, const char *name)
{
	for (size_t i = 0; i < groups->count; i++)
		if (strcmp(groups->items[i].name, name) == 0)
			return (int64_t)i;
	return -ENOENT;
}

static int grow_cursors(struct plan_groups *groups)
{
	size_t side = groups->cursor_side ? groups->cursor_side * 2 : FIRST_SIDE;
	struct plan_cursor *cursors = calloc(side * side, sizeof *cursors);

	if (!cursors)
		return -ENOMEM;
	for (size_t from = 0; from < groups->cursor_side; from++)
		memcpy(&cursors[from * side], &groups->cursors[from * groups->cursor_side],
		       groups->cursor_side * sizeof *cursors);
	free(groups->cursors);
	groups->cursors = cursors;
	groups->cursor_side = side;
	return 0;
}

int64_t plan_add_group(struct plan_groups *groups, const char *name, uint32_t pod)
{
	int64_t found = find_group(groups, name);
	struct plan_group *items;

	if (found >= 0)
		return groups->items[found].pod == pod ? found : -EINVAL;
	if (name[0] && !name_is_valid(name, MESH_PLAN_NAME_BYTES))
		return -EINVAL;
	if (groups->count == MESH_PLAN_GROUPS_MAXIMUM)
		return -ENOSPC;
	if (groups->count == groups->cursor_side && grow_cursors(groups))
		return -ENOMEM;
	items = array_grow(groups->items, groups->count, &groups->capacity, sizeof *items);
	if (!items)
		return -ENOMEM;
	groups->items = items;
	items[groups->count] = (struct plan_group){.pod = pod};
	strcpy(items[groups->count].name, name);
	return (int64_t)groups->count++;
}

/*
 * The caller adds only one place at a time, so that a group has no more places than the largest number of hosts that it
 * ever had. A further place would be empty, and the host in the next place would get the empty place's sessions in
 * addition to its own.
 */
static int grow_places(struct plan_group *group, uint32_t capacity)
{
	uint32_t *places = realloc(group->places, capacity * sizeof *places);

	if (!places)
		return -ENOMEM;
	for (uint32_t i = group->capacity; i < capacity; i++)
		places[i] = PLAN_NONE;
	group->places = places;
	group->capacity = capacity;
	return 0;
}

int plan_take_place(struct plan_group *group, uint32_t host, uint32_t place)
{
	if (place == PLAN_NONE)
		for (place = 0; place < group->capacity && group->places[place] != PLAN_NONE;)
			place++;
	if (place >= group->capacity && grow_places(group, place + 1))
		return -ENOMEM;
	group->places[place] = host;
	return 0;
}

static void leave_place(struct plan_group *group, uint32_t host)
{
	for (uint32_t i = 0; i < group->capacity; i++)
		if (group->places[i] == host)
			group->places[i] = PLAN_NONE;
}

static uint32_t free_number(const struct mesh_plan *plan)
{
	uint32_t number = 0;

	/* If there are as many names as numbers, all numbers below host_count are in use. */
	if (plan->names.count == plan->host_count)
		return (uint32_t)plan->host_count;
	while (plan->hosts[number].state != PLAN_FREE)
		number++;
	return number;
}

/* Adds a host that is drained at first and has no place. */
int64_t plan_add_host(struct mesh_plan *plan, const char *name, uint32_t rack)
{
	uint32_t number = free_number(plan);
	struct plan_host *hosts;

	if (!name_is_valid(name, MESH_PLAN_NAME_BYTES))
		return -EINVAL;
	if (number == MESH_PLAN_HOSTS_MAXIMUM)
		return -ENOSPC;
	hosts = array_grow(plan->hosts, plan->host_count, &plan->host_capacity, sizeof *hosts);
	if (!hosts)
		return -ENOMEM;
	plan->hosts = hosts;
	if (hash_table_insert(&plan->names, hash_text(name), number))
		return -ENOMEM;
	hosts[number] = (struct plan_host){.rack = rack, .state = PLAN_DRAINED};
	strcpy(hosts[number].name, name);
	plan->host_count += number == plan->host_count;
	return number;
}

int64_t mesh_plan_find(const struct mesh_plan *plan, const char *name)
{
	HASH_TABLE_EACH (&plan->names, hash_text(name), at)
		if (strcmp(plan->hosts[hash_table_value(&plan->names, at)].name, name) == 0)
			return hash_table_value(&plan->names, at);
	return -ENOENT;
}

static struct plan_group *rack_of(const struct mesh_plan *plan, uint32_t host)
{
	return &plan->racks.items[plan->hosts[host].rack];
}

static struct plan_group *pod_of(const struct mesh_plan *plan, uint32_t host)
{
	return &plan->pods.items[rack_of(plan, host)->pod];
}

static void set_active(struct mesh_plan *plan, uint32_t host, enum plan_state state)
{
	bool was = plan->hosts[host].state == PLAN_ACTIVE, is = state == PLAN_ACTIVE;

	plan->hosts[host].state = state;
	rack_of(plan, host)->active += (uint32_t)is - (uint32_t)was;
	pod_of(plan, host)->active += (uint32_t)is - (uint32_t)was;
}

int64_t mesh_plan_join(struct mesh_plan *plan, const char *name, const char *rack, const char *pod, struct error *err)
{
	int64_t pod_number, rack_number, host = mesh_plan_find(plan, name);

	if (host >= 0 && (strcmp(rack_of(plan, (uint32_t)host)->name, rack) != 0))
		return error_set(err, EINVAL, "host '%s' is already in rack '%s', so it cannot be added to rack '%s'",
				 name, rack_of(plan, (uint32_t)host)->name, rack);
	pod_number = plan_add_group(&plan->pods, pod, 0);
	rack_number = pod_number < 0 ? pod_number : plan_add_group(&plan->racks, rack, (uint32_t)pod_number);
	if (rack_number < 0)
		return error_set(err, (int)-rack_number, "host '%s': cannot add it to rack '%s' of pod '%s': %s", name,
				 rack, pod,
				 rack_number == -EINVAL ? "the rack is in another pod, or a name is not valid"
							: strerror((int)-rack_number));
	if (host < 0) {
		host = plan_add_host(plan, name, (uint32_t)rack_number);
		if (host >= 0 && (plan_take_place(rack_of(plan, (uint32_t)host), (uint32_t)host, PLAN_NONE) ||
				  plan_take_place(pod_of(plan, (uint32_t)host), (uint32_t)host, PLAN_NONE))) {
			mesh_plan_leave(plan, (uint32_t)host);
			host = -ENOMEM;
		}
		if (host < 0)
			return error_set(err, (int)-host, "host '%s': %s", name, strerror((int)-host));
	}
	set_active(plan, (uint32_t)host, PLAN_ACTIVE);
	return host;
}

static void drop_sessions(struct mesh_plan *plan, uint32_t host)
{
	size_t kept = 0;

	for (size_t i = 0; i < plan->session_count; i++)
		if (plan->sessions[i].from != host && plan->sessions[i].to != host)
			plan->sessions[kept++] = plan->sessions[i];
	plan->session_count = kept;
}

void mesh_plan_drain(struct mesh_plan *plan, uint32_t host)
{
	if (plan->hosts[host].state != PLAN_ACTIVE)
		return;
	set_active(plan, host, PLAN_DRAINED);
	drop_sessions(plan, host);
}

void mesh_plan_leave(struct mesh_plan *plan, uint32_t host)
{
	if (plan->hosts[host].state == PLAN_FREE)
		return;
	mesh_plan_drain(plan, host);
	leave_place(rack_of(plan, host), host);
	leave_place(pod_of(plan, host), host);
	HASH_TABLE_EACH (&plan->names, hash_text(plan->hosts[host].name), at)
		if (hash_table_value(&plan->names, at) == host) {
			hash_table_remove(&plan->names, at);
			break;
		}
	plan->hosts[host].state = PLAN_FREE;
}

int plan_add_session(struct mesh_plan *plan, struct plan_session session)
{
	struct plan_session *sessions =
		array_grow(plan->sessions, plan->session_count, &plan->session_capacity, sizeof *sessions);

	if (!sessions)
		return -ENOMEM;
	plan->sessions = sessions;
	sessions[plan->session_count++] = session;
	return 0;
}

uint32_t mesh_plan_hosts(const struct mesh_plan *plan)
{
	return (uint32_t)plan->host_count;
}

const char *mesh_plan_name(const struct mesh_plan *plan, uint32_t host)
{
	return plan->hosts[host].state == PLAN_FREE ? NULL : plan->hosts[host].name;
}

const char *mesh_plan_rack(const struct mesh_plan *plan, uint32_t host)
{
	return rack_of(plan, host)->name;
}

/* Returns the index of the first session whose source is this host or a later one. */
static size_t first_session(const struct mesh_plan *plan, uint32_t host)
{
	size_t at;

	SEARCH_LOWER_BOUND(at, 0, plan->session_count, plan->sessions[at].from < host);
	return at;
}

size_t mesh_plan_list(const struct mesh_plan *plan, uint32_t host, uint32_t *peers)
{
	const struct plan_group *rack;
	size_t count = 0;

	if (!plan_is_active(plan, host))
		return 0;
	rack = rack_of(plan, host);
	for (uint32_t i = 0; i < rack->capacity; i++)
		if (rack->places[i] != host && plan_is_active(plan, rack->places[i]))
			peers[count++] = rack->places[i];
	for (size_t i = first_session(plan, host); i < plan->session_count && plan->sessions[i].from == host; i++)
		peers[count++] = plan->sessions[i].to;
	return count;
}
