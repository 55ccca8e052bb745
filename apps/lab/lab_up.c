/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora lab up: makes a lab, and stays with it when asked to. */
#include "lab_commands.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lab/transfer.h>

#include <base/stop.h>

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
		      "name of the lab; two labs can stand side by side"),
	OPTION_INTEGER(struct up_settings, hosts, "hosts", 'H', "N", 1, LAB_HOSTS_MAXIMUM, "hosts, h1 to hN"),
	OPTION_INTEGER(struct up_settings, racks, "racks", 'R', "N", 1, LAB_RACKS_MAXIMUM,
		       "racks that share the hosts"),
	OPTION_INTEGER(struct up_settings, slots, "slots", 's', "N", 0, 1000000,
		       "tasks that a host holds, for --cluster"),
	OPTION_INTEGER(struct up_settings, mtu_bytes, "mtu", 0, "BYTES", 68, 9000, "largest packet on every link"),
	OPTION_DOUBLE(
		struct up_settings, link_MBps, "link-MBps", 0, "R", 0, 100000,
		"limit each host's link, or each link of switches, to R MB/s of payload in each direction; 0 = no "
		"limit"),
	OPTION_DOUBLE(struct up_settings, rate_mbit, "rate-mbit", 0, "R", 0, 800000, "the same in Mbit/s of frames"),
	OPTION_HEADING("Routed switches instead of bridges"),
	OPTION_INTEGER(
		struct up_settings, spines, "spines", 0, "N", 0, LAB_SWITCHES_MAXIMUM,
		"racks are leaves, each linked to each of N spines (leaf1.., spine1..); all equal paths are used"),
	OPTION_STRING(struct up_settings, fabric, "fabric", 0, "NETWORK",
		      "a topology file, fattree:K[,HOSTS], jellyfish:SWITCHES,PORTS[,HOSTS] or "
		      "leafspine:LEAVES,SPINES,HOSTS; --hosts and --racks do not count"),
	OPTION_INTEGER(struct up_settings, seed, "seed", 0, "N", 0, INT32_MAX, "of a Jellyfish"),
	OPTION_HEADING("The injector"),
	OPTION_LIST(struct up_settings, inject, "inject", 'i', "PLACE",
		    "put an injector's two ports in the path of a host (h3), of a rack (rack1) or between two racks "
		    "(core); among switches in a link (leaf1:spine2) or in each link of a switch (spine2)"),
	OPTION_DOUBLE(struct up_settings, delay_us, "delay-us", 'd', "US", -1, 10000,
		      "start the injectors with this delay per direction; -1 leaves that to you"),
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
		 "--foreground "
		 "the\n"
		 "lab goes when this process ends, killed or not. A host behind an injector has no network until the\n"
		 "injector runs: give --delay-us, or start it yourself as 'nomora lab status' shows.",
	.rows = up_rows,
};

