/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by all subcommands: table rows, exit codes, error reports. */
#ifndef APPS_COMMAND_H
#define APPS_COMMAND_H

#include <jansson.h>

#include <base/error.h>
#include <base/options.h>

enum command_exit {
	COMMAND_OK = 0,
	COMMAND_FAILED = 1,
	COMMAND_USAGE = 2,
	COMMAND_NEGATIVE = 3, /* a valid answer that says no, such as infeasible or over a limit */
};

/* A row without a summary is the title of the group of commands that follows it. */
struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv); /* NULL: execute `program` instead */
	const char *program;               /* "nomora-injector" */
};

/* Prints "program: error: text" on stderr; returns `code`. */
int command_fail(const struct error *err, enum command_exit code);

/*
 * The part of a command that runs after its options were parsed into `settings`. Returns an exit code, or -errno, which
 * the process reports as COMMAND_FAILED. If the code is not COMMAND_OK and err is set, command_run() prints err.
 */
typedef int command_body(void *settings, const struct option_operands *operands, struct error *err);

/* Parses the command line into `settings`, which must hold the defaults, and runs `body`; returns the exit code. */
int command_run(const struct option_usage *usage, int argc, char **argv, void *settings, command_body *body);

/* Sets err to EINVAL with the formatted text; returns COMMAND_USAGE. */
int command_misused(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Calls options_parse() and prints its error. Returns -1 if the command should go on, or the exit code if it should end
 * (--help, or an error).
 */
int command_parse(const struct option_usage *usage, int argc, char **argv, void *settings,
		  struct option_operands *operands);

/*
 * Checks that a file name has one of `endings` (a NULL-terminated list) after at least one other character; upper and
 * lower case are equal. The ending selects the format of the output, so a wrong ending is a usage error and is reported
 * before any file is read. Returns 0, or -EINVAL with err set.
 */
int command_check_ending(const char *option, const char *path, const char *const *endings, struct error *err);
/* For command_check_ending(): the endings of pictures, .svg and .png. */
extern const char *const command_pictures[];

/*
 * Prints JSON on standard output and calls json_decref(); NULL counts as out of memory. Returns COMMAND_OK or
 * COMMAND_FAILED.
 */
int command_print_json(json_t *value);

/* Flushes standard output. Returns 0 or -errno with err set. */
int command_flush(struct error *err);

/*
 * Option for the completion scripts of shells. `nomora --complete` prints a line per command, `nomora COMMAND
 * --complete` a line per option, both in the form of options_complete().
 */
#define COMMAND_COMPLETE "--complete"

/*
 * Replaces this process by `program`, with main()'s argv; argv[1] is its command. Returns COMMAND_FAILED if that fails.
 */
int command_exec(const char *program, char **argv);

/* Runs the command that argv[1] names; for --help prints the table. The table ends with a row whose name is NULL. */
int command_dispatch(const char *program, const char *summary, const struct command *commands, int argc, char **argv);

#endif
