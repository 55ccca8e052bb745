/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Networks from LLDP. tests/data/lldp was written by lldpd 1.0.16 in seven network namespaces joined by veth pairs: two
 * leaves, two spines, with two links between leaf0 and spine0, and host h2 on both leaves.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <model/topology.h>

#define DATA SOURCE_ROOT "/tests/data/lldp"

static const char *const devices[] = {"leaf0", "leaf1", "spine0", "spine1", "h0", "h1", "h2"};
enum { DEVICES = 7, LEAVES = 2 };

/* Expects the network of the seven devices; a port has 10 Gbit/s. */
static void expect_network(const struct topology *topology)
{
	static const struct {
		const char *a, *b;
		int cables;
	} links[] = {{"leaf0", "h0", 1},     {"leaf1", "h1", 1},     {"leaf0", "h2", 1},     {"leaf1", "h2", 1},
		     {"leaf0", "spine0", 2}, {"leaf0", "spine1", 1}, {"leaf1", "spine0", 1}, {"leaf1", "spine1", 1}};

	cr_expect_eq(topology->node_count, DEVICES);
	cr_expect_eq(topology->host_count, 3);
	cr_assert_eq(topology->link_count, 8);
	for (int d = 0; d < DEVICES; d++) {
		int64_t node = topology_find_node(topology, devices[d]);

		cr_assert_geq(node, 0, "%s", devices[d]);
		cr_expect_eq(topology->nodes[node].kind, devices[d][0] == 'h' ? TOPOLOGY_HOST : TOPOLOGY_SWITCH);
	}
	for (size_t l = 0; l < sizeof links / sizeof links[0]; l++) {
		int64_t link = topology_find_link(topology, (uint32_t)topology_find_node(topology, links[l].a),
						  (uint32_t)topology_find_node(topology, links[l].b));

		cr_assert_geq(link, 0, "%s - %s", links[l].a, links[l].b);
		cr_expect_float_eq(topology->links[link].MBps, links[l].cables * topology_payload_MBps(10000), 1e-6);
		cr_expect_eq(topology->links[link].back_MBps, topology->links[link].MBps);
		cr_expect(topology->links[link].up);
	}
}

Test(topology_lldp, a_folder_written_by_lldpctl)
{
	struct error err = {0};
	struct topology *topology = topology_from_argument(DATA, 5, 1, &err);

	cr_assert_not_null(topology, "%s", err.text);
	expect_network(topology);
	topology_destroy(topology);
}

static struct topology_lldp_file load(const char *device)
{
	struct topology_lldp_file file;
	struct error err = {0};
	char path[512];

	snprintf(path, sizeof path, DATA "/%s.json", device);
	file.path = strdup(path);
	file.text = file_read_all(path, 1 << 20, &file.bytes, &err);
	cr_assert_not_null(file.text, "%s", err.text);
	return file;
}

/* The network depends neither on the order of the files, nor on files of devices at the other ends of known links. */
Test(topology_lldp, any_order_and_one_end_of_each_link_suffice)
{
	for (int shift = 0; shift < DEVICES; shift++)
		for (int count = LEAVES; count <= DEVICES; count++) {
			struct topology_lldp_file files[DEVICES];
			struct error err = {0};
			struct topology *topology;

			for (int d = 0; d < count; d++)
				files[(d + shift) % count] = load(devices[d]);
			topology = topology_parse_lldp(files, (size_t)count, "folder", 5, &err);
			cr_assert_not_null(topology, "%s", err.text);
			expect_network(topology);
			topology_destroy(topology);
			for (int d = 0; d < count; d++) {
				free((char *)files[d].path);
				free((char *)files[d].text);
			}
		}
}

#define PORT(medium) "\"port\": {\"auto-negotiation\": {\"current\": \"" medium "\"}}"
#define SEES(interface, name, type, medium)                                                                            \
	"{\"" interface "\": {\"chassis\": {\"" name "\": {\"id\": {\"type\": \"mac\", \"value\": \"m\"}, "            \
	"\"capability\": {\"type\": \"" type "\", \"enabled\": true}}}, " PORT(medium) "}}"
#define LLDP(list) "{\"lldp\": {\"interface\":\n" list "}}"

/* Parses the texts of s0 and, if it is not NULL, of h0. */
static struct topology *parse(const char *const texts[2], struct error *err)
{
	struct topology_lldp_file files[2] = {{"net/s0.json", texts[0], strlen(texts[0])}};

	if (texts[1])
		files[1] = (struct topology_lldp_file){"net/h0.json", texts[1], strlen(texts[1])};
	return topology_parse_lldp(files, texts[1] ? 2 : 1, "net", 5, err);
}

#define HOST(medium) SEES("eth0", "h0", "Station", medium)
#define SWITCH(medium) SEES("eth0", "s0", "Bridge", medium)

