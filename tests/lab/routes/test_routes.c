/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes in switches with simulated kernels: the functions of socket.c are replaced by the test's. A kernel has rules
 * and the tables that they select. Without a rule, it sends packets over the shortest paths and chooses the spine by a
 * hash.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include <base/rng.h>
#include <lab/routes/routes.h>

#include "routes_priv.h"

enum { RULES = 256, NODES = 64, TABLE = 1000 };

struct rule {
	uint32_t from, to, table, protocol;
};

static struct kernel {
	struct rule rules[RULES];
	uint32_t rule_count;
	uint32_t gateway[NODES]; /* by node: of the table's route; 0 = none */
	int port[NODES];
} kernels[LAB_SWITCHES_MAXIMUM];

static struct lab lab;
static struct routes *routes;
static int changes;              /* messages that changed something */
static bool always_connected;    /* checked after each of them */
static int fail_type, fail_code; /* the answer to messages of a type */
static int first_failing;        /* the first switch that gives it */
static bool no_routes;           /* kernels have no route of their own */

static void check_pairs(void);

uid_t __wrap_geteuid(void);
int __wrap_mnl_socket_close(struct mnl_socket *socket);

uid_t __wrap_geteuid(void)
{
	return 0;
}

int __wrap_mnl_socket_close(struct mnl_socket *socket)
{
	cr_assert_not_null(socket);
	return 0;
}

struct mnl_socket *socket_open(const char *netns, unsigned groups, struct error *err)
{
	(void)groups;
	(void)err;
	for (int s = 0; s < lab.switch_count; s++)
		if (strcmp(lab.switches[s].netns, netns) == 0)
			return (struct mnl_socket *)&kernels[s];
	return NULL;
}

int socket_open_packet(const char *netns, int ethertype, int priority, struct error *err)
{
	(void)netns;
	(void)ethertype;
	(void)priority;
	return error_set(err, ENOSYS, "not used here");
}

int socket_port(int socket, const char *name)
{
	(void)socket;
	(void)name;
	return -ENOSYS;
}

static uint32_t address_of(const char *text)
{
	struct in_addr address;

	inet_pton(AF_INET, text, &address);
	return address.s_addr;
}

static int node_of_switch(const struct kernel *kernel)
{
	return lab.host_count + (int)(kernel - kernels);
}

static bool is_linked(int a, int b)
{
	for (int l = 0; l < lab.link_count; l++)
		if ((lab.links[l].a == a && lab.links[l].b == b) || (lab.links[l].a == b && lab.links[l].b == a))
			return true;
	return false;
}

/* Index of the interface of a kernel to a neighbour. */
static int port_to(const struct kernel *kernel, int node)
{
	return 100 * (int)(kernel - kernels + 1) + node;
}

static int switch_of(int host)
{
	for (int l = 0; l < lab.link_count; l++)
		if (lab.links[l].a == host)
			return lab.links[l].b;
	return -1;
}

static int host_of(uint32_t address)
{
	for (int h = 0; h < lab.host_count; h++)
		if (address_of(lab.hosts[h].address) == address)
			return h;
	return -1;
}

/* The spine of a leaf for a packet. Spines are the first switches. */
static int spine_for(uint32_t hash, int spines)
{
	return lab.host_count + (int)(hash % (uint32_t)spines);
}

/* The neighbour to which the kernel sends a packet; -1: none. */
static int next_hop(const struct kernel *kernel, int from, int to, uint32_t hash)
{
	int at = node_of_switch(kernel), leaf = switch_of(to);

	for (uint32_t r = 0; r < kernel->rule_count; r++) {
		const struct rule *rule = &kernel->rules[r];

		if (rule->from == address_of(lab.hosts[from].address) &&
		    rule->to == address_of(lab.hosts[to].address) && rule->table >= TABLE &&
		    kernel->gateway[rule->table - TABLE])
			return (int)(rule->table - TABLE);
	}
	if (no_routes)
		return -1;
	if (at == leaf)
		return to;
	return is_linked(at, leaf) ? leaf : spine_for(hash, 3);
}

/* Passes a message of the kernel to the program. */
static int answer(struct nlmsghdr *message, mnl_cb_t take, void *context)
{
	int code = take(message, context);

	return code < 0 ? -errno : 0;
}

