/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scripts that change a lab: its links, their rates and the routes of its switches. The linker replaces the
 * functions that lock the lab, read and write its state and run scripts by the test's.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lab/lab.h>
#include <lab/transfer.h>
#include <model/topology.h>

#include "lab_priv.h"

static struct lab stored; /* the lab's state */
static char *script, purpose[64], line_run[4096];
static size_t script_bytes;
static int script_code, line_code;
static uid_t user;

uid_t __wrap_geteuid(void);
int __wrap_lab_lock(struct error *err);
int __wrap_lab_read(const char *name, struct lab *lab, struct error *err);
int __wrap_lab_write_state(const struct lab *lab, struct error *err);
int __wrap_lab_script_open(const struct lab *lab, struct lab_script *open, struct error *err);
int __wrap_lab_script_run(const struct lab *lab, struct lab_script *run, const char *why, struct error *err);
int __wrap_process_run(const struct process_options *options, struct ns timeout, struct process_result *result,
		       struct error *err);

uid_t __wrap_geteuid(void)
{
	return user;
}

int __wrap_lab_lock(struct error *err)
{
	(void)err;
	return dup(STDERR_FILENO);
}

int __wrap_lab_read(const char *name, struct lab *lab, struct error *err)
{
	if (strcmp(name, stored.name) != 0)
		return error_set(err, ENOENT, "no lab '%s'", name);
	*lab = stored;
	return 0;
}

int __wrap_lab_write_state(const struct lab *lab, struct error *err)
{
	(void)err;
	stored = *lab;
	return 0;
}

int __wrap_lab_script_open(const struct lab *lab, struct lab_script *open, struct error *err)
{
	(void)lab;
	(void)err;
	free(script);
	open->out = open_memstream(&script, &script_bytes);
	return 0;
}

int __wrap_lab_script_run(const struct lab *lab, struct lab_script *run, const char *why, struct error *err)
{
	(void)lab;
	fclose(run->out);
	snprintf(purpose, sizeof purpose, "%s", why);
	return script_code ? error_set(err, script_code, "failed") : 0;
}

/* Runs links_run()'s lines. */
int __wrap_process_run(const struct process_options *options, struct ns timeout, struct process_result *result,
		       struct error *err)
{
	(void)timeout;
	(void)err;
	snprintf(line_run, sizeof line_run, "%s", options->shell);
	*result = (struct process_result){.exit_code = line_code};
	return 0;
}

static void plan(int hosts, int racks, int spines)
{
	struct lab_spec spec = {
		.name = "lab0", .hosts = hosts, .racks = racks, .slots = 4, .mtu_bytes = 1500, .spines = spines};
	struct error err = {0};

	cr_assert_eq(lab_plan(&spec, &stored, &err), 0, "%s", err.text);
}

static void plan_routed(void)
{
	plan(3, 2, 2);
}

static void clear(void)
{
	free(script);
}

TestSuite(lab_links, .init = plan_routed, .fini = clear);

static void check_text(const char *text, const char *expected, int line)
{
	cr_assert_str_eq(text, expected, "line %d:\n%s", line, text);
}

#define IS(text, expected) check_text(text, expected, __LINE__)

static void check_part(const char *text, const char *part, int line)
{
	cr_assert(strstr(text, part), "line %d:\n%s", line, text);
}

#define HAS(text, part) check_part(text, part, __LINE__)

/* Hosts h1, h2 are at leaf1, h3 at leaf2. Switches 1 to 4 are spine1, spine2, leaf1, leaf2. */
#define TO_RACK(rack, from, v4, v6)                                                                                    \
	"route replace 10.77." rack ".0/24 src 10.78.0." from v4 "\n"                                                  \
	"route replace fd77::" rack ":0/112 src fd78::" from v6 "\n"
#define HOP(number, name) " nexthop via 10.78.0." number " dev " name " onlink"
#define HOP6(number, name) " nexthop via fe80::1:" number " dev " name
#define ONE(rack, from, number, name) TO_RACK(rack, from, HOP(number, name), HOP6(number, name))
#define BOTH(rack, from)                                                                                               \
	TO_RACK(rack, from, HOP("1", "spine1") HOP("2", "spine2"), HOP6("1", "spine1") HOP6("2", "spine2"))
