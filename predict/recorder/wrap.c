/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's profiling interface: each function here calls the library's with the prefix PMPI, and records the call. Ours
 * have both names: Open MPI's Fortran functions call those with the prefix. If nothing is recorded, a function does no
 * more than that: the program's MPI may be another one than ours, with other types.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "recorder_priv.h"

/* In a call that is not modelled. What the library itself calls in there (ROMIO's messages) is not recorded. */
static bool in_other;

/* When the call begins; 0: it is not recorded. */
static uint64_t begin(void)
{
	return recorder_is_on() && !in_other ? recorder_now_ns() : 0;
}

static void *find(void **function, const char *name)
{
	if (!*function)
		*function = dlsym(RTLD_NEXT, name);
	return *function;
}

/* The library's own function. A program that calls MPI_X has PMPI_X. */
#define REAL(name)                                                                                                     \
	(__extension__({                                                                                               \
		static void *function;                                                                                 \
		(__typeof__(name) *)find(&function, "P" #name);                                                        \
	}))

/* Gives our function the other name, too. */
#define ALSO_P(name) extern __typeof__(name) P##name __attribute__((alias(#name)))

/* The rest of the library is hidden from the program. */
#pragma GCC visibility push(default)

int MPI_Init(int *argc, char ***argv)
{
	int code = REAL(MPI_Init)(argc, argv);

	if (code == MPI_SUCCESS)
		recorder_start();
	return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int code = REAL(MPI_Init_thread)(argc, argv, required, provided);

	if (code == MPI_SUCCESS)
		recorder_start();
	return code;
}

int MPI_Finalize(void)
{
	recorder_close();
	return REAL(MPI_Finalize)();
}

/* ---- messages ---- */

#define SEND(name, kind)                                                                                               \
	int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)               \
	{                                                                                                              \
		uint64_t begin_ns = begin();                                                                           \
		int code = REAL(MPI_##name)(buffer, count, type, to, tag, comm);                                       \
                                                                                                                       \
		if (begin_ns)                                                                                          \
			recorder_add_message(recorder_message(kind, count, type, to, tag, comm), to, NULL, begin_ns);  \
		return code;                                                                                           \
	}                                                                                                              \
	ALSO_P(MPI_##name);

/* record: the function that records the message; its last arguments follow. */
#define SEND_LATER(name, kind, record, ...)                                                                            \
	int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,               \
		       MPI_Request *request)                                                                           \
	{                                                                                                              \
		uint64_t begin_ns = begin();                                                                           \
		int code = REAL(MPI_##name)(buffer, count, type, to, tag, comm, request);                              \
                                                                                                                       \
		if (begin_ns)                                                                                          \
			record(recorder_message(kind, count, type, to, tag, comm), to, __VA_ARGS__);                   \
		return code;                                                                                           \
	}                                                                                                              \
	ALSO_P(MPI_##name);

#define ISEND(name, kind) SEND_LATER(name, kind, recorder_add_message, request, begin_ns)
#define SEND_INIT(name, kind) SEND_LATER(name, kind, recorder_add_persistent, *request)

SEND(Send, CALL_SEND)
SEND(Bsend, CALL_SEND)
SEND(Rsend, CALL_SEND)
SEND(Ssend, CALL_SSEND)
ISEND(Isend, CALL_SEND)
ISEND(Ibsend, CALL_SEND)
ISEND(Irsend, CALL_SEND)
ISEND(Issend, CALL_SSEND)
SEND_INIT(Send_init, CALL_SEND)
SEND_INIT(Bsend_init, CALL_SEND)
SEND_INIT(Rsend_init, CALL_SEND)
SEND_INIT(Ssend_init, CALL_SSEND)

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
	uint64_t begin_ns = begin();
	MPI_Status own = {0}, *seen = begin_ns && status == MPI_STATUS_IGNORE ? &own : status;
	int code = REAL(MPI_Recv)(buffer, count, type, from, tag, comm, seen);

	if (begin_ns)
		recorder_add_message(recorder_message(CALL_RECEIVE, count, type, seen->MPI_SOURCE, seen->MPI_TAG, comm),
				     from, NULL, begin_ns);
	return code;
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	uint64_t begin_ns = begin();
	int code = REAL(MPI_Irecv)(buffer, count, type, from, tag, comm, request);

	if (begin_ns)
		recorder_add_message(recorder_message(CALL_RECEIVE, count, type, from, tag, comm), from, request,
				     begin_ns);
	return code;
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	uint64_t begin_ns = begin();
	int code = REAL(MPI_Recv_init)(buffer, count, type, from, tag, comm, request);

	if (begin_ns)
		recorder_add_persistent(recorder_message(CALL_RECEIVE, count, type, from, tag, comm), from, *request);
	return code;
}

int MPI_Start(MPI_Request *request)
{
	uint64_t begin_ns = begin();
	int code = REAL(MPI_Start)(request);

	if (begin_ns)
		recorder_add_start(*request, begin_ns, true);
	return code;
}

int MPI_Startall(int count, MPI_Request requests[])
{
	uint64_t begin_ns = begin();
	int code = REAL(MPI_Startall)(count, requests);

	if (!begin_ns)
		return code;
	for (int i = 0; i < count; i++)
		recorder_add_start(requests[i], begin_ns, i == 0);
	return code;
}

int MPI_Request_free(MPI_Request *request)
{
	if (begin())
		recorder_forget_request(*request);
	/* cppcheck-suppress CastAddressToIntegerAtReturn ; it does not see the type of REAL() */
	return REAL(MPI_Request_free)(request);
}

int MPI_Sendrecv(const void *send_buffer, int send_count, MPI_Datatype send_type, int to, int send_tag,
		 void *receive_buffer, int receive_count, MPI_Datatype receive_type, int from, int receive_tag,
		 MPI_Comm comm, MPI_Status *status)
{
	uint64_t begin_ns = begin();
	MPI_Status own = {0}, *seen = begin_ns && status == MPI_STATUS_IGNORE ? &own : status;
	int code = REAL(MPI_Sendrecv)(send_buffer, send_count, send_type, to, send_tag, receive_buffer, receive_count,
				      receive_type, from, receive_tag, comm, seen);

	if (begin_ns)
		recorder_add_halves(recorder_message(CALL_SEND, send_count, send_type, to, send_tag, comm), to,
				    recorder_message(CALL_RECEIVE, receive_count, receive_type, seen->MPI_SOURCE,
						     seen->MPI_TAG, comm),
				    from, begin_ns);
	return code;
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int to, int send_tag, int from, int receive_tag,
			 MPI_Comm comm, MPI_Status *status)
{
	uint64_t begin_ns = begin();
	MPI_Status own = {0}, *seen = begin_ns && status == MPI_STATUS_IGNORE ? &own : status;
	int code = REAL(MPI_Sendrecv_replace)(buffer, count, type, to, send_tag, from, receive_tag, comm, seen);

	if (begin_ns)
		recorder_add_halves(recorder_message(CALL_SEND, count, type, to, send_tag, comm), to,
				    recorder_message(CALL_RECEIVE, count, type, seen->MPI_SOURCE, seen->MPI_TAG, comm),
				    from, begin_ns);
	return code;
}

/* ---- waits and tests ---- */

/* If the call is recorded: copies of the requests, which it clears, and statuses that the caller may not want. */
struct several {
	MPI_Request *before;
	MPI_Status *statuses;
	bool own;
};

static struct several several(uint64_t begin_ns, int count, const MPI_Request *requests, MPI_Status *statuses)
{
	size_t items = count > 0 ? (size_t)count : 1;
	struct several copy = {.statuses = statuses};

	if (!begin_ns)
		return copy;
	copy.before = malloc(items * sizeof *copy.before);
	if (statuses == MPI_STATUSES_IGNORE) {
		copy.own = true;
		copy.statuses = malloc(items * sizeof *copy.statuses);
	}
	if (!copy.before || !copy.statuses)
		abort(); /* as MPI itself does */
	if (count > 0)
		memcpy(copy.before, requests, items * sizeof *copy.before);
	return copy;
}

static void release(struct several *copy)
{
	free(copy->before);
	if (copy->own)
		free(copy->statuses);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	uint64_t begin_ns = begin();
	MPI_Request before = begin_ns ? *request : MPI_REQUEST_NULL;
	MPI_Status own = {0}, *seen = begin_ns && status == MPI_STATUS_IGNORE ? &own : status;
	int code = REAL(MPI_Wait)(request, seen);

	if (begin_ns)
		recorder_add_completion(before, seen, begin_ns, true);
	return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	uint64_t begin_ns = begin();
	MPI_Request before = begin_ns ? *request : MPI_REQUEST_NULL;
	MPI_Status own = {0}, *seen = begin_ns && status == MPI_STATUS_IGNORE ? &own : status;
	int code = REAL(MPI_Test)(request, flag, seen);

	if (!begin_ns)
		return code;
	if (*flag && before != MPI_REQUEST_NULL)
		recorder_add_completion(before, seen, begin_ns, true);
	else
		recorder_add_poll(begin_ns);
	return code;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses)
{
	uint64_t begin_ns = begin();
	struct several copy = several(begin_ns, count, requests, statuses);
	int code = REAL(MPI_Waitall)(count, requests, copy.statuses);

	if (!begin_ns)
		return code;
	for (int i = 0; i < count; i++)
		recorder_add_completion(copy.before[i], &copy.statuses[i], begin_ns, i == 0);
	release(&copy);
	return code;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status *statuses)
{
	uint64_t begin_ns = begin();
	struct several copy = several(begin_ns, count, requests, statuses);
	int code = REAL(MPI_Testall)(count, requests, flag, copy.statuses);

	if (!begin_ns)
		return code;
	for (int i = 0; *flag && i < count; i++)
		recorder_add_completion(copy.before[i], &copy.statuses[i], begin_ns, i == 0);
	if (!*flag)
		recorder_add_poll(begin_ns);
	release(&copy);
	return code;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	uint64_t begin_ns = begin();
	struct several copy = several(begin_ns, count, requests, MPI_STATUSES_IGNORE);
	MPI_Status own = {0}, *seen = begin_ns && status == MPI_STATUS_IGNORE ? &own : status;
	int code = REAL(MPI_Waitany)(count, requests, index, seen);

	if (!begin_ns)
		return code;
	recorder_add_completion(*index == MPI_UNDEFINED ? MPI_REQUEST_NULL : copy.before[*index], seen, begin_ns, true);
	release(&copy);
	return code;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	uint64_t begin_ns = begin();
	struct several copy = several(begin_ns, count, requests, MPI_STATUSES_IGNORE);
	MPI_Status own = {0}, *seen = begin_ns && status == MPI_STATUS_IGNORE ? &own : status;
	int code = REAL(MPI_Testany)(count, requests, index, flag, seen);

	if (!begin_ns)
		return code;
	if (*flag && *index != MPI_UNDEFINED)
		recorder_add_completion(copy.before[*index], seen, begin_ns, true);
	else
		recorder_add_poll(begin_ns);
	release(&copy);
	return code;
}

static void add_some(const struct several *copy, int done, const int *indices, uint64_t begin_ns)
{
	for (int i = 0; done != MPI_UNDEFINED && i < done; i++)
		recorder_add_completion(copy->before[indices[i]], &copy->statuses[i], begin_ns, i == 0);
	if (done == MPI_UNDEFINED || done == 0)
		recorder_add_poll(begin_ns);
}

int MPI_Waitsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
	uint64_t begin_ns = begin();
	struct several copy = several(begin_ns, count, requests, statuses);
	int code = REAL(MPI_Waitsome)(count, requests, done, indices, copy.statuses);

	if (!begin_ns)
		return code;
	add_some(&copy, *done, indices, begin_ns);
	release(&copy);
	return code;
}

int MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
	uint64_t begin_ns = begin();
	struct several copy = several(begin_ns, count, requests, statuses);
	int code = REAL(MPI_Testsome)(count, requests, done, indices, copy.statuses);

	if (!begin_ns)
		return code;
	add_some(&copy, *done, indices, begin_ns);
	release(&copy);
	return code;
}

