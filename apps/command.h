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
	COMMAND_NEGATIVE = 3, /* infeasible, over a limit: a valid answer that says no */
};

struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv); /* NULL: exec `program` instead */
	const char *program;               /* "nomora-injector" */
};

/* Prints "program: error: text" on stderr; returns `code`. */
int command_fail(const struct error *err, enum command_exit code);

/*
 * What a command does once its options are parsed into `settings`: an exit code, or -errno, which exits as
 * COMMAND_FAILED. If err is set it is printed, with any code but COMMAND_OK.
 */
typedef int command_body(void *settings, const struct option_operands *operands, struct error *err);

/* Parses the options over `settings` and runs `body`; returns the exit code. */
int command_run(const struct option_usage *usage, int argc, char **argv, void *settings, command_body *body);

/* Sets err to EINVAL and the text; returns COMMAND_USAGE. */
int command_misused(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* options_parse() with its outcome turned into an exit: returns -1 to go on, else the code to return from run(). */
int command_parse(const struct option_usage *usage, int argc, char **argv, void *settings,
		  struct option_operands *operands);

/*
 * Checks that a name ends in one of `endings` (a NULL-terminated list; any case; something must precede the ending).
 * The ending selects the output's format, so that a wrong one is a usage error, reported before any file is read. 0 or
 * -EINVAL with err set.
 */
int command_check_ending(const char *option, const char *path, const char *const *endings, struct error *err);
/* Endings of pictures. */
extern const char *const command_pictures[];

/* Prints JSON on standard output and releases it; NULL counts as out of memory. COMMAND_OK, or COMMAND_FAILED. */
int command_print_json(json_t *value);

/* Flushes standard output. 0 or -errno with err set. */
int command_flush(struct error *err);

/*
 * `nomora --complete` and `nomora COMMAND --complete`, for the shells' completion: a line per command or option as
 * options_complete() prints it.
 */
#define COMMAND_COMPLETE "--complete"

/* Executes `program` in place of this process, with main()'s argv; argv[1] is its command. Returns COMMAND_FAILED if it
 * cannot be executed. */
int command_exec(const char *program, char **argv);

/* Runs the row that argv[1] names; prints the table for --help. The table ends with a row whose name is NULL. */
int command_dispatch(const char *program, const char *summary, const struct command *commands, int argc, char **argv);

#endif
