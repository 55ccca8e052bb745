/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

int mpi_run_init(struct mpi_run *run, uint32_t ranks)
{
	uint32_t *members = malloc((ranks ? ranks : 1) * sizeof *members);

	*run = (struct mpi_run){.rank_count = ranks, .ranks = calloc(ranks ? ranks : 1, sizeof *run->ranks)};
	for (uint32_t rank = 0; members && rank < ranks; rank++)
		members[rank] = rank;
	if (run->ranks && members && mpi_find_group(run, members, ranks) == 0)
		return 0;
	free(members);
	free(run->ranks);
	*run = (struct mpi_run){0};
	return -ENOMEM;
}

uint32_t mpi_find_group(struct mpi_run *run, uint32_t *members, uint32_t size)
{
	struct mpi_group *groups;

	for (uint32_t g = 0; g < run->group_count; g++) {
		if (run->groups[g].size != size || memcmp(run->groups[g].members, members, size * sizeof *members) != 0)
			continue;
		free(members);
		return g;
	}
	groups = array_grow(run->groups, run->group_count, &run->group_capacity, sizeof *groups);
	if (!groups)
		return UINT32_MAX;
	run->groups = groups;
	groups[run->group_count] = (struct mpi_group){size, members};
	return (uint32_t)run->group_count++;
}

void mpi_run_free(struct mpi_run *run)
{
	for (uint32_t rank = 0; rank < run->rank_count; rank++) {
		free(run->ranks[rank].file);
		free(run->ranks[rank].calls);
	}
	for (size_t g = 0; g < run->group_count; g++)
		free(run->groups[g].members);
	free(run->groups);
	free(run->ranks);
	free(run->others);
	*run = (struct mpi_run){0};
}

int mpi_add_call(struct mpi_rank *rank, struct mpi_call call)
{
	struct mpi_call *all = array_grow(rank->calls, rank->count, &rank->capacity, sizeof *all);

	if (!all)
		return -ENOMEM;
	rank->calls = all;
	all[rank->count++] = call;
	return 0;
}

int mpi_count_other(struct mpi_run *run, const char *name, uint64_t calls, double us)
{
	struct mpi_other *others;
	size_t at = 0;

	while (at < run->other_count && strncmp(run->others[at].name, name, sizeof run->others[at].name - 1) < 0)
		at++;
	if (at == run->other_count || strncmp(run->others[at].name, name, sizeof run->others[at].name - 1) != 0) {
		others = array_grow(run->others, run->other_count, &run->other_capacity, sizeof *others);
		if (!others)
			return -ENOMEM;
		run->others = others;
		memmove(&others[at + 1], &others[at], (run->other_count++ - at) * sizeof *others);
		others[at] = (struct mpi_other){0};
		snprintf(others[at].name, sizeof others[at].name, "%s", name);
	}
	run->others[at].calls += calls;
	run->others[at].us += us;
	return 0;
}

const char *call_kind_name(enum call_kind kind)
{
	static const char *const names[CALL_KINDS] = {
		[CALL_SEND] = "MPI_Send",       [CALL_SSEND] = "MPI_Ssend",         [CALL_RECEIVE] = "MPI_Recv",
		[CALL_WAIT] = "MPI_Wait",       [CALL_BARRIER] = "MPI_Barrier",     [CALL_BROADCAST] = "MPI_Bcast",
		[CALL_REDUCE] = "MPI_Reduce",   [CALL_ALLREDUCE] = "MPI_Allreduce", [CALL_GATHER] = "MPI_Gather",
		[CALL_SCATTER] = "MPI_Scatter", [CALL_ALLGATHER] = "MPI_Allgather", [CALL_ALLTOALL] = "MPI_Alltoall",
		[CALL_SCAN] = "MPI_Scan",
	};

	return names[kind];
}
