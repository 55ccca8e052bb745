/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_row exec_rows[] = {
	OPTION_STRING(struct lab_settings, name, "name", 'n', "NAME", "name of the lab"),
	OPTION_END,
};

static const struct option_usage exec_usage = {
	.command = "nomora lab exec",
	.operands = "HOST -- COMMAND...",
	.summary = "Runs a command on a host of the lab; HOST may be h1.., sw (the switch), the "
		   "name of a routed lab's switch, or inj (the injector's ports).",
	.teach = "  nomora lab exec h1 -- ping -c 3 10.77.2.1\n  nomora lab exec inj --name lab1 -- ip -br link\n"
		 "  nomora lab exec spine1 -- ip route",
	.rows = exec_rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
	.takes_rest = true,
};

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct lab_settings *settings = context;
	const char *target = operands->items[0], *netns;
	struct lab lab;
	char **words;

	if (operands->rest_count == 0)
		return command_misused(
			err, "missing operand COMMAND: give it after '--', as in 'nomora lab exec %s -- ip addr'",
			target);
	if (lab_read(settings->name, &lab, err) != 0)
		return COMMAND_FAILED;
	netns = lab_find_netns(&lab, target);
	if (!netns && lab.switch_count > 0)
		return command_misused(err, "lab '%s' has no host '%s': expected a host, a switch or inj", lab.name,
				       target);
	if (!netns)
		return command_misused(err, "lab '%s' has no host '%s': expected h1..h%d, sw or inj", lab.name, target,
				       lab.host_count);
	words = calloc((size_t)operands->rest_count + 5, sizeof *words);
	if (words) {
		const char *prefix[] = {"ip", "netns", "exec", netns};

		memcpy(words, prefix, sizeof prefix);
		memcpy(words + 4, operands->rest, (size_t)operands->rest_count * sizeof *words);
		execvp("ip", words);
	}
	error_set(err, errno, "cannot run ip: %s", strerror(errno));
	free(words);
	return COMMAND_FAILED;
}

int command_lab_exec(int argc, char **argv)
{
	struct lab_settings settings = {.name = LAB_NAME_DEFAULT};

	return command_run(&exec_usage, argc, argv, &settings, run);
}
