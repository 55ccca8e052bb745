/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora-slurm: the commands that talk to Slurm. */
#include "../commands.h"

static const struct command commands[] = {
	{"slurm-agent", "place and move Slurm's jobs as a running schedd decides", command_slurm_agent, NULL},
	{"slurm-hostfile", "print the machine of each task of a placed Slurm job", command_slurm_hostfile, NULL},
	{NULL, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return command_dispatch("nomora-slurm", "Placement of Slurm's jobs.", commands, argc, argv);
}