/* ---- collectives: the blocking form and the one with a request ---- */

#define WORDS(...) __VA_ARGS__
static uint64_t total(const int counts[], MPI_Datatype type, MPI_Comm comm)
{
	int size = 0;
	int64_t sum = 0;

	PMPI_Comm_size(comm, &size);
	for (int i = 0; i < size; i++)
		sum += counts[i];
	return recorder_bytes(sum, type);
}

/* The part of each rank, where the parts differ: the mean. */
static uint64_t mean(const int counts[], MPI_Datatype type, MPI_Comm comm)
{
	int size = 1;

	PMPI_Comm_size(comm, &size);
	return total(counts, type, comm) / (uint64_t)size;
}

static uint64_t own_part(const void *buffer, int count, MPI_Datatype type, int other_count, MPI_Datatype other_type)
{
	return buffer == MPI_IN_PLACE ? recorder_bytes(other_count, other_type) : recorder_bytes(count, type);
}

#define COLLECTIVE(name, iname, kind, parameters, arguments, bytes, root)                                              \
	int MPI_##name(parameters, MPI_Comm comm)                                                                      \
	{                                                                                                              \
		uint64_t begin_ns = begin();                                                                           \
		int code = REAL(MPI_##name)(arguments, comm);                                                          \
                                                                                                                       \
		if (begin_ns)                                                                                          \
			recorder_add_collective(kind, bytes, root, comm, NULL, begin_ns);                              \
		return code;                                                                                           \
	}                                                                                                              \
	int MPI_##iname(parameters, MPI_Comm comm, MPI_Request *request)                                               \
	{                                                                                                              \
		uint64_t begin_ns = begin();                                                                           \
		int code = REAL(MPI_##iname)(arguments, comm, request);                                                \
                                                                                                                       \
		if (begin_ns)                                                                                          \
			recorder_add_collective(kind, bytes, root, comm, request, begin_ns);                           \
		return code;                                                                                           \
	}                                                                                                              \
	ALSO_P(MPI_##name);                                                                                            \
	ALSO_P(MPI_##iname);

int MPI_Barrier(MPI_Comm comm)
{
	uint64_t begin_ns = begin();
	int code = REAL(MPI_Barrier)(comm);

	if (begin_ns)
		recorder_add_collective(CALL_BARRIER, 0, 0, comm, NULL, begin_ns);
	return code;
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	uint64_t begin_ns = begin();
	int code = REAL(MPI_Ibarrier)(comm, request);

	if (begin_ns)
		recorder_add_collective(CALL_BARRIER, 0, 0, comm, request, begin_ns);
	return code;
}

COLLECTIVE(Bcast, Ibcast, CALL_BROADCAST, WORDS(void *buffer, int count, MPI_Datatype type, int root),
	   WORDS(buffer, count, type, root), recorder_bytes(count, type), root)
COLLECTIVE(Reduce, Ireduce, CALL_REDUCE,
	   WORDS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation, int root),
	   WORDS(from, to, count, type, operation, root), recorder_bytes(count, type), root)
COLLECTIVE(Allreduce, Iallreduce, CALL_ALLREDUCE,
	   WORDS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation),
	   WORDS(from, to, count, type, operation), recorder_bytes(count, type), 0)
COLLECTIVE(Scan, Iscan, CALL_SCAN, WORDS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation),
	   WORDS(from, to, count, type, operation), recorder_bytes(count, type), 0)
COLLECTIVE(Exscan, Iexscan, CALL_SCAN,
	   WORDS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation),
	   WORDS(from, to, count, type, operation), recorder_bytes(count, type), 0)
