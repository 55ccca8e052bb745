/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>

static const char schema[] = "nomora.mesh_plan/1";

/* Lists, for each place of a group, the host's index in "hosts", or -1. */
static json_t *places_to_json(const struct plan_group *group, const uint32_t *positions)
{
	json_t *places = json_array();

	for (uint32_t i = 0; i < group->capacity; i++)
		json_array_append_new(
			places,
			json_integer(group->places[i] == PLAN_NONE ? -1 : (json_int_t)positions[group->places[i]]));
	return places;
}

static json_t *groups_to_json(const struct plan_groups *groups, const uint32_t *positions)
{
	json_t *list = json_array();

	for (size_t i = 0; i < groups->count; i++) {
		const struct plan_group *group = &groups->items[i];

		json_array_append_new(list,
				      json_pack("{s:s,s:I,s:o}", "name", group->name, "pod", (json_int_t)group->pod,
						"places", places_to_json(group, positions)));
	}
	return list;
}

static json_t *cursors_to_json(const struct plan_groups *groups)
{
	json_t *list = json_array();

	for (size_t i = 0; i < groups->count * groups->count; i++) {
		const struct plan_cursor *cursor =
			&groups->cursors[i / groups->count * groups->cursor_side + i % groups->count];

		json_array_append_new(list, json_integer(cursor->turn));
		json_array_append_new(list, json_integer(cursor->step));
	}
	return list;
}

json_t *mesh_plan_to_json(const struct mesh_plan *plan)
{
	uint32_t *positions = calloc(plan->host_count + 1, sizeof *positions), count = 0;
	json_t *hosts = json_array(), *sessions = json_array(), *root;

	if (!positions)
		return NULL;
	for (size_t i = 0; i < plan->host_count; i++) {
		const struct plan_host *host = &plan->hosts[i];

		if (host->state == PLAN_FREE)
			continue;
		positions[i] = count++;
		json_array_append_new(hosts, json_pack("{s:s,s:I,s:b}", "name", host->name, "rack",
						       (json_int_t)host->rack, "drained", host->state == PLAN_DRAINED));
	}
	for (size_t i = 0; i < plan->session_count; i++) {
		json_array_append_new(sessions, json_integer(positions[plan->sessions[i].from]));
		json_array_append_new(sessions, json_integer(positions[plan->sessions[i].to]));
	}
	root = json_pack("{s:s,s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "schema", schema, "epoch", (json_int_t)plan->epoch,
			 "hosts", hosts, "racks", groups_to_json(&plan->racks, positions), "pods",
			 groups_to_json(&plan->pods, positions), "rack_cursors", cursors_to_json(&plan->racks),
			 "pod_cursors", cursors_to_json(&plan->pods), "sessions", sessions);
	free(positions);
	return root;
}

/* --- reading --- */

static int64_t number_at(struct json_reader *reader, const json_t *list, size_t at, const char *where, int64_t least,
			 int64_t end)
{
	const json_t *value = json_array_get(list, at);
	int64_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < least || number >= end)
		json_fail(reader, where, NULL, "item %zu: expected an integer %lld..%lld", at, (long long)least,
			  (long long)end - 1);
	return number;
}

static void read_places(struct json_reader *reader, struct mesh_plan *plan, struct plan_groups *groups, size_t number,
			const json_t *places, bool *placed, const char *where)
{
	bool racks = groups == &plan->racks;

	if (json_array_size(places) > MESH_PLAN_HOSTS_MAXIMUM)
		json_fail(reader, where, "places", "too many");
	for (size_t i = 0; i < json_array_size(places) && !reader->failed; i++) {
		int64_t host = number_at(reader, places, i, where, -1, (int64_t)plan->host_count);

		if (reader->failed)
			return;
		if (host < 0) {
			if (plan_take_place(&groups->items[number], PLAN_NONE, (uint32_t)i))
				json_no_memory(reader);
			continue;
		}
		if (placed[host] ||
		    (racks ? plan->hosts[host].rack : plan->racks.items[plan->hosts[host].rack].pod) != number)
			json_fail(reader, where, "places",
				  "host '%s' is repeated or belongs to another group; expected each host of the group "
				  "once",
				  plan->hosts[host].name);
		else if (plan_take_place(&groups->items[number], (uint32_t)host, (uint32_t)i))
			json_no_memory(reader);
		placed[host] = true;
	}
}

