/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a routed lab: its nodes and links, their names, addresses and racks. */
#include "lab_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RACK_HOSTS_MAXIMUM = 99 }; /* 10.77.RACK.1 to .99; the addresses for probers begin at .101 */

/* Checks a node's name, which becomes an interface name and is used in shell scripts. */
static int check_node_name(const char *name, struct error *err)
{
	static const char *const reserved[] = {"lo", "eth0", "all", "default", "sw", "inj", "core"};
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	bool good = length > 0 && length < LAB_NODE_NAME_BYTES && name[length] == '\0' && isalnum((unsigned char)*name);

	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		good = good && strcmp(name, reserved[i]) != 0;
	if (good)
		return 0;
	return error_set(err, EINVAL,
			 "node '%s': expected a name of at most %d letters, digits, '.', '_' and '-', not reserved "
			 "(lo, eth0, all, default, sw, inj, core)",
			 name, LAB_NODE_NAME_BYTES - 1);
}

/* Returns true if the name is the prefix and up to 6 digits, such as "h12" for 'h'. */
static bool is_numbered(const char *name, char prefix)
{
	size_t digits = strspn(name + 1, "0123456789");

	return name[0] == prefix && digits > 0 && digits <= 6 && name[1 + digits] == '\0';
}

/*
 * Names the namespaces of the nodes. Commands find them later by their names alone: NAME-h<number> for hosts and
 * NAME-s<number> for switches. If all hosts, or all switches, have names of this form (h12, s3), the numbers in the
 * names are used; otherwise the hosts, or the switches, are numbered in order, from 1.
 */
static void name_netns(struct lab *lab)
{
	bool hosts = true, switches = true;

	for (int i = 0; i < lab->host_count; i++)
		hosts = hosts && is_numbered(lab->hosts[i].name, 'h');
	for (int i = 0; i < lab->switch_count; i++)
		switches = switches && is_numbered(lab->switches[i].name, 's');
	for (int i = 0; i < lab->host_count; i++) {
		struct lab_host *host = &lab->hosts[i];

		if (hosts)
			snprintf(host->netns, sizeof host->netns, "%s-%.8s", lab->name, host->name);
		else
			snprintf(host->netns, sizeof host->netns, "%s-h%d", lab->name, i + 1);
	}
	for (int i = 0; i < lab->switch_count; i++) {
		struct lab_switch *node = &lab->switches[i];

		if (switches)
			snprintf(node->netns, sizeof node->netns, "%s-%.8s", lab->name, node->name);
		else
			snprintf(node->netns, sizeof node->netns, "%s-s%d", lab->name, i + 1);
	}
}

const char *lab_node_name(const struct lab *lab, int node)
{
	return node < lab->host_count ? lab->hosts[node].name : lab->switches[node - lab->host_count].name;
}

const char *fabric_node_netns(const struct lab *lab, int node)
{
	return node < lab->host_count ? lab->hosts[node].netns : lab->switches[node - lab->host_count].netns;
}

int fabric_find_node(const struct lab *lab, const char *name)
{
	for (int n = 0; n < lab->host_count + lab->switch_count; n++)
		if (strcmp(lab_node_name(lab, n), name) == 0)
			return n;
	return -1;
}

int fabric_find_link(const struct lab *lab, int a, int b)
{
	for (int l = 0; l < lab->link_count; l++)
		if ((lab->links[l].a == a && lab->links[l].b == b) || (lab->links[l].a == b && lab->links[l].b == a))
			return l;
	return -1;
}

const char *fabric_port(const struct lab *lab, const struct lab_link *link, int node)
{
	return node < lab->host_count ? "eth0" : lab_node_name(lab, node == link->a ? link->b : link->a);
}

