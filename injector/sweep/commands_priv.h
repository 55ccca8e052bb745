/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the plan's commands: sets the variables of their environment, marks them (scratch_priv.h), and handles their
 * output and failures.
 */
#ifndef SWEEP_COMMANDS_PRIV_H
#define SWEEP_COMMANDS_PRIV_H

#include "scratch_priv.h"
#include "sweeper_priv.h"

/* Prints a line for people. */
void sweeper_say(const struct sweeper *sweeper, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns true once the sweep was asked to stop. */
bool sweeper_is_stopped(const struct sweeper *sweeper);

/* Creates the scratch folder and sets the variables that the plan's commands see. Returns 0, or -errno with err set. */
int commands_prepare(struct sweeper *sweeper, struct error *err);
void commands_free(struct sweeper *sweeper);
/* Sets or replaces a variable of the plan's commands. Returns 0, or -errno with err set. */
int commands_set_variable(struct sweeper *sweeper, const char *name, const char *value, struct error *err);

/* Returns a command of the plan with the variables that the plan's commands see. `line` is its shell line. */
struct host_command commands_make(const struct sweeper *sweeper, const char *phase, const char *line, double timeout_s);

/*
 * Storage for the environment of a command, including its mark (scratch_priv.h). It must exist until the command has
 * started.
 */
struct commands_marked {
	char mark[ORPHANS_MARK_BYTES];
	const char *items[ENVIRONMENT_MAXIMUM + 2];
};

/* Adds a mark of the kind `of` to the environment of `command`; `environment` is the storage for it. */
void commands_mark(const struct sweeper *sweeper, enum orphans_of of, struct commands_marked *environment,
		   struct host_command *command);

/*
 * The run and attempt that a command belongs to; the file with the command's output is named after them. run: NULL if
 * the command belongs to no run (setup, teardown).
 */
struct commands_occasion {
	const struct sweep_schedule_run *run;
	int attempt; /* from 1 */
};

/*
 * Like host_must_run(), for a command of the plan. If the command fails, keeps its output (commands_keep_output()).
 * Returns -ENOEXEC if the command cannot be started (exit code 126 or 127), because another attempt would fail too.
 */
int commands_must_run(struct sweeper *sweeper, const struct host *host, const struct host_command *command,
		      struct commands_occasion occasion, struct error *err);

/*
 * Call it if a command has ended with an exit code other than 0: keeps the command's output, sets err and returns the
 * error.
 */
int commands_fail(struct sweeper *sweeper, const struct host_command *command, struct commands_occasion occasion,
		  int exit_code, char *output, struct error *err);

/*
 * Writes the output of a command to a file in OUTPUT.out/ and, if the command failed, prints its last lines. A failure
 * to write the file is reported, but is no error.
 */
void commands_keep_output(struct sweeper *sweeper, const char *phase, struct commands_occasion occasion, bool failed,
			  const char *output);

/*
 * Kills the processes that a client or warm-up left behind on its host, including those that left its process group.
 * `stopped`: the client or warm-up was stopped before its end; over ssh, its processes then get one second to end
 * first.
 */
void commands_end_strays(const struct sweeper *sweeper, bool stopped);
/* Kills all processes that the sweep's commands left behind. */
void commands_end_all(struct sweeper *sweeper);

#endif
