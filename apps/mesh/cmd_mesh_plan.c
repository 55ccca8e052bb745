/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh plan: decides which host probes which other hosts, and writes a list of peers for each agent. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>

#include <base/json.h>
#include <model/latency_live.h>
#include <probe/plan/plan.h>

struct plan_settings {
	const char *output, *state, *cluster, *live;
	double interval_us;
	struct mesh_budget budget;
	int across;
	bool keep, json;
};

static const char *const across_names[] = {"racks", "pods", NULL};

static const struct option_row rows[] = {
	OPTION_STRING(struct plan_settings, output, "output", 'o', "DIR",
		      "folder for the lists: HOST.peers for every host"),
	OPTION_STRING(struct plan_settings, state, "state", 0, "FILE",
		      "the plan (nomora.mesh_plan/1): read, advanced by one run and written back"),
	OPTION_STRING(struct plan_settings, cluster, "cluster", 'c', "FILE", "racks and pods of the hosts"),
	OPTION_STRING(struct plan_settings, live, "live", 'l', "FILE", "a live matrix: its drained hosts are left out"),
	OPTION_FLAG(struct plan_settings, keep, "keep", 'k', "apply changes of the hosts, but do not rotate the pairs"),
	OPTION_FLAG(struct plan_settings, json, "json", 'j', "print JSON (nomora.mesh_plan_load/1)"),
	OPTION_HEADING("Budget"),
	OPTION_DOUBLE(struct plan_settings, interval_us, "interval-us", 'i', "US", 1, 1e9,
		      "time between two probes from a host to a peer"),
	OPTION_DOUBLE(struct plan_settings, budget.host_pps, "host-pps", 0, "N", 0, 1e9,
		      "maximum probes per second that a host sends; 0 = no limit"),
	OPTION_DOUBLE(struct plan_settings, budget.reflector_pps, "reflector-pps", 0, "N", 0, 1e9,
		      "maximum probes per second that a host answers; 0 = no limit"),
	OPTION_DOUBLE(struct plan_settings, budget.link_pps, "link-pps", 0, "N", 0, 1e12,
		      "maximum probes per second from and to a rack; 0 = no limit"),
	OPTION_DOUBLE(struct plan_settings, budget.epoch_s, "epoch", 'e', "S", 0.1, 1e6,
		      "time between two runs of this command"),
	OPTION_DOUBLE(struct plan_settings, budget.refresh_s, "refresh", 'r', "S", 1, 1e9,
		      "every pair of hosts is probed within this time"),
	OPTION_CHOICE(struct plan_settings, across, "across", 0, "GROUPS", across_names,
		      "hosts in different pods: probe some pairs for every two racks, or only some for every two pods"),
	OPTION_END,
};

static const char teach[] =
	"Hosts of one rack always probe each other. Between any two racks, only some pairs of hosts do; each run\n"
	"selects other pairs. Run it once per epoch (see nomora-mesh-plan.timer); agents read their lists again when "
	"they change:\n"
	"\n"
	"  nomora mesh plan peers.txt --cluster cluster.json --state plan.json -o lists --host-pps 2000\n"
	"  nomora mesh agent eth0 --address 10.0.1.7 --peers lists/h7.peers --live /dev/shm/mesh\n";

static int make_plan(struct mesh_plan *plan, const struct peers *peers, const struct plan_settings *settings,
		     struct error *err)
{
	struct cluster *cluster = settings->cluster ? cluster_read(settings->cluster, err) : NULL;
	struct latency_matrix *live = settings->live ? latency_live_map(settings->live, err) : NULL;
	int code = (settings->cluster && !cluster) || (settings->live && !live) ? error_code(err, EIO) : 0;
	struct mesh_plan_load load;

	if (!code)
		code = mesh_plan_follow(plan, peers, cluster, live, err);
	if (!code && !settings->keep)
		code = mesh_plan_rotate(plan, &settings->budget, err);
	if (!code && settings->output)
		code = mesh_plan_write_lists(plan, peers, settings->output, err);
	if (!code && settings->state)
		code = mesh_plan_write(plan, settings->state, err);
	load = mesh_plan_load(plan);
	if (!code && settings->json)
		code = json_write_file_new("-", mesh_plan_load_to_json(&load, &settings->budget), err);
	else if (!code)
		mesh_plan_load_print(&load, &settings->budget, stdout);
	cluster_destroy(cluster);
	latency_matrix_destroy(live);
	return code;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct plan_settings *settings = context;
	struct peers peers;
	struct mesh_plan *plan;
	int code = peers_read(operands->items[0], &peers, err);

	if (code)
		return code;
	settings->budget.interval_s = settings->interval_us / 1e6;
	settings->budget.pods = settings->across == 1;
	plan = settings->state ? mesh_plan_read(settings->state, err) : mesh_plan_create();
	code = plan ? make_plan(plan, &peers, settings, err) : error_code(err, ENOMEM);
	mesh_plan_destroy(plan);
	peers_free(&peers);
	return code == -ERANGE ? COMMAND_NEGATIVE : code;
}

int command_mesh_plan(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh plan",
		.operands = "PEERS",
		.summary = "Plan which hosts probe each other, so that every pair is probed in time and no budget is "
			   "exceeded.",
		.teach = teach,
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct plan_settings settings = {.interval_us = 10000, .budget = {.epoch_s = 60, .refresh_s = 86400}};

	return command_run(&usage, argc, argv, &settings, run);
}
