/* SPDX-License-Identifier: BSD-3-Clause */
/* The lab as the files that the prober and the scheduler read. */
#include <lab/lab.h>

#include <errno.h>

#include <model/cluster.h>
#include <model/peers.h>

static int write_cluster(const struct lab *lab, const char *path, struct error *err)
{
	struct cluster *cluster = cluster_create();
	int code = 0;

	if (!cluster)
		return error_set(err, ENOMEM, "out of memory");
	for (int i = 0; i < lab->host_count && code == 0; i++) {
		int64_t added;
		char rack[16];

		snprintf(rack, sizeof rack, "rack%d", lab->hosts[i].rack);
		added = cluster_add_machine(cluster, lab->hosts[i].name, rack, "pod1", lab->slots, err);
		code = added < 0 ? (int)added : 0;
	}
	if (code == 0)
		code = cluster_write(cluster, path, err);
	cluster_destroy(cluster);
	return code;
}

static int write_peers(const struct lab *lab, const char *path, struct error *err)
{
	struct peer items[LAB_HOSTS_MAXIMUM] = {0};
	struct peers peers = {.items = items, .count = (size_t)lab->host_count};

	for (int i = 0; i < lab->host_count; i++) {
		const struct lab_host *host = &lab->hosts[i];

		snprintf(items[i].name, sizeof items[i].name, "%s", host->name);
		snprintf(items[i].rack, sizeof items[i].rack, "rack%d", host->rack);
		items[i].has_mac = lab->switch_count == 0; /* in a routed lab, frames go to the gateway's MAC */
		if (address_parse(host->probe_address, &items[i].address) || address_parse_mac(host->mac, items[i].mac))
			return error_set(err, EINVAL, "lab '%s': host '%s' has a bad address", lab->name, host->name);
	}
	return peers_write(&peers, path, err);
}

static int write_topology(const struct lab *lab, const char *path, struct error *err)
{
	struct topology *topology;
	int code;

	if (lab->switch_count == 0)
		return error_set(
			err, EINVAL,
			"lab '%s' has bridges, not switches and links: create it with 'nomora lab up --spines N' "
			"or --fabric",
			lab->name);
	topology = lab_topology(lab);
	code = topology ? topology_save(topology, path, err) : error_set(err, ENOMEM, "out of memory");
	topology_destroy(topology);
	return code;
}

int lab_write_inventory(const struct lab *lab, const char *cluster_path, const char *peers_path,
			const char *topology_path, struct error *err)
{
	int code = cluster_path ? write_cluster(lab, cluster_path, err) : 0;

	if (!code && peers_path)
		code = write_peers(lab, peers_path, err);
	return !code && topology_path ? write_topology(lab, topology_path, err) : code;
}