static void read_groups(struct json_reader *reader, struct plan_groups *groups, const json_t *list, const char *what,
			size_t pods)
{
	for (size_t i = 0; i < json_array_size(list) && !reader->failed; i++) {
		const json_t *item = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(item, "name"));
		int64_t pod = json_may_integer(reader, item, what, "pod", 0, (int64_t)pods - 1, 0);

		if (!reader->failed && (!name || plan_add_group(groups, name, (uint32_t)pod) != (int64_t)i))
			json_fail(reader, what, "name", "item %zu: expected a valid and unique name", i);
	}
}

static void read_all_places(struct json_reader *reader, struct mesh_plan *plan, struct plan_groups *groups,
			    const json_t *list, const char *what)
{
	bool *placed = calloc(plan->host_count + 1, sizeof *placed);

	if (!placed)
		json_no_memory(reader);
	for (size_t i = 0; placed && i < groups->count && !reader->failed; i++)
		read_places(reader, plan, groups, i, json_need_array(reader, json_array_get(list, i), what, "places"),
			    placed, what);
	for (size_t i = 0; placed && i < plan->host_count && !reader->failed; i++)
		if (!placed[i])
			json_fail(reader, what, "places", "host '%s' has no place", plan->hosts[i].name);
	free(placed);
}

static void read_hosts(struct json_reader *reader, struct mesh_plan *plan, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list) && !reader->failed; i++) {
		const json_t *item = json_array_get(list, i);
		const char *name = json_need_string(reader, item, "hosts", "name");
		int64_t rack = json_need_integer(reader, item, "hosts", "rack", 0, (int64_t)plan->racks.count - 1);

		if (reader->failed)
			return;
		if (mesh_plan_find(plan, name) >= 0 || plan_add_host(plan, name, (uint32_t)rack) < 0)
			json_fail(reader, "hosts", "name", "item %zu: expected a valid and unique host name", i);
		else if (!json_may_boolean(reader, item, "hosts", "drained", false)) {
			plan->hosts[i].state = PLAN_ACTIVE;
			plan->racks.items[rack].active++;
			plan->pods.items[plan->racks.items[rack].pod].active++;
		}
	}
}

/* A cursor beyond its groups' places would visit a pair twice in one rotation. */
static uint32_t read_cursor(struct json_reader *reader, const json_t *list, size_t at, const char *what,
			    const struct plan_group *group)
{
	return (uint32_t)number_at(reader, list, at, what, 0, group->capacity ? group->capacity : 1);
}

static void read_cursors(struct json_reader *reader, struct plan_groups *groups, const json_t *list, const char *what)
{
	if (!reader->failed && json_array_size(list) != 2 * groups->count * groups->count)
		json_fail(reader, "", what, "expected two integers for each pair of groups");
	for (size_t i = 0; i < groups->count * groups->count && !reader->failed; i++) {
		size_t from = i / groups->count, to = i % groups->count;
		struct plan_cursor *cursor = &groups->cursors[from * groups->cursor_side + to];

		cursor->turn = read_cursor(reader, list, 2 * i, what, &groups->items[to]);
		cursor->step = read_cursor(reader, list, 2 * i + 1, what, &groups->items[from]);
	}
}

static bool rises(const struct mesh_plan *plan, struct plan_session session)
{
	const struct plan_session *last = plan->session_count ? &plan->sessions[plan->session_count - 1] : NULL;

	return !last || last->from < session.from || (last->from == session.from && last->to < session.to);
}