/* The capacity of the only link, in Mbit/s; 0: that of links of unknown speed. */
static const struct {
	const char *texts[2];
	double mbit;
} speeds[] = {
	{{LLDP(HOST("1000BaseTFD - Four-pair Category 5 UTP, full duplex mode")), NULL}, 1000},
	{{LLDP(HOST("100BaseTXFD")), NULL}, 100},
	{{LLDP(HOST("10GigBaseLR - x")), NULL}, 10000},
	{{LLDP(HOST("25GbaseCR")), NULL}, 25000},
	{{LLDP(HOST("2p5GigT - 2.5GBASE-T")), NULL}, 2500},
	{{LLDP(HOST("2p5GbaseX")), NULL}, 2500},
	{{LLDP(HOST("400GbaseR")), NULL}, 400000},
	{{LLDP(HOST("unknown")), NULL}, 0},
	{{LLDP(HOST("0GbaseR")), NULL}, 0},
	{{LLDP(HOST("10")), NULL}, 0},
	{{LLDP(HOST("")), NULL}, 0},
	{{LLDP(HOST("10GbaseT")), LLDP(SWITCH("1000BaseTFD"))}, 1000},
	{{LLDP("[" HOST("10GbaseT") ", " SEES("eth1", "h0", "Station", "10GbaseT") "]"), NULL}, 20000},
	{{LLDP("[" HOST("10GbaseT") ", " SEES("eth1", "h0", "Station", "10GbaseT") "]"), LLDP(SWITCH("100GbaseR"))},
	 20000},
};

Test(topology_lldp, speeds_of_links)
{
	for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
		double MBps = speeds[i].mbit > 0 ? topology_payload_MBps(speeds[i].mbit) : 5;
		struct error err = {0};
		struct topology *topology = parse(speeds[i].texts, &err);

		cr_assert_not_null(topology, "%zu: %s", i, err.text);
		cr_assert_eq(topology->link_count, 1);
		cr_expect_float_eq(topology->links[0].MBps, MBps, 1e-6, "%zu: %g", i, topology->links[0].MBps);
		topology_destroy(topology);
	}
}

/* Names: a device without a system name is called by its id. */
Test(topology_lldp, a_device_without_a_system_name)
{
	const char *const texts[2] = {LLDP("{\"eth0\": {\"chassis\": {\"id\": {\"type\": \"mac\", \"value\": "
					   "\"32:30:ac:b4:73:27\"}, \"descr\": \"x\"}}}"),
				      NULL};
	struct error err = {0};
	struct topology *topology = parse(texts, &err);

	cr_assert_not_null(topology, "%s", err.text);
	cr_expect_eq(topology->nodes[1].kind, TOPOLOGY_HOST);
	cr_expect_str_eq(topology->nodes[1].name, "32:30:ac:b4:73:27");
	topology_destroy(topology);
}

static const struct {
	const char *texts[2], *error;
} refusals[] = {
	{{"{", NULL}, "net/s0.json:1: not valid JSON"},
	{{"[]", NULL}, "net/s0.json: expected an object"},
	{{"{}", NULL}, "net/s0.json: lldp: missing, expected an object"},
	{{"{\"lldp\": {}}", NULL}, "net/s0.json: lldp.interface: expected at least one interface with a neighbour"},
	{{LLDP("[]"), NULL}, "net/s0.json: lldp.interface: expected at least one interface with a neighbour"},
	{{LLDP("[{\"e0\":\n{}}]"), NULL}, "net/s0.json:2: lldp.interface.e0.chassis: missing, expected an object"},
	{{LLDP("[" HOST("") ",\n{\"e1\": {\"chassis\": {\"x\": {}}}}]"), NULL},
	 "net/s0.json:3: lldp.interface.e1.chassis: expected the neighbour's name or its id"},
	{{LLDP("[" HOST("") ",\n{\"e1\": {\"chassis\": {}}}]"), NULL},
	 "net/s0.json:3: lldp.interface.e1.chassis: expected the neighbour's name or its id"},
	{{LLDP("[" HOST("") ",\n" SEES("e1", "two words", "Bridge", "") "]"), NULL},
	 "net/s0.json:3: lldp.interface.e1: bad name 'two words'; expected one word of at most 63 bytes"},
	{{LLDP("[" HOST("") ",\n" SEES("e1", "s0", "Bridge", "") "]"), NULL},
	 "net/s0.json:3: lldp.interface.e1.chassis: the device is its own neighbour"},
	{{LLDP(HOST("")), LLDP("[" SEES("e0", "s9", "Bridge", "") "]")},
	 "net/s0.json: lldp.interface: neighbour 'h0' has a file, which does not list 's0'; expected files that are "
	 "named by the devices' system names"},
	{{LLDP(HOST("")), LLDP("[" SEES("e0", "s0", "Station", "") "]")},
	 "lldp.interface: 's0' and 'h0' are both hosts; a host is linked to switches"},
	{{LLDP(SEES("e0", "h0", "Router", "")), LLDP(SWITCH(""))},
	 "net: all devices are bridges or routers; expected a host: run 'lldpcli configure system capabilities "
	 "enabled station' on hosts that forward packets"},
};

Test(topology_lldp, refusals_have_file_line_and_what_was_expected)
{
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		struct error err = {0};

		cr_expect_null(parse(refusals[i].texts, &err), "%zu", i);
		cr_expect(strstr(err.text, refusals[i].error), "%zu: %s", i, err.text);
	}
}

Test(topology_lldp, an_empty_folder)
{
	char folder[] = "/tmp/nomora-lldp.XXXXXX";
	struct error err = {0};

	cr_assert_not_null(mkdtemp(folder));
	cr_expect_null(topology_read_lldp(folder, 5, &err));
	cr_expect(strstr(err.text, ": expected files DEVICE.json with the output of 'lldpctl -f json'"), "%s",
		  err.text);
	rmdir(folder);
	cr_expect_null(topology_read_lldp(folder, 5, &err));
	cr_expect_eq(err.code, ENOENT);
}