#define TO_HOST(name, rack, place, from)                                                                               \
	"route replace 10.77." rack "." place " dev " name " src 10.78.0." from "\n"                                   \
	"route replace 10.77." rack ".10" place " dev " name " src 10.78.0." from "\n"                                 \
	"route replace fd77::" rack ":" place "/128 dev " name " src fd78::" from "\n"                                 \
	"route replace fd77::" rack ":10" place "/128 dev " name " src fd78::" from "\n"
#define AT(number, lines) "ip -n lab0-s" number " -batch - <<'END'\n" lines "END\n"
#define SPINE1 AT("1", ONE("1", "1", "3", "leaf1") ONE("2", "1", "4", "leaf2"))
#define SPINE2 AT("2", ONE("1", "2", "3", "leaf1") ONE("2", "2", "4", "leaf2"))
#define LEAF2 AT("4", TO_HOST("h3", "2", "1", "4") BOTH("1", "4"))

Test(lab_links, every_switch_has_all_shortest_routes)
{
	struct error err = {0};

	cr_assert_eq(fabric_set_links(&stored, &err), 0);
	IS(script, "set -e\n" SPINE1 SPINE2 AT("3", TO_HOST("h1", "1", "1", "3") TO_HOST("h2", "1", "2", "3")
							    BOTH("2", "3")) LEAF2);
	IS(purpose, "set the routes of the lab");
}

/* A link that is down carries no routes: leaf2 reaches rack 1 over spine2 only, and spine1 reaches rack 2 over leaf1.
 */
Test(lab_links, routes_avoid_links_that_are_down)
{
	struct error err = {0};
	int link = fabric_find_link(&stored, fabric_find_node(&stored, "spine1"), fabric_find_node(&stored, "leaf2"));

	stored.links[link].up = false;
	stored.links[fabric_find_link(&stored, 1, fabric_find_node(&stored, "leaf1"))].up = false;
	cr_assert_eq(fabric_set_links(&stored, &err), 0);
	IS(script, "set -e\n" AT("3", "link set h2 down\n") AT("1", "link set leaf2 down\n")
			   AT("1", ONE("1", "1", "3", "leaf1") ONE("2", "1", "3", "leaf1"))
				   SPINE2 AT("3", TO_HOST("h1", "1", "1", "3") ONE("2", "3", "2", "spine2"))
					   AT("4", TO_HOST("h3", "2", "1", "4") ONE("1", "4", "2", "spine2")));
	stored.links[fabric_find_link(&stored, fabric_find_node(&stored, "leaf1"), fabric_find_node(&stored, "spine2"))]
		.up = false;
	cr_assert_eq(fabric_set_links(&stored, &err), 0);
	HAS(script, AT("4", TO_HOST("h3", "2", "1", "4") "route replace unreachable 10.77.1.0/24\n"
							 "route replace unreachable fd77::1:0/112\n"));
}

/* The port at the link's end b, a switch, goes up or down. */
Test(lab_links, a_link_goes_down_and_up)
{
	struct lab_link_change change = {.action = LAB_LINK_DOWN};
	struct error err = {0};
	int link = fabric_find_link(&stored, 1, fabric_find_node(&stored, "leaf1"));

	cr_assert_eq(lab_change_link("lab0", "leaf1", "h2", &change, &err), 0);
	cr_assert_not(stored.links[link].up);
	IS(script, "set -e\n" AT("3", "link set h2 down\n")
			   SPINE1 SPINE2 AT("3", TO_HOST("h1", "1", "1", "3") BOTH("2", "3")) LEAF2);
	IS(purpose, "change the link of the lab");
	change = (struct lab_link_change){.action = LAB_LINK_UP, .keep_routes = true};
	cr_assert_eq(lab_change_link("lab0", "h2", "leaf1", &change, &err), 0);
	cr_assert(stored.links[link].up);
	IS(script, "set -e\n" AT("3", "link set h2 up\naddr replace fe80::1/64 dev h2 nodad\n"));
	change.keep_routes = true;
	cr_assert_eq(lab_change_link("lab0", "spine2", "leaf1", &change, &err), 0);
	IS(script, "set -e\n" AT("2", "link set leaf1 up\naddr replace fe80::1:2/64 dev leaf1 nodad\n"));
	script_code = EIO; /* the state stays as it was */
	change.action = LAB_LINK_DOWN;
	cr_assert_eq(lab_change_link("lab0", "h2", "leaf1", &change, &err), -EIO);
	cr_assert(stored.links[link].up);
}