static void read_sessions(struct json_reader *reader, struct mesh_plan *plan, const json_t *list)
{
	for (size_t i = 0; i + 1 < json_array_size(list) && !reader->failed; i += 2) {
		struct plan_session session = {
			(uint32_t)number_at(reader, list, i, "sessions", 0, (int64_t)plan->host_count),
			(uint32_t)number_at(reader, list, i + 1, "sessions", 0, (int64_t)plan->host_count),
		};

		if (reader->failed)
			return;
		if (!rises(plan, session) || !plan_is_active(plan, session.from) || !plan_is_active(plan, session.to) ||
		    plan->hosts[session.from].rack == plan->hosts[session.to].rack)
			json_fail(reader, "sessions", NULL,
				  "item %zu: expected two active hosts of different racks, in ascending order", i);
		else if (plan_add_session(plan, session))
			json_no_memory(reader);
	}
}

struct mesh_plan *mesh_plan_from_json(const char *name, const json_t *root, struct error *err)
{
	struct json_reader reader = {.file = name, .err = err};
	struct mesh_plan *plan = mesh_plan_create();
	const json_t *racks, *pods;

	if (!plan) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	json_need_schema(&reader, root, schema);
	plan->epoch = (uint64_t)json_need_integer(&reader, root, "", "epoch", 0, INT64_MAX);
	pods = json_need_array(&reader, root, "", "pods");
	racks = json_need_array(&reader, root, "", "racks");
	read_groups(&reader, &plan->pods, pods, "pods", 1);
	read_groups(&reader, &plan->racks, racks, "racks", plan->pods.count);
	read_hosts(&reader, plan, json_need_array(&reader, root, "", "hosts"));
	read_all_places(&reader, plan, &plan->racks, racks, "racks");
	read_all_places(&reader, plan, &plan->pods, pods, "pods");
	read_cursors(&reader, &plan->racks, json_need_array(&reader, root, "", "rack_cursors"), "rack_cursors");
	read_cursors(&reader, &plan->pods, json_need_array(&reader, root, "", "pod_cursors"), "pod_cursors");
	read_sessions(&reader, plan, json_need_array(&reader, root, "", "sessions"));
	if (!reader.failed)
		return plan;
	mesh_plan_destroy(plan);
	return NULL;
}

void mesh_plan_load_print(const struct mesh_plan_load *load, const struct mesh_budget *budget, FILE *out)
{
	double rate = 1 / budget->interval_s;

	fprintf(out,
		"epoch %llu: %u hosts in %u rack%s, %u drained\n"
		"sessions of %g probes/s: %llu in racks, %llu between, %llu postponed by a cap\n"
		"at most: a host sends %.0f probes/s and answers %.0f, a rack's link carries %.0f\n",
		(unsigned long long)load->epoch, load->hosts, load->racks, load->racks == 1 ? "" : "s", load->drained,
		rate, (unsigned long long)load->in_racks, (unsigned long long)load->between,
		(unsigned long long)load->deferred, load->host_most * rate, load->reflector_most * rate,
		load->link_most * rate);
}

json_t *mesh_plan_load_to_json(const struct mesh_plan_load *load, const struct mesh_budget *budget)
{
	double rate = 1 / budget->interval_s;

	return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:f}", "schema", "nomora.mesh_plan_load/1",
			 "epoch", (json_int_t)load->epoch, "hosts", (json_int_t)load->hosts, "drained",
			 (json_int_t)load->drained, "racks", (json_int_t)load->racks, "pods", (json_int_t)load->pods,
			 "sessions_in_racks", (json_int_t)load->in_racks, "sessions_between", (json_int_t)load->between,
			 "deferred", (json_int_t)load->deferred, "host_pps", load->host_most * rate, "reflector_pps",
			 load->reflector_most * rate, "link_pps", load->link_most * rate);
}
