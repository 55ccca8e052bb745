/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomora lab up: makes a lab. With --foreground or --while, the command stays until a signal or the end of the --while
 * command, and then removes the lab.
 */
#include "lab_commands.h"

#include <errno.h>
#include <stdio.h>

#include <base/process.h>
#include <base/stop.h>
#include <lab/transfer.h>

struct up_settings {
	const char *name, *while_command, *cluster, *peers;
	const char *fabric, *topology;
	int64_t hosts, racks, slots, mtu_bytes, spines, seed;
	double delay_us, link_MBps, rate_mbit;
	struct option_list inject;
	bool foreground, json;
};

static const struct option_row up_rows[] = {
	OPTION_HEADING("The rack"),
	OPTION_STRING(struct up_settings, name, "name", 'n', "NAME",
		      "name of the lab; labs of different names can exist at once"),
	OPTION_INTEGER(struct up_settings, hosts, "hosts", 'H', "N", 1, LAB_HOSTS_MAXIMUM, "hosts, h1 to hN"),
	OPTION_INTEGER(struct up_settings, racks, "racks", 'R', "N", 1, LAB_RACKS_MAXIMUM,
		       "number of racks, among which the hosts are divided"),
	OPTION_INTEGER(struct up_settings, slots, "slots", 's', "N", 0, 1000000,
		       "tasks that a host can hold, for --cluster"),
	OPTION_INTEGER(struct up_settings, mtu_bytes, "mtu", 0, "BYTES", 68, 9000, "largest packet on every link"),
	OPTION_DOUBLE(
		struct up_settings, link_MBps, "link-MBps", 0, "R", 0, 100000,
		"limit each host's link, or each link of switches, to R MB/s of payload in each direction; 0 = no "
		"limit"),
	OPTION_DOUBLE(struct up_settings, rate_mbit, "rate-mbit", 0, "R", 0, 800000,
		      "like --link-MBps, but in Mbit/s of frames"),
	OPTION_HEADING("Routed switches instead of bridges"),
	OPTION_INTEGER(
		struct up_settings, spines, "spines", 0, "N", 0, LAB_SWITCHES_MAXIMUM,
		"racks are leaves, each linked to each of N spines (leaf1.., spine1..); all equal paths are used"),
	OPTION_STRING(
		struct up_settings, fabric, "fabric", 0, "NETWORK",
		"a topology file, a folder of lldpctl -f json, fattree:K[,HOSTS], jellyfish:SWITCHES,PORTS[,HOSTS] or "
		"leafspine:LEAVES,SPINES,HOSTS; --hosts and --racks are ignored"),
	OPTION_INTEGER(struct up_settings, seed, "seed", 0, "N", 0, INT32_MAX, "seed of a random Jellyfish"),
	OPTION_HEADING("The injector"),
	OPTION_LIST(struct up_settings, inject, "inject", 'i', "PLACE",
		    "put an injector's two ports in the path of a host (h3), of a rack (rack1) or between two racks "
		    "(core); with routed switches: in a link (leaf1:spine2) or in each link of a switch (spine2)"),
	OPTION_DOUBLE(struct up_settings, delay_us, "delay-us", 'd', "US", -1, 10000,
		      "start the injectors with this delay per direction; -1: you start them"),
	OPTION_HEADING("How long"),
	OPTION_FLAG(struct up_settings, foreground, "foreground", 'f',
		    "stay, and remove the lab when this command ends"),
	OPTION_STRING(struct up_settings, while_command, "while", 'w', "COMMAND",
		      "run COMMAND with the lab and remove the lab when it ends"),
	OPTION_HEADING("Files"),
	OPTION_STRING(struct up_settings, cluster, "cluster", 0, "FILE",
		      "write the machines for 'nomora place' (JSON)"),
	OPTION_STRING(struct up_settings, peers, "peers", 0, "FILE", "write the list of peers for 'nomora probe'"),
	OPTION_STRING(struct up_settings, topology, "topology", 0, "FILE",
		      "write switches, hosts and links of a routed lab (JSON)"),
	OPTION_FLAG(struct up_settings, json, "json", 'j', "print the lab as JSON; not with --while"),
	OPTION_END,
};