static int list_ports(const struct kernel *kernel, void *buffer, mnl_cb_t take, void *context)
{
	int code = 0;

	for (int n = 0; n < lab.host_count + lab.switch_count && code == 0; n++) {
		struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
		struct ifinfomsg *link = mnl_nlmsg_put_extra_header(message, sizeof *link);

		if (!is_linked(node_of_switch(kernel), n))
			continue;
		link->ifi_index = port_to(kernel, n);
		mnl_attr_put_u32(message, IFLA_MTU, 1500);
		mnl_attr_put_strz(message, IFLA_IFNAME, lab_node_name(&lab, n));
		code = answer(message, take, context);
	}
	return code;
}

static int list_tables(const struct kernel *kernel, void *buffer, mnl_cb_t take, void *context)
{
	int code = 0;

	for (int n = 0; n < NODES && code == 0; n++) {
		struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
		struct rtmsg *route = mnl_nlmsg_put_extra_header(message, sizeof *route);

		/* Another program has routes in all tables. */
		route->rtm_protocol = kernel->gateway[n] ? ROUTES_PROTOCOL : RTPROT_STATIC;
		mnl_attr_put_u32(message, RTA_TABLE, (uint32_t)(TABLE + n));
		code = answer(message, take, context);
	}
	return code;
}

static int list_rules(const struct kernel *kernel, void *buffer, mnl_cb_t take, void *context)
{
	int code = 0;

	for (uint32_t r = 0; r < kernel->rule_count && code == 0; r++) {
		const struct rule *rule = &kernel->rules[r];
		struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);

		mnl_nlmsg_put_extra_header(message, sizeof(struct fib_rule_hdr));
		mnl_attr_put_u32(message, FRA_SRC, rule->from);
		mnl_attr_put_u32(message, FRA_DST, rule->to);
		mnl_attr_put_u32(message, FRA_TABLE, rule->table);
		mnl_attr_put_u8(message, FRA_PROTOCOL, (uint8_t)rule->protocol);
		code = answer(message, take, context);
	}
	return code;
}

/* The attributes of a message, by type: their first four bytes. */
static void read_attributes(const struct nlmsghdr *message, size_t header, uint32_t *values, size_t count)
{
	const struct nlattr *attribute;

	memset(values, 0, count * sizeof *values);
	mnl_attr_for_each(attribute, message, (unsigned)header)
	{
		size_t bytes = mnl_attr_get_payload_len(attribute);

		if (mnl_attr_get_type(attribute) < count)
			memcpy(&values[mnl_attr_get_type(attribute)], mnl_attr_get_payload(attribute),
			       bytes < 4 ? bytes : 4);
	}
}

static int change_rule(struct kernel *kernel, const struct nlmsghdr *message)
{
	const struct fib_rule_hdr *header = mnl_nlmsg_get_payload(message);
	uint32_t values[FRA_MAX + 1];
	struct rule rule;
	uint32_t r = 0;

	read_attributes(message, sizeof *header, values, FRA_MAX + 1);
	cr_assert(header->family == AF_INET && header->src_len == 32 && header->dst_len == 32 &&
		  header->action == FR_ACT_TO_TBL && values[FRA_PRIORITY] == 1000);
	rule = (struct rule){values[FRA_SRC], values[FRA_DST], values[FRA_TABLE], values[FRA_PROTOCOL]};
	while (r < kernel->rule_count && memcmp(&kernel->rules[r], &rule, sizeof rule) != 0)
		r++;
	if (message->nlmsg_type == RTM_NEWRULE) {
		if (r < kernel->rule_count)
			return -EEXIST;
		cr_assert_lt(r, RULES);
		kernel->rules[kernel->rule_count++] = rule;
		return 0;
	}
	if (r == kernel->rule_count)
		return -ENOENT;
	memmove(&kernel->rules[r], &kernel->rules[r + 1], (--kernel->rule_count - r) * sizeof rule);
	return 0;
}