COLLECTIVE(Gather, Igather, CALL_GATHER,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
		 int root),
	   WORDS(from, count, type, to, to_count, to_type, root), own_part(from, count, type, to_count, to_type), root)
COLLECTIVE(Gatherv, Igatherv, CALL_GATHER,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, const int counts[], const int places[],
		 MPI_Datatype to_type, int root),
	   WORDS(from, count, type, to, counts, places, to_type, root),
	   from == MPI_IN_PLACE ? 0 : recorder_bytes(count, type), root)
COLLECTIVE(Scatter, Iscatter, CALL_SCATTER,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
		 int root),
	   WORDS(from, count, type, to, to_count, to_type, root), own_part(to, to_count, to_type, count, type), root)
COLLECTIVE(Scatterv, Iscatterv, CALL_SCATTER,
	   WORDS(const void *from, const int counts[], const int places[], MPI_Datatype type, void *to, int to_count,
		 MPI_Datatype to_type, int root),
	   WORDS(from, counts, places, type, to, to_count, to_type, root),
	   to == MPI_IN_PLACE ? 0 : recorder_bytes(to_count, to_type), root)
COLLECTIVE(Allgather, Iallgather, CALL_ALLGATHER,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type),
	   WORDS(from, count, type, to, to_count, to_type), recorder_bytes(to_count, to_type), 0)