/* 10 MB/s of payload are 10 * 8 * 1514 / 1448 = 83.646 Mbit/s in frames, and 3 % more for acknowledgements. */
#define LIMITED(netns, port, rate, share, burst)                                                                       \
	"tc -n " netns " -batch - <<'END'\nqdisc replace dev " port " root handle 1: htb default 2\n"                  \
	"class replace dev " port " parent 1: classid 1:1 htb rate " rate "bit ceil " rate "bit burst " burst          \
	" cburst " burst "\nclass replace dev " port " parent 1:1 classid 1:2 htb rate " share "bit ceil " rate        \
	"bit burst " burst " cburst " burst "\nclass replace dev " port " parent 1:1 classid 1:3 htb rate " share      \
	"bit ceil " rate "bit burst " burst " cburst " burst "\nEND\n"
#define TEN(netns, port) LIMITED(netns, port, "86155801", "861558", "107695")
#define HALF(netns, port) LIMITED(netns, port, "4307790", "43078", "6144")

Test(lab_links, a_rate_limits_both_ends)
{
	struct lab_link_change change = {.action = LAB_LINK_RATE, .MBps = 10};
	struct error err = {0};
	int link = fabric_find_link(&stored, fabric_find_node(&stored, "spine1"), fabric_find_node(&stored, "leaf2"));

	cr_assert_eq(lab_change_link("lab0", "spine1", "leaf2", &change, &err), 0);
	IS(script, "set -e\n" TEN("lab0-s4", "spine1") TEN("lab0-s1", "leaf2"));
	cr_assert(stored.links[link].MBps == 10 && stored.links[link].back_MBps == 10 && stored.links[link].up);
	change.MBps = 0;
	cr_assert_eq(lab_change_link("lab0", "spine1", "leaf2", &change, &err), 0);
	IS(script, "set -e\ntc -n lab0-s4 qdisc del dev spine1 root 2>/dev/null || :\n"
		   "tc -n lab0-s1 qdisc del dev leaf2 root 2>/dev/null || :\n");
	cr_assert_float_eq(topology_payload_MBps(links_wire_bits(10) / 1e6), 10, 1e-12);
}

Test(lab_links, a_lab_of_bridges_limits_every_host)
{
	struct error err = {0};

	plan(2, 1, 0);
	cr_assert_eq(lab_limit_links(&stored, 0.5, &err), 0);
	IS(line_run,
	   "set -e\n" HALF("lab0-h1", "eth0") HALF("lab0-sw", "h1") HALF("lab0-h2", "eth0") HALF("lab0-sw", "h2"));
	line_code = 1;
	cr_assert_eq(lab_limit_links(&stored, 0.5, &err), -EIO);
	cr_assert_str_eq(err.text, "cannot limit links: tc says: nothing");
}

/* The rates of a routed lab are those of its links; 0 is no limit. */
Test(lab_links, a_routed_lab_limits_its_links)
{
	struct error err = {0};

	for (int l = 0; l < stored.link_count; l++)
		stored.links[l].MBps = stored.links[l].back_MBps = 0;
	stored.links[0].back_MBps = 10; /* leaf1 - spine1 */
	stored.links[2].MBps = 0.5;     /* h1 - leaf1 */
	cr_assert_eq(lab_limit_links(&stored, 99, &err), 0);
	IS(script, "set -e\ntc -n lab0-s3 qdisc del dev spine1 root 2>/dev/null || :\n" TEN("lab0-s1", "leaf1")
			   HALF("lab0-h1", "eth0") "tc -n lab0-s3 qdisc del dev h1 root 2>/dev/null || :\n");
	IS(purpose, "limit the links of the lab");
}

Test(lab_links, limits_are_checked_at_every_host)
{
	struct error err = {0};

	cr_assert_eq(lab_check_links(&stored, &err), 0);
	IS(line_run, "tc -n lab0-h3 qdisc show dev eth0 | grep -q 'htb 1: root'");
	line_code = 1;
	cr_assert_eq(lab_check_links(&stored, &err), -ENOENT);
	HAS(err.text, "the link of host h1 is not limited");
}

