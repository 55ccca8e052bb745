/* SPDX-License-Identifier: BSD-3-Clause */
/* The access links of machines, from each file that describes a network. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/file.h>
#include <base/json.h>
#include <model/recovery.h>
#include <model/topology.h>

static const size_t file_bytes_maximum = (size_t)1 << 29;

/* Returns the servers of a scenario, none of which has failed. */
static struct recovery_scenario *servers_of(const struct recovery_scenario *file, struct error *err)
{
	struct recovery_scenario *network = recovery_create();

	for (uint32_t n = 0; network && n < file->server_count; n++) {
		struct recovery_server server = file->servers[n];

		server.failed = false;
		if (recovery_add_server(network, &server) < 0) {
			recovery_destroy(network);
			network = NULL;
		}
	}
	if (!network)
		error_set(err, ENOMEM, "out of memory");
	return network;
}

/* Adds up the links of each host that are up: one host may be attached to several switches. */
static struct recovery_scenario *hosts_of(const struct topology *topology, struct error *err)
{
	struct recovery_server *servers = calloc(topology->node_count + 1u, sizeof *servers);
	struct recovery_scenario *network = servers ? recovery_create() : NULL;

	for (uint32_t l = 0; network && l < topology->link_count; l++) {
		const struct topology_link *link = &topology->links[l];

		if (!link->up)
			continue;
		servers[link->a].egress_MBps += link->MBps;
		servers[link->b].ingress_MBps += link->MBps;
		servers[link->b].egress_MBps += link->back_MBps;
		servers[link->a].ingress_MBps += link->back_MBps;
	}
	for (uint32_t n = 0; network && n < topology->node_count; n++) {
		servers[n].name = topology->nodes[n].name;
		if (topology->nodes[n].kind == TOPOLOGY_HOST && recovery_add_server(network, &servers[n]) < 0) {
			recovery_destroy(network);
			network = NULL;
		}
	}
	free(servers);
	if (!network)
		error_set(err, ENOMEM, "out of memory");
	return network;
}

/* True if the text is of the format nomora.recovery/1. Of other text, the reader of topologies says what is wrong. */
static bool is_scenario(const char *text, size_t bytes)
{
	struct error ignored = {0};
	json_t *root = json_read_text("", 0, text, bytes, &ignored);
	const char *schema = json_string_value(json_object_get(root, "schema"));
	bool is = schema && strcmp(schema, RECOVERY_SCHEMA) == 0;

	json_decref(root);
	return is;
}

struct recovery_scenario *recovery_network_parse(const char *name, const char *text, size_t bytes, double MBps,
						 struct error *err)
{
	struct recovery_scenario *file = NULL, *network = NULL;
	struct topology *topology = NULL;

	if (is_scenario(text, bytes))
		file = recovery_parse(name, text, bytes, err);
	else
		topology = topology_parse_file(name, text, bytes, MBps, err);
	if (file)
		network = servers_of(file, err);
	else if (topology)
		network = hosts_of(topology, err);
	recovery_destroy(file);
	topology_destroy(topology);
	return network;
}

struct recovery_scenario *recovery_network_read(const char *argument, double MBps, struct error *err)
{
	struct recovery_scenario *network;
	struct topology *topology;
	struct stat status;
	size_t bytes;
	char *text;

	if (stat(argument, &status) == 0 && !S_ISDIR(status.st_mode)) {
		text = file_read_all(argument, file_bytes_maximum, &bytes, err);
		network = text ? recovery_network_parse(argument, text, bytes, MBps, err) : NULL;
		free(text);
		return network;
	}
	topology = topology_from_argument(argument, MBps, 0, err);
	network = topology ? hosts_of(topology, err) : NULL;
	topology_destroy(topology);
	return network;
}
