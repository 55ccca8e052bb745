/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_station.h"

#include <errno.h>

#include <base/log.h>
#include <base/stop.h>

static int run(const struct station_settings *settings, const struct option_operands *operands)
{
	static const enum command_exit codes[] = {
		[STATION_DONE] = COMMAND_OK,
		[STATION_SILENT_PEERS] = COMMAND_NEGATIVE,
		[STATION_BAD_OPTION] = COMMAND_USAGE,
		[STATION_FAILED] = COMMAND_FAILED,
	};
	struct peers peers = {0};
	struct error err = {0};
	enum station_outcome outcome;

	if (settings->peers_path && peers_read(settings->peers_path, &peers, &err))
		return command_fail(&err, COMMAND_FAILED);
	if (settings->quiet)
		log_set_level(LOG_LEVEL_ERROR);
	stop_catch_signals();
	outcome = station_run(settings, operands, settings->peers_path ? &peers : NULL, stdout, &err);
	peers_free(&peers);
	if (outcome == STATION_BAD_OPTION || outcome == STATION_FAILED)
		return command_fail(&err, codes[outcome]);
	return codes[outcome];
}

int command_station(const struct option_usage *usage, int argc, char **argv, struct station_settings *settings,
		    enum station_needs needs)
{
	struct option_usage whole = *usage;
	struct option_operands operands;
	struct error err = {0};
	int code;

	whole.operands_minimum = whole.operands_maximum = 1; /* the port */
	whole.takes_rest = true;                             /* for EAL */
	code = command_parse(&whole, argc, argv, settings, &operands);
	if (code >= 0)
		return code;
	if (needs >= STATION_NEEDS_PEERS && !settings->peers_path)
		error_set(&err, EINVAL, "--peers is missing: a file of lines 'name address [mac] [rack]'");
	else if (needs == STATION_NEEDS_PEERS_AND_LIVE && !settings->live_path)
		error_set(&err, EINVAL, "--live is missing: the file of the live matrix");
	code = err.code ? command_fail(&err, COMMAND_USAGE) : run(settings, &operands);
	options_free(&operands);
	return code;
}
