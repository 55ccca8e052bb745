/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The recorded MPI calls of a run, one list a rank, and their execution graph. What a rank does between two calls is
 * computation, which takes as long as it did; what happens within a call is computed from the LogGPS model. One thread.
 */
#ifndef PREDICT_CALLS_H
#define PREDICT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <predict/calls/trace.h>
#include <predict/graph/graph.h>

enum { CALL_NO_REQUEST = 0, CALL_REQUEST_BYTES = 8 };

struct mpi_call {
	double begin_us, end_us;
	uint64_t bytes;   /* of a message; of each rank's part of a collective */
	uint64_t request; /* of a call that does not wait, and of CALL_WAIT; CALL_NO_REQUEST: the call waits */
	uint64_t communicator;
	int32_t peer, tag; /* peer: the other rank in MPI_COMM_WORLD, or the root */
	uint32_t group;    /* of the communicator: index in mpi_run.groups */
	uint32_t line;
	uint32_t count; /* of CALL_WAIT: requests, which are CALL_REQUEST_BYTES apart */
	uint8_t kind;
};

struct mpi_rank {
	char *file; /* for messages */
	struct mpi_call *calls;
	size_t count, capacity;
	double start_us, end_us; /* after MPI_Init, before MPI_Finalize; without them the first and the last call */
};

/* A kind of call that is not modelled; its time counts as computation. */
struct mpi_other {
	char name[40];
	uint64_t calls;
	double us;
};

/* The members of a communicator: ranks in MPI_COMM_WORLD, in the order of their ranks in the communicator. */
struct mpi_group {
	uint32_t size, *members;
};

/* The algorithms of collectives. Zeroed: as the library is taken to choose them. */
enum { COLLECTIVE_ALGORITHMS = 21 };

struct collective_choice {
	uint8_t chosen[CALL_KINDS];           /* number of an algorithm + 1; 0 = by the size */
	uint64_t used[COLLECTIVE_ALGORITHMS]; /* number of collectives: mpi_build() counts them */
};

/* Chooses an algorithm, "allreduce=ring". Returns 0, or -EINVAL with err set, which lists them. */
int collective_choose(struct collective_choice *choice, const char *text, struct error *err);
/* Returns the name of an algorithm by its number, and its *call: "ring", "allreduce". */
const char *collective_name(size_t index, const char **call);

struct mpi_run {
	struct collective_choice choice;
	struct mpi_rank *ranks;
	uint32_t rank_count;
	struct mpi_group *groups; /* no two are equal; the first one is of all ranks */
	size_t group_count, group_capacity;
	struct mpi_other *others; /* sorted by name */
	size_t other_count, other_capacity;
};

/*
 * Reads the traces of liballprof (LogGOPSim's recorder), one file a rank in the order of the ranks, plain or gzip.
 * Fills an uninitialised run. Returns 0, or -errno with err set; mpi_run_free() is legal after both.
 */
int mpi_read_allprof(char *const *paths, uint32_t count, struct mpi_run *run, struct error *err);
/* As mpi_read_allprof() for one rank's text; the run must have been set up by mpi_run_init(). */
int mpi_parse_allprof(struct mpi_run *run, uint32_t rank, const char *name, const char *text, size_t bytes,
		      struct error *err);

/*
 * Reads the traces of nomora trace, one file a rank in any order. Fills an uninitialised run. Returns 0, or -errno with
 * err set; mpi_run_free() is legal after both.
 */
int mpi_read_traces(char *const *paths, uint32_t count, struct mpi_run *run, struct error *err);
/* As mpi_read_traces() for one rank's file in memory; the run must have been set up by mpi_run_init(). */
int mpi_parse_trace(struct mpi_run *run, const char *name, const char *data, size_t bytes, struct error *err);
/* True if the file begins as those of nomora trace do. */
bool mpi_is_trace(const char *path);

int mpi_run_init(struct mpi_run *run, uint32_t ranks); /* 0 or -ENOMEM */
void mpi_run_free(struct mpi_run *run);

const char *call_kind_name(enum call_kind kind); /* "MPI_Allreduce" */

/*
 * Makes the graph of a run, which is not initialised before; of the run, it changes only the counts of algorithms.
 * Returns 0, or -errno with err set: an unmatched message, ranks in different collectives, a clock that goes back.
 * execution_graph_free() is legal after both.
 */
int mpi_build(struct mpi_run *run, const struct loggps *model, struct execution_graph *graph, struct error *err);

#endif