COLLECTIVE(Allgatherv, Iallgatherv, CALL_ALLGATHER,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, const int counts[], const int places[],
		 MPI_Datatype to_type),
	   WORDS(from, count, type, to, counts, places, to_type), mean(counts, to_type, comm), 0)
COLLECTIVE(Alltoall, Ialltoall, CALL_ALLTOALL,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type),
	   WORDS(from, count, type, to, to_count, to_type), recorder_bytes(to_count, to_type), 0)
COLLECTIVE(Alltoallv, Ialltoallv, CALL_ALLTOALL,
	   WORDS(const void *from, const int counts[], const int places[], MPI_Datatype type, void *to,
		 const int to_counts[], const int to_places[], MPI_Datatype to_type),
	   WORDS(from, counts, places, type, to, to_counts, to_places, to_type), mean(to_counts, to_type, comm), 0)
/* Each rank gets its part from all others. */
COLLECTIVE(Reduce_scatter, Ireduce_scatter, CALL_ALLTOALL,
	   WORDS(const void *from, void *to, const int counts[], MPI_Datatype type, MPI_Op operation),
	   WORDS(from, to, counts, type, operation), mean(counts, type, comm), 0)
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, CALL_ALLTOALL,
	   WORDS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation),
	   WORDS(from, to, count, type, operation), recorder_bytes(count, type), 0)

