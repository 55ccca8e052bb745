/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks from GraphML. tests/data/graphml/zoo.graphml was written by hand in the form of the Internet Topology Zoo.
 */
#include <criterion/criterion.h>

#include <string.h>

#include <model/recovery.h>
#include <model/topology.h>

#define DATA SOURCE_ROOT "/tests/data/graphml/zoo.graphml"

static uint32_t node(const struct topology *topology, const char *name)
{
	int64_t number = topology_find_node(topology, name);

	cr_assert_geq(number, 0, "%s", name);
	return (uint32_t)number;
}

static void expect_link(const struct topology *topology, const char *a, const char *b, double MBps)
{
	int64_t link = topology_find_link(topology, node(topology, a), node(topology, b));

	cr_assert_geq(link, 0, "%s - %s", a, b);
	cr_expect_float_eq(topology->links[link].MBps, MBps, 1e-6, "%s - %s: %g", a, b, topology->links[link].MBps);
	cr_expect_eq(topology->links[link].back_MBps, topology->links[link].MBps);
	cr_expect(topology->links[link].up);
}

Test(topology_graphml, a_file_in_the_form_of_the_topology_zoo)
{
	/* "Berlin" twice, "" and the id of another node: the id */
	static const char *const names[] = {"Hamburg", "Frankfurt_am_Main", "2", "3", "4", "5", "K\xc3\xb6ln"};
	double lag = topology_payload_MBps(12500), slow = topology_payload_MBps(155);
	struct error err = {0};
	struct topology *topology = topology_from_argument(DATA, 7, 1, &err);

	cr_assert_not_null(topology, "%s", err.text);
	cr_expect_eq(topology->node_count, 14);
	cr_expect_eq(topology->host_count, 7);
	cr_expect_eq(topology->link_count, 14);
	for (uint32_t n = 0; n < 7; n++) {
		cr_expect_str_eq(topology->nodes[n].name, names[n]);
		cr_expect_eq(topology->nodes[n].kind, TOPOLOGY_SWITCH);
		cr_expect(strncmp(topology->nodes[7 + n].name, "h-", 2) == 0);
		cr_expect_str_eq(topology->nodes[7 + n].name + 2, names[n]);
		cr_expect_eq(topology->nodes[7 + n].kind, TOPOLOGY_HOST);
	}
	expect_link(topology, "Hamburg", "Frankfurt_am_Main", lag);
	expect_link(topology, "Frankfurt_am_Main", "2", slow);
	expect_link(topology, "2", "3", 7);
	expect_link(topology, "3", "4", 7);
	expect_link(topology, "4", "5", 7);
	expect_link(topology, "5", "K\xc3\xb6ln", 7);
	expect_link(topology, "K\xc3\xb6ln", "Hamburg", 7);
	expect_link(topology, "h-Hamburg", "Hamburg", lag + 7);
	expect_link(topology, "h-2", "2", slow + 7);
	expect_link(topology, "h-K\xc3\xb6ln", "K\xc3\xb6ln", 14);
	topology_destroy(topology);
}

Test(topology_graphml, servers_for_recovery)
{
	struct error err = {0};
	struct recovery_scenario *servers = recovery_network_read(DATA, 7, &err);

	cr_assert_not_null(servers, "%s", err.text);
	cr_expect_eq(servers->server_count, 7);
	cr_expect_str_eq(servers->servers[2].name, "h-2");
	cr_expect_float_eq(servers->servers[2].egress_MBps, topology_payload_MBps(155) + 7, 1e-6);
	recovery_destroy(servers);
}

#define KEYS                                                                                                           \
	"<key id='l' for='node' attr.name='label'/><key id='n' for='node' attr.name='name'/>"                          \
	"<key id='i' for='node' attr.name='Internal'/><key id='r' for='edge' attr.name='LinkSpeedRaw'/>"               \
	"<key id='s' for='edge' attr.name='LinkSpeed'/><key id='u' for='edge' attr.name='LinkSpeedUnits'/>\n"
#define GRAPH(inner) "<graphml>" KEYS "<graph edgedefault='undirected'>\n" inner "</graph></graphml>"
#define TWO "<node id='a'/><node id='b'/>\n"
#define EDGE(data) GRAPH(TWO "<edge source='a' target='b'>" data "</edge>")

static struct topology *parse(const char *text, struct error *err)
{
	return topology_parse_file("z.graphml", text, strlen(text), 5, err);
}

static const struct {
	const char *text;
	double mbit; /* 0: unknown */
} speeds[] = {
	{EDGE(""), 0},
	{EDGE("<data key='r'> 1e9\n</data>"), 1000},
	{EDGE("<data key='s'>2.5</data><data key='u'>G</data>"), 2500},
	{EDGE("<data key='s'>64</data><data key='u'>K</data>"), 0.064},
	{EDGE("<data key='s'>1</data><data key='u'>T</data>"), 1e6},
	{EDGE("<data key='s'>1</data><data key='u'>T</data><data key='r'>1000000</data>"), 1},
	{"\xef\xbb\xbf<g:graphml xmlns:g='x'><g:key id='k' for='all' "
	 "attr.name='LinkSpeedRaw'><g:default>3e6</g:default>"
	 "</g:key><g:graph edgedefault='undirected'><g:edge source='a' target='b'/><g:node id='a'/><g:node id='b'/>"
	 "</g:graph></g:graphml>",
	 3},
};

