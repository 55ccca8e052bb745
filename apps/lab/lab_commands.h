/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings that subcommands of `nomora lab` share. */
#ifndef APPS_LAB_COMMANDS_H
#define APPS_LAB_COMMANDS_H

#include <stdbool.h>

#include <lab/lab.h>

#include "commands.h"

/* Settings of the subcommands `down`, `status`, `exec` and `inventory`. */
struct lab_settings {
	const char *name, *cluster, *peers, *topology;
	bool json;
};

#define LAB_NAME_DEFAULT "lab0"

#endif