void fabric_distances(const struct lab *lab, int to_switch, bool all, int *distances)
{
	int queue[LAB_SWITCHES_MAXIMUM], head = 0, tail = 0;

	for (int s = 0; s < lab->switch_count; s++)
		distances[s] = FABRIC_FAR;
	distances[to_switch] = 0;
	queue[tail++] = to_switch;
	while (head < tail) {
		int node = queue[head++];

		for (int l = 0; l < lab->link_count; l++) {
			const struct lab_link *link = &lab->links[l];
			int a = link->a - lab->host_count, b = link->b - lab->host_count, to = a == node ? b : a;

			if (a < 0 || (a != node && b != node) || (!link->up && !all) || distances[to] != FABRIC_FAR)
				continue;
			distances[to] = distances[node] + 1;
			queue[tail++] = to;
		}
	}
}

static int add_nodes(const struct topology *topology, struct lab *lab, int *node_of, struct error *err)
{
	uint32_t switches = topology->node_count - topology->host_count;

	if (topology->host_count < 1 || topology->host_count > LAB_HOSTS_MAXIMUM || switches < 1 ||
	    switches > LAB_SWITCHES_MAXIMUM || topology->link_count > LAB_LINKS_MAXIMUM)
		return error_set(err, EINVAL,
				 "%u hosts, %u switches, %u links: a lab has at most %d hosts, %d switches and %d "
				 "links",
				 topology->host_count, switches, topology->link_count, LAB_HOSTS_MAXIMUM,
				 LAB_SWITCHES_MAXIMUM, LAB_LINKS_MAXIMUM);
	for (uint32_t n = 0; n < topology->node_count; n++) {
		const struct topology_node *node = &topology->nodes[n];
		bool is_host = node->kind == TOPOLOGY_HOST;
		int code = check_node_name(node->name, err), number;

		if (code)
			return code;
		number = is_host ? lab->host_count++ : lab->switch_count++;
		snprintf(is_host ? lab->hosts[number].name : lab->switches[number].name, LAB_NODE_NAME_BYTES, "%.15s",
			 node->name);
		if (!is_host)
			snprintf(lab->switches[number].address, sizeof lab->switches[number].address, "10.78.0.%d",
				 (number + 1) % 256);
		node_of[n] = is_host ? number : (int)topology->host_count + number;
	}
	return 0;
}

/* Converts a rate in the topology to a limit in struct lab_link, where 0 = none. */
static double limit_of(double MBps)
{
	return MBps >= TOPOLOGY_MBPS_MAXIMUM ? 0 : MBps;
}

static void add_links(const struct topology *topology, const struct lab_spec *spec, const int *node_of, struct lab *lab)
{
	for (uint32_t l = 0; l < topology->link_count; l++) {
		const struct topology_link *from = &topology->links[l];
		struct lab_link *link = &lab->links[lab->link_count++];
		bool turned = node_of[from->b] < lab->host_count;

		link->a = node_of[turned ? from->b : from->a];
		link->b = node_of[turned ? from->a : from->b];
		link->MBps = spec->link_MBps > 0 ? spec->link_MBps : limit_of(turned ? from->back_MBps : from->MBps);
		link->back_MBps =
			spec->link_MBps > 0 ? spec->link_MBps : limit_of(turned ? from->MBps : from->back_MBps);
		link->up = from->up;
	}
}

void lab_name_host(struct lab_host *host, int place)
{
	uint8_t rack = (uint8_t)host->rack, last = (uint8_t)place; /* rack and place are under 100 */

	/*
	 * `address` belongs to the kernel. The kernel drops packets to `probe_address` without an answer, because it
	 * does not forward.
	 */
	snprintf(host->address, sizeof host->address, "10.77.%u.%u", rack, last);
	snprintf(host->probe_address, sizeof host->probe_address, "10.77.%u.%u", rack, 100U + last);
	snprintf(host->mac, sizeof host->mac, "02:6d:00:00:%02x:%02x", rack, last);
}

/*
 * Sets the rack, the addresses and the MAC of a host. The host belongs to the rack of its switch; racks are numbered in
 * the order of their first hosts.
 */
