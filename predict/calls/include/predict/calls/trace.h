/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file that the recorder writes for each rank (docs/formats.md, "trace"): a header of TRACE_HEADER_BYTES, then
 * records of 32 bytes in the byte order of the host. The recorder counts a record in the header after it is complete,
 * so that the file of a rank that was killed is valid up to its last call. Shared by the recorder, which is loaded into
 * other programs, and the reader.
 */
#ifndef PREDICT_TRACE_H
#define PREDICT_TRACE_H

#include <stdint.h>

enum { TRACE_HEADER_BYTES = 4096, TRACE_VERSION = 1, TRACE_MEMBERS = 8 };
#define TRACE_MAGIC "NOMTRACE"

enum call_kind {
	CALL_SEND,
	CALL_SSEND, /* a rendezvous at every size */
	CALL_RECEIVE,
	CALL_WAIT,
	CALL_BARRIER,
	CALL_BROADCAST,
	CALL_REDUCE,
	CALL_ALLREDUCE,
	CALL_GATHER,
	CALL_SCATTER,
	CALL_ALLGATHER,
	CALL_ALLTOALL,
	CALL_SCAN,
};
enum { CALL_KINDS = CALL_SCAN + 1 };

/* Records that are no calls of these kinds. */
enum trace_kind {
	TRACE_PAUSE = 64,   /* time before the next record that does not fit its gap_ns: `bytes` ns */
	TRACE_COMMUNICATOR, /* number `communicator`, of `bytes` members, whose ranks in MPI_COMM_WORLD follow:
			       TRACE_MEMBERS a record, uint32_t each */
	TRACE_OTHER,        /* a call that is not modelled: `peer` is its index in trace_others */
};

enum {
	TRACE_NO_TIME = 1,   /* flag of TRACE_PAUSE and TRACE_OTHER: the time is not computation */
	TRACE_CANCELLED = 2, /* flag of CALL_WAIT: the receive was cancelled, so that it got nothing */
};

/* peer: rank in MPI_COMM_WORLD, or the root; -1: any source, which the record of the wait tells. */
struct trace_record {
	uint8_t kind, flags;
	uint16_t communicator;
	int32_t peer, tag;
	uint32_t request; /* 0: none */
	uint64_t bytes;
	uint32_t gap_ns;      /* since the end of the record before: computation */
	uint32_t duration_ns; /* of the call */
};

struct trace_header {
	char magic[8];
	uint32_t version, rank, ranks;
	uint32_t several_threads; /* other threads called MPI, too; their calls are not recorded */
	uint64_t records;
	uint64_t total_ns;        /* from the end of MPI_Init to MPI_Finalize; 0: it never came */
	uint64_t polls, polls_ns; /* calls of the family MPI_Test that found nothing: their time is in gap_ns */
	char host[64];
};

/* Communicators 0 and 1 need no record. */
enum { TRACE_WORLD = 0, TRACE_SELF = 1 };

#define TRACE_OTHERS(ROW)                                                                                              \
	ROW(MPI_Probe)                                                                                                 \
	ROW(MPI_Put)                                                                                                   \
	ROW(MPI_Get)                                                                                                   \
	ROW(MPI_Accumulate)                                                                                            \
	ROW(MPI_Win_fence)                                                                                             \
	ROW(MPI_File_open)                                                                                             \
	ROW(MPI_File_read_all)                                                                                         \
	ROW(MPI_File_write_all)                                                                                        \
	ROW(MPI_File_write_at_all)                                                                                     \
	ROW(MPI_Comm_spawn)                                                                                            \
	ROW(MPI_File_read_at_all)                                                                                      \
	ROW(MPI_File_close)                                                                                            \
	ROW(MPI_Win_create)                                                                                            \
	ROW(MPI_Win_free)                                                                                              \
	ROW(MPI_Win_lock)                                                                                              \
	ROW(MPI_Win_unlock)                                                                                            \
	ROW(MPI_Win_flush)                                                                                             \
	ROW(MPI_Mprobe)                                                                                                \
	ROW(MPI_Mrecv)                                                                                                 \
	ROW(MPI_Alltoallw)                                                                                             \
	ROW(MPI_Neighbor_allgather)                                                                                    \
	ROW(MPI_Neighbor_alltoall)                                                                                     \
	ROW(MPI_Neighbor_alltoallv)

enum trace_other {
#define TRACE_ENUM(name) OTHER_##name,
	TRACE_OTHERS(TRACE_ENUM)
#undef TRACE_ENUM
		TRACE_OTHER_COUNT
};

#endif
