/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library that is loaded into MPI programs: file.c writes the trace of this rank, calls.c makes its records, and
 * wrap.c has the functions that the program calls. One thread: recorder_is_on() is false in any other.
 */
#ifndef RECORDER_PRIV_H
#define RECORDER_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

#include <predict/calls/trace.h>

/* The library is also loaded into programs without MPI, such as mpirun. (In MPICH, these are numbers.) */
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_request_null
#pragma weak ompi_mpi_datatype_null

/* ---- file.c ---- */

/* Opens the file of this rank in a folder. Returns false if that fails, with a message on stderr. */
bool recorder_open(const char *folder, int rank, int ranks);
void recorder_close(void);
/* Ends the recording with a message; the program goes on. */
void recorder_give_up(const char *what);
/* True if the calling thread's calls are recorded. A call of another thread is noted in the file. */
bool recorder_is_on(void);
uint64_t recorder_now_ns(void);
void recorder_append(const struct trace_record *record);
/* Adds a call that lasted from begin_ns until now. */
void recorder_add(struct trace_record record, uint64_t begin_ns);
void recorder_add_poll(uint64_t begin_ns);

/* ---- calls.c: what the functions of wrap.c record after the call, which began at begin_ns ---- */

/* Begins if NOMORA_TRACE names a folder; MPI must be initialised. */
void recorder_start(void);

struct trace_record recorder_message(enum call_kind kind, int64_t count, MPI_Datatype type, int peer, int tag,
				     MPI_Comm comm);
/* request: of a call that does not wait; NULL for one that does. peer: as the program gave it. */
void recorder_add_message(struct trace_record record, int peer, MPI_Request *request, uint64_t begin_ns);
void recorder_add_halves(struct trace_record sent, int to, struct trace_record received, int from, uint64_t begin_ns);
void recorder_add_persistent(struct trace_record record, int peer, MPI_Request request);
void recorder_add_start(MPI_Request request, uint64_t begin_ns, bool first);
void recorder_forget_request(MPI_Request request);
/* before: the handle before the call. first: the call has completed no other request. */
void recorder_add_completion(MPI_Request before, const MPI_Status *status, uint64_t begin_ns, bool first);
void recorder_add_collective(enum call_kind kind, uint64_t bytes, int root, MPI_Comm comm, MPI_Request *request,
			     uint64_t begin_ns);
void recorder_add_made(MPI_Comm old, MPI_Comm made, uint64_t begin_ns);
void recorder_forget_communicator(MPI_Comm comm);
void recorder_add_other(enum trace_other which, uint64_t begin_ns);

uint64_t recorder_bytes(int64_t count, MPI_Datatype type);

#endif
