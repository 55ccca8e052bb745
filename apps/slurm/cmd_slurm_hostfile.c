/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora slurm-hostfile: prints the host of each task of a placed job, for srun -m arbitrary and mpirun. */
#include <stdio.h>
#include <stdlib.h>

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
	"Exit status: 0 printed, 1 failed or no nodes yet, 2 usage.\n";

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;
	const char *text = operands->count > 0 ? operands->items[0] : getenv("SLURM_JOB_ID");
	struct slurm_job_name name;
	char **hosts;
	uint32_t count;
	int code;

	if (!text)
		return command_misused(err, "missing operand JOB; $SLURM_JOB_ID is not set");
	if (!slurm_job_name_parse(text, &name))
		return command_misused(err, "bad job '%s'; expected a number, or ARRAY_ELEMENT", text);
	code = slurm_job_layout(&name, &hosts, &count, err);
	if (code < 0)
		return code;
	if (settings->json)
		code = json_write_file_new("-", slurm_job_layout_to_json(&name, hosts, count), err);
	for (uint32_t h = 0; h < count; h++) {
		if (!settings->json)
			puts(hosts[h]);
		free(hosts[h]);
	}
	free(hosts);
	return code;
}

int command_slurm_hostfile(int argc, char **argv)
{
	const struct option_row rows[] = {OPTION_FLAG(struct settings, json, "json", 'j', "print JSON"), OPTION_END};
	const struct option_usage usage = {
		.command = "nomora slurm-hostfile",
		.operands = "[JOB]",
		.summary = "Print the machine of each task of a placed Slurm job.",
		.teach = teach,
		.rows = rows,
		.operands_maximum = 1,
	};
	struct settings settings = {0};

	return command_run(&usage, argc, argv, &settings, run);
}
