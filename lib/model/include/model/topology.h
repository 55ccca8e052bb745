/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network of hosts and switches joined by links. File form "nomora.topology/1" (JSON), described in docs/formats.md:
 *
 *   {"schema": "nomora.topology/1",
 *    "switches": [{"name": "s0"}, {"name": "s1"}],
 *    "hosts": [{"name": "h0"}],
 *    "links": [{"a": "h0", "b": "s0", "MBps": 100},
 *              {"a": "s0", "b": "s1", "MBps": 100, "back_MBps": 50, "up": false}]}
 *
 * Plain data. Nodes are numbered in the order in which they are added; the reader adds switches before hosts. A link
 * joins two different nodes, at most one link joins a pair, and a host is not joined to a host. Capacities are MB/s
 * (10^6 bytes of payload), one for each direction of a link. Owned by the caller through topology_destroy(); readers
 * may share it between threads.
 */
#ifndef MODEL_TOPOLOGY_H
#define MODEL_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <base/error.h>
#include <base/hash_table.h>

enum {
	TOPOLOGY_NODES_MAXIMUM = 1000000,
	TOPOLOGY_NAME_BYTES = 64, /* with the NUL */
};
#define TOPOLOGY_MBPS_MAXIMUM 1e9

enum topology_kind { TOPOLOGY_SWITCH, TOPOLOGY_HOST };

struct topology_node {
	char *name;
	enum topology_kind kind;
};

struct topology_link {
	uint32_t a, b;
	double MBps;      /* from a to b, > 0 */
	double back_MBps; /* from b to a, > 0 */
	bool up;
};

struct topology {
	struct topology_node *nodes;
	struct topology_link *links;
	uint32_t node_count, link_count, host_count;
	size_t node_capacity, link_capacity;
	struct hash_table node_names, link_ends; /* private */
};

struct topology *topology_create(void);           /* NULL if out of memory */
void topology_destroy(struct topology *topology); /* NULL is legal */

/* Returns the node's number, or -EEXIST (duplicate name), -EINVAL (bad name), -E2BIG, -ENOMEM with err set. */
int64_t topology_add_node(struct topology *topology, enum topology_kind kind, const char *name, struct error *err);

/*
 * Joins nodes a and b. Returns the link's number, or with err set:
 * - -EINVAL: a and b are both hosts or the same node, or a capacity is not in 0 < MBps <= TOPOLOGY_MBPS_MAXIMUM
 * - -EEXIST: the pair has a link
 * - -ENOMEM
 */
int64_t topology_add_link(struct topology *topology, uint32_t a, uint32_t b, double MBps, double back_MBps,
			  struct error *err);

/* Returns the MB/s of payload that TCP carries in `mbit` Mbit/s of full Ethernet frames. */
double topology_payload_MBps(double mbit);

/* Return the number of a node by its name, or of the link between two nodes, in either order; or -ENOENT. O(1). */
int64_t topology_find_node(const struct topology *topology, const char *name);
int64_t topology_find_link(const struct topology *topology, uint32_t a, uint32_t b);

/*
 * Returns 1 if every host reaches every other over links that are up, or if there are no hosts; 0 if not; or -ENOMEM.
 */
int topology_connected(const struct topology *topology);

/*
 * The links of each node: those of node n are at first[n] .. first[n + 1] - 1 of link[], with the node at the other end
 * in to[]. They are in the order of their numbers; links that are down are included. NULL if out of memory.
 */
struct topology_adjacency {
	uint32_t *first, *link, *to;
};
struct topology_adjacency *topology_adjacency_create(const struct topology *topology);
void topology_adjacency_destroy(struct topology_adjacency *adjacency); /* NULL is legal */

/*
 * Parses JSON, a text that ends with a NUL, which is not in `bytes`. Parallel links are one link with the sum of their
 * capacities. Returns NULL with err set (file, line, field). Refuses a duplicate name, a pair of nodes in both orders
 * (a cable listed from both ends), an unknown end, a host without any link (up or down), no hosts, and capacities out
 * of range.
 */
struct topology *topology_parse(const char *name, const char *text, size_t bytes, struct error *err);

/*
 * Parses GraphML as the Internet Topology Zoo publishes it, docs/formats.md: nodes are switches NAME with one host
 * h-NAME each. `MBps` is the capacity of edges of unknown speed. Returns NULL with err set (file, line, field).
 */
struct topology *topology_parse_graphml(const char *name, const char *text, size_t bytes, double MBps,
					struct error *err);

/* Parse such a text, or read such a file ("-" = stdin): GraphML, which begins with '<', or JSON. */
struct topology *topology_parse_file(const char *name, const char *text, size_t bytes, double MBps, struct error *err);
struct topology *topology_read(const char *path, double MBps, struct error *err);

/*
 * A network from LLDP: the output of `lldpctl -f json` of each device, docs/formats.md. Reads the files DEVICE.json of
 * a folder, or parses the texts of such files (text ends with a NUL, which is not in `bytes`); `folder` is for
 * messages. `MBps` is the capacity of links of unknown speed. Returns NULL with err set.
 */
struct topology_lldp_file {
	const char *path, *text; /* path: ends in DEVICE.json */
	size_t bytes;
};
struct topology *topology_read_lldp(const char *folder, double MBps, struct error *err);
struct topology *topology_parse_lldp(const struct topology_lldp_file *files, size_t count, const char *folder,
				     double MBps, struct error *err);

/* New reference, NULL if out of memory. */
json_t *topology_to_json(const struct topology *topology);

/* Writes the file whole or not at all; 0 or -errno with err set. */
int topology_save(const struct topology *topology, const char *path, struct error *err);

/*
 * Generators. Every link has `MBps` in both directions. NULL with err set.
 *
 * Fat-tree of switches with k ports (Al-Fares et al. 2008): k pods of k/2 edge and k/2 aggregation switches, (k/2)^2
 * core switches, up to k^3/4 hosts. k is even, 2..128. Hosts are attached pod by pod, k/2 per edge switch; switches
 * that are on no path between two hosts are left out (cross-layer paper, section 4: "pruned"). hosts = 0: k^3/4. Names:
 * h0.., edgeP.I, aggP.I, coreI.
 *
 * Jellyfish (Singla et al. 2012): `switches` switches with `ports` ports in a random regular graph, connected, drawn
 * from `seed`; `hosts` hosts are spread evenly over them, and each takes a port. Names: h0.., s0...
 */
struct topology *topology_fat_tree(uint32_t k, uint32_t hosts, double MBps, struct error *err);
struct topology *topology_jellyfish(uint32_t switches, uint32_t ports, uint32_t hosts, double MBps, uint64_t seed,
				    struct error *err);

/*
 * Generates the network if the argument is "fattree:K[,HOSTS]", "jellyfish:SWITCHES,PORTS[,HOSTS]" or
 * "leafspine:LEAVES,SPINES,HOSTS"; else reads the file by topology_read(), or the folder by topology_read_lldp().
 * `seed` is for Jellyfish. Returns NULL with err set on failure.
 *
 * Leaf-spine: HOSTS hosts in all, spread evenly over the leaves; each leaf is joined to each spine. Names: h0..,
 * leaf0.., spine0...
 */
struct topology *topology_from_argument(const char *argument, double MBps, uint64_t seed, struct error *err);

#endif
