/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/cluster.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/name.h>

/*
 * The values of same_rack_us, same_pod_us and other_pod_us are typical medians between VMs of public clouds; a cluster
 * file should give measured values.
 */
static const struct cluster_default_rtt default_rtt = {
	.same_machine_us = 1, .same_rack_us = 30, .same_pod_us = 100, .other_pod_us = 250};

struct cluster *cluster_create(void)
{
	struct cluster *cluster = calloc(1, sizeof *cluster);

	if (!cluster)
		return NULL;
	cluster->default_rtt = default_rtt;
	return cluster;
}

void cluster_destroy(struct cluster *cluster)
{
	if (!cluster)
		return;
	for (uint32_t m = 0; m < cluster->machine_count; m++)
		free(cluster->machines[m].name);
	for (uint32_t r = 0; r < cluster->rack_count; r++)
		free(cluster->racks[r].name);
	for (uint32_t p = 0; p < cluster->pod_count; p++)
		free(cluster->pods[p]);
	free(cluster->machines);
	free(cluster->racks);
	free(cluster->pods);
	hash_table_free(&cluster->machine_index);
	hash_table_free(&cluster->rack_index);
	hash_table_free(&cluster->pod_index);
	free(cluster);
}

int64_t cluster_find_machine(const struct cluster *cluster, const char *name)
{
	HASH_TABLE_EACH (&cluster->machine_index, hash_text(name), at) {
		uint32_t number = hash_table_value(&cluster->machine_index, at);

		if (strcmp(cluster->machines[number].name, name) == 0)
			return number;
	}
	return -ENOENT;
}

int64_t cluster_find_rack(const struct cluster *cluster, const char *name)
{
	HASH_TABLE_EACH (&cluster->rack_index, hash_text(name), at) {
		uint32_t number = hash_table_value(&cluster->rack_index, at);

		if (strcmp(cluster->racks[number].name, name) == 0)
			return number;
	}
	return -ENOENT;
}

static int64_t find_pod(const struct cluster *cluster, const char *name)
{
	HASH_TABLE_EACH (&cluster->pod_index, hash_text(name), at) {
		uint32_t number = hash_table_value(&cluster->pod_index, at);

		if (strcmp(cluster->pods[number], name) == 0)
			return number;
	}
	return -ENOENT;
}

/* Adds the name to the index with the value `number`. Returns a copy of the name, or NULL if out of memory. */
static char *index_enter(struct hash_table *index, const char *name, uint32_t number)
{
	char *copy = strdup(name);

	if (!copy || hash_table_insert(index, hash_text(name), number) != 0) {
		free(copy);
		return NULL;
	}
	return copy;
}

static int64_t find_or_add_pod(struct cluster *cluster, const char *name)
{
	int64_t found = find_pod(cluster, name);
	uint32_t number = cluster->pod_count;
	char **pods;

	if (found >= 0)
		return found;
	if (cluster->pod_spares > 0) {
		for (number = 0; cluster->pods[number]; number++)
			;
	} else {
		pods = array_grow(cluster->pods, cluster->pod_count, &cluster->pod_capacity, sizeof *pods);
		if (!pods)
			return -ENOMEM;
		cluster->pods = pods;
	}
	cluster->pods[number] = index_enter(&cluster->pod_index, name, number);
	if (!cluster->pods[number])
		return -ENOMEM;
	if (number == cluster->pod_count)
		cluster->pod_count++;
	else
		cluster->pod_spares--;
	return number;
}

/* Finds or adds the rack. Returns its number, or -EINVAL if it is in another pod than `pod` (NULL: any), or -ENOMEM. */
static int64_t find_or_add_rack(struct cluster *cluster, const char *name, const char *pod, struct error *err)
{
	int64_t found = cluster_find_rack(cluster, name), pod_number;
	uint32_t number = cluster->rack_count;
	struct cluster_rack *rack, *racks = cluster->racks;

	if (found >= 0) {
		const char *known = cluster->pods[cluster->racks[found].pod];

		if (pod && strcmp(pod, known) != 0)
			return error_set(err, EINVAL, "rack '%s' is in pod '%s' and in pod '%s'; a rack has one pod",
					 name, known, pod);
		return found;
	}
	pod_number = find_or_add_pod(cluster, pod ? pod : "");
	if (cluster->rack_spares > 0) {
		for (number = 0; cluster->racks[number].name; number++)
			;
	} else {
		racks = array_grow(cluster->racks, cluster->rack_count, &cluster->rack_capacity, sizeof *racks);
		if (racks)
			cluster->racks = racks;
	}
	if (pod_number < 0 || !racks)
		return error_set(err, ENOMEM, "out of memory");
	rack = &cluster->racks[number];
	*rack = (struct cluster_rack){.pod = (uint32_t)pod_number};
	rack->name = index_enter(&cluster->rack_index, name, number);
	if (!rack->name)
		return error_set(err, ENOMEM, "out of memory");
	if (number == cluster->rack_count)
		cluster->rack_count++;
	else
		cluster->rack_spares--;
	return number;
}

