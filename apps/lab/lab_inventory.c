/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_commands.h"

#include <errno.h>

static const struct option_row inventory_rows[] = {
	OPTION_STRING(struct lab_settings, name, "name", 'n', "NAME", "name of the lab"),
	OPTION_STRING(struct lab_settings, cluster, "cluster", 'c', "FILE", "machines with rack, pod and slots (JSON)"),
	OPTION_STRING(struct lab_settings, peers, "peers", 'p', "FILE", "list of peers for 'nomora probe'"),
	OPTION_STRING(struct lab_settings, topology, "topology", 't', "FILE",
		      "switches, hosts and links of a routed lab (JSON)"),
	OPTION_END,
};

static const struct option_usage inventory_usage = {
	.command = "nomora lab inventory",
	.operands = "",
	.summary = "Writes the lab as the files that probe and place read; to stdout with '-'.",
	.teach = "  nomora lab inventory --cluster cluster.json --peers peers.txt",
	.rows = inventory_rows,
};

int lab_command_inventory(int argc, char **argv)
{
	struct lab_settings settings = {.name = LAB_NAME_DEFAULT};
	struct option_operands operands;
	struct error err = {0};
	struct lab lab;
	int code = command_parse(&inventory_usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	if (!settings.cluster && !settings.peers && !settings.topology) {
		error_set(&err, EINVAL, "nothing to write: give --cluster FILE, --peers FILE or --topology FILE");
		code = command_fail(&err, COMMAND_USAGE);
	} else {
		code = COMMAND_OK;
		if (lab_read(settings.name, &lab, &err) != 0 ||
		    lab_write_inventory(&lab, settings.cluster, settings.peers, settings.topology, &err) != 0)
			code = command_fail(&err, COMMAND_FAILED);
	}
	options_free(&operands);
	return code;
}
