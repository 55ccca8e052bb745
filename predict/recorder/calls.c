/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators, requests, and the records of calls. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/hash_table.h>

#include "recorder_priv.h"

enum { COMMUNICATORS_MAXIMUM = 1 << 16, HALF_RECEIVE = -2, HALF_SEND = -3 };

struct communicator {
	MPI_Comm handle;
	int size;
	int *world; /* ranks in MPI_COMM_WORLD; NULL: an intercommunicator */
};

struct request {
	struct trace_record record; /* of a persistent one: what each start records */
	bool persistent;
	uint32_t next; /* in the list of unused ones */
};

static struct {
	struct communicator *communicators;
	uint32_t communicator_count;
	struct hash_table table; /* handle of a request to its number; a library may give several requests one handle */
	struct request *requests; /* number 0 is not used */
	uint32_t request_count, request_capacity, unused;
} recorder;

static void add_communicator(MPI_Comm handle)
{
	uint32_t number = recorder.communicator_count;
	struct communicator *all;
	MPI_Group group, world;
	int inter = 0, *own;

	if (handle == MPI_COMM_NULL || number >= COMMUNICATORS_MAXIMUM)
		return;
	all = realloc(recorder.communicators, (number + 1) * sizeof *all);
	if (!all) {
		recorder_give_up("out of memory");
		return;
	}
	recorder.communicators = all;
	recorder.communicator_count++;
	all[number] = (struct communicator){.handle = handle};
	PMPI_Comm_test_inter(handle, &inter);
	PMPI_Comm_size(handle, &all[number].size);
	own = malloc(2 * (size_t)all[number].size * sizeof *own);
	if (inter || !own) {
		free(own);
		return;
	}
	for (int i = 0; i < all[number].size; i++)
		own[all[number].size + i] = i;
	PMPI_Comm_group(handle, &group);
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_translate_ranks(group, all[number].size, own + all[number].size, world, own);
	PMPI_Group_free(&group);
	PMPI_Group_free(&world);
	all[number].world = own;
}

/* Writes the members of a communicator that was just made. */
static void add_members(void)
{
	uint32_t number = recorder.communicator_count - 1;
	const struct communicator *made = &recorder.communicators[number];

	recorder_append(&(struct trace_record){.kind = TRACE_COMMUNICATOR,
					       .communicator = (uint16_t)number,
					       .bytes = made->world ? (uint64_t)made->size : 0});
	for (int i = 0; made->world && i < made->size; i += TRACE_MEMBERS) {
		struct trace_record raw;
		uint32_t members[TRACE_MEMBERS] = {0};

		for (int j = i; j < made->size && j < i + TRACE_MEMBERS; j++)
			members[j - i] = (uint32_t)made->world[j];
		memcpy(&raw, members, sizeof raw);
		recorder_append(&raw);
	}
}

static uint16_t number_of(MPI_Comm handle)
{
	static uint32_t recent;

	if (recent < recorder.communicator_count && recorder.communicators[recent].handle == handle)
		return (uint16_t)recent;
	for (uint32_t i = recorder.communicator_count; i-- > 0;)
		if (recorder.communicators[i].handle == handle)
			return (uint16_t)(recent = i);
	return UINT16_MAX; /* the reader refuses it */
}

/* The rank in MPI_COMM_WORLD of a rank in the communicator. */
static int world_rank(uint16_t number, int rank)
{
	const struct communicator *communicator;

	if (number >= recorder.communicator_count)
		return -1;
	communicator = &recorder.communicators[number];
	return communicator->world && rank >= 0 && rank < communicator->size ? communicator->world[rank] : -1;
}

uint64_t recorder_bytes(int64_t count, MPI_Datatype type)
{
	int size = 0;

	if (type != MPI_DATATYPE_NULL)
		PMPI_Type_size(type, &size);
	return count > 0 ? (uint64_t)count * (uint64_t)size : 0;
}

static uint64_t key_of(MPI_Request handle)
{
	uint64_t key = 0;

	memcpy(&key, &handle, sizeof handle);
	return key;
}

/* Returns the number of a new request; 0 if out of memory, when the recording ends. */
static uint32_t add_request(MPI_Request handle, const struct trace_record *record, bool persistent)
{
	uint32_t number = recorder.unused;

	if (number) {
		recorder.unused = recorder.requests[number].next;
	} else {
		if (recorder.request_count == recorder.request_capacity) {
			uint32_t capacity = recorder.request_capacity ? 2 * recorder.request_capacity : 1024;
			struct request *all = realloc(recorder.requests, capacity * sizeof *all);

			if (!all) {
				recorder_give_up("out of memory");
				return 0;
			}
			recorder.requests = all;
			recorder.request_capacity = capacity;
			recorder.request_count = recorder.request_count ? recorder.request_count : 1;
		}
		number = recorder.request_count++;
	}
	recorder.requests[number] = (struct request){.record = *record, .persistent = persistent};
	if (hash_table_insert(&recorder.table, key_of(handle), number) < 0) {
		recorder_give_up("out of memory");
		return 0;
	}
	return number;
}

void recorder_forget_request(MPI_Request handle)
{
	uint32_t at = hash_table_first(&recorder.table, key_of(handle)), number;

	if (at == HASH_TABLE_NONE)
		return;
	number = hash_table_value(&recorder.table, at);
	hash_table_remove(&recorder.table, at);
	recorder.requests[number].next = recorder.unused;
	recorder.unused = number;
}

struct trace_record recorder_message(enum call_kind kind, int64_t count, MPI_Datatype type, int peer, int tag,
				     MPI_Comm comm)
{
	uint16_t number = number_of(comm);

	return (struct trace_record){
		.kind = (uint8_t)kind,
		.communicator = number,
		.peer = peer == MPI_ANY_SOURCE ? -1 : world_rank(number, peer),
		.tag = tag == MPI_ANY_TAG ? -1 : tag,
		.bytes = recorder_bytes(count, type),
	};
}

