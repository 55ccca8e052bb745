/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of algorithms; each has its own file. */
#include "mcf_priv.h"

const struct mcf_algorithm mcf_algorithms[] = {
	{"auto", "collapse what is identical, then the fastest that fits", mcf_auto_algorithm},
	{"simplex", "network simplex: any network, warm start", mcf_simplex_algorithm},
	{"scaling", "cost scaling: push-relabel with falling tolerance, any network", mcf_scaling_algorithm},
	{"structured", "collapse, then the solver made for scheduling networks", mcf_structured_algorithm},
	{NULL, NULL, NULL},
};
