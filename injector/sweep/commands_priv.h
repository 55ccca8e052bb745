/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan's commands: their environment, marks and output. */
#ifndef SWEEP_COMMANDS_PRIV_H
#define SWEEP_COMMANDS_PRIV_H

#include "orphans_priv.h"
#include "sweeper_priv.h"

/* Prints a line for people. */
void sweeper_say(const struct sweeper *sweeper, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* True once the sweep was asked to stop. */
bool sweeper_is_stopped(const struct sweeper *sweeper);

/* Creates the scratch folder and sets the variables that the plan's commands see. 0 or -errno with err set. */
int commands_prepare(struct sweeper *sweeper, struct error *err);
void commands_free(struct sweeper *sweeper);
/* Sets or replaces a variable of the plan's commands. 0 or -errno with err set. */
int commands_set_variable(struct sweeper *sweeper, const char *name, const char *value, struct error *err);

struct host_command commands_make(const struct sweeper *sweeper, const char *phase, const char *line, double timeout_s);

/* Storage for a command's environment with one of the marks of orphans.c in it, until the command has started. */
struct commands_marked {
	char mark[ORPHANS_MARK_BYTES];
	const char *items[ENVIRONMENT_MAXIMUM + 2];
};

void commands_mark(const struct sweeper *sweeper, enum orphans_of of, struct commands_marked *environment,
		   struct host_command *command);

/* What a command ran for, which names the file that keeps the output of a failure. run: NULL if it belongs to no run.
 */
struct commands_occasion {
	const struct sweep_schedule_run *run;
	int attempt; /* from 1 */
};

/*
 * host_must_run() for a command of the plan: keeps the output of a failure (commands_keep_output()). -ENOEXEC where the
 * command cannot be started (exit code 126 or 127), which another attempt would not change.
 */
int commands_must_run(struct sweeper *sweeper, const struct host *host, const struct host_command *command,
		      struct commands_occasion occasion, struct error *err);

/* The error of a command that ended with this exit code, which is not 0. */
int commands_fail(struct sweeper *sweeper, const struct host_command *command, struct commands_occasion occasion,
		  int exit_code, char *output, struct error *err);

/*
 * Writes the output of a command to a file in OUTPUT.out/ and, of a failure, prints the last lines of it. Trouble with
 * the file is only reported.
 */
void commands_keep_output(struct sweeper *sweeper, const char *phase, struct commands_occasion occasion, bool failed,
			  const char *output);

/*
 * Kills the processes that a client or a warm-up left behind, where it ran, also those that left its group. `stopped`:
 * the command was stopped; over ssh its processes then get one second before they are killed.
 */
void commands_end_strays(const struct sweeper *sweeper, bool stopped);
/* Kills all processes that the sweep's commands left behind. */
void commands_end_all(struct sweeper *sweeper);

#endif
