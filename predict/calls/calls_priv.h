/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups, other calls, and collectives as messages. */
#ifndef CALLS_PRIV_H
#define CALLS_PRIV_H

#include <predict/calls/calls.h>

/*
 * Returns the number of the group with these members, which is added if there is none; UINT32_MAX if out of memory. If
 * it succeeds, the run owns `members`.
 */
uint32_t mpi_find_group(struct mpi_run *run, uint32_t *members, uint32_t size);

/* Returns 0 or -ENOMEM. */
int mpi_add_call(struct mpi_rank *rank, struct mpi_call call);
/* Counts a call that is not modelled. Returns 0 or -ENOMEM. */
int mpi_count_other(struct mpi_run *run, const char *name, uint64_t calls, double us);

struct collective {
	enum call_kind kind;
	uint32_t root; /* number of a member */
	uint64_t bytes;
	uint32_t ranks;
	const uint32_t *members; /* [ranks]: ranks in MPI_COMM_WORLD */
};

/*
 * Adds the messages of a collective, and counts it in choice->used. moments[member]: it enters; on return, it has left.
 * Returns 0 or -ENOMEM.
 */
int collective_run(struct execution_graph *graph, const struct loggps *model, struct collective_choice *choice,
		   const struct collective *collective, uint32_t *moments);

#endif
