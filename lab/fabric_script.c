/* SPDX-License-Identifier: BSD-3-Clause */
/* A routed lab as a shell script: namespaces, links, addresses, and the routes of every switch. */
#include "lab_priv.h"

#include <string.h>

/*
 * icmp_ratemask=0: no kind of ICMP message is limited, so every packet whose TTL ends is reported. The multipath hash
 * must depend on addresses, protocol and ports: policy 3 with the fields 0x37. Policy 1 takes a hash that the packet
 * carries already, if there is one: on a virtual link this is the random hash of the sender's socket.
 */
static const char switch_settings[] =
	"net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 "
	"net.ipv4.fib_multipath_hash_policy=3 net.ipv4.fib_multipath_hash_fields=0x37 "
	"net.ipv4.conf.all.ignore_routes_with_linkdown=1 "
	"net.ipv4.conf.default.ignore_routes_with_linkdown=1 net.ipv4.conf.all.send_redirects=0 "
	"net.ipv4.conf.default.send_redirects=0 net.ipv4.icmp_ratemask=0 "
	"net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.forwarding=1 net.ipv6.fib_multipath_hash_policy=3 "
	"net.ipv6.fib_multipath_hash_fields=0x37 "
	"net.ipv6.conf.all.ignore_routes_with_linkdown=1 net.ipv6.conf.default.ignore_routes_with_linkdown=1 "
	"net.ipv6.icmp.ratemask=0";
/*
 * Interfaces get only the addresses that the script sets, and can use them at once, without duplicate address
 * detection.
 */
static const char ipv6_settings[] = "net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0 "
				    "net.ipv6.conf.default.addr_gen_mode=1 net.ipv6.conf.default.accept_dad=0 "
				    "net.ipv6.conf.default.accept_ra=0";

static const struct lab_injector *injector_on(const struct lab *lab, int link)
{
	for (size_t i = 0; i < lab->injector_count; i++)
		if (lab->injectors[i].link == link)
			return &lab->injectors[i];
	return NULL;
}

static void print_namespaces(const struct lab *lab, FILE *out)
{
	int nodes = lab->host_count + lab->switch_count;

	fputs("ip -batch - <<'END'\n", out);
	fprintf(out, "netns add %s\n", lab->injector_netns);
	for (int n = 0; n < nodes; n++)
		fprintf(out, "netns add %s\n", fabric_node_netns(lab, n));
	fprintf(out, "netns exec %s sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1\n",
		lab->injector_netns);
	for (int n = 0; n < nodes; n++)
		fprintf(out, "netns exec %s sysctl -qw %s %s\n", fabric_node_netns(lab, n), ipv6_settings,
			n < lab->host_count ? "net.ipv4.ip_forward=0" : switch_settings);
	/*
	 * Each switch has a hash seed of its own (Linux 6.11 or later). With one seed on all switches, all flows that
	 * the first stage sends to a switch of the second stage would have the same hash there, so that switch would
	 * send them all over one link.
	 */
	for (int s = 0; s < lab->switch_count; s++)
		fprintf(out, "netns exec %s sysctl -eqw net.ipv4.fib_multipath_hash_seed=%u\n", lab->switches[s].netns,
			(s + 1) * 2654435761U | 1U);
	fputs("END\n", out);
}

static void print_links(const struct lab *lab, FILE *out)
{
	fputs("ip -batch - <<'END'\n", out);
	for (int l = 0; l < lab->link_count; l++) {
		const struct lab_link *link = &lab->links[l];
		bool of_host = link->a < lab->host_count;
		char options[40] = "";

		if (of_host)
			snprintf(options, sizeof options, "address %s", lab->hosts[link->a].mac);
		lab_print_link(
			lab, injector_on(lab, l),
			(struct lab_end){fabric_node_netns(lab, link->a), fabric_port(lab, link, link->a), options},
			(struct lab_end){fabric_node_netns(lab, link->b), fabric_port(lab, link, link->b),
					 of_host ? "address " FABRIC_GATEWAY_MAC : ""},
			out);
	}
	lab_print_injectors(lab, out);
	fputs("END\n", out);
}

void fabric_print_port(const struct lab *lab, const struct lab_link *link, int node, FILE *out)
{
	const char *port = fabric_port(lab, link, node);

	fprintf(out, "link set %s up\naddr replace fe80::", port);
	if (node < lab->host_count)
		fputs("2", out);
	else if (link->a < lab->host_count)
		fputs("1", out);
	else
		fprintf(out, "1:%x", node - lab->host_count + 1);
	fprintf(out, "/64 dev %s nodad\n", port);
}

static void print_host(const struct lab *lab, int index, FILE *out)
{
	const struct lab_host *host = &lab->hosts[index];

	fprintf(out,
		"addr add %s/32 dev eth0\nroute add 10.77.%d.254 dev eth0\naddr add %s/128 dev eth0 nodad\n"
		"route add default via 10.77.%d.254\nroute add default via fe80::1 dev eth0\n",
		host->address, host->rack, host->address6, host->rack);
}

