/* SPDX-License-Identifier: BSD-3-Clause */
#include <predict/calls/calls.h>

#include <errno.h>
#include <stdlib.h>

int mpi_run_init(struct mpi_run *run, uint32_t ranks)
{
	*run = (struct mpi_run){.rank_count = ranks, .ranks = calloc(ranks ? ranks : 1, sizeof *run->ranks)};
	if (run->ranks)
		return 0;
	run->rank_count = 0;
	return -ENOMEM;
}

void mpi_run_free(struct mpi_run *run)
{
	for (uint32_t rank = 0; rank < run->rank_count; rank++) {
		free(run->ranks[rank].file);
		free(run->ranks[rank].calls);
	}
	free(run->ranks);
	free(run->others);
	*run = (struct mpi_run){0};
}

const char *mpi_kind_name(enum mpi_kind kind)
{
	static const char *const names[MPI_KINDS] = {
		[MPI_SEND] = "MPI_Send",       [MPI_SSEND] = "MPI_Ssend",         [MPI_RECEIVE] = "MPI_Recv",
		[MPI_WAIT] = "MPI_Wait",       [MPI_BARRIER] = "MPI_Barrier",     [MPI_BROADCAST] = "MPI_Bcast",
		[MPI_REDUCE] = "MPI_Reduce",   [MPI_ALLREDUCE] = "MPI_Allreduce", [MPI_GATHER] = "MPI_Gather",
		[MPI_SCATTER] = "MPI_Scatter", [MPI_ALLGATHER] = "MPI_Allgather", [MPI_ALLTOALL] = "MPI_Alltoall",
		[MPI_SCAN] = "MPI_Scan",
	};

	return names[kind];
}