static const struct option_usage up_usage = {
	.command = "nomora lab up",
	.operands = "[-- INJECTOR-ARGUMENT...]",
	.summary = "Makes hosts as network namespaces in racks, on bridges or routed switches, with an injector in the "
		   "path.",
	.teach = "Example: eight hosts in two racks, 200 us each way between the racks.\n"
		 "  nomora lab up --hosts 8 --racks 2 --inject core --delay-us 200\n"
		 "  nomora lab exec h1 -- ping -c 3 10.77.2.1\n"
		 "  nomora lab down\n"
		 "Four leaves, four spines, 100 Mbit/s links; and one link cut.\n"
		 "  nomora lab up --hosts 16 --racks 4 --spines 4 --rate-mbit 100\n"
		 "  nomora lab link leaf1 spine2 down\n"
		 "Nothing is made outside the namespaces NAME-h1.., NAME-sw (NAME-s1..) and NAME-inj. With --while or "
		 "--foreground the\n"
		 "lab is removed when this process ends, even if killed. A host behind an injector has no network "
		 "until the\n"
		 "injector runs: give --delay-us, or start it yourself as 'nomora lab status' shows.",
	.rows = up_rows,
	.takes_rest = true,
};

static double link_MBps(const struct up_settings *settings)
{
	return settings->rate_mbit > 0 ? topology_payload_MBps(settings->rate_mbit) : settings->link_MBps;
}

static int show(const struct lab *lab, bool json)
{
	if (json)
		return command_print_json(lab_to_json(lab));
	lab_print(lab, stdout);
	return COMMAND_OK;
}

/*
 * Waits for a signal, or runs the --while command to its end. Processes that this command leaves in the namespaces end
 * with the lab.
 */
static int stay(const struct lab *lab, void *context, struct error *err)
{
	const struct up_settings *settings = context;
	int outcome;

	if (settings->while_command)
		return foreground_run_shell(settings->while_command, stop_flag(), err);
	outcome = show(lab, settings->json);
	if (!settings->json)
		printf("  the lab stays until this command ends (Ctrl-C)\n");
	fflush(stdout);
	stop_wait();
	return outcome;
}

static int make(const struct lab_spec *spec, struct up_settings *settings, char **extra, struct error *err)
{
	bool stays = settings->foreground || settings->while_command;
	struct lab_contents contents = {.link_MBps = spec->link_MBps,
					.delay_us = settings->delay_us,
					.injector_arguments = (const char *const *)extra,
					.cluster = settings->cluster,
					.peers = settings->peers,
					.topology = settings->topology};
	int outcome = COMMAND_OK;
	struct lab lab;

	if (lab_plan(spec, &lab, err) != 0)
		return COMMAND_USAGE;
	if (lab_make(&lab, &contents, stays ? stay : NULL, settings, &outcome, err) < 0)
		return COMMAND_FAILED;
	return stays ? outcome : show(&lab, settings->json);
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct up_settings *settings = context;
	struct topology *fabric = NULL;
	struct lab_spec spec = {.name = settings->name,
				.hosts = (int)settings->hosts,
				.racks = (int)settings->racks,
				.slots = (int)settings->slots,
				.mtu_bytes = (int)settings->mtu_bytes,
				.places = settings->inject.items,
				.place_count = settings->inject.count,
				.spines = (int)settings->spines,
				.link_MBps = link_MBps(settings)};
	int code;

	if (settings->while_command && settings->json)
		return command_misused(
			err, "--json and --while are mutually exclusive: standard output belongs to the command");
	if (settings->fabric && settings->spines > 0)
		return command_misused(err, "--spines and --fabric are mutually exclusive");
	if (settings->fabric) {
		fabric = topology_from_argument(settings->fabric, TOPOLOGY_MBPS_MAXIMUM, (uint64_t)settings->seed, err);
		if (!fabric)
			return error_prefix(err, "--fabric") == -EINVAL ? COMMAND_USAGE : COMMAND_FAILED;
	}
	spec.fabric = fabric;
	code = make(&spec, settings, operands->rest, err);
	topology_destroy(fabric);
	return code;
}

int command_lab_up(int argc, char **argv)
{
	struct up_settings settings = {
		.name = LAB_NAME_DEFAULT, .hosts = 8, .racks = 2, .slots = 4, .mtu_bytes = 1500, .delay_us = -1};

	return command_run(&up_usage, argc, argv, &settings, run);
}
