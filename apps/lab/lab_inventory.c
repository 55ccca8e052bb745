/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_commands.h"

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

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct lab_settings *settings = context;
	struct lab lab;
	int code;

	(void)operands;
	if (!settings->cluster && !settings->peers && !settings->topology)
		return command_misused(err, "nothing to write: give --cluster FILE, --peers FILE or --topology FILE");
	code = lab_read(settings->name, &lab, err);
	return code ? code : lab_write_inventory(&lab, settings->cluster, settings->peers, settings->topology, err);
}

int command_lab_inventory(int argc, char **argv)
{
	struct lab_settings settings = {.name = LAB_NAME_DEFAULT};

	return command_run(&inventory_usage, argc, argv, &settings, run);
}
