/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives as messages. */
#ifndef CALLS_PRIV_H
#define CALLS_PRIV_H

#include <predict/calls/calls.h>

struct collective {
	enum mpi_kind kind;
	uint32_t root;
	uint64_t bytes;
	uint32_t ranks;
};

/*
 * Adds the messages of a collective. moments[rank]: the rank enters; on return, it has left. Returns 0 or -ENOMEM.
 */
int collective_run(struct execution_graph *graph, const struct loggps *model, const struct collective *collective,
		   uint32_t *moments);

#endif
