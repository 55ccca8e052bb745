/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora lab: makes, shows and removes the virtual rack. */
#include "commands.h"

int command_lab(int argc, char **argv)
{
	static const struct command commands[] = {
		{"up", "make a lab", command_lab_up, NULL},
		{"down", "remove a lab", command_lab_down, NULL},
		{"status", "show the labs", command_lab_status, NULL},
		{"exec", "run a command on a host", command_lab_exec, NULL},
		{"link", "cut, repair or limit a link of a routed lab", command_lab_link, NULL},
		{"inventory", "write the lab as files for probe and place", command_lab_inventory, NULL},
		{NULL, NULL, NULL, NULL},
	};

	return command_dispatch("nomora lab",
				"Make a virtual rack on this host: hosts, switches and injector in network namespaces.",
				commands, argc, argv);
}