static void print_switch(const struct lab_switch *node, int number, FILE *out)
{
	/*
	 * Adds the switch's own address before the rack's gateway address, because the kernel uses the first
	 * address as the source of ICMP messages.
	 */
	fprintf(out, "addr add %s/32 dev lo\naddr add fd78::%x/128 dev lo nodad\n", node->address, number);
	if (node->rack > 0)
		fprintf(out, "addr add 10.77.%d.254/32 dev lo\n", node->rack);
}

static void print_node(const struct lab *lab, int node, FILE *out)
{
	const char *netns = fabric_node_netns(lab, node);
	int number = node - lab->host_count;

	fprintf(out, "ip -n %s -batch - <<'END'\nlink set lo up\n", netns);
	for (int l = 0; l < lab->link_count; l++)
		if (lab->links[l].a == node || lab->links[l].b == node)
			fabric_print_port(lab, &lab->links[l], node, out);
	if (number < 0)
		print_host(lab, node, out);
	else
		print_switch(&lab->switches[number], number + 1, out);
	fprintf(out, "END\nip netns exec %s sh -ec '", netns);
	for (int l = 0; l < lab->link_count; l++)
		if (lab->links[l].a == node || lab->links[l].b == node)
			fprintf(out, "ethtool -K %s " LAB_OFFLOADS_OFF " >/dev/null; ",
				fabric_port(lab, &lab->links[l], node));
	fputs("'\n", out);
}

/* Prints the routes of switch s to the hosts that are linked to it. */
static void print_own_hosts(const struct lab *lab, int s, FILE *out)
{
	for (int l = 0; l < lab->link_count; l++) {
		const struct lab_link *link = &lab->links[l];
		const struct lab_host *host = &lab->hosts[link->a];

		if (link->a >= lab->host_count || link->b - lab->host_count != s || !link->up)
			continue;
		fprintf(out, "route replace %s dev %s src %s\nroute replace %s dev %s src %s\n", host->address,
			host->name, lab->switches[s].address, host->probe_address, host->name,
			lab->switches[s].address);
		fprintf(out, "route replace %s/128 dev %s src fd78::%x\nroute replace %s/128 dev %s src fd78::%x\n",
			host->address6, host->name, s + 1, host->probe_address6, host->name, s + 1);
	}
}

/*
 * Prints the next hops of switch s on its route to a rack: the neighbours that are nearer to the rack than s.
 * distances[]: by switch, number of links to the rack's switch.
 */
static void print_next_hops(const struct lab *lab, int s, const int *distances, bool ipv6, FILE *out)
{
	for (int l = 0; l < lab->link_count; l++) {
		const struct lab_link *link = &lab->links[l];
		int a = link->a - lab->host_count, b = link->b - lab->host_count, to = a == s ? b : a;

		if (a < 0 || (a != s && b != s) || !link->up || distances[to] != distances[s] - 1)
			continue;
		if (ipv6)
			fprintf(out, " nexthop via fe80::1:%x dev %s", to + 1, lab->switches[to].name);
		else
			fprintf(out, " nexthop via %s dev %s onlink", lab->switches[to].address,
				lab->switches[to].name);
	}
	fputc('\n', out);
}

static void print_rack_routes(const struct lab *lab, int s, const struct lab_switch *leaf, const int *distances,
			      FILE *out)
{
	if (distances[s] == FABRIC_FAR) {
		fprintf(out, "route replace unreachable 10.77.%d.0/24\nroute replace unreachable fd77::%x:0/112\n",
			leaf->rack, leaf->rack);
		return;
	}
	fprintf(out, "route replace 10.77.%d.0/24 src %s", leaf->rack, lab->switches[s].address);
	print_next_hops(lab, s, distances, false, out);
	fprintf(out, "route replace fd77::%x:0/112 src fd78::%x", leaf->rack, s + 1);
	print_next_hops(lab, s, distances, true, out);
}

void fabric_print_routes(const struct lab *lab, FILE *out)
{
	int distances[LAB_SWITCHES_MAXIMUM][LAB_SWITCHES_MAXIMUM];

	for (int leaf = 0; leaf < lab->switch_count; leaf++)
		fabric_distances(lab, leaf, false, distances[leaf]);
	for (int s = 0; s < lab->switch_count; s++) {
		fprintf(out, "ip -n %s -batch - <<'END'\n", lab->switches[s].netns);
		print_own_hosts(lab, s, out);
		for (int leaf = 0; leaf < lab->switch_count; leaf++)
			if (lab->switches[leaf].rack > 0 && leaf != s)
				print_rack_routes(lab, s, &lab->switches[leaf], distances[leaf], out);
		fputs("END\n", out);
	}
}

static void print_fabric(const struct lab *lab, FILE *out)
{
	fputs("set -e\n", out);
	print_namespaces(lab, out);
	print_links(lab, out);
	for (int n = 0; n < lab->host_count + lab->switch_count; n++)
		print_node(lab, n, out);
}

void lab_print_script(const struct lab *lab, FILE *out)
{
	(lab->switch_count > 0 ? print_fabric : bridges_print_up)(lab, out);
}
