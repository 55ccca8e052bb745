/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_PROBE_COMMAND_STATION_H
#define APPS_PROBE_COMMAND_STATION_H

#include <probe/station/station.h>

#include "commands.h"

enum station_needs { STATION_NEEDS_NOTHING, STATION_NEEDS_PEERS, STATION_NEEDS_PEERS_AND_LIVE };

/*
 * Parses the command line, a port and the options of `usage`, into `settings`, which must hold the defaults, reads the
 * list of peers if a file is given, and runs the prober or reflector. Returns an exit code.
 */
int command_station(const struct option_usage *usage, int argc, char **argv, struct station_settings *settings,
		    enum station_needs needs);

#endif
