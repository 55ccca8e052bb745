/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets entries in the switches' kernels. An entry is a rule (source, destination) that selects a table; there is one
 * table for each neighbour, and its only route leads to this neighbour. All rules have the same priority, so they take
 * precedence in the order in which they were added: a new rule has no effect until the old one is removed.
 */
#include "routes_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include <base/array.h>

enum { TABLE_FIRST = 1000, RULE_PRIORITY = 1000 };

struct station {
	struct mnl_socket *socket;
	int *ports;   /* by node: index of the switch's interface to this neighbour; 0 = none */
	bool *tables; /* by node: the table for this neighbour contains its route */
};

struct netlink {
	char buffer[SOCKET_BUFFER_BYTES];
	int nodes;
	struct station stations[LAB_SWITCHES_MAXIMUM];
};

static struct station *station_of(const struct routes *routes, int node)
{
	struct netlink *netlink = routes->state;

	return &netlink->stations[node - routes->lab->host_count];
}

static struct nlmsghdr *begin(struct netlink *netlink, int type, int flags)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(netlink->buffer);

	message->nlmsg_type = (uint16_t)type;
	message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	return message;
}

static int fail(const struct routes *routes, int node, int code, const char *action, struct error *err)
{
	return error_set(err, -code, "switch %s: cannot %s: %s", lab_node_name(routes->lab, node), action,
			 strerror(-code));
}

static uint32_t address_of(const char *text)
{
	struct in_addr address = {0};

	inet_pton(AF_INET, text, &address);
	return address.s_addr;
}

struct port_reader {
	const struct lab *lab;
	struct station *station;
};

static int take_port(const struct nlmsghdr *message, void *context)
{
	struct port_reader *reader = context;
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, message, sizeof *link)
	{
		if (mnl_attr_get_type(attribute) != IFLA_IFNAME)
			continue;
		for (int n = 0; n < reader->lab->host_count + reader->lab->switch_count; n++)
			if (strcmp(lab_node_name(reader->lab, n), mnl_attr_get_str(attribute)) == 0)
				reader->station->ports[n] = link->ifi_index;
	}
	return MNL_CB_OK;
}

static int open_station(struct routes *routes, int s, struct error *err)
{
	struct netlink *netlink = routes->state;
	struct station *station = &netlink->stations[s];
	struct port_reader reader = {routes->lab, station};
	int code;

	station->ports = calloc((size_t)netlink->nodes, sizeof *station->ports);
	station->tables = calloc((size_t)netlink->nodes, sizeof *station->tables);
	if (!station->ports || !station->tables)
		return error_set(err, ENOMEM, "out of memory");
	station->socket = socket_open(routes->lab->switches[s].netns, 0, err);
	if (!station->socket)
		return error_code(err, EIO);
	mnl_nlmsg_put_extra_header(begin(netlink, RTM_GETLINK, NLM_F_DUMP), sizeof(struct ifinfomsg));
	code = socket_request(station->socket, netlink->buffer, take_port, &reader);
	return code == 0 ? 0 : fail(routes, routes->lab->host_count + s, code, "list interfaces", err);
}

static int netlink_open(struct routes *routes, struct error *err)
{
	struct netlink *netlink = calloc(1, sizeof *netlink);
	int code = 0;

	if (!netlink)
		return error_set(err, ENOMEM, "out of memory");
	routes->state = netlink;
	netlink->nodes = routes->lab->host_count + routes->lab->switch_count;
	for (int s = 0; s < routes->lab->switch_count && code == 0; s++)
		code = open_station(routes, s, err);
	return code;
}

static void netlink_close(struct routes *routes)
{
	struct netlink *netlink = routes->state;

	for (int s = 0; netlink && s < routes->lab->switch_count; s++) {
		struct station *station = &netlink->stations[s];

		if (station->socket)
			mnl_socket_close(station->socket);
		free(station->ports);
		free(station->tables);
	}
	free(netlink);
}

struct table_reader {
	struct station *station;
	int nodes;
};

static int take_table(const struct nlmsghdr *message, void *context)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	struct table_reader *reader = context;
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, message, sizeof *route)
	{
		int64_t next = mnl_attr_get_type(attribute) == RTA_TABLE
				       ? (int64_t)mnl_attr_get_u32(attribute) - TABLE_FIRST
				       : -1;

		if (route->rtm_protocol == ROUTES_PROTOCOL && next >= 0 && next < reader->nodes)
			reader->station->tables[next] = true;
	}
	return MNL_CB_OK;
}

struct rule_reader {
	const struct lab *lab;
	struct station *station;
	struct route_entries *entries;
	int at;
};

static int host_at(const struct lab *lab, uint32_t address)
{
	for (int h = 0; h < lab->host_count; h++)
		if (address_of(lab->hosts[h].address) == address)
			return h;
	return -1;
}

