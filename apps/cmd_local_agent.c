/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora local-agent: runs the commands of schedd's jobs as plain processes. */
#include <stddef.h>

#include <base/stop.h>
#include <client/request.h>
#include <integrations/local/agent.h>

#include "commands.h"

static const char teach[] =
	"  machines.jsonl:  {\"name\": \"n1\", \"slots\": 4}\n"
	"                   {\"name\": \"n2\", \"slots\": 8, \"rack\": \"r1\", \"ssh\": \"jobs@n2\"}\n"
	"  $ nomora local-agent --machines machines.jsonl\n"
	"  $ echo '{\"id\": \"web\", \"curve\": \"memcached\", \"root\": 0, \"tasks\": 3, \"command\": [\"sh\", "
	"\"-c\", "
	"\"echo $NOMORA_TASK\"]}' | nomora submit -\n"
	"\n"
	"Exit status: 0 ended by a signal, 1 failed, 2 usage.\n";

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct local_agent_options *options = context;

	(void)operands;
	if (!options->machines)
		return command_misused(err, "missing option --machines FILE");
	if (options->state[0] != '/')
		return command_misused(err, "bad --state '%s'; expected an absolute path", options->state);
	stop_catch_signals();
	return local_agent_run(options, stop_flag(), err);
}

int command_local_agent(int argc, char **argv)
{
	const struct option_row rows[] = {
		OPTION_STRING(struct local_agent_options, machines, "machines", 'm', "FILE", "machines, a line each"),
		OPTION_STRING(struct local_agent_options, schedd, "schedd", 's', "PATH",
			      "schedd's socket; default $NOMORA_SCHEDD, else " CLIENT_SOCKET),
		OPTION_STRING(struct local_agent_options, state, "state", 0, "FOLDER",
			      "folder for what runs and for outputs, here and on each machine"),
		OPTION_STRING(struct local_agent_options, ssh_config, "ssh-config", 'F', "FILE",
			      "configuration file for ssh"),
		OPTION_DOUBLE(struct local_agent_options, poll_s, "poll", 0, "S", 0.05, 60, "time between two turns"),
		OPTION_DOUBLE(struct local_agent_options, grace_s, "grace", 0, "S", 0, 3600,
			      "time between SIGTERM and SIGKILL for a task that has to end"),
		OPTION_FLAG(struct local_agent_options, flows, "flows", 0,
			    "report to schedd what tasks send to each other, for its --network"),
		OPTION_FLAG(struct local_agent_options, all_users, "all-users", 0,
			    "also run the jobs of other users, as the agent's user"),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora local-agent",
		.operands = "",
		.summary = "Run the commands of a running schedd's jobs as processes, here or over ssh.",
		.teach = teach,
		.rows = rows,
	};
	struct local_agent_options options = {.state = "/var/lib/nomora-local", .poll_s = 0.5, .grace_s = 5};

	return command_run(&usage, argc, argv, &options, run);
}