static int place_host(struct lab *lab, int index, int *rack_hosts, struct error *err)
{
	struct lab_host *host = &lab->hosts[index];
	struct lab_switch *leaf = NULL;
	int place;

	for (int l = 0; l < lab->link_count; l++) {
		if (lab->links[l].a != index)
			continue;
		if (leaf)
			return error_set(err, EINVAL, "host '%s' has two links: a host of the lab has one", host->name);
		leaf = &lab->switches[lab->links[l].b - lab->host_count];
	}
	if (!leaf)
		return error_set(err, EINVAL, "host '%s' has no link", host->name);
	if (leaf->rack == 0)
		leaf->rack = ++lab->rack_count;
	host->rack = leaf->rack;
	place = ++rack_hosts[host->rack];
	if (place > RACK_HOSTS_MAXIMUM)
		return error_set(err, EINVAL, "switch '%s' has more than %d hosts", leaf->name, RACK_HOSTS_MAXIMUM);
	lab_name_host(host, place);
	/* The rack is in hexadecimal; the decimal digits of the host's place are used as hexadecimal digits. */
	snprintf(host->address6, sizeof host->address6, "fd77::%x:%d", (unsigned)host->rack & 0xff, place % 100);
	snprintf(host->probe_address6, sizeof host->probe_address6, "fd77::%x:%d", (unsigned)host->rack & 0xff,
		 100 + place % 100);
	return 0;
}

static int check_whole(const struct lab *lab, struct error *err)
{
	int distances[LAB_SWITCHES_MAXIMUM];

	fabric_distances(lab, 0, true, distances);
	for (int s = 0; s < lab->switch_count; s++)
		if (distances[s] == FABRIC_FAR)
			return error_set(err, EINVAL, "the network is not connected: no path from '%s' to '%s'",
					 lab->switches[0].name, lab->switches[s].name);
	return 0;
}

/* Makes a network with the nodes spine1.., leaf1.. and h1... The hosts have the same names as in a bridged lab. */
static struct topology *leaf_spine(const struct lab_spec *spec, struct error *err)
{
	int per_rack = (spec->hosts + spec->racks - 1) / spec->racks;
	struct topology *topology = topology_create();
	int64_t leaf = 0, node = topology ? 0 : error_set(err, ENOMEM, "out of memory");
	char name[24];

	for (int s = 1; s <= spec->spines && node >= 0; s++) {
		snprintf(name, sizeof name, "spine%d", s);
		node = topology_add_node(topology, TOPOLOGY_SWITCH, name, err);
	}
	for (int h = 0; h < spec->hosts && node >= 0; h++) {
		if (h % per_rack == 0) {
			snprintf(name, sizeof name, "leaf%d", h / per_rack + 1);
			leaf = node = topology_add_node(topology, TOPOLOGY_SWITCH, name, err);
			for (int s = 0; s < spec->spines && node >= 0; s++)
				node = topology_add_link(topology, (uint32_t)leaf, (uint32_t)s, TOPOLOGY_MBPS_MAXIMUM,
							 TOPOLOGY_MBPS_MAXIMUM, err);
		}
		snprintf(name, sizeof name, "h%d", h + 1);
		node = node < 0 ? node : topology_add_node(topology, TOPOLOGY_HOST, name, err);
		node = node < 0 ? node
				: topology_add_link(topology, (uint32_t)node, (uint32_t)leaf, TOPOLOGY_MBPS_MAXIMUM,
						    TOPOLOGY_MBPS_MAXIMUM, err);
	}
	if (node >= 0)
		return topology;
	topology_destroy(topology);
	return NULL;
}

static int plan_network(const struct topology *topology, const struct lab_spec *spec, struct lab *lab,
			struct error *err)
{
	int rack_hosts[LAB_HOSTS_MAXIMUM + 1] = {0}, node_of[LAB_HOSTS_MAXIMUM + LAB_SWITCHES_MAXIMUM];
	int code = add_nodes(topology, lab, node_of, err);

	if (code)
		return code;
	add_links(topology, spec, node_of, lab);
	name_netns(lab);
	for (int h = 0; h < lab->host_count; h++) {
		code = place_host(lab, h, rack_hosts, err);
		if (code)
			return code;
	}
	return check_whole(lab, err);
}