static int change_table(struct kernel *kernel, const struct nlmsghdr *message)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	uint32_t values[RTA_MAX + 1], node;

	read_attributes(message, sizeof *route, values, RTA_MAX + 1);
	cr_assert(route->rtm_family == AF_INET && route->rtm_protocol == ROUTES_PROTOCOL);
	node = values[RTA_TABLE] - TABLE;
	cr_assert_lt(node, NODES);
	if (message->nlmsg_type == RTM_DELROUTE) {
		if (!kernel->gateway[node])
			return -ESRCH;
		kernel->gateway[node] = 0;
		return 0;
	}
	cr_assert_eq(route->rtm_flags, RTNH_F_ONLINK);
	cr_assert_eq(values[RTA_OIF], (uint32_t)port_to(kernel, (int)node));
	cr_assert_eq(values[RTA_GATEWAY], address_of(lab.switches[node - (uint32_t)lab.host_count].address));
	kernel->gateway[node] = values[RTA_GATEWAY];
	return 0;
}

/* Answers to which interface a packet goes. The hash depends on the ports if the protocol is given. */
static int look_up(const struct kernel *kernel, struct nlmsghdr *message, void *buffer, mnl_cb_t take, void *context)
{
	uint32_t values[RTA_MAX + 1], hash;
	struct rtmsg *route;
	int next;

	read_attributes(message, sizeof *route, values, RTA_MAX + 1);
	cr_assert(is_linked((int)values[RTA_IIF] - port_to(kernel, 0), node_of_switch(kernel)),
		  "comes from a neighbour");
	hash = values[RTA_IP_PROTO] == IPPROTO_TCP
		       ? ntohs((uint16_t)values[RTA_SPORT]) + ntohs((uint16_t)values[RTA_DPORT])
		       : 0;
	next = next_hop(kernel, host_of(values[RTA_SRC]), host_of(values[RTA_DST]), hash);
	message = mnl_nlmsg_put_header(buffer);
	route = mnl_nlmsg_put_extra_header(message, sizeof *route);
	route->rtm_type = next < 0 ? RTN_UNREACHABLE : RTN_UNICAST;
	mnl_attr_put_u32(message, RTA_OIF, (uint32_t)port_to(kernel, next < 0 ? 0 : next));
	return answer(message, take, context);
}

int socket_request(struct mnl_socket *socket, void *buffer, mnl_cb_t take, void *context)
{
	struct kernel *kernel = (struct kernel *)socket;
	struct nlmsghdr *message = buffer;
	int code;

	cr_assert(message->nlmsg_flags & NLM_F_REQUEST);
	if (message->nlmsg_type == fail_type && kernel - kernels >= first_failing)
		return fail_code;
	switch (message->nlmsg_type) {
	case RTM_GETLINK:
		return list_ports(kernel, buffer, take, context);
	case RTM_GETRULE:
		return list_rules(kernel, buffer, take, context);
	case RTM_GETROUTE:
		return message->nlmsg_flags & NLM_F_DUMP ? list_tables(kernel, buffer, take, context)
							 : look_up(kernel, message, buffer, take, context);
	case RTM_NEWRULE:
	case RTM_DELRULE:
		code = change_rule(kernel, message);
		break;
	default:
		code = change_table(kernel, message);
	}
	changes++;
	if (always_connected)
		check_pairs();
	return code;
}

/* Follows the packets from one host to another. Returns the number of switches; -1: they do not arrive. */
static int follow(int from, int to, int *nodes)
{
	int at = switch_of(from), count = 0;

	while (at >= lab.host_count && count < LAB_SWITCHES_MAXIMUM) {
		nodes[count++] = at;
		at = next_hop(&kernels[at - lab.host_count], from, to, 0);
	}
	return at == to ? count : -1;
}

static void check_pairs(void)
{
	int nodes[LAB_SWITCHES_MAXIMUM];

	for (int from = 0; from < lab.host_count; from++)
		for (int to = 0; to < lab.host_count; to++)
			cr_assert(from == to || follow(from, to, nodes) > 0, "change %d: from %d to %d", changes, from,
				  to);
}

/* Three spines (nodes 6 to 8), three leaves (9 to 11) with two hosts each. */
static void open_lab(void)
{
	struct lab_spec spec = {.name = "lab0", .hosts = 6, .racks = 3, .slots = 1, .mtu_bytes = 1500, .spines = 3};
	struct error err = {0};

	cr_assert_eq(lab_plan(&spec, &lab, &err), 0, "%s", err.text);
	cr_assert_str_eq(lab_node_name(&lab, 6), "spine1");
	cr_assert_str_eq(lab_node_name(&lab, 9), "leaf1");
	routes = routes_open(&lab, &err);
	cr_assert(routes, "%s", err.text);
}