/* ---- communicators: made by all members of the old one together ---- */

#define MAKER(name, parameters, arguments)                                                                             \
	int MPI_##name(MPI_Comm comm, parameters, MPI_Comm *made)                                                      \
	{                                                                                                              \
		uint64_t begin_ns = begin();                                                                           \
		int code = REAL(MPI_##name)(comm, arguments, made);                                                    \
                                                                                                                       \
		if (begin_ns)                                                                                          \
			recorder_add_made(comm, *made, begin_ns);                                                      \
		return code;                                                                                           \
	}                                                                                                              \
	ALSO_P(MPI_##name);

MAKER(Comm_split, WORDS(int color, int key), WORDS(color, key))
MAKER(Comm_split_type, WORDS(int type, int key, MPI_Info info), WORDS(type, key, info))
MAKER(Comm_create, MPI_Group group, group)
MAKER(Comm_dup_with_info, MPI_Info info, info)
MAKER(Cart_create, WORDS(int dimensions, const int sizes[], const int periodic[], int reorder),
      WORDS(dimensions, sizes, periodic, reorder))
MAKER(Cart_sub, const int remain[], remain)
MAKER(Graph_create, WORDS(int nodes, const int index[], const int edges[], int reorder),
      WORDS(nodes, index, edges, reorder))

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
	uint64_t begin_ns = begin();
	int code = REAL(MPI_Comm_dup)(comm, made);

	if (begin_ns)
		recorder_add_made(comm, *made, begin_ns);
	return code;
}

int MPI_Comm_free(MPI_Comm *comm)
{
	if (begin())
		recorder_forget_communicator(*comm);
	/* cppcheck-suppress CastAddressToIntegerAtReturn ; it does not see the type of REAL() */
	return REAL(MPI_Comm_free)(comm);
}

/* ---- what is not modelled ---- */

#define UNMODELLED(name, parameters, arguments)                                                                        \
	int name(parameters)                                                                                           \
	{                                                                                                              \
		uint64_t begin_ns = begin();                                                                           \
		int code;                                                                                              \
                                                                                                                       \
		if (begin_ns)                                                                                          \
			in_other = true;                                                                               \
		code = REAL(name)(arguments);                                                                          \
		if (!begin_ns)                                                                                         \
			return code;                                                                                   \
		in_other = false;                                                                                      \
		recorder_add_other(OTHER_##name, begin_ns);                                                            \
		return code;                                                                                           \
	}                                                                                                              \
	ALSO_P(name);

UNMODELLED(MPI_Probe, WORDS(int from, int tag, MPI_Comm comm, MPI_Status *status), WORDS(from, tag, comm, status))
UNMODELLED(MPI_Put,
	   WORDS(const void *from, int count, MPI_Datatype type, int rank, MPI_Aint place, int to_count,
		 MPI_Datatype to_type, MPI_Win window),
	   WORDS(from, count, type, rank, place, to_count, to_type, window))
UNMODELLED(MPI_Get,
	   WORDS(void *to, int count, MPI_Datatype type, int rank, MPI_Aint place, int from_count,
		 MPI_Datatype from_type, MPI_Win window),
	   WORDS(to, count, type, rank, place, from_count, from_type, window))
UNMODELLED(MPI_Accumulate,
	   WORDS(const void *from, int count, MPI_Datatype type, int rank, MPI_Aint place, int to_count,
		 MPI_Datatype to_type, MPI_Op operation, MPI_Win window),
	   WORDS(from, count, type, rank, place, to_count, to_type, operation, window))
UNMODELLED(MPI_Win_fence, WORDS(int assertion, MPI_Win window), WORDS(assertion, window))
UNMODELLED(MPI_File_open, WORDS(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file),
	   WORDS(comm, name, mode, info, file))
UNMODELLED(MPI_File_read_all, WORDS(MPI_File file, void *buffer, int count, MPI_Datatype type, MPI_Status *status),
	   WORDS(file, buffer, count, type, status))
UNMODELLED(MPI_File_write_all,
	   WORDS(MPI_File file, const void *buffer, int count, MPI_Datatype type, MPI_Status *status),
	   WORDS(file, buffer, count, type, status))
UNMODELLED(MPI_File_write_at_all,
	   WORDS(MPI_File file, MPI_Offset place, const void *buffer, int count, MPI_Datatype type, MPI_Status *status),
	   WORDS(file, place, buffer, count, type, status))
UNMODELLED(MPI_Comm_spawn,
	   WORDS(const char *command, char *argv[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made,
		 int codes[]),
	   WORDS(command, argv, most, info, root, comm, made, codes))
UNMODELLED(MPI_File_read_at_all,
	   WORDS(MPI_File file, MPI_Offset place, void *buffer, int count, MPI_Datatype type, MPI_Status *status),
	   WORDS(file, place, buffer, count, type, status))
UNMODELLED(MPI_File_close, MPI_File *file, file)
UNMODELLED(MPI_Win_create, WORDS(void *memory, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *window),
	   WORDS(memory, size, unit, info, comm, window))
UNMODELLED(MPI_Win_free, MPI_Win *window, window)
UNMODELLED(MPI_Win_lock, WORDS(int kind, int rank, int assertion, MPI_Win window), WORDS(kind, rank, assertion, window))
UNMODELLED(MPI_Win_unlock, WORDS(int rank, MPI_Win window), WORDS(rank, window))
UNMODELLED(MPI_Win_flush, WORDS(int rank, MPI_Win window), WORDS(rank, window))
UNMODELLED(MPI_Mprobe, WORDS(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
	   WORDS(from, tag, comm, message, status))
UNMODELLED(MPI_Mrecv, WORDS(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
	   WORDS(buffer, count, type, message, status))
UNMODELLED(MPI_Alltoallw,
	   WORDS(const void *from, const int counts[], const int places[], const MPI_Datatype types[], void *to,
		 const int to_counts[], const int to_places[], const MPI_Datatype to_types[], MPI_Comm comm),
	   WORDS(from, counts, places, types, to, to_counts, to_places, to_types, comm))
UNMODELLED(MPI_Neighbor_allgather,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
		 MPI_Comm comm),
	   WORDS(from, count, type, to, to_count, to_type, comm))
UNMODELLED(MPI_Neighbor_alltoall,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
		 MPI_Comm comm),
	   WORDS(from, count, type, to, to_count, to_type, comm))
UNMODELLED(MPI_Neighbor_alltoallv,
	   WORDS(const void *from, const int counts[], const int places[], MPI_Datatype type, void *to,
		 const int to_counts[], const int to_places[], MPI_Datatype to_type, MPI_Comm comm),
	   WORDS(from, counts, places, type, to, to_counts, to_places, to_type, comm))

ALSO_P(MPI_Barrier);
ALSO_P(MPI_Comm_dup);
ALSO_P(MPI_Comm_free);
ALSO_P(MPI_Finalize);
ALSO_P(MPI_Ibarrier);
ALSO_P(MPI_Init);
ALSO_P(MPI_Init_thread);
ALSO_P(MPI_Irecv);
ALSO_P(MPI_Recv);
ALSO_P(MPI_Recv_init);
ALSO_P(MPI_Request_free);
ALSO_P(MPI_Sendrecv);
ALSO_P(MPI_Sendrecv_replace);
ALSO_P(MPI_Start);
ALSO_P(MPI_Startall);
ALSO_P(MPI_Test);
ALSO_P(MPI_Testall);
ALSO_P(MPI_Testany);
ALSO_P(MPI_Testsome);
ALSO_P(MPI_Wait);
ALSO_P(MPI_Waitall);
ALSO_P(MPI_Waitany);
ALSO_P(MPI_Waitsome);
