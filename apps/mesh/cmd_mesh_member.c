/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh join, leave and members: who takes part in a mesh. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <base/name.h>
#include <base/stop.h>
#include <probe/nats/bus.h>

struct member_settings {
	struct mesh_member_options member;
	const char *address, *name, *rack;
};

static const struct option_row join_rows[] = {
	MESH_BUS_ROWS(struct member_settings, member.bus),
	OPTION_STRING(struct member_settings, address, "address", 'a', "IP",
		      "address at which this host answers probes (required)"),
	OPTION_STRING(struct member_settings, name, "name", 'n', "NAME", "name of this host; default: its host name"),
	OPTION_STRING(struct member_settings, rack, "rack", 'r', "NAME", "rack of this host"),
	OPTION_DOUBLE(struct member_settings, member.every_s, "interval", 'i', "S", 0.01, 3600,
		      "time between two announcements"),
	OPTION_END,
};

static const struct option_row leave_rows[] = {
	MESH_BUS_ROWS(struct member_settings, member.bus),
	OPTION_STRING(struct member_settings, address, "address", 'a', "IP", "address of the host (required)"),
	OPTION_STRING(struct member_settings, name, "name", 'n', "NAME", "name of the host; default: this host's name"),
	OPTION_END,
};

static const struct option_row members_rows[] = {
	MESH_BUS_ROWS(struct mesh_keeper_options, bus),
	OPTION_STRING(struct mesh_keeper_options, lists_path, "lists", 'l', "DIR",
		      "send each host DIR/HOST.peers, which 'nomora mesh plan' writes, instead of all members"),
	OPTION_END,
};

static const char join_teach[] =
	"Writes the peers that it receives to PEERS (at first this host alone), for 'nomora mesh agent --peers'.\n"
	"Runs until SIGINT or SIGTERM; the host stays a member until 'nomora mesh leave'.\n"
	"\n"
	"  nomora mesh join peers.txt --server nats://bus:4222 --address 10.77.1.102 --rack r1\n";
static const char leave_teach[] = "  nomora mesh leave --server nats://bus:4222 --address 10.77.1.102\n";
static const char members_teach[] = "One for each mesh. Runs until SIGINT or SIGTERM.\n"
				    "\n"
				    "  nomora mesh members members.txt --server nats://bus:4222\n";

/* Fills the host of the options, and checks what is required. Returns 0 or -EINVAL with err set. */
static int set_host(struct member_settings *settings, char *own_name, size_t bytes, struct error *err)
{
	struct peer *host = &settings->member.host;
	const char *name = settings->name;
	int code = mesh_bus_check(&settings->member.bus, err);

	if (code)
		return code;
	if (!settings->address || address_parse(settings->address, &host->address) || !address_is_host(host->address))
		return error_set(err, EINVAL, "--address: expected this host's address, such as 10.77.1.102");
	if (!name && gethostname(own_name, bytes) == 0) {
		own_name[bytes - 1] = '\0';
		own_name[strcspn(own_name, ".")] = '\0';
		name = own_name;
	}
	if (!name || !name_is_valid(name, sizeof host->name) || strchr(name, '#'))
		return error_set(err, EINVAL,
				 "--name: expected up to %zu bytes of UTF-8 without blanks, commas, quotes or '#'",
				 sizeof host->name - 1);
	if (settings->rack && (!name_is_valid(settings->rack, sizeof host->rack) || strchr(settings->rack, '#')))
		return error_set(err, EINVAL, "--rack: expected a name as for --name");
	strcpy(host->name, name);
	strcpy(host->rack, settings->rack ? settings->rack : "");
	return 0;
}

static int join(void *context, const struct option_operands *operands, struct error *err)
{
	struct member_settings *settings = context;
	char own_name[PEER_NAME_BYTES];

	settings->member.peers_path = operands->items[0];
	if (set_host(settings, own_name, sizeof own_name, err))
		return COMMAND_USAGE;
	stop_catch_signals();
	return mesh_member(&settings->member, stop_flag(), err);
}

static int leave(void *context, const struct option_operands *operands, struct error *err)
{
	struct member_settings *settings = context;
	char own_name[PEER_NAME_BYTES];

	(void)operands;
	if (set_host(settings, own_name, sizeof own_name, err))
		return COMMAND_USAGE;
	stop_catch_signals();
	return mesh_leave(&settings->member, stop_flag(), err);
}

static int members(void *context, const struct option_operands *operands, struct error *err)
{
	struct mesh_keeper_options *options = context;

	options->members_path = operands->items[0];
	if (mesh_bus_check(&options->bus, err))
		return COMMAND_USAGE;
	stop_catch_signals();
	return mesh_keeper(options, stop_flag(), err);
}

int command_mesh_join(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh join",
		.operands = "PEERS --server URL --address IP",
		.summary = "Make this host a member of a mesh, and keep its list of peers up to date.",
		.teach = join_teach,
		.rows = join_rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct member_settings settings = {.member = {.bus.prefix = "nomora.mesh", .every_s = 10}};

	return command_run(&usage, argc, argv, &settings, join);
}

int command_mesh_leave(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh leave",
		.operands = "--server URL --address IP",
		.summary = "End a host's membership of a mesh.",
		.teach = leave_teach,
		.rows = leave_rows,
	};
	struct member_settings settings = {.member = {.bus.prefix = "nomora.mesh"}};

	return command_run(&usage, argc, argv, &settings, leave);
}

int command_mesh_members(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh members",
		.operands = "MEMBERS --server URL",
		.summary = "Keep the list of a mesh's members, and send each its peers.",
		.teach = members_teach,
		.rows = members_rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct mesh_keeper_options options = {.bus.prefix = "nomora.mesh"};

	return command_run(&usage, argc, argv, &options, members);
}