/* A call whose time is neither computation nor that of a message, as one to or from MPI_PROC_NULL. */
static void add_nothing(uint64_t begin_ns)
{
	recorder_add((struct trace_record){.kind = CALL_WAIT}, begin_ns);
}

void recorder_add_message(struct trace_record record, int peer, MPI_Request *request, uint64_t begin_ns)
{
	if (peer == MPI_PROC_NULL) {
		add_nothing(begin_ns);
		return;
	}
	if (request)
		record.request = add_request(*request, &record, false);
	recorder_add(record, begin_ns);
}

/* A request has completed: a WAIT, with the source and the tag of a receive from any. */
void recorder_add_completion(MPI_Request before, const MPI_Status *status, uint64_t begin_ns, bool first)
{
	uint32_t at = before == MPI_REQUEST_NULL ? HASH_TABLE_NONE : hash_table_first(&recorder.table, key_of(before));
	struct trace_record record = {.kind = CALL_WAIT};
	int cancelled;

	if (at != HASH_TABLE_NONE) {
		const struct request *request = &recorder.requests[hash_table_value(&recorder.table, at)];

		record.request = hash_table_value(&recorder.table, at);
		record.peer = -1;
		if (request->record.kind == CALL_RECEIVE) {
			record.peer = world_rank(request->record.communicator, status->MPI_SOURCE);
			record.tag = status->MPI_TAG;
			if (PMPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled)
				record.flags = TRACE_CANCELLED;
		}
		if (!request->persistent)
			recorder_forget_request(before);
	}
	if (first)
		recorder_add(record, begin_ns);
	else if (record.request)
		recorder_append(&record);
}

void recorder_add_collective(enum call_kind kind, uint64_t bytes, int root, MPI_Comm comm, MPI_Request *request,
			     uint64_t begin_ns)
{
	struct trace_record record = {
		.kind = (uint8_t)kind, .communicator = number_of(comm), .peer = root, .bytes = bytes};

	if (request)
		record.request = add_request(*request, &record, false);
	recorder_add(record, begin_ns);
}

void recorder_add_other(enum trace_other which, uint64_t begin_ns)
{
	recorder_add((struct trace_record){.kind = TRACE_OTHER,
					   .flags = which == OTHER_MPI_Probe ? TRACE_NO_TIME : 0,
					   .peer = (int32_t)which},
		     begin_ns);
}

/* A started persistent request is like a new one. */
void recorder_add_start(MPI_Request request, uint64_t begin_ns, bool first)
{
	uint32_t at = hash_table_first(&recorder.table, key_of(request));
	struct trace_record record = {.kind = CALL_WAIT};

	if (at != HASH_TABLE_NONE) {
		record = recorder.requests[hash_table_value(&recorder.table, at)].record;
		record.request = hash_table_value(&recorder.table, at);
	}
	if (first)
		recorder_add(record, begin_ns);
	else if (record.request)
		recorder_append(&record);
}

/* Both halves begin together, and the call ends with the later one. */
void recorder_add_halves(struct trace_record sent, int to, struct trace_record received, int from, uint64_t begin_ns)
{
	bool first = true;

	sent.request = (uint32_t)HALF_SEND;
	received.request = (uint32_t)HALF_RECEIVE;
	for (int i = 0; i < 4; i++) {
		struct trace_record record = i % 2 == 0 ? received : sent;

		if ((i % 2 == 0 ? from : to) == MPI_PROC_NULL)
			continue;
		if (i >= 2)
			record.kind = CALL_WAIT;
		if (first)
			recorder_add(record, begin_ns);
		else
			recorder_append(&record);
		first = false;
	}
	if (first)
		add_nothing(begin_ns);
}

void recorder_add_persistent(struct trace_record record, int peer, MPI_Request request)
{
	if (peer != MPI_PROC_NULL)
		add_request(request, &record, true);
}

void recorder_add_made(MPI_Comm old, MPI_Comm made, uint64_t begin_ns)
{
	uint32_t count = recorder.communicator_count;

	recorder_add_collective(CALL_BARRIER, 0, 0, old, NULL, begin_ns);
	add_communicator(made);
	if (recorder.communicator_count > count)
		add_members();
}

void recorder_forget_communicator(MPI_Comm comm)
{
	uint16_t number = number_of(comm);

	/* The handle may be used again for another one. */
	if (number != UINT16_MAX)
		recorder.communicators[number].handle = MPI_COMM_NULL;
}

/* Tells whether the program's MPI library is of the kind for which this was built: their types differ. */
static bool is_own_library(void)
{
#ifdef OPEN_MPI
	static const char own[] = "Open MPI";
#else
	static const char own[] = "MPICH";
#endif
	char text[1 << 14] = "";
	int length = 0;

	PMPI_Get_library_version(text, &length);
	if (strncmp(text, own, sizeof own - 1) == 0)
		return true;
	fprintf(stderr,
		"nomora trace: the program uses %.*s, but the recorder is for %s: not recorded; the recorder is chosen "
		"by "
		"the words of the command, which must name mpirun or the program, not a script\n",
		(int)strcspn(text, ",:\t\n"), text, own);
	return false;
}

void recorder_start(void)
{
	const char *folder = getenv("NOMORA_TRACE");
	int rank, ranks;

	if (!folder || !is_own_library())
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!recorder_open(folder, rank, ranks))
		return;
	add_communicator(MPI_COMM_WORLD);
	add_communicator(MPI_COMM_SELF);
}
