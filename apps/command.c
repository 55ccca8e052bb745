/* SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <base/json.h>
#include <base/log.h>
#include <base/program.h>

int command_fail(const struct error *err, enum command_exit code)
{
	log_error("%s", err->text[0] ? err->text : strerror(err->code));
	return code;
}

int command_parse(const struct option_usage *usage, int argc, char **argv, void *settings,
		  struct option_operands *operands)
{
	struct error err = {0};

	if (argc == 2 && strcmp(argv[1], COMMAND_COMPLETE) == 0) {
		options_complete(usage, stdout);
		return COMMAND_OK;
	}
	switch (options_parse(usage, argc, argv, settings, operands, &err)) {
	case OPTIONS_RUN:
		return -1;
	case OPTIONS_DONE:
		return COMMAND_OK;
	case OPTIONS_FAILED:
		return command_fail(&err, COMMAND_FAILED);
	case OPTIONS_BAD:
		break;
	}
	command_fail(&err, COMMAND_USAGE);
	fprintf(stderr, "Try '%s --help'.\n", usage->command);
	return COMMAND_USAGE;
}

int command_run(const struct option_usage *usage, int argc, char **argv, void *settings, command_body *body)
{
	struct option_operands operands = {0};
	struct error err = {0};
	int code = command_parse(usage, argc, argv, settings, &operands);

	if (code < 0) {
		code = body(settings, &operands, &err);
		if (code < 0 && !err.code)
			err.code = -code;
		if (code < 0)
			code = COMMAND_FAILED;
		if (code != COMMAND_OK && err.code)
			command_fail(&err, (enum command_exit)code);
	}
	options_free(&operands);
	return code;
}

int command_misused(struct error *err, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	err->code = EINVAL;
	vsnprintf(err->text, sizeof err->text, format, arguments);
	va_end(arguments);
	return COMMAND_USAGE;
}

static void print_table(const char *program, const char *summary, const struct command *commands, FILE *out)
{
	fprintf(out, "Usage: %s COMMAND [OPTION...]\n%s\n", program, summary);
	if (commands->summary)
		fputs("\nCommands:\n", out);
	for (const struct command *row = commands; row->name; row++)
		if (row->summary)
			fprintf(out, "  %-14s %s\n", row->name, row->summary);
		else
			fprintf(out, "\n%s:\n", row->name);
	/* a command with subcommands, such as "nomora lab", has one man page, which describes all of them */
	fprintf(out, "\n'%s COMMAND --help' explains a command; %s\n", program,
		strchr(program, ' ') ? "the man page has all of them." : "each has a man page, nomora-COMMAND(1).");
}

const char *const command_pictures[] = {".svg", ".png", NULL};

int command_check_ending(const char *option, const char *path, const char *const *endings, struct error *err)
{
	size_t bytes = strlen(path);
	char known[80] = "";

	for (int i = 0; endings[i]; i++) {
		size_t tail = strlen(endings[i]), used = strlen(known);

		if (bytes > tail && strcasecmp(path + bytes - tail, endings[i]) == 0)
			return 0;
		snprintf(known + used, sizeof known - used, "%s%s", i ? " or " : "", endings[i]);
	}
	return error_set(err, EINVAL, "%s: found '%s', expected a name that ends in %s", option, path, known);
}

/* Programs are looked up in the folder of the running one, both in the build tree and when installed. */
int command_exec(const char *program, char **argv)
{
	char path[PATH_MAX], sibling[PATH_MAX + 64];
	struct error err = {0};

	if (program_path(path, &err) != 0)
		return command_fail(&err, COMMAND_FAILED);
	*strrchr(path, '/') = '\0';
	snprintf(sibling, sizeof sibling, "%s/%s", path, program);
	fflush(NULL);
	execv(sibling, argv);
	error_set(&err, errno, "cannot run %s: %s%s", sibling, strerror(errno),
		  errno != ENOENT || strcmp(program, "nomora-live") == 0 ? ""
		  : strcmp(program, "nomora-slurm") == 0
			  ? "; this build has no Slurm: configure it with -Dslurm=enabled"
			  : "; this build has no DPDK: configure it with -Ddpdk=enabled");
	return command_fail(&err, COMMAND_FAILED);
}

int command_print_json(json_t *value)
{
	struct error err = {0};

	return json_write_file_new("-", value, &err) == 0 ? COMMAND_OK : command_fail(&err, COMMAND_FAILED);
}

int command_flush(struct error *err)
{
	int code = file_stream_flush(stdout);

	return code ? error_set(err, -code, "cannot write to standard output: %s", strerror(-code)) : 0;
}

/* Flushes standard output. Returns `code`, or COMMAND_FAILED if flushing fails (a full disk, for example). */
static int flush_answer(int code)
{
	struct error err = {0};

	return code == COMMAND_FAILED || command_flush(&err) == 0 ? code : command_fail(&err, COMMAND_FAILED);
}

static void complete_commands(const struct command *commands)
{
	for (const struct command *row = commands; row->name; row++)
		if (row->summary)
			printf("%s\t\t\t%s\n", row->name, row->summary);
}

/*
 * If standard output or error is closed, the next file would get its number, and messages would be written into the
 * file: occupies the number, for reading only, so that writing still fails. A file that exceeds its size limit (ulimit
 * -f) is reported as a failed write instead of ending the program.
 */
static void guard_process(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			_exit(COMMAND_FAILED);
	signal(SIGXFSZ, SIG_IGN);
}

int command_dispatch(const char *program, const char *summary, const struct command *commands, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	guard_process();
	log_set_program(program);
	if (!name) {
		print_table(program, summary, commands, stderr);
		return COMMAND_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		print_table(program, summary, commands, stdout);
		return flush_answer(COMMAND_OK);
	}
	if (strcmp(name, COMMAND_COMPLETE) == 0) {
		complete_commands(commands);
		return flush_answer(COMMAND_OK);
	}
	if (strcmp(name, "--version") == 0) {
		printf("%s %s\n", program, NOMORA_VERSION);
		return flush_answer(COMMAND_OK);
	}
	for (const struct command *row = commands; row->name; row++) {
		if (!row->summary || strcmp(name, row->name) != 0)
			continue;
		if (!row->run)
			return command_exec(row->program, argv);
		return flush_answer(row->run(argc - 1, argv + 1));
	}
	log_error("there is no command '%s'; '%s --help' lists them", name, program);
	return COMMAND_USAGE;
}
