/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/plan/plan.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/hash_table.h>
#include <base/json.h>
#include <model/latency_live.h>

/*
 * Returns an array [hosts of the plan] of indices in peers->items, UINT32_MAX = not a peer; or NULL if out of memory.
 */
static uint32_t *match(const struct mesh_plan *plan, const struct peers *peers)
{
	uint32_t hosts = mesh_plan_hosts(plan), *positions = malloc((hosts + 1) * sizeof *positions);

	if (!positions)
		return NULL;
	memset(positions, 0xff, (hosts + 1) * sizeof *positions);
	for (size_t i = 0; i < peers->count; i++) {
		int64_t host = mesh_plan_find(plan, peers->items[i].name);

		if (host >= 0)
			positions[host] = (uint32_t)i;
	}
	return positions;
}

static int join(struct mesh_plan *plan, const struct peer *peer, const struct cluster *cluster,
		const struct latency_matrix *live, struct error *err)
{
	int64_t machine = cluster ? cluster_find_machine(cluster, peer->name) : -ENOENT;
	const struct cluster_rack *place = machine >= 0 ? &cluster->racks[cluster->machines[machine].rack] : NULL;
	const char *rack = place ? place->name : peer->rack, *pod = place ? cluster->pods[place->pod] : "";
	int64_t known = mesh_plan_find(plan, peer->name),
		number = live ? latency_matrix_find_host(live, peer->name) : -1;

	if (known >= 0 && strcmp(mesh_plan_rack(plan, (uint32_t)known), rack) != 0)
		mesh_plan_leave(plan, (uint32_t)known);
	known = mesh_plan_join(plan, peer->name, rack, pod, err);
	if (known >= 0 && number >= 0 && latency_live_status(live, (uint32_t)number) != LATENCY_HOST_ACTIVE)
		mesh_plan_drain(plan, (uint32_t)known);
	return known < 0 ? (int)known : 0;
}

int mesh_plan_follow(struct mesh_plan *plan, const struct peers *peers, const struct cluster *cluster,
		     const struct latency_matrix *live, struct error *err)
{
	uint32_t *positions = match(plan, peers), hosts = mesh_plan_hosts(plan);
	int code = positions ? 0 : error_set(err, ENOMEM, "out of memory");

	for (uint32_t i = 0; !code && i < hosts; i++)
		if (positions[i] == UINT32_MAX)
			mesh_plan_leave(plan, i);
	free(positions);
	for (size_t i = 0; !code && i < peers->count; i++)
		code = join(plan, &peers->items[i], cluster, live, err);
	return code;
}

struct mesh_plan *mesh_plan_read(const char *path, struct error *err)
{
	struct mesh_plan *plan;
	json_t *root;

	if (access(path, F_OK) != 0 && errno == ENOENT) {
		plan = mesh_plan_create();
		if (!plan)
			error_set(err, ENOMEM, "out of memory");
		return plan;
	}
	root = json_read_file(path, err);
	plan = root ? mesh_plan_from_json(path, root, err) : NULL;
	json_decref(root);
	return plan;
}

int mesh_plan_write(const struct mesh_plan *plan, const char *path, struct error *err)
{
	return json_write_file_new(path, mesh_plan_to_json(plan), err);
}

static int write_list(const struct mesh_plan *plan, uint32_t host, const struct peers *peers, const uint32_t *positions,
		      const char *folder, uint32_t *numbers, struct peer *items, struct error *err)
{
	struct peers list = {.items = items, .count = 1};
	size_t count = mesh_plan_list(plan, host, numbers);
	char path[PATH_MAX];

	items[0] = peers->items[positions[host]];
	for (size_t i = 0; i < count; i++)
		items[list.count++] = peers->items[positions[numbers[i]]];
	/* The peers' racks are taken from the plan, which may have them from the cluster. */
	for (size_t i = 0; i < list.count; i++)
		strcpy(items[i].rack, mesh_plan_rack(plan, i == 0 ? host : numbers[i - 1]));
	if (strchr(items[0].name, '/'))
		return error_set(err, EINVAL, "host '%s': a name with '/' cannot be the name of a file", items[0].name);
	if ((size_t)snprintf(path, sizeof path, "%s/%s.peers", folder, items[0].name) >= sizeof path)
		return error_set(err, ENAMETOOLONG, "%s: the path of the folder is too long", folder);
	return peers_write(&list, path, err);
}

int mesh_plan_write_lists(const struct mesh_plan *plan, const struct peers *peers, const char *folder,
			  struct error *err)
{
	uint32_t hosts = mesh_plan_hosts(plan), *positions = match(plan, peers);
	uint32_t *numbers = calloc(hosts + 1, sizeof *numbers);
	struct peer *items = calloc(hosts + 1, sizeof *items);
	int code = positions && numbers && items ? 0 : error_set(err, ENOMEM, "out of memory");

	if (!code && mkdir(folder, 0755) != 0 && errno != EEXIST)
		code = error_set(err, errno, "%s: cannot create: %s", folder, strerror(errno));
	for (uint32_t i = 0; !code && i < hosts; i++)
		if (mesh_plan_name(plan, i) && positions[i] != UINT32_MAX)
			code = write_list(plan, i, peers, positions, folder, numbers, items, err);
	free(positions);
	free(numbers);
	free(items);
	return code;
}
