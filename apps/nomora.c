/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomora: runs its own commands, and passes the others to the programs that have them (nomora-injector, for example).
 */
#include "commands.h"

#define GROUP(title) {title, NULL, NULL, NULL},
#define COMMAND(name, function, summary) {name, summary, function, NULL},
#define PROGRAM(name, program, summary) {name, summary, NULL, program},
static const struct command commands[] = {NOMORA_COMMANDS(GROUP, COMMAND, PROGRAM){NULL, NULL, NULL, NULL}};

int main(int argc, char **argv)
{
	return command_dispatch("nomora", "Latency-aware placement, from the wire to the scheduler.", commands, argc,
				argv);
}
