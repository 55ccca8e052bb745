/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_commands.h"

#include <errno.h>
#include <string.h>

#include <base/number.h>
#include <lab/transfer.h>

struct link_settings {
	const char *name;
	bool keep_routes;
};

static const struct option_row link_rows[] = {
	OPTION_STRING(struct link_settings, name, "name", 'n', "NAME", "name of the lab"),
	OPTION_FLAG(struct link_settings, keep_routes, "keep-routes", 'k',
		    "do not change the routes of the other switches, as if no control plane had noticed yet"),
	OPTION_END,
};

static const struct option_usage link_usage = {
	.command = "nomora lab link",
	.operands = "A B up|down|rate MBIT",
	.summary = "Takes a link of a routed lab down or up, or limits it to MBIT Mbit/s each way (0: no limit).",
	.teach = "Routes follow at once; a link is taken down as when a cable is pulled.\n"
		 "  nomora lab link leaf1 spine2 down\n  nomora lab link leaf1 spine2 up\n"
		 "  nomora lab link h3 leaf1 rate 100",
	.rows = link_rows,
	.operands_minimum = 3,
	.operands_maximum = 4,
};

static int parse_change(const struct option_operands *operands, struct lab_link_change *change, struct error *err)
{
	const char *action = operands->items[2];
	bool is_rate = strcmp(action, "rate") == 0;
	double mbit;

	if (!is_rate && strcmp(action, "up") != 0 && strcmp(action, "down") != 0)
		return error_set(err, EINVAL, "'%s': expected up, down or rate", action);
	if (!is_rate && operands->count > 3)
		return error_set(err, EINVAL, "unexpected argument '%s'", operands->items[3]);
	change->action = is_rate ? LAB_LINK_RATE : strcmp(action, "up") == 0 ? LAB_LINK_UP : LAB_LINK_DOWN;
	if (!is_rate)
		return 0;
	if (operands->count < 4 || number_parse_double(operands->items[3], &mbit) != 0 || !(mbit >= 0 && mbit <= 1e6))
		return error_set(err, EINVAL, "rate: expected Mbit/s from 0 to 1000000");
	change->MBps = topology_payload_MBps(mbit);
	return 0;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct link_settings *settings = context;
	struct lab_link_change change = {.keep_routes = settings->keep_routes};

	if (parse_change(operands, &change, err) != 0)
		return COMMAND_USAGE;
	return lab_change_link(settings->name, operands->items[0], operands->items[1], &change, err);
}

int command_lab_link(int argc, char **argv)
{
	struct link_settings settings = {.name = LAB_NAME_DEFAULT};

	return command_run(&link_usage, argc, argv, &settings, run);
}