Test(lab_links, links_that_cannot_be_changed)
{
	struct lab_link_change change = {.action = LAB_LINK_DOWN};
	struct error err = {0};

	cr_assert_eq(lab_change_link("lab1", "h1", "leaf1", &change, &err), -ENOENT);
	cr_assert_eq(lab_change_link("lab0", "h1", "h9", &change, &err), -EINVAL);
	cr_assert_str_eq(err.text, "lab 'lab0' has no host or switch 'h9'");
	cr_assert_eq(lab_change_link("lab0", "spine9", "h1", &change, &err), -EINVAL);
	cr_assert_eq(lab_change_link("lab0", "h1", "leaf2", &change, &err), -EINVAL);
	cr_assert_str_eq(err.text, "lab 'lab0' has no link 'h1' - 'leaf2'");
	user = 1000;
	cr_assert_eq(lab_change_link("lab0", "h1", "leaf1", &change, &err), -EPERM);
	user = 0;
	plan(2, 1, 0);
	cr_assert_eq(lab_change_link("lab0", "h1", "h2", &change, &err), -EINVAL);
	HAS(err.text, "lab 'lab0' has bridges");
}

Test(lab_links, the_link_of_a_host)
{
	struct error err = {0};

	cr_assert_eq(lab_change_host_link(&stored, 1, false, &err), 0);
	HAS(script, AT("3", "link set h2 down\n") SPINE1);
	cr_assert_eq(lab_change_host_link(&stored, 1, true, &err), 0);
	HAS(script, AT("3", "link set h2 up\naddr replace fe80::1/64 dev h2 nodad\n") SPINE1);
	plan(2, 1, 0);
	cr_assert_eq(lab_change_host_link(&stored, 1, false, &err), 0);
	IS(line_run, "ip -n lab0-sw link set h2 down");
	cr_assert_eq(lab_change_host_link(&stored, 0, true, &err), 0);
	IS(line_run, "ip -n lab0-sw link set h1 up");
}

static char *script_of_lab(void)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	lab_print_script(&stored, out);
	fclose(out);
	return text;
}

#define OFFLOADS(port) "ethtool -K " port " tx off rx off sg off tso off gso off gro off >/dev/null; "

Test(lab_links, the_script_of_a_routed_lab)
{
	char *text = script_of_lab();

	HAS(text, "set -e\nip -batch - <<'END'\nnetns add lab0-inj\nnetns add lab0-h1\nnetns add lab0-h2\nnetns add "
		  "lab0-h3\nnetns add lab0-s1\nnetns add lab0-s2\nnetns add lab0-s3\nnetns add lab0-s4\nnetns exec "
		  "lab0-inj sysctl ");
	HAS(text, "netns exec lab0-h3 sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0 "
		  "net.ipv6.conf.default.addr_gen_mode=1 net.ipv6.conf.default.accept_dad=0 "
		  "net.ipv6.conf.default.accept_ra=0 net.ipv4.ip_forward=0\nnetns exec lab0-s1 sysctl ");
	HAS(text, "net.ipv6.icmp.ratemask=0\nnetns exec lab0-s1 sysctl -eqw "
		  "net.ipv4.fib_multipath_hash_seed=2654435761\nnetns exec lab0-s2 sysctl -eqw "
		  "net.ipv4.fib_multipath_hash_seed=1013904227\n");
	HAS(text, "link add spine1 netns lab0-s3  mtu 1500 type veth peer name leaf1  mtu 1500 netns lab0-s1\n"
		  "link add spine2 netns lab0-s3  mtu 1500 type veth peer name leaf1  mtu 1500 netns lab0-s2\n"
		  "link add eth0 netns lab0-h1 address 02:6d:00:00:01:01 mtu 1500 type veth peer name h1 address "
		  "02:6d:ff:00:00:01 mtu 1500 netns lab0-s3\n");
	HAS(text,
	    "ip -n lab0-h3 -batch - <<'END'\nlink set lo up\nlink set eth0 up\naddr replace fe80::2/64 dev eth0 "
	    "nodad\naddr add 10.77.2.1/32 dev eth0\nroute add 10.77.2.254 dev eth0\naddr add fd77::2:1/128 dev "
	    "eth0 nodad\nroute add default via 10.77.2.254\nroute add default via fe80::1 dev eth0\nEND\nip netns "
	    "exec lab0-h3 sh -ec '" OFFLOADS("eth0") "'\n");
	HAS(text,
	    "ip -n lab0-s1 -batch - <<'END'\nlink set lo up\nlink set leaf1 up\naddr replace fe80::1:1/64 dev "
	    "leaf1 nodad\nlink set leaf2 up\naddr replace fe80::1:1/64 dev leaf2 nodad\naddr add 10.78.0.1/32 dev "
	    "lo\naddr add fd78::1/128 dev lo nodad\nEND\nip netns exec lab0-s1 sh -ec '" OFFLOADS("leaf1")
		    OFFLOADS("leaf2") "'\n");
	HAS(text, "link set h2 up\naddr replace fe80::1/64 dev h2 nodad\naddr add 10.78.0.3/32 dev lo\naddr add "
		  "fd78::3/128 dev lo nodad\naddr add 10.77.1.254/32 dev lo\nEND\n");
	free(text);
}

