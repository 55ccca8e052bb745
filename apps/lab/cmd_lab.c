/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora lab: makes, shows and removes the virtual rack. */
#include "commands.h"
#include "lab_commands.h"

int command_lab(int argc, char **argv)
{
	static const struct command commands[] = {
		{"up", "make a lab", lab_command_up, NULL},
		{"down", "remove a lab", lab_command_down, NULL},
		{"status", "show the labs", lab_command_status, NULL},
		{"exec", "run a command on a host", lab_command_exec, NULL},
		{"link", "cut, repair or limit a link of a routed lab", lab_command_link, NULL},
		{"inventory", "write the lab as files for probe and place", lab_command_inventory, NULL},
		{NULL, NULL, NULL, NULL},
	};

	return command_dispatch("nomora lab", "The virtual rack: hosts, switches and injector in network namespaces.",
				commands, argc, argv);
}
