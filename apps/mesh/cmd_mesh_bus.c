/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh publish and collect: send a live matrix over a NATS bus and receive it. */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <base/json.h>
#include <base/stop.h>
#include <model/latency_live.h>
#include <probe/nats/bus.h>

struct publish_settings {
	struct mesh_publish_options publish;
	bool json;
};

struct collect_settings {
	struct mesh_collect_options collect;
	int64_t hosts, racks, pairs;
	bool json;
};

static const struct option_row publish_rows[] = {
	MESH_BUS_ROWS(struct publish_settings, publish.bus),
	OPTION_DOUBLE(struct publish_settings, publish.every_s, "interval", 'i', "S", 0.001, 3600,
		      "time between two checks for changed rows"),
	OPTION_DOUBLE(struct publish_settings, publish.all_s, "all-every", 0, "S", 0.01, 86400,
		      "publish all rows again after this time"),
	OPTION_FLAG(struct publish_settings, json, "json", 'j', "print the counts at the end as JSON"),
	OPTION_END,
};

static const struct option_row collect_rows[] = {
	MESH_BUS_ROWS(struct collect_settings, collect.bus),
	OPTION_STRING(struct collect_settings, collect.peers_path, "peers", 0, "FILE",
		      "refuse rows of hosts that are not in this list"),
	ROWS_LIVE_CAPACITY(struct collect_settings, hosts, racks, pairs),
	MESH_RECORDER_ROWS(struct collect_settings, collect.record),
	OPTION_FLAG(struct collect_settings, json, "json", 'j', "print the counts at the end as JSON"),
	OPTION_END,
};

static const char publish_teach[] = "Runs until SIGINT or SIGTERM, then prints the number of rows.\n"
				    "\n"
				    "  nomora mesh publish /dev/shm/mesh --server nats://bus:4222\n";
static const char collect_teach[] =
	"Refuses rows that are malformed, inconsistent, more than 60 s in the future, or of unknown hosts.\n"
	"Runs until SIGINT or SIGTERM, then prints the numbers of rows.\n"
	"\n"
	"  nomora mesh collect /dev/shm/all --server nats://bus:4222 --peers peers.txt --history mesh.db\n";

static int publish(void *context, const struct option_operands *operands, struct error *err)
{
	struct publish_settings *settings = context;
	uint64_t rows = 0;
	int code;

	settings->publish.live_path = operands->items[0];
	if (mesh_bus_check(&settings->publish.bus, err))
		return COMMAND_USAGE;
	stop_catch_signals();
	code = mesh_publish(&settings->publish, stop_flag(), &rows, err);
	if (code)
		return code;
	if (settings->json)
		return json_write_file_new("-", mesh_publish_to_json(rows), err);
	printf("%" PRIu64 " rows published\n", rows);
	return 0;
}

static int collect(void *context, const struct option_operands *operands, struct error *err)
{
	struct collect_settings *settings = context;
	struct mesh_collect_counts counts = {0};
	int code;

	settings->collect.live_path = operands->items[0];
	settings->collect.size = (struct latency_live_size){(uint32_t)settings->hosts, (uint32_t)settings->racks,
							    (uint64_t)settings->pairs};
	if (mesh_bus_check(&settings->collect.bus, err))
		return COMMAND_USAGE;
	stop_catch_signals();
	code = mesh_collect(&settings->collect, stop_flag(), &counts, err);
	if (code)
		return code;
	if (settings->json)
		return json_write_file_new("-", mesh_collect_counts_to_json(&counts), err);
	mesh_collect_counts_print(&counts, stdout);
	return 0;
}

int command_mesh_publish(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh publish",
		.operands = "LIVE --server URL",
		.summary = "Publish the rows of a live matrix over NATS.",
		.teach = publish_teach,
		.rows = publish_rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct publish_settings settings = {.publish = {.bus.prefix = "nomora.mesh", .every_s = 1, .all_s = 30}};

	return command_run(&usage, argc, argv, &settings, publish);
}

int command_mesh_collect(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh collect",
		.operands = "LIVE --server URL",
		.summary = "Collect the rows that 'nomora mesh publish' sends over NATS into a live matrix.",
		.teach = collect_teach,
		.rows = collect_rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct collect_settings settings = {.collect = {.bus.prefix = "nomora.mesh", .record = mesh_recorder_defaults},
					    .hosts = 4096,
					    .racks = 256,
					    .pairs = 1 << 20};

	return command_run(&usage, argc, argv, &settings, collect);
}
