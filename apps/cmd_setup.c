/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora setup: configures this host's part of a live mesh. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setup/setup.h>

#include "commands.h"

struct settings {
	struct setup_options options;
	const char *role;
	char *answers[3];
	bool replace, remove, files_only;
};

static const char teach[] =
	"ROLE is host (its latency is measured) or page (one host of the mesh: list of members, web page, metrics). "
	"Asks\n"
	"for what is missing if standard input is a terminal. Needs root, and a NATS server that all hosts reach.\n"
	"\n"
	"  nomora setup page --server nats://bus:4222\n"
	"  nomora setup host --server nats://bus:4222 --interface eth1 --rack r1\n";

static const struct option_row rows[] = {
	OPTION_STRING(struct settings, options.server, "server", 's', "URL", "nats://HOST:PORT or tls://HOST:PORT"),
	OPTION_STRING(struct settings, options.interface, "interface", 'i', "NAME",
		      "the interface whose latency is measured"),
	OPTION_STRING(struct settings, options.rack, "rack", 'r', "NAME", "rack of this host"),
	OPTION_STRING(struct settings, options.name, "name", 'n', "NAME", "name of this host; default: its host name"),
	OPTION_STRING(struct settings, options.address, "address", 'a', "IP/BITS",
		      "address and length of the prefix; default: the interface's"),
	OPTION_STRING(struct settings, options.gateway, "gateway", 'g', "IP",
		      "router to other racks; default: that of the interface's default route"),
	OPTION_STRING(struct settings, options.keys, "keys", 'k', "FILE", "keys of authenticated probes"),
	OPTION_STRING(struct settings, options.folder, "folder", 0, "DIR", "folder of the units' options"),
	OPTION_FLAG(struct settings, replace, "replace", 0, "replace files with other settings"),
	OPTION_FLAG(struct settings, files_only, "files-only", 0, "write the files, but start nothing"),
	OPTION_FLAG(struct settings, remove, "remove", 0,
		    "stop and disable the units, and remove the files; a host leaves the mesh"),
	OPTION_END,
};

/* Asks for a value that is missing. Returns NULL if it cannot, or got no answer. */
static const char *ask(struct settings *settings, const char *given, size_t which, const char *question)
{
	size_t capacity = 0;

	if (given || !isatty(STDIN_FILENO))
		return given;
	fprintf(stderr, "%s: ", question);
	if (getline(&settings->answers[which], &capacity, stdin) < 0)
		return NULL;
	settings->answers[which][strcspn(settings->answers[which], "\n")] = '\0';
	return settings->answers[which][0] ? settings->answers[which] : NULL;
}

static int choose_role(struct settings *settings, struct error *err)
{
	const char *role = ask(settings, settings->role, 0, "Role of this host in the mesh (host or page)");

	for (int r = 0; role && setup_role_names[r]; r++) {
		if (strcmp(role, setup_role_names[r]) != 0)
			continue;
		settings->options.role = (enum setup_role)r;
		return 0;
	}
	return command_misused(err, "found '%s', expected host or page", role ? role : "nothing");
}

static int carry_out(const struct settings *settings, const struct setup_plan *plan, struct error *err)
{
	int code = 0;

	if (settings->remove) {
		code = settings->files_only ? 0 : setup_start(plan, false, err);
		if (code == 0)
			code = setup_remove(plan, err);
		return code || settings->files_only || !plan->name ? code : setup_leave(plan, err);
	}
	code = setup_write(plan, settings->replace, err);
	if (code == 0)
		setup_print(plan, stdout);
	if (code == 0 && !settings->files_only)
		code = setup_start(plan, true, err);
	if (code == 0 && !settings->files_only)
		puts(settings->options.role == SETUP_HOST
			     ? "Started. 'nomora mesh top /run/nomora-mesh/live' shows what is measured."
			     : "Started. The page is at http://127.0.0.1:8862/.");
	return code ? code : command_flush(err);
}

static int setup(void *context, const struct option_operands *operands, struct error *err)
{
	struct settings *settings = context;
	struct setup_options *options = &settings->options;
	struct setup_plan plan;
	int code;

	settings->role = operands->count ? operands->items[0] : NULL;
	code = choose_role(settings, err);
	if (code)
		return code;
	if (options->role == SETUP_HOST)
		options->interface = ask(settings, options->interface, 1, "Interface whose latency is measured");
	options->server = ask(settings, options->server, 2, "NATS server of the mesh (nats://HOST:4222)");
	code = setup_make(options, &plan, err);
	if (code == -EINVAL)
		code = COMMAND_USAGE;
	if (code == 0)
		code = carry_out(settings, &plan, err);
	setup_free(&plan);
	return code;
}

int command_setup(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "nomora setup",
		.operands = "[ROLE]",
		.summary = "Configure and start this host's part of a live mesh.",
		.teach = teach,
		.rows = rows,
		.operands_maximum = 1,
	};
	struct settings settings = {.options.folder = "/etc/nomora"};
	int code = command_run(&usage, argc, argv, &settings, setup);

	for (size_t i = 0; i < sizeof settings.answers / sizeof *settings.answers; i++)
		free(settings.answers[i]);
	return code;
}
