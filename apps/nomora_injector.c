/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora-injector: the delay line, linked with DPDK. `nomora inject` runs it. */
#include "commands.h"

static const struct command commands[] = {
	{"inject", "hold every packet between two ports for exactly D us, in both directions", command_inject, NULL},
	{NULL, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return command_dispatch("nomora-injector", "Exact latency between two ports.", commands, argc, argv);
}
