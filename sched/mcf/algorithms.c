/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <sched/mcf/algorithms.h>
#include <sched/mcf/scaling.h>
#include <sched/mcf/simplex.h>

const struct mcf_algorithm mcf_algorithms[] = {
	{"auto", "aggregates similar nodes, then uses the fastest algorithm for the network", mcf_auto_algorithm},
	{"simplex", "network simplex: any network", mcf_simplex_algorithm},
	{"scaling", "cost scaling (push-relabel with a falling tolerance): any network", mcf_scaling_algorithm},
	{"structured", "aggregates similar nodes, then uses the solver for scheduling networks",
	 mcf_structured_algorithm},
	{NULL, NULL, NULL},
};

const struct mcf_algorithm *mcf_algorithm_find(const char *name)
{
	for (const struct mcf_algorithm *row = mcf_algorithms; row->name; row++) {
		if (strcmp(row->name, name) == 0)
			return row;
	}
	return NULL;
}
