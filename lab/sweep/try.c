/* SPDX-License-Identifier: BSD-3-Clause */
#include "world_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/name.h>

/* Prints a command line with which the user can repeat one of the plan's commands. */
static void print_by_hand(FILE *out, const struct sweep_world *world, const char *phase, const char *host,
			  const char *netns, const char *line)
{
	const struct sweep_plan *plan = world->plan;

	if (!line)
		return;
	if (plan->lab)
		fprintf(out, "# %s:\nnomora lab exec %s --name %s -- ", phase, host, plan->lab);
	else if (strncmp(netns, "netns:", 6) == 0)
		fprintf(out, "# %s:\nip netns exec %s ", phase, netns + 6);
	else if (strncmp(netns, "ssh:", 4) == 0)
		fprintf(out, "# %s:\nssh %s ", phase, netns + 4);
	else
		fprintf(out, "# %s:\n", phase);
	fprintf(out, "env NOMORA_SERVER=%s NOMORA_CLIENT=%s NOMORA_PLAN_FOLDER=",
		plan->server_address ? plan->server_address : "", plan->client_address ? plan->client_address : "");
	shell_print(out, plan->folder, strlen(plan->folder));
	fputs(" NOMORA_SCRATCH=/tmp /bin/sh -c ", out);
	shell_print(out, line, strlen(line));
	fputc('\n', out);
}

void sweep_world_print_commands(const struct sweep_world *world, FILE *out)
{
	const struct sweep_plan *plan = world->plan;
	const char *server = world->server_name, *client = world->client_name;

	print_by_hand(out, world, "setup", server, plan->server_host, plan->setup);
	print_by_hand(out, world, "server", server, plan->server_host, plan->server);
	print_by_hand(out, world, "server-ready", client, plan->client_host, plan->server_ready);
	print_by_hand(out, world, "client", client, plan->client_host, plan->client);
	if (plan->lab)
		fprintf(out, "# when done:\nnomora lab down --name %s\n", plan->lab);
}

int sweep_try_prepare(struct sweep_plan *plan, char output[PATH_MAX], struct error *err)
{
	static char folder[] = "/tmp/nomora-try-XXXXXX";

	if (!mkdtemp(folder))
		return error_set(err, errno, "cannot create a folder in /tmp: %s", strerror(errno));
	snprintf(output, PATH_MAX, "%s/sweep.csv", folder);
	plan->output = output;
	plan->delays = "0";
	plan->repetitions = plan->attempts = 1;
	plan->reference_every = 0;
	plan->precision_percent = 0;
	return 0;
}

int sweep_try_tidy(const char *output)
{
	char path[PATH_MAX];

	unlink(output);
	snprintf(path, sizeof path, "%.*s.log", PATH_MAX - 8, output);
	unlink(path);
	snprintf(path, sizeof path, "%.*s", (int)(strrchr(output, '/') - output), output);
	return rmdir(path) == 0 ? 0 : -errno;
}
