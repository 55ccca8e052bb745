/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the script that builds a lab of bridges, as lines for one `ip -batch`: one process builds the whole lab. */
#include <lab/lab.h>

#include <string.h>

#include "lab_priv.h"

static const struct lab_injector *injector_at(const struct lab *lab, const char *place)
{
	for (size_t i = 0; i < lab->injector_count; i++)
		if (strcmp(lab->injectors[i].place, place) == 0)
			return &lab->injectors[i];
	return NULL;
}

void lab_print_link(const struct lab *lab, const struct lab_injector *injector, struct lab_end near, struct lab_end far,
		    FILE *out)
{
	int mtu = lab->mtu_bytes;

	if (!injector) {
		fprintf(out, "link add %s netns %s %s mtu %d type veth peer name %s %s mtu %d netns %s\n", near.port,
			near.netns, near.options, mtu, far.port, far.options, mtu, far.netns);
		return;
	}
	fprintf(out, "link add %s netns %s %s mtu %d type veth peer name %s mtu %d netns %s\n", near.port, near.netns,
		near.options, mtu, injector->port_a, mtu, lab->injector_netns);
	fprintf(out, "link add %s netns %s mtu %d type veth peer name %s %s mtu %d netns %s\n", injector->port_b,
		lab->injector_netns, mtu, far.port, far.options, mtu, far.netns);
}

/*
 * Prints a link from `near` to the port far_end in the switch's namespace, through the injector at `place` if there is
 * one.
 */
static void print_switch_link(const struct lab *lab, const char *place, struct lab_end near, const char *far_end,
			      FILE *out)
{
	lab_print_link(lab, injector_at(lab, place), near, (struct lab_end){lab->switch_netns, far_end, ""}, out);
}

static void print_begin(const char *netns, FILE *out)
{
	fprintf(out, "netns exec %s sh -ec '", netns);
}

static void print_switch(const struct lab *lab, FILE *out)
{
	print_begin(lab->switch_netns, out);
	for (int rack = 1; rack <= lab->rack_count; rack++)
		fprintf(out, "ip link set rack%d up; ", rack);
	for (int i = 0; i < lab->host_count; i++)
		fprintf(out, "ip link set %s master rack%d up; ", lab->hosts[i].name, lab->hosts[i].rack);
	if (lab->rack_count > 1) {
		fputs("ip link set core up; ", out);
		for (int rack = 1; rack <= lab->rack_count; rack++)
			fprintf(out, "ip link set rack%d-up master rack%d up; ip link set rack%d-down master core up; ",
				rack, rack, rack);
	}
	fputs("for i in $(ls /sys/class/net); do test $i = lo || ethtool -K $i " LAB_OFFLOADS_OFF
	      " >/dev/null 2>&1 || :; done'\n",
	      out);
}

static void print_hosts(const struct lab *lab, FILE *out)
{
	for (int i = 0; i < lab->host_count; i++) {
		const struct lab_host *host = &lab->hosts[i];

		print_begin(host->netns, out);
		fprintf(out,
			"ip addr add %s/16 dev eth0; ip link set eth0 up; ethtool -K eth0 " LAB_OFFLOADS_OFF
			" >/dev/null'\n",
			host->address);
	}
}

void lab_print_injectors(const struct lab *lab, FILE *out)
{
	if (lab->injector_count == 0)
		return;
	print_begin(lab->injector_netns, out);
	for (size_t i = 0; i < lab->injector_count; i++)
		for (int end = 0; end < 2; end++) {
			const char *port = end ? lab->injectors[i].port_b : lab->injectors[i].port_a;

			fprintf(out, "ip link set %s promisc on up; ethtool -K %s " LAB_OFFLOADS_OFF " >/dev/null; ",
				port, port);
		}
	fputs(":'\n", out);
}

static void print_namespace(const char *netns, FILE *out)
{
	/* IPv6 is turned off before any link exists, so that no router solicitation ever crosses the lab. */
	fprintf(out, "netns add %s\n", netns);
	print_begin(netns, out);
	fputs("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 net.ipv4.ip_forward=0; "
	      "ip link set lo up'\n",
	      out);
}

void bridges_print_up(const struct lab *lab, FILE *out)
{
	char place[24], up[24], down[24], options[40];

	fputs("exec ip -batch - <<'END'\n", out);
	print_namespace(lab->switch_netns, out);
	print_namespace(lab->injector_netns, out);
	for (int i = 0; i < lab->host_count; i++)
		print_namespace(lab->hosts[i].netns, out);
	print_begin(lab->switch_netns, out);
	for (int rack = 1; rack <= lab->rack_count; rack++)
		fprintf(out, "ip link add rack%d mtu %d type bridge stp_state 0 forward_delay 0 mcast_snooping 0; ",
			rack, lab->mtu_bytes);
	if (lab->rack_count > 1)
		fprintf(out, "ip link add core mtu %d type bridge stp_state 0 forward_delay 0 mcast_snooping 0; ",
			lab->mtu_bytes);
	fputs(":'\n", out);
	for (int i = 0; i < lab->host_count; i++) {
		const struct lab_host *host = &lab->hosts[i];

		snprintf(options, sizeof options, "address %s", host->mac);
		print_switch_link(lab, host->name, (struct lab_end){host->netns, "eth0", options}, host->name, out);
	}
	for (int rack = 1; rack <= lab->rack_count && lab->rack_count > 1; rack++) {
		/* If there are two racks, one link connects them, and the place "core" is in rack 1's half of it. */
		bool core = rack == 1 && injector_at(lab, "core");

		snprintf(place, sizeof place, "rack%d", rack);
		snprintf(up, sizeof up, "rack%d-up", rack);
		snprintf(down, sizeof down, "rack%d-down", rack);
		print_switch_link(lab, core ? "core" : place, (struct lab_end){lab->switch_netns, up, ""}, down, out);
	}
	print_hosts(lab, out);
	lab_print_injectors(lab, out);
	print_switch(lab, out);
	fputs("END\n", out);
}