static void close_lab(void)
{
	routes_close(routes);
}

TestSuite(lab_routes, .init = open_lab, .fini = close_lab);

static void check_changes(const struct routes_changes *done, uint32_t set, uint32_t cleared, uint32_t kept, int line)
{
	cr_assert(done->set == set && done->cleared == cleared && done->kept == kept,
		  "line %d: %u set, %u cleared, %u kept", line, done->set, done->cleared, done->kept);
}

#define CHANGED(set, cleared, kept) check_changes(&done, set, cleared, kept, __LINE__)

/* h1 to h3 over leaf1, spine3, leaf2; then over spine2 and a detour. */
static const int short_way[] = {9, 8, 10}, long_way[] = {9, 7, 11, 6, 10};

Test(lab_routes, entries_are_set_changed_kept_and_removed)
{
	struct lab_route route = {.from = 0, .to = 2, .nodes = short_way, .node_count = 3};
	struct routes_changes done;
	struct error err = {0};
	int nodes[LAB_SWITCHES_MAXIMUM];

	always_connected = true;
	cr_assert_eq(routes_set(routes, &route, 1, &done, &err), 0, "%s", err.text);
	CHANGED(2, 0, 0);
	cr_assert_eq(changes, 4, "a table and a rule at leaf1 and at spine3");
	cr_assert_eq(follow(0, 2, nodes), 3);
	cr_assert_eq(memcmp(nodes, short_way, sizeof short_way), 0);
	cr_assert_eq(routes_set(routes, &route, 1, &done, &err), 0);
	CHANGED(0, 0, 2);
	cr_assert_eq(changes, 4);
	route = (struct lab_route){.from = 0, .to = 2, .nodes = long_way, .node_count = 5};
	cr_assert_eq(routes_set(routes, &route, 1, &done, &err), 0);
	CHANGED(4, 1, 0);
	cr_assert_eq(routes_check(routes, &route, 1, &err), 0);
	cr_assert_eq(kernels[2].rule_count, 0);
	cr_assert_eq(kernels[3].gateway[8], 0, "leaf1 needs its table for spine3 no more");
	cr_assert_neq(kernels[3].gateway[7], 0);
	cr_assert_eq(routes_set(routes, NULL, 0, &done, &err), 0);
	CHANGED(0, 4, 0);
	for (int s = 0; s < lab.switch_count; s++) {
		static const uint32_t none[NODES];

		cr_assert_eq(kernels[s].rule_count, 0);
		cr_assert_eq(memcmp(kernels[s].gateway, none, sizeof none), 0);
	}
}

static int random_neighbour(struct rng *rng, int node)
{
	for (;;) {
		const struct lab_link *link = &lab.links[rng_below(rng, (uint64_t)lab.link_count)];

		if (link->a >= lab.host_count && (link->a == node || link->b == node))
			return link->a == node ? link->b : link->a;
	}
}

/* A random walk, with its loops removed. */
static size_t draw_path(struct rng *rng, int from, int to, int *nodes)
{
	size_t count = 0;
	int node = from;

	for (;;) {
		for (size_t i = 0; i < count; i++)
			if (nodes[i] == node)
				count = i;
		nodes[count++] = node;
		if (node == to)
			return count;
		node = random_neighbour(rng, node);
	}
}

/* Whatever the changes, every packet arrives after each message, and at the end takes the wanted route. */
Test(lab_routes, no_change_interrupts_any_pair)
{
	static int nodes[30][LAB_SWITCHES_MAXIMUM];
	struct lab_route wanted[30];
	struct error err = {0};
	struct rng rng;

	rng_seed(&rng, 4);
	always_connected = true;
	for (int turn = 0; turn < 40; turn++) {
		size_t count = 0;
		struct routes_changes done;

		for (int from = 0; from < lab.host_count; from++)
			for (int to = 0; to < lab.host_count; to++)
				if (switch_of(from) != switch_of(to) && rng_below(&rng, 3) > 0) {
					wanted[count] =
						(struct lab_route){.from = from, .to = to, .nodes = nodes[count]};
					wanted[count].node_count =
						draw_path(&rng, switch_of(from), switch_of(to), nodes[count]);
					count++;
				}
		cr_assert_eq(routes_set(routes, wanted, count, &done, &err), 0, "%s", err.text);
		cr_assert_eq(routes_check(routes, wanted, count, &err), 0, "%s", err.text);
	}
	cr_assert_gt(changes, 1000);
}

