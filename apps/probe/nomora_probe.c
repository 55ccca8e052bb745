/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora-probe: the prober and the reflector, which need DPDK. */
#include "commands.h"

static const struct command commands[] = {
	{"probe", "measure round trips to the peers of a list with STAMP probes", command_probe, NULL},
	{"reflect", "answer STAMP probes on a port", command_reflect, NULL},
	{"ptp", "measure the delay to a PTP clock, and the offset of our clock from it", command_ptp_port, NULL},
	{"agent", "measure the mesh continuously into a live matrix", command_mesh_agent, NULL},
	{NULL, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return command_dispatch("nomora-probe", "STAMP round trips over DPDK.", commands, argc, argv);
}
