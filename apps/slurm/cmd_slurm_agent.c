/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora slurm-agent: schedd decides where jobs run, and Slurm starts them there. */
#include <base/stop.h>
#include <client/request.h>
#include <integrations/slurm/agent.h>

#include "../commands.h"

struct settings {
	struct slurm_agent_options agent;
	int migrate;
};

static const char teach[] =
	"Slurm needs JobSubmitPlugins=nomora in slurm.conf. The agent reads $SLURM_CONF or /etc/slurm/slurm.conf.\n"
	"  # nomora slurm-agent --migrate on\n"
	"  $ sbatch -n 8 --comment=nomora:curve=memcached job.sh\n"
	"\n"
	"Exit status: 0 ended by a signal, 1 failed, 2 usage.\n";

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct settings *settings = context;

	(void)operands;
	settings->agent.migrate = settings->migrate == 1;
	stop_catch_signals();
	signal(SIGPIPE, SIG_IGN); /* libmunge and libslurm write to servers that may have closed the connection */
	return slurm_agent_run(&settings->agent, stop_flag(), err);
}

int command_slurm_agent(int argc, char **argv)
{
	static const char *const migrations[] = {"off", "on", NULL};
	const struct option_row rows[] = {
		OPTION_STRING(struct settings, agent.schedd, "schedd", 's', "PATH",
			      "schedd's socket; default $NOMORA_SCHEDD, else " CLIENT_SOCKET),
		OPTION_STRING(struct settings, agent.socket, "socket", 'l', "PATH",
			      "unix socket for the plug-in's requests"),
		OPTION_DOUBLE(struct settings, agent.poll_s, "poll", 0, "S", 0.01, 60, "time between two polls"),
		OPTION_DOUBLE(struct settings, agent.patience_s, "patience", 0, "S", 0, 3600,
			      "leave a job to Slurm that has not started where schedd decided for this time"),
		OPTION_HEADING("Moves of running jobs"),
		OPTION_CHOICE(struct settings, migrate, "migrate", 'm', "WHEN", migrations,
			      "requeue jobs that would perform better elsewhere"),
		OPTION_DOUBLE(struct settings, agent.migrate_gain, "migrate-gain", 0, "SHARE", 0, 1,
			      "minimum gain of mean predicted performance"),
		OPTION_DOUBLE(struct settings, agent.no_return_s, "no-return", 0, "S", 0, 1e7,
			      "minimum time between two moves of a job"),
		OPTION_DOUBLE(struct settings, agent.review_s, "review", 0, "S", 0.01, 1e6,
			      "time between checks of running jobs, one job per check"),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora slurm-agent",
		.operands = "",
		.summary = "Place and move Slurm's jobs as a running schedd decides.",
		.teach = teach,
		.rows = rows,
	};
	struct settings settings = {.agent = {.socket = "/run/nomora-slurm/slurm.sock",
					      .poll_s = 0.2,
					      .patience_s = 1.5,
					      .migrate_gain = 0.1,
					      .no_return_s = 600,
					      .review_s = 2}};

	return command_run(&usage, argc, argv, &settings, run);
}