/* Three racks, so that no injector's place is special, and one rack, without a core. */
Test(lab_links, the_script_of_a_lab_of_bridges)
{
	char *text;

	plan(3, 3, 0);
	text = script_of_lab();
	HAS(text,
	    "exec ip -batch - <<'END'\nnetns add lab0-sw\nnetns exec lab0-sw sh -ec 'sysctl -qw "
	    "net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 net.ipv4.ip_forward=0; ip link "
	    "set lo up'\nnetns add lab0-inj\n");
	HAS(text, "ip link set lo up'\nnetns add lab0-h3\nnetns exec lab0-h3 sh -ec ");
	HAS(text,
	    "sh -ec 'ip link add rack1 mtu 1500 type bridge stp_state 0 forward_delay 0 mcast_snooping 0; ip link "
	    "add rack2 mtu 1500 type bridge stp_state 0 forward_delay 0 mcast_snooping 0; ip link add rack3 mtu "
	    "1500 type bridge stp_state 0 forward_delay 0 mcast_snooping 0; ip link add core mtu 1500 type bridge "
	    "stp_state 0 forward_delay 0 mcast_snooping 0; :'\nlink add eth0 netns lab0-h1 address "
	    "02:6d:00:00:01:01 mtu 1500 type veth peer name h1  mtu 1500 netns lab0-sw\n");
	HAS(text, "link add rack3-up netns lab0-sw  mtu 1500 type veth peer name rack3-down  mtu 1500 netns lab0-sw\n"
		  "netns exec lab0-h1 sh -ec 'ip addr add 10.77.1.1/16 dev eth0; ip link set eth0 up; ethtool -K eth0 "
		  "tx off rx off sg off tso off gso off gro off >/dev/null'\n");
	HAS(text,
	    "netns exec lab0-sw sh -ec 'ip link set rack1 up; ip link set rack2 up; ip link set rack3 up; ip link "
	    "set h1 master rack1 up; ip link set h2 master rack2 up; ip link set h3 master rack3 up; ip link set "
	    "core up; ip link set rack1-up master rack1 up; ip link set rack1-down master core up; ip link set "
	    "rack2-up master rack2 up; ip link set rack2-down master core up; ip link set rack3-up master rack3 "
	    "up; ip link set rack3-down master core up; for i in ");
	cr_assert(!strstr(text, "promisc"), "no injector");
	cr_assert_str_eq(text + strlen(text) - 18, "1 || :; done'\nEND\n");
	free(text);
	plan(2, 1, 0);
	text = script_of_lab();
	cr_assert(!strstr(text, "core") && !strstr(text, "rack1-up"), "%s", text);
	free(text);
}

Test(lab_links, injectors_ports_are_set_up)
{
	const char *places[] = {"h2"};
	struct lab_spec spec = {.name = "lab0",
				.hosts = 2,
				.racks = 1,
				.slots = 1,
				.mtu_bytes = 9000,
				.places = places,
				.place_count = 1};
	struct error err = {0};
	char *text;

	cr_assert_eq(lab_plan(&spec, &stored, &err), 0, "%s", err.text);
	text = script_of_lab();
	HAS(text, "link add eth0 netns lab0-h2 address 02:6d:00:00:01:02 mtu 9000 type veth peer name h2-a mtu 9000 "
		  "netns lab0-inj\nlink add h2-b netns lab0-inj mtu 9000 type veth peer name h2  mtu 9000 netns "
		  "lab0-sw\n");
	HAS(text, "netns exec lab0-inj sh -ec 'ip link set h2-a promisc on up; " OFFLOADS(
			  "h2-a") "ip link set h2-b promisc on up; " OFFLOADS("h2-b") ":'\n");
	free(text);
}