Test(topology_graphml, speeds_of_edges)
{
	for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
		struct error err = {0};
		struct topology *topology = parse(speeds[i].text, &err);

		cr_assert_not_null(topology, "%zu: %s", i, err.text);
		expect_link(topology, "a", "b", speeds[i].mbit > 0 ? topology_payload_MBps(speeds[i].mbit) : 5);
		topology_destroy(topology);
	}
}

Test(topology_graphml, names)
{
	static const char text[] = GRAPH("<node id='a'><data key='n'>x, \"y\"</data></node>"
					 "<node id='b'><data key='n'>other</data><data key='l'>z</data></node>"
					 "<node id='c'><data key='l'>"
					 "0123456789012345678901234567890123456789012345678901234567890z</data></node>"
					 "<node id='d'><data key='l'>d</data></node>"
					 "<edge source='a' target='b'/><edge source='b' target='c'/>"
					 "<edge source='c' target='d'/>");
	static const char *const names[] = {"x___y_", "z", "c", "d"};
	struct error err = {0};
	struct topology *topology = parse(text, &err);

	cr_assert_not_null(topology, "%s", err.text);
	for (int n = 0; n < 4; n++)
		cr_expect_str_eq(topology->nodes[n].name, names[n]);
	topology_destroy(topology);
}

static const struct {
	const char *text, *error;
} refusals[] = {
	{"<graphml>\n<graph>", "z.graphml:2: graph.edgedefault: '': expected \"undirected\""},
	{"<graphml><graph edgedefault='directed'>",
	 "z.graphml:1: graph.edgedefault: 'directed': expected \"undirected\"; a link has a capacity in both"},
	{"<graphml>\n\n</graph>", "z.graphml:3: expected GraphML; mismatched tag"},
	{"<graphml/>", "z.graphml: expected GraphML with an element 'graph'"},
	{GRAPH("<node/>"), "z.graphml:3: node.id: missing, expected an id"},
	{GRAPH(TWO "<node id='a'/>"), "z.graphml:4: node.id: duplicate id 'a'"},
	{GRAPH(TWO "\n<edge source='a' target='c'/>"),
	 "z.graphml:5: edge.target: unknown node 'c'; expected the id of a node"},
	{GRAPH(TWO "<edge target='a'/>"), "z.graphml:4: edge.source: missing, expected an id"},
	{GRAPH(TWO "<edge source='a' target='b' directed='true'/>"), "z.graphml:4: edge.directed: expected \"false\""},
	{GRAPH(TWO "<edge source='a' target='b' directed='1'/>"), "z.graphml:4: edge.directed: expected \"false\""},
	{GRAPH(TWO "<hyperedge/>"), "z.graphml:4: hyperedge: expected edges, which have two ends"},
	{GRAPH("<node id='a'>\n<graph edgedefault='undirected'/></node>"),
	 "z.graphml:4: graph: expected one graph in the file"},
	{EDGE("\n<data key='r'>fast</data>"), "z.graphml:5: edge.LinkSpeedRaw: 'fast': expected a number > 0 (bit/s)"},
	{EDGE("<data key='r'>0</data>"), "z.graphml:4: edge.LinkSpeedRaw: '0': expected a number > 0"},
	{EDGE("<data key='r'>1e30</data>"), "z.graphml:4: edge.LinkSpeedRaw: expected 0 to 1e+09 MB/s of payload"},
	{EDGE("<data key='s'>10-20</data><data key='u'>G</data>"),
	 "z.graphml:4: edge.LinkSpeed: '10-20': expected a number > 0"},
	{EDGE("<data key='s'>10</data>"), "z.graphml:4: edge.LinkSpeedUnits: '': expected K, M, G or T (bit/s)"},
	{EDGE("<data key='s'>10</data><data key='u'>Gb</data>"), "edge.LinkSpeedUnits: 'Gb': expected K, M, G or T"},
	{GRAPH("<node id='a'><data key='i'>yes</data></node>"), "z.graphml:3: node.Internal: 'yes': expected 0 or 1"},
	{GRAPH("<node id='a'><data key='i'>0</data></node><node id='b'/><edge source='a' target='b'/>"),
	 "z.graphml: expected at least two nodes that are not external and an edge between them"},
	{GRAPH("<node id='h-b'/>\n<node id='b'/><edge source='b' target='h-b'/>"),
	 "z.graphml:4: node.id: duplicate name 'h-b'"},
	{GRAPH("<node id='a b'/><node id='b'/><edge source='b' target='a b'/>"),
	 "z.graphml:3: node.id: bad name 'a b'"},
};

Test(topology_graphml, refusals_have_file_line_and_what_was_expected)
{
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		struct error err = {0};

		cr_expect_null(parse(refusals[i].text, &err), "%zu", i);
		cr_expect(strstr(err.text, refusals[i].error), "%zu: %s", i, err.text);
	}
}
