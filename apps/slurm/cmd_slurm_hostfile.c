/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora slurm-hostfile: where the tasks of a placed job belong, for srun -m arbitrary and mpirun. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <base/json.h>
#include <integrations/slurm/agent.h>

#include "../commands.h"

struct settings {
	bool json;
};

static const char teach[] =
	"In a batch script; line N is the machine of task N:\n"
	"  nomora slurm-hostfile >hosts; SLURM_HOSTFILE=hosts srun -n $SLURM_NTASKS -m arbitrary ./program\n"
	"  nomora slurm-hostfile >hosts; mpirun --hostfile hosts --map-by seq --oversubscribe ./program\n"
	"\n"
	"Exit status: 0 printed, 1 failed or not placed by nomora, 2 usage.\n";

static void print_json(uint32_t job, char *const *hosts, uint32_t count)
{
	json_t *list = json_array(), *root;

	for (uint32_t h = 0; h < count; h++)
		json_array_append_new(list, json_string(hosts[h]));
	root = json_pack("{s:s, s:I, s:o}", "schema", "nomora.hostfile/1", "job", (json_int_t)job, "hosts", list);
	json_print(stdout, root);
	json_decref(root);
}

static int print_hosts(uint32_t job, bool json)
{
	struct error err = {0};
	char **hosts;
	uint32_t count;

	if (slurm_job_layout(job, &hosts, &count, &err) < 0)
		return command_fail(&err, COMMAND_FAILED);
	if (json)
		print_json(job, hosts, count);
	for (uint32_t h = 0; h < count; h++) {
		if (!json)
			puts(hosts[h]);
		free(hosts[h]);
	}
	free(hosts);
	return command_flush(&err) < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
}

int command_slurm_hostfile(int argc, char **argv)
{
	const struct option_row rows[] = {OPTION_FLAG(struct settings, json, "json", 'j', "print JSON"), OPTION_END};
	const struct option_usage usage = {
		.command = "nomora slurm-hostfile",
		.operands = "[JOB]",
		.summary = "Print the machine of each task of a Slurm job that nomora placed; default $SLURM_JOB_ID.",
		.teach = teach,
		.rows = rows,
		.operands_maximum = 1,
	};
	struct settings settings = {0};
	struct option_operands operands;
	struct error err = {0};
	const char *text;
	char *end = NULL;
	unsigned long job;
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	text = operands.count > 0 ? operands.items[0] : getenv("SLURM_JOB_ID");
	job = text ? strtoul(text, &end, 10) : 0;
	if (!text)
		error_set(&err, EINVAL, "missing operand JOB; $SLURM_JOB_ID is not set");
	else if (job == 0 || job > UINT32_MAX || *end != '\0')
		error_set(&err, EINVAL, "bad job '%s'; expected a number", text);
	code = err.code ? command_fail(&err, COMMAND_USAGE) : print_hosts((uint32_t)job, settings.json);
	options_free(&operands);
	return code;
}