int64_t cluster_add_machine(struct cluster *cluster, const char *name, const char *rack, const char *pod, int64_t slots,
			    struct error *err)
{
	struct cluster_machine *machine, *machines;
	uint32_t number = cluster->machine_count;
	int64_t rack_number;

	if (!name[0] || !rack[0])
		return error_set(err, EINVAL, "expected a name that is not empty, for the machine and for its rack");
	if (!name_is_printable(name, "") || !name_is_printable(rack, "") || (pod && !name_is_printable(pod, "")))
		return error_set(err, EINVAL, "expected names without control characters");
	if (slots < 0 || slots > CLUSTER_SLOTS_MAXIMUM)
		return error_set(err, EINVAL, "machine '%s' has %lld slots; expected 0..%d", name, (long long)slots,
				 CLUSTER_SLOTS_MAXIMUM);
	if (cluster->machine_count >= CLUSTER_MACHINES_MAXIMUM)
		return error_set(err, EINVAL, "more than %d machines", CLUSTER_MACHINES_MAXIMUM);
	if (cluster_find_machine(cluster, name) >= 0)
		return error_set(err, EEXIST, "duplicate machine name '%s'", name);
	rack_number = find_or_add_rack(cluster, rack, pod, err);
	if (rack_number < 0)
		return rack_number;
	if (cluster->machine_spares > 0) {
		for (number = 0; cluster->machines[number].name; number++)
			;
	} else {
		machines = array_grow(cluster->machines, cluster->machine_count, &cluster->machine_capacity,
				      sizeof *machines);
		if (!machines)
			return error_set(err, ENOMEM, "out of memory");
		cluster->machines = machines;
	}
	machine = &cluster->machines[number];
	*machine = (struct cluster_machine){.rack = (uint32_t)rack_number, .slots = (uint32_t)slots};
	machine->name = index_enter(&cluster->machine_index, name, number);
	if (!machine->name)
		return error_set(err, ENOMEM, "out of memory");
	cluster->racks[rack_number].machine_count++;
	if (number == cluster->machine_count)
		cluster->machine_count++;
	else
		cluster->machine_spares--;
	return number;
}

static void forget_name(struct hash_table *index, char **name, uint32_t number)
{
	uint32_t at = hash_table_first(index, hash_text(*name));

	while (hash_table_value(index, at) != number)
		at = hash_table_next(index, hash_text(*name), at);
	hash_table_remove(index, at);
	free(*name);
	*name = NULL;
}

static void remove_pod_if_empty(struct cluster *cluster, uint32_t pod)
{
	for (uint32_t r = 0; r < cluster->rack_count; r++) {
		if (cluster->racks[r].name && cluster->racks[r].pod == pod)
			return;
	}
	forget_name(&cluster->pod_index, &cluster->pods[pod], pod);
	cluster->pod_spares++;
}

void cluster_remove_machine(struct cluster *cluster, uint32_t machine)
{
	struct cluster_machine *entry = &cluster->machines[machine];
	struct cluster_rack *rack = &cluster->racks[entry->rack];

	forget_name(&cluster->machine_index, &entry->name, machine);
	entry->slots = 0;
	cluster->machine_spares++;
	if (--rack->machine_count > 0)
		return;
	forget_name(&cluster->rack_index, &rack->name, entry->rack);
	cluster->rack_spares++;
	remove_pod_if_empty(cluster, rack->pod);
}

int64_t cluster_slots(const struct cluster *cluster)
{
	int64_t slots = 0;

	for (uint32_t m = 0; m < cluster->machine_count; m++)
		slots += cluster->machines[m].slots;
	return slots;
}