int fabric_plan(const struct lab_spec *spec, struct lab *lab, struct error *err)
{
	struct topology *own = NULL;
	int code;

	if (spec->fabric)
		return plan_network(spec->fabric, spec, lab, err);
	own = leaf_spine(spec, err);
	if (!own)
		return error_code(err, ENOMEM);
	code = plan_network(own, spec, lab, err);
	topology_destroy(own);
	return code;
}

static int add_injector(struct lab *lab, int link, struct error *err)
{
	struct lab_injector injector = {.link = link};
	int a = lab->links[link].a, b = lab->links[link].b;
	size_t number = lab->injector_count + 1;

	if (number > LAB_INJECTORS_MAXIMUM)
		return error_set(err, EINVAL, "more than %d injectors", LAB_INJECTORS_MAXIMUM);
	snprintf(injector.place, sizeof injector.place, "%s", lab_node_name(lab, a));
	if (a >= lab->host_count)
		snprintf(injector.place, sizeof injector.place, "%s:%s", lab_node_name(lab, a), lab_node_name(lab, b));
	for (size_t i = 0; i < lab->injector_count; i++)
		if (lab->injectors[i].link == link)
			return error_set(err, EINVAL, "two injectors on the same link, '%s'", injector.place);
	snprintf(injector.port_a, sizeof injector.port_a, "i%zu-a", number);
	snprintf(injector.port_b, sizeof injector.port_b, "i%zu-b", number);
	snprintf(injector.control, sizeof injector.control, LAB_FOLDER "/%s-%s.sock", lab->name, injector.place);
	lab->injectors[lab->injector_count++] = injector;
	return 0;
}

static int add_all_links(struct lab *lab, int node, struct error *err)
{
	for (int l = 0; l < lab->link_count; l++) {
		const struct lab_link *link = &lab->links[l];
		int code = 0;

		if ((link->a == node || link->b == node) && link->a >= lab->host_count)
			code = add_injector(lab, l, err);
		if (code)
			return code;
	}
	return 0;
}

int fabric_add_place(const char *place, struct lab *lab, struct error *err)
{
	const char *colon = strchr(place, ':');
	int node, link = -1;

	if (colon && colon - place < LAB_NODE_NAME_BYTES) {
		char first[LAB_NODE_NAME_BYTES];
		int other = fabric_find_node(lab, colon + 1);

		snprintf(first, sizeof first, "%.*s", (int)(colon - place), place);
		node = fabric_find_node(lab, first);
		link = node < 0 || other < 0 ? -1 : fabric_find_link(lab, node, other);
	} else {
		node = fabric_find_node(lab, place);
		if (node >= lab->host_count)
			return add_all_links(lab, node, err);
		for (int l = 0; node >= 0 && l < lab->link_count; l++)
			link = lab->links[l].a == node ? l : link;
	}
	if (link < 0)
		return error_set(err, EINVAL,
				 "no place '%s' for an injector: expected a host, a switch, or a link as A:B", place);
	return add_injector(lab, link, err);
}

struct topology *lab_topology(const struct lab *lab)
{
	struct topology *topology = topology_create();
	int64_t code = topology ? 0 : -ENOMEM;

	for (int h = 0; h < lab->host_count && code >= 0; h++)
		code = topology_add_node(topology, TOPOLOGY_HOST, lab->hosts[h].name, NULL);
	for (int s = 0; s < lab->switch_count && code >= 0; s++)
		code = topology_add_node(topology, TOPOLOGY_SWITCH, lab->switches[s].name, NULL);
	for (int l = 0; l < lab->link_count && code >= 0; l++) {
		const struct lab_link *link = &lab->links[l];

		code = topology_add_link(topology, (uint32_t)link->a, (uint32_t)link->b,
					 link->MBps > 0 ? link->MBps : TOPOLOGY_MBPS_MAXIMUM,
					 link->back_MBps > 0 ? link->back_MBps : TOPOLOGY_MBPS_MAXIMUM, NULL);
		if (code >= 0)
			topology->links[code].up = link->up;
	}
	if (code >= 0)
		return topology;
	topology_destroy(topology);
	return NULL;
}
