/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chosen routes in a routed lab: a rule for source and destination at each switch but the last, to a table that has one
 * neighbour. Rules and tables have the routing protocol LAB_ROUTE_PROTOCOL, by which they are found again.
 */
#include <errno.h>
#include <unistd.h>

#include <lab/routes.h>

#include "lab_priv.h"

enum { TABLE_FIRST = 1000, RULE_PRIORITY = 1000 };

static const struct lab_switch *switch_of(const struct lab *lab, int node)
{
	return &lab->switches[node - lab->host_count];
}

/* Without these rules the switches' own routes are in force: nothing is unreachable in between. */
static void print_removal(const struct lab *lab, FILE *out)
{
	for (int s = 0; s < lab->switch_count; s++)
		fprintf(out,
			"ip -n %s rule flush protocol %d\nip -n %s route flush table all proto %d 2>/dev/null || "
			"true\n",
			lab->switches[s].netns, LAB_ROUTE_PROTOCOL, lab->switches[s].netns, LAB_ROUTE_PROTOCOL);
}

static void print_hop(const struct lab *lab, const struct lab_route *route, size_t at, FILE *out)
{
	const struct lab_switch *here = switch_of(lab, route->nodes[at]), *next = switch_of(lab, route->nodes[at + 1]);
	int table = TABLE_FIRST + route->nodes[at + 1];

	fprintf(out, "ip -n %s route replace default via %s dev %s onlink table %d proto %d\n", here->netns,
		next->address, next->name, table, LAB_ROUTE_PROTOCOL);
	fprintf(out, "ip -n %s rule add from %s to %s lookup %d priority %d protocol %d\n", here->netns,
		lab->hosts[route->from].address, lab->hosts[route->to].address, table, RULE_PRIORITY,
		LAB_ROUTE_PROTOCOL);
}

int lab_set_routes(const struct lab *lab, const struct lab_route *routes, size_t count, struct error *err)
{
	struct lab_script script;
	size_t longest = 0;
	int code;

	if (geteuid() != 0)
		return error_set(err, EPERM, "routes of a lab need root: run it with sudo");
	code = lab_script_open(lab, &script, err);
	if (code)
		return code;
	fputs("set -e\n", script.out);
	print_removal(lab, script.out);
	for (size_t i = 0; i < count; i++)
		longest = routes[i].node_count > longest ? routes[i].node_count : longest;
	/* The last switches first: a packet that meets a rule meets the rest of the route as well. */
	for (size_t back = 2; back <= longest; back++)
		for (size_t i = 0; i < count; i++)
			if (routes[i].node_count >= back)
				print_hop(lab, &routes[i], routes[i].node_count - back, script.out);
	return lab_script_run(lab, &script, "set the chosen routes of the lab", err);
}
