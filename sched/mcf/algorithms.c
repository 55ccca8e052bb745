/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of algorithms; each has its own file. */
#include "mcf_priv.h"

const struct mcf_algorithm mcf_algorithms[] = {
	{"simplex", "network simplex: any network, warm start", mcf_simplex_algorithm},
	{NULL, NULL, NULL},
};
