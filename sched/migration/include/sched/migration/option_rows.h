/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of option tables for moves of running tasks. type: the settings' type, which has a struct migration_settings
 * named `moves` and a const char *windows. letter: of --migrate; 0: none.
 */
#ifndef SCHED_MIGRATION_OPTION_ROWS_H
#define SCHED_MIGRATION_OPTION_ROWS_H

#include <base/options.h>
#include <sched/migration/migration.h>

/* clang-format off: one row a line, as in a table */
#define ROWS_MIGRATION(type, letter, help)                                                                             \
	OPTION_HEADING("Moves of running tasks:"),                                                                     \
		OPTION_CHOICE(type, moves.mode, "migrate", letter, "WHEN", migration_mode_names, help),                \
		OPTION_DOUBLE(type, moves.gain, "migrate-gain", 0, "SHARE", 0, 1,                                      \
			      "minimum gain of predicted performance"),                                                \
		OPTION_DOUBLE(type, moves.hold_s, "migrate-hold", 0, "S", 0, 1e7,                                      \
			      "time for which the gain must have lasted before a move"),                               \
		OPTION_INTEGER(type, moves.rate, "migrate-rate", 0, "N", 1, 100000,                                    \
			       "maximum number of tasks that are moving at a time"),                                   \
		OPTION_INTEGER(type, moves.per_machine, "migrate-per-machine", 0, "N", 0, 100000,                      \
			       "maximum number of tasks that are moving from or to one machine; 0: no limit"),         \
		OPTION_INTEGER(type, moves.per_job, "migrate-per-job", 0, "N", 0, 100000,                              \
			       "maximum number of tasks of one job that are moving; 0: no limit"),                     \
		OPTION_STRING(type, windows, "migrate-window", 0, "HH:MM-HH:MM,...",                                   \
			      "local times at which tasks may move; default: always"),                                 \
		OPTION_DOUBLE(type, moves.restart_s, "restart-cost", 0, "S", 0, 1e7,                                   \
			      "seconds of work that a move loses, for jobs without a value of their own"),             \
		OPTION_DOUBLE(type, moves.no_return_s, "no-return", 0, "S", 0, 1e7,                                    \
			      "minimum time before a task returns to its previous machine")
/* clang-format on */

#endif