/* The kernel deletes a table's route when its link goes down. The entry has no effect until it is set again. */
Test(lab_routes, an_entry_without_its_table_is_set_again)
{
	struct lab_route route = {.from = 0, .to = 2, .nodes = short_way, .node_count = 3};
	struct routes_changes done;
	struct error err = {0};

	cr_assert_eq(routes_set(routes, &route, 1, NULL, &err), 0);
	kernels[3].gateway[8] = 0;
	cr_assert_eq(routes_check(routes, &route, 1, &err), -EXDEV);
	cr_assert_str_eq(err.text, "packets from h1 to h3 do not take the route that was set");
	cr_assert_eq(routes_set(routes, &route, 1, &done, &err), 0);
	CHANGED(1, 0, 1);
	cr_assert_eq(routes_check(routes, &route, 1, &err), 0);
	cr_assert_eq(kernels[3].rule_count, 1);
}

/* Another process may have been killed between adding a rule and removing the old one: the first rule counts. */
Test(lab_routes, the_rules_of_a_killed_process_are_removed)
{
	struct lab_route route = {.from = 0, .to = 2, .nodes = short_way, .node_count = 3};
	struct routes_changes done;
	struct error err = {0};
	struct rule *rules = kernels[3].rules;

	cr_assert_eq(routes_set(routes, &route, 1, NULL, &err), 0);
	rules[1] = rules[0];
	rules[0].table = TABLE + 6;
	kernels[3].rule_count = 2;
	kernels[3].gateway[6] = address_of(lab.switches[0].address);
	cr_assert_eq(routes_check(routes, &route, 1, &err), -EXDEV);
	cr_assert_eq(routes_set(routes, &route, 1, &done, &err), 0);
	CHANGED(1, 0, 1);
	cr_assert_eq(routes_check(routes, &route, 1, &err), 0);
	cr_assert_eq(kernels[3].rule_count, 1);
	cr_assert_eq(kernels[3].gateway[6], 0);
}

/* Rules of other programs, and of other addresses and tables, are left alone. */
Test(lab_routes, foreign_rules_stay)
{
	struct error err = {0};
	uint32_t h1 = address_of(lab.hosts[0].address), h3 = address_of(lab.hosts[2].address);
	const struct rule foreign[] = {{h1, h3, TABLE + 6, RTPROT_STATIC},
				       {h1 + 0x64000000, h3, TABLE + 6, ROUTES_PROTOCOL},
				       {h1, h3 + 0x64000000, TABLE + 6, ROUTES_PROTOCOL},
				       {h1, h3, TABLE + 5, ROUTES_PROTOCOL},
				       {h1, h3, TABLE + 12, ROUTES_PROTOCOL}};

	memcpy(kernels[3].rules, foreign, sizeof foreign);
	kernels[3].rule_count = 5;
	cr_assert_eq(routes_set(routes, NULL, 0, NULL, &err), 0);
	cr_assert_eq(kernels[3].rule_count, 5);
	cr_assert_eq(changes, 0);
}