static int take_rule(const struct nlmsghdr *message, void *context)
{
	struct rule_reader *reader = context;
	struct route_entry entry = {.from = -1, .to = -1, .at = reader->at, .next = -1};
	struct route_entry *all;
	const struct nlattr *attribute;
	bool ours = false;

	mnl_attr_for_each(attribute, message, sizeof(struct fib_rule_hdr))
	{
		switch (mnl_attr_get_type(attribute)) {
		case FRA_PROTOCOL:
			ours = mnl_attr_get_u8(attribute) == ROUTES_PROTOCOL;
			break;
		case FRA_SRC:
			entry.from = host_at(reader->lab, mnl_attr_get_u32(attribute));
			break;
		case FRA_DST:
			entry.to = host_at(reader->lab, mnl_attr_get_u32(attribute));
			break;
		case FRA_TABLE:
			entry.next = (int)mnl_attr_get_u32(attribute) - TABLE_FIRST;
			break;
		default:
			break;
		}
	}
	if (!ours || entry.from < 0 || entry.to < 0 || entry.next < reader->lab->host_count ||
	    entry.next >= reader->lab->host_count + reader->lab->switch_count)
		return MNL_CB_OK;
	all = array_grow(reader->entries->all, reader->entries->count, &reader->entries->capacity, sizeof *all);
	if (!all) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	reader->entries->all = all;
	entry.rank = (uint32_t)reader->entries->count;
	/* If the link to the neighbour went down, the kernel has deleted the route of the table. */
	entry.incomplete = !reader->station->tables[entry.next];
	all[reader->entries->count++] = entry;
	return MNL_CB_OK;
}

static int netlink_read(struct routes *routes, struct route_entries *present, struct error *err)
{
	struct netlink *netlink = routes->state;

	for (int s = 0; s < routes->lab->switch_count; s++) {
		struct station *station = &netlink->stations[s];
		int node = routes->lab->host_count + s, code;
		struct table_reader tables = {station, netlink->nodes};
		struct rule_reader rules = {routes->lab, station, present, node};
		struct nlmsghdr *message = begin(netlink, RTM_GETROUTE, NLM_F_DUMP);
		struct rtmsg *route = mnl_nlmsg_put_extra_header(message, sizeof *route);
		struct fib_rule_hdr *rule;

		route->rtm_family = AF_INET;
		memset(station->tables, 0, (size_t)netlink->nodes * sizeof *station->tables);
		code = socket_request(station->socket, netlink->buffer, take_table, &tables);
		if (code != 0)
			return fail(routes, node, code, "list routes", err);
		message = begin(netlink, RTM_GETRULE, NLM_F_DUMP);
		rule = mnl_nlmsg_put_extra_header(message, sizeof *rule);
		rule->family = AF_INET;
		code = socket_request(station->socket, netlink->buffer, take_rule, &rules);
		if (code != 0)
			return fail(routes, node, code, "list rules", err);
	}
	return 0;
}

/* Sets or deletes the only route in switch `at`'s table for neighbour `next`. */
static int change_table(struct routes *routes, int at, int next, bool set, struct error *err)
{
	struct netlink *netlink = routes->state;
	struct station *station = station_of(routes, at);
	struct nlmsghdr *message = set ? begin(netlink, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE)
				       : begin(netlink, RTM_DELROUTE, NLM_F_ACK);
	struct rtmsg *route = mnl_nlmsg_put_extra_header(message, sizeof *route);
	int code;

	route->rtm_family = AF_INET;
	route->rtm_protocol = ROUTES_PROTOCOL;
	route->rtm_scope = RT_SCOPE_UNIVERSE;
	route->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(message, RTA_TABLE, (uint32_t)(TABLE_FIRST + next));
	if (set) {
		route->rtm_flags = RTNH_F_ONLINK;
		mnl_attr_put_u32(message, RTA_GATEWAY,
				 address_of(routes->lab->switches[next - routes->lab->host_count].address));
		mnl_attr_put_u32(message, RTA_OIF, (uint32_t)station->ports[next]);
	}
	code = socket_request(station->socket, netlink->buffer, NULL, NULL);
	if (code == -ESRCH && !set)
		code = 0; /* the link went down meanwhile, so the kernel has already deleted the route */
	if (code == 0)
		station->tables[next] = set;
	return code == 0 ? 0 : fail(routes, at, code, set ? "set a route" : "delete a route", err);
}

static int change_rule(struct routes *routes, const struct route_entry *entry, bool set, struct error *err)
{
	struct netlink *netlink = routes->state;
	struct nlmsghdr *message = set ? begin(netlink, RTM_NEWRULE, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)
				       : begin(netlink, RTM_DELRULE, NLM_F_ACK);
	struct fib_rule_hdr *rule = mnl_nlmsg_put_extra_header(message, sizeof *rule);
	int code;

	rule->family = AF_INET;
	rule->src_len = 32;
	rule->dst_len = 32;
	rule->action = FR_ACT_TO_TBL;
	mnl_attr_put_u32(message, FRA_SRC, address_of(routes->lab->hosts[entry->from].address));
	mnl_attr_put_u32(message, FRA_DST, address_of(routes->lab->hosts[entry->to].address));
	mnl_attr_put_u32(message, FRA_PRIORITY, RULE_PRIORITY);
	mnl_attr_put_u32(message, FRA_TABLE, (uint32_t)(TABLE_FIRST + entry->next));
	mnl_attr_put_u8(message, FRA_PROTOCOL, ROUTES_PROTOCOL);
	code = socket_request(station_of(routes, entry->at)->socket, netlink->buffer, NULL, NULL);
	if ((set && code == -EEXIST) || (!set && code == -ENOENT))
		code = 0;
	return code == 0 ? 0 : fail(routes, entry->at, code, set ? "add a rule" : "delete a rule", err);
}

