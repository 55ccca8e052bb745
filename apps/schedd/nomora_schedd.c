/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora-schedd: the live scheduler's daemon. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <base/log.h>
#include <base/program.h>
#include <base/stop.h>
#include <sched/schedd/schedd.h>

#include "../client/client.h"
#include "../commands.h"

static const char teach[] =
	"  # nomora schedd --state /var/lib/nomora/state --cluster cluster.json --curves curves --latency latency.csv\n"
	"  $ nomora submit jobs.jsonl; nomora jobs; nomora explain web/client1\n"
	"  $ nomora schedd export >day.jsonl\n"
	"\n"
	"An executor reads decisions (GET /v1/decisions?after=N&wait=1), starts the tasks, and reports them (POST "
	"/v1/events).\n"
	"Exit status: 0 ended by a signal, 1 failed, 2 usage.\n";

static int serve(const struct schedd_settings *settings, const struct schedd_options *options, struct error *err)
{
	struct schedd *schedd = schedd_create(options, stop_flag(), err);
	int code;

	if (!schedd)
		return err->code == ECANCELED ? 0 : error_code(err, EIO);
	if (options->address)
		log_info("serving on %s port %u", options->address, schedd_port(schedd));
	else
		log_info("serving on %s", settings->socket);
	if (options->extender_address)
		log_info("extender on %s port %u", options->extender_address, schedd_extender_port(schedd));
	code = schedd_run(schedd, stop_flag(), err);
	schedd_destroy(schedd);
	return code;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct schedd_settings *settings = context;
	struct schedd_setup setup;
	int code;

	(void)operands;
	if (schedd_setup_read(settings, &setup, err) < 0)
		return COMMAND_USAGE;
	if (access(program_curves(), R_OK) == 0)
		setup.options.default_curves = program_curves();
	stop_catch_signals();
	code = schedd_setup_read_token(settings, &setup, err);
	if (code == 0)
		code = serve(settings, &setup.options, err);
	schedd_setup_free(&setup);
	return code < 0 ? code : COMMAND_OK;
}

static const struct option_usage usage = {
	.command = "nomora schedd",
	.operands = "",
	.summary = "Place and move jobs by curve and live mesh, continuously.",
	.teach = teach,
	.rows = schedd_option_rows,
};

static int run_schedd(int argc, char **argv)
{
	struct schedd_settings settings;

	if (argc > 1 && strcmp(argv[1], "export") == 0)
		return command_schedd_export(argc - 1, argv + 1);
	schedd_settings_default(&settings);
	settings.socket = CLIENT_SOCKET;
	return command_run(&usage, argc, argv, &settings, run);
}

static const struct command commands[] = {
	{"schedd", "place and move jobs by curve and live mesh, continuously", run_schedd, NULL},
	{NULL, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return command_dispatch("nomora-schedd", "The live scheduler.", commands, argc, argv);
}