/* The hash sends port P to spine 1 + (P + 7800) modulo 3, and 7800 is a multiple of 3. */
Test(lab_routes, a_source_port_takes_the_route)
{
	struct lab_route route = {.from = 0, .to = 2, .nodes = short_way, .node_count = 3};
	struct routes_packet packet = {.from = 0, .to = 2, .protocol = IPPROTO_TCP, .source_port = 300, .port = 7800};
	struct error err = {0};
	int nodes[LAB_SWITCHES_MAXIMUM];

	cr_assert_eq(routes_find_port(routes, &route, &packet, 302, &err), 0, "%s", err.text);
	cr_assert_eq(packet.source_port, 302);
	packet.source_port = 300;
	cr_assert_eq(routes_find_port(routes, &route, &packet, 301, &err), -EHOSTUNREACH);
	cr_assert_str_eq(err.text,
			 "no source port from 300 to 301 takes packets from h1 to h3 over leaf1 spine3 leaf2");
	route = (struct lab_route){.from = 0, .to = 2, .nodes = short_way, .node_count = 2};
	packet.source_port = 302;
	cr_assert_eq(routes_find_port(routes, &route, &packet, 302, &err), -EHOSTUNREACH, "the whole route counts");
	packet.source_port = 304;
	cr_assert_eq(routes_trace(routes, &packet, nodes, &err), 3);
	cr_assert(nodes[0] == 9 && nodes[1] == 7 && nodes[2] == 10);
	packet.protocol = 0; /* the ports do not count */
	cr_assert_eq(routes_trace(routes, &packet, nodes, &err), 3);
	cr_assert(nodes[0] == 9 && nodes[1] == 6 && nodes[2] == 10);
}

Test(lab_routes, packets_that_do_not_arrive)
{
	struct routes_packet packet = {.from = 0, .to = 2};
	struct error err = {0};
	int nodes[LAB_SWITCHES_MAXIMUM];
	uint32_t h1 = address_of(lab.hosts[0].address), h3 = address_of(lab.hosts[2].address);

	/* spine1 sends the packets back to leaf1. */
	kernels[0].rules[0] = (struct rule){h1, h3, TABLE + 9, ROUTES_PROTOCOL};
	kernels[0].rule_count = 1;
	kernels[0].gateway[9] = 1;
	cr_assert_eq(routes_trace(routes, &packet, nodes, &err), -ELOOP);
	cr_assert_str_eq(err.text, "packets from h1 to h3 run in a loop");
	no_routes = true;
	cr_assert_eq(routes_trace(routes, &packet, nodes, &err), -EHOSTUNREACH);
	cr_assert_str_eq(err.text, "switch leaf1: cannot find a route: No route to host");
}

Test(lab_routes, errors_of_a_kernel_name_the_switch)
{
	struct lab_route route = {.from = 0, .to = 2, .nodes = short_way, .node_count = 3};
	static const struct {
		int type;
		const char *text;
	} rows[] = {{RTM_GETRULE, "switch spine1: cannot list rules: Operation not permitted"},
		    {RTM_GETROUTE, "switch spine1: cannot list routes: Operation not permitted"},
		    {RTM_NEWROUTE, "switch spine3: cannot set a route: Operation not permitted"},
		    {RTM_NEWRULE, "switch spine3: cannot add a rule: Operation not permitted"}};
	struct error err = {0};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		fail_type = rows[r].type;
		fail_code = -EPERM;
		cr_assert_eq(routes_set(routes, &route, 1, NULL, &err), -EPERM);
		cr_assert_str_eq(err.text, rows[r].text);
	}
	fail_type = RTM_GETLINK;
	first_failing = 1;
	cr_assert_null(routes_open(&lab, &err));
	cr_assert_str_eq(err.text, "switch spine2: cannot list interfaces: Operation not permitted");
	first_failing = 0;
	fail_type = 0;
	cr_assert_eq(routes_set(routes, &route, 1, NULL, &err), 0);
	fail_type = RTM_DELRULE;
	cr_assert_eq(routes_set(routes, NULL, 0, NULL, &err), -EPERM);
	cr_assert_str_eq(err.text, "switch leaf1: cannot delete a rule: Operation not permitted");
	fail_code = -ENOENT; /* it is gone already */
	cr_assert_eq(routes_set(routes, NULL, 0, NULL, &err), 0);
	fail_type = RTM_DELROUTE;
	fail_code = -EPERM;
	cr_assert_eq(routes_set(routes, &route, 1, NULL, &err), 0);
	cr_assert_eq(routes_set(routes, NULL, 0, NULL, &err), -EPERM);
	cr_assert_str_eq(err.text, "switch spine3: cannot delete a route: Operation not permitted");
	fail_code = -ESRCH; /* the link went down */
	cr_assert_eq(routes_set(routes, NULL, 0, NULL, &err), 0);
	fail_type = RTM_NEWRULE;
	fail_code = -EEXIST; /* another process added the same */
	cr_assert_eq(routes_set(routes, &route, 1, NULL, &err), 0);
}