static int netlink_change(struct routes *routes, const struct route_change *change, struct error *err)
{
	const struct route_entry *wanted = change->wanted;
	int code = 0;

	if (wanted && !station_of(routes, wanted->at)->tables[wanted->next])
		code = change_table(routes, wanted->at, wanted->next, true, err);
	if (wanted && code == 0)
		code = change_rule(routes, wanted, true, err);
	for (size_t p = change->present_count; p-- > 0 && code == 0;)
		if (!wanted || change->present[p].next != wanted->next)
			code = change_rule(routes, &change->present[p], false, err);
	return code;
}

static int netlink_tidy(struct routes *routes, const struct route_entries *wanted, struct error *err)
{
	struct netlink *netlink = routes->state;
	bool *used = calloc((size_t)netlink->nodes * (size_t)routes->lab->switch_count + 1, sizeof *used);
	int hosts = routes->lab->host_count, code = used ? 0 : error_set(err, ENOMEM, "out of memory");

	for (size_t i = 0; i < wanted->count && used; i++)
		used[(wanted->all[i].at - hosts) * netlink->nodes + wanted->all[i].next] = true;
	for (int s = 0; s < routes->lab->switch_count; s++)
		for (int next = 0; next < netlink->nodes && code == 0; next++)
			if (netlink->stations[s].tables[next] && !used[s * netlink->nodes + next])
				code = change_table(routes, hosts + s, next, false, err);
	free(used);
	return code;
}

const struct routes_backend routes_netlink = {netlink_open, netlink_close, netlink_read, netlink_change, netlink_tidy};

static int take_output(const struct nlmsghdr *message, void *context)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	const struct nlattr *attribute;
	int *port = context;

	mnl_attr_for_each(attribute, message, sizeof *route)
	{
		if (mnl_attr_get_type(attribute) == RTA_OIF && route->rtm_type == RTN_UNICAST)
			*port = (int)mnl_attr_get_u32(attribute);
	}
	return MNL_CB_OK;
}

/*
 * Asks the kernel of switch `at` to which node it sends the packet if the packet comes from node `before`. Returns the
 * node, or -errno.
 */
static int ask(struct routes *routes, int at, int before, const struct routes_packet *packet)
{
	struct netlink *netlink = routes->state;
	struct station *station = station_of(routes, at);
	struct nlmsghdr *message = begin(netlink, RTM_GETROUTE, NLM_F_ACK);
	struct rtmsg *route = mnl_nlmsg_put_extra_header(message, sizeof *route);
	int port = 0, code;

	route->rtm_family = AF_INET;
	route->rtm_src_len = 32;
	route->rtm_dst_len = 32;
	mnl_attr_put_u32(message, RTA_SRC, address_of(routes->lab->hosts[packet->from].address));
	mnl_attr_put_u32(message, RTA_DST, address_of(routes->lab->hosts[packet->to].address));
	mnl_attr_put_u32(message, RTA_IIF, (uint32_t)station->ports[before]);
	if (packet->protocol != 0) {
		mnl_attr_put_u8(message, RTA_IP_PROTO, (uint8_t)packet->protocol);
		mnl_attr_put_u16(message, RTA_SPORT, htons(packet->source_port));
		mnl_attr_put_u16(message, RTA_DPORT, htons(packet->port));
	}
	code = socket_request(station->socket, netlink->buffer, take_output, &port);
	if (code != 0)
		return code;
	for (int n = 0; n < netlink->nodes; n++)
		if (port != 0 && station->ports[n] == port)
			return n;
	return -EHOSTUNREACH;
}

int routes_netlink_trace(struct routes *routes, const struct routes_packet *packet, int *nodes, struct error *err)
{
	const struct lab *lab = routes->lab;
	int before = packet->from, at = -1, count = 0;

	for (int l = 0; l < lab->link_count; l++)
		if (lab->links[l].a == packet->from)
			at = lab->links[l].b;
	while (at >= lab->host_count && count < LAB_SWITCHES_MAXIMUM) {
		int next = ask(routes, at, before, packet);

		if (next < 0)
			return fail(routes, at, next, "find a route", err);
		nodes[count++] = at;
		before = at;
		at = next;
	}
	if (at == packet->to)
		return count;
	return error_set(err, ELOOP, "packets from %s to %s run in a loop", lab->hosts[packet->from].name,
			 lab->hosts[packet->to].name);
}