/* A shell with our terminal: the command may be interactive. It dies with us. */
static pid_t start_shell(const char *command)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* The command's own exit code, 128 + signal if one ended it. What it leaves in the namespaces ends with the lab. */
static int run_while(const char *command)
{
	struct error err = {0};
	pid_t pid = start_shell(command);
	int status = 0;

	if (pid < 0) {
		error_set(&err, errno, "cannot start a shell: %s", strerror(errno));
		return command_fail(&err, COMMAND_FAILED);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			break;
		if (*stop_flag())
			kill(pid, SIGTERM);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_up(const struct lab *lab, const struct up_settings *settings, char **extra, struct error *err)
{
	char program[PATH_MAX];
	int code = lab_up(lab, err);

	if (code)
		return code;
	if (settings->link_MBps > 0 || lab->switch_count > 0)
		code = lab_limit_links(lab, settings->link_MBps, err);
	if (!code && settings->delay_us >= 0 && lab->injector_count > 0) {
		code = command_own_program(program, err);
		if (!code)
			code = lab_start_injectors(lab, program, settings->delay_us, (const char *const *)extra, err);
	}
	if (!code)
		code = lab_write_inventory(lab, settings->cluster, settings->peers, settings->topology, err);
	if (code)
		lab_down(lab->name, NULL);
	return code;
}

/* While the guard lives, our death by whatever means takes the lab down. */
static int stay(const struct lab *lab, const struct up_settings *settings, char **extra)
{
	struct error err = {0};
	struct lab_guard *guard;
	int code, outcome = COMMAND_OK;

	stop_catch_signals();
	/* First, so that no lab of somebody else comes under the guard; again, under a lock, in lab_up(). */
	if (lab_check_free(lab->name, &err) != 0)
		return command_fail(&err, COMMAND_FAILED);
	guard = lab_guard_start(lab->name, &err);
	if (!guard)
		return command_fail(&err, COMMAND_FAILED);
	code = run_up(lab, settings, extra, &err);
	if (code) {
		lab_guard_release(guard, false, NULL);
		return command_fail(&err, COMMAND_FAILED);
	}
	if (settings->while_command) {
		outcome = run_while(settings->while_command);
	} else {
		outcome = settings->json ? lab_show_json(lab_to_json(lab)) : COMMAND_OK;
		if (!settings->json) {
			lab_show(lab);
			printf("  it stays until this command ends (Ctrl-C)\n");
		}
		fflush(stdout);
		stop_wait();
	}
	if (lab_guard_release(guard, true, &err) < 0)
		return command_fail(&err, COMMAND_FAILED);
	return outcome;
}

static int read_fabric(const struct up_settings *settings, struct topology **fabric, struct error *err)
{
	if (!settings->fabric)
		return 0;
	if (settings->spines > 0)
		return error_set(err, EINVAL, "--spines and --fabric are mutually exclusive");
	*fabric = topology_from_argument(settings->fabric, TOPOLOGY_MBPS_MAXIMUM, (uint64_t)settings->seed, err);
	return *fabric ? 0 : error_code(err, ENOMEM);
}

int lab_command_up(int argc, char **argv)
{
	struct up_settings settings = {
		.name = LAB_NAME_DEFAULT, .hosts = 8, .racks = 2, .slots = 4, .mtu_bytes = 1500, .delay_us = -1};
	struct option_operands operands;
	struct error err = {0};
	struct topology *fabric = NULL;
	struct lab lab;
	int code = command_parse(&up_usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	if (settings.rate_mbit > 0)
		settings.link_MBps = lab_payload_MBps(settings.rate_mbit);
	struct lab_spec spec = {.name = settings.name,
				.hosts = (int)settings.hosts,
				.racks = (int)settings.racks,
				.slots = (int)settings.slots,
				.mtu_bytes = (int)settings.mtu_bytes,
				.places = settings.inject.items,
				.place_count = settings.inject.count,
				.spines = (int)settings.spines,
				.link_MBps = settings.link_MBps};

	if (settings.while_command && settings.json) {
		error_set(&err, EINVAL, "--json with --while: standard output belongs to the command there");
		code = command_fail(&err, COMMAND_USAGE);
	} else if (read_fabric(&settings, &fabric, &err) != 0) {
		code = command_fail(&err, err.code == EINVAL ? COMMAND_USAGE : COMMAND_FAILED);
	} else if (spec.fabric = fabric, lab_plan(&spec, &lab, &err) != 0) {
		code = command_fail(&err, COMMAND_USAGE);
	} else if (settings.foreground || settings.while_command) {
		code = stay(&lab, &settings, operands.rest);
	} else if (run_up(&lab, &settings, operands.rest, &err) != 0) {
		code = command_fail(&err, COMMAND_FAILED);
	} else {
		code = COMMAND_OK;
		if (settings.json)
			code = lab_show_json(lab_to_json(&lab));
		else
			lab_show(&lab);
	}
	topology_destroy(fabric);
	options_free(&operands);
	return code;
}
