/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands of `nomora lab`, a file each, and what they share. */
#ifndef APPS_LAB_COMMANDS_H
#define APPS_LAB_COMMANDS_H

#include <stdbool.h>

#include <lab/lab.h>

#include "command.h"

int lab_command_up(int argc, char **argv);
int lab_command_down(int argc, char **argv);
int lab_command_status(int argc, char **argv);
int lab_command_exec(int argc, char **argv);
int lab_command_link(int argc, char **argv);
int lab_command_inventory(int argc, char **argv);

/* What the options of all but `up` set. */
struct lab_settings {
	const char *name, *cluster, *peers, *topology;
	bool json;
};

#define LAB_NAME_DEFAULT "lab0"

/* The lab as text on stdout, with the commands to go on with. */
void lab_show(const struct lab *lab);
/* Prints `value` (taken over; NULL: out of memory) on stdout; returns the exit code. */
int lab_show_json(json_t *value);

#endif
