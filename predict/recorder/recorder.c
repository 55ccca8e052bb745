/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records a program's MPI calls through MPI's profiling interface: each function here calls the one with the prefix
 * PMPI. Loaded with LD_PRELOAD by `nomora trace`, which names the folder in NOMORA_TRACE. The file is mapped into
 * memory, so that what a rank has recorded survives its end by any signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include <base/hash_table.h>
#include <predict/calls/trace.h>

/* The recorder is also loaded into programs without MPI, such as mpirun. (In MPICH, these are numbers.) */
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_request_null
#pragma weak ompi_mpi_datatype_null

enum { CHUNK_RECORDS = 1 << 17, COMMUNICATORS_MAXIMUM = 1 << 16, HALF_RECEIVE = -2, HALF_SEND = -3 };
#define CHUNK_BYTES ((size_t)CHUNK_RECORDS * sizeof(struct trace_record))

struct communicator {
	MPI_Comm handle;
	int size;
	int *world; /* ranks in MPI_COMM_WORLD; NULL: an intercommunicator, or freed */
};

struct request {
	MPI_Request handle;
	struct trace_record record; /* of a persistent one: what each start records */
	bool persistent;
	uint32_t next; /* in the list of unused ones */
};

static struct {
	bool on;
	int file;
	struct trace_header *header;
	struct trace_record *chunk;
	uint32_t used; /* of the chunk */
	uint64_t chunks;
	uint64_t last_ns, start_ns;
	struct communicator *communicators;
	uint32_t communicator_count;
	struct hash_table table;  /* handle of a request to its number */
	struct request *requests; /* number 0 is not used */
	uint32_t request_count, request_capacity, unused;
	pid_t thread;
	bool multiple;
} recorder;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A program goes on when its recorder cannot. */
static void give_up(const char *what)
{
	if (recorder.on)
		fprintf(stderr, "nomora trace: rank %u: %s: %s; the recording ends here\n", recorder.header->rank, what,
			strerror(errno));
	recorder.on = false;
}

static bool next_chunk(void)
{
	off_t at = TRACE_HEADER_BYTES + (off_t)(recorder.chunks * CHUNK_BYTES);

	if (recorder.chunk)
		munmap(recorder.chunk, CHUNK_BYTES);
	/* Blocks that are allocated now cannot be missing later, when a store would end the program. */
	errno = posix_fallocate(recorder.file, at, (off_t)CHUNK_BYTES);
	recorder.chunk =
		errno ? MAP_FAILED : mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, recorder.file, at);
	if (recorder.chunk == MAP_FAILED) {
		recorder.chunk = NULL;
		give_up("cannot enlarge the trace");
		return false;
	}
	recorder.chunks++;
	recorder.used = 0;
	return true;
}

static void append(const struct trace_record *record)
{
	if (!recorder.on || (recorder.used == CHUNK_RECORDS && !next_chunk()))
		return;
	recorder.chunk[recorder.used++] = *record;
	__atomic_store_n(&recorder.header->records, recorder.header->records + 1, __ATOMIC_RELEASE);
}

/* Adds a call that lasted from begin_ns until now. */
static void add_timed(struct trace_record record, uint64_t begin_ns)
{
	uint64_t end_ns = now_ns(), gap_ns = begin_ns - recorder.last_ns, duration_ns = end_ns - begin_ns;

	if (!recorder.on)
		return;
	if (recorder.multiple && gettid() != recorder.thread)
		recorder.header->several_threads = 1;
	if (gap_ns > UINT32_MAX) {
		append(&(struct trace_record){.kind = TRACE_PAUSE, .bytes = gap_ns});
		gap_ns = 0;
	}
	record.gap_ns = (uint32_t)gap_ns;
	record.duration_ns = duration_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)duration_ns;
	append(&record);
	if (duration_ns > UINT32_MAX)
		append(&(struct trace_record){
			.kind = TRACE_PAUSE, .flags = TRACE_NO_TIME, .bytes = duration_ns - UINT32_MAX});
	recorder.last_ns = end_ns;
}

static void add_inner(struct trace_record record)
{
	record.flags |= TRACE_INNER;
	append(&record);
}

static void add_communicator(MPI_Comm handle)
{
	uint32_t number = recorder.communicator_count;
	struct communicator *all;
	MPI_Group group, world;
	int inter = 0, *own;

	if (!recorder.on || handle == MPI_COMM_NULL || number >= COMMUNICATORS_MAXIMUM)
		return;
	all = realloc(recorder.communicators, (number + 1) * sizeof *all);
	if (!all) {
		give_up("out of memory");
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

	append(&(struct trace_record){.kind = TRACE_COMMUNICATOR,
				      .communicator = (uint16_t)number,
				      .bytes = made->world ? (uint64_t)made->size : 0});
	for (int i = 0; made->world && i < made->size; i += TRACE_MEMBERS) {
		struct trace_record raw;
		uint32_t members[TRACE_MEMBERS] = {0};

		for (int j = i; j < made->size && j < i + TRACE_MEMBERS; j++)
			members[j - i] = (uint32_t)made->world[j];
		memcpy(&raw, members, sizeof raw);
		append(&raw);
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
	const struct communicator *communicator = &recorder.communicators[number];

	if (number >= recorder.communicator_count || !communicator->world || rank < 0 || rank >= communicator->size)
		return -1;
	return communicator->world[rank];
}

static uint64_t bytes_of(int64_t count, MPI_Datatype type)
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
				give_up("out of memory");
				return 0;
			}
			recorder.requests = all;
			recorder.request_capacity = capacity;
			recorder.request_count = recorder.request_count ? recorder.request_count : 1;
		}
		number = recorder.request_count++;
	}
	recorder.requests[number] = (struct request){.handle = handle, .record = *record, .persistent = persistent};
	if (hash_table_insert(&recorder.table, key_of(handle), number) < 0) {
		give_up("out of memory");
		return 0;
	}
	return number;
}

static void forget_request(MPI_Request handle)
{
	uint32_t at = hash_table_first(&recorder.table, key_of(handle)), number;

	if (at == HASH_TABLE_NONE)
		return;
	number = hash_table_value(&recorder.table, at);
	hash_table_remove(&recorder.table, at);
	recorder.requests[number].next = recorder.unused;
	recorder.unused = number;
}

static struct trace_record message(enum call_kind kind, int64_t count, MPI_Datatype type, int peer, int tag,
				   MPI_Comm comm)
{
	uint16_t number = number_of(comm);

	return (struct trace_record){
		.kind = (uint8_t)kind,
		.communicator = number,
		.peer = peer == MPI_ANY_SOURCE ? -1 : world_rank(number, peer),
		.tag = tag == MPI_ANY_TAG ? -1 : tag,
		.bytes = bytes_of(count, type),
	};
}

/* A call whose time is neither computation nor that of a message, as one to or from MPI_PROC_NULL. */
static void add_nothing(uint64_t begin_ns)
{
	add_timed((struct trace_record){.kind = CALL_WAIT}, begin_ns);
}

static void add_message(struct trace_record record, int peer, MPI_Request *request, uint64_t begin_ns)
{
	if (!recorder.on)
		return;
	if (peer == MPI_PROC_NULL) {
		add_nothing(begin_ns);
		return;
	}
	if (request)
		record.request = add_request(*request, &record, false);
	add_timed(record, begin_ns);
}

/* A request has completed: a WAIT, with the source and the tag of a receive from any. */
static void add_completion(MPI_Request before, const MPI_Status *status, uint64_t begin_ns, bool first)
{
	uint32_t at = before == MPI_REQUEST_NULL ? HASH_TABLE_NONE : hash_table_first(&recorder.table, key_of(before));
	struct trace_record record = {.kind = CALL_WAIT};

	if (at != HASH_TABLE_NONE) {
		const struct request *request = &recorder.requests[hash_table_value(&recorder.table, at)];

		record.request = hash_table_value(&recorder.table, at);
		record.communicator = request->record.communicator;
		record.peer = -1;
		if (request->record.kind == CALL_RECEIVE) {
			record.peer = world_rank(request->record.communicator, status->MPI_SOURCE);
			record.tag = status->MPI_TAG;
		}
		if (!request->persistent)
			forget_request(before);
	}
	if (first)
		add_timed(record, begin_ns);
	else if (record.request)
		add_inner(record);
}

static void add_collective(enum call_kind kind, uint64_t bytes, int root, MPI_Comm comm, MPI_Request *request,
			   uint64_t begin_ns)
{
	struct trace_record record = {.kind = (uint8_t)kind, .communicator = number_of(comm), .bytes = bytes};

	if (!recorder.on)
		return;
	record.peer = root;
	if (request)
		record.request = add_request(*request, &record, false);
	add_timed(record, begin_ns);
}

static void add_other(enum trace_other which, uint64_t begin_ns)
{
	add_timed((struct trace_record){.kind = TRACE_OTHER,
					.flags = which == OTHER_MPI_Probe ? TRACE_NO_TIME : 0,
					.peer = (int32_t)which},
		  begin_ns);
}

/* ---- beginning and end ---- */

static void start(void)
{
	const char *folder = getenv("NOMORA_TRACE");
	char path[4096];
	int rank, ranks, level;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!folder)
		return;
	snprintf(path, sizeof path, "%s/rank-%06d.trace", folder, rank);
	recorder.file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (recorder.file < 0 || ftruncate(recorder.file, TRACE_HEADER_BYTES) != 0) {
		fprintf(stderr, "nomora trace: %s: %s; rank %d is not recorded\n", path, strerror(errno), rank);
		return;
	}
	recorder.header = mmap(NULL, TRACE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, recorder.file, 0);
	if (recorder.header == MAP_FAILED)
		return;
	*recorder.header = (struct trace_header){
		.magic = TRACE_MAGIC, .version = TRACE_VERSION, .rank = (uint32_t)rank, .ranks = (uint32_t)ranks};
	gethostname(recorder.header->host, sizeof recorder.header->host - 1);
	PMPI_Query_thread(&level);
	recorder.multiple = level == MPI_THREAD_MULTIPLE;
	recorder.thread = gettid();
	recorder.on = true;
	if (!next_chunk())
		return;
	add_communicator(MPI_COMM_WORLD);
	add_communicator(MPI_COMM_SELF);
	recorder.start_ns = recorder.last_ns = now_ns();
}

int MPI_Init(int *argc, char ***argv)
{
	int code = PMPI_Init(argc, argv);

	if (code == MPI_SUCCESS)
		start();
	return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int code = PMPI_Init_thread(argc, argv, required, provided);

	if (code == MPI_SUCCESS)
		start();
	return code;
}

int MPI_Finalize(void)
{
	if (recorder.on) {
		recorder.header->total_ns = now_ns() - recorder.start_ns;
		recorder.on = false;
		munmap(recorder.chunk, CHUNK_BYTES);
		if (ftruncate(recorder.file, TRACE_HEADER_BYTES + (off_t)(recorder.header->records *
									  sizeof(struct trace_record))) != 0)
			perror("nomora trace");
		close(recorder.file);
	}
	return PMPI_Finalize();
}

/* ---- messages ---- */

#define SEND(name, kind)                                                                                               \
	int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)               \
	{                                                                                                              \
		uint64_t begin_ns = now_ns();                                                                          \
		int code = PMPI_##name(buffer, count, type, to, tag, comm);                                            \
                                                                                                                       \
		add_message(message(kind, count, type, to, tag, comm), to, NULL, begin_ns);                            \
		return code;                                                                                           \
	}

#define ISEND(name, kind)                                                                                              \
	int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,               \
		       MPI_Request *request)                                                                           \
	{                                                                                                              \
		uint64_t begin_ns = now_ns();                                                                          \
		int code = PMPI_##name(buffer, count, type, to, tag, comm, request);                                   \
                                                                                                                       \
		add_message(message(kind, count, type, to, tag, comm), to, request, begin_ns);                         \
		return code;                                                                                           \
	}

#define SEND_INIT(name, kind)                                                                                          \
	int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,               \
		       MPI_Request *request)                                                                           \
	{                                                                                                              \
		int code = PMPI_##name(buffer, count, type, to, tag, comm, request);                                   \
		struct trace_record record = message(kind, count, type, to, tag, comm);                                \
                                                                                                                       \
		if (recorder.on && to != MPI_PROC_NULL)                                                                \
			add_request(*request, &record, true);                                                          \
		return code;                                                                                           \
	}

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
	uint64_t begin_ns = now_ns();
	MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
	int code = PMPI_Recv(buffer, count, type, from, tag, comm, seen);

	add_message(message(CALL_RECEIVE, count, type, seen->MPI_SOURCE, seen->MPI_TAG, comm), from, NULL, begin_ns);
	return code;
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	uint64_t begin_ns = now_ns();
	int code = PMPI_Irecv(buffer, count, type, from, tag, comm, request);

	add_message(message(CALL_RECEIVE, count, type, from, tag, comm), from, request, begin_ns);
	return code;
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	int code = PMPI_Recv_init(buffer, count, type, from, tag, comm, request);
	struct trace_record record = message(CALL_RECEIVE, count, type, from, tag, comm);

	if (recorder.on && from != MPI_PROC_NULL)
		add_request(*request, &record, true);
	return code;
}

/* A started persistent request is like a new one. */
static void add_start(MPI_Request request, uint64_t begin_ns, bool first)
{
	uint32_t at = hash_table_first(&recorder.table, key_of(request));
	struct trace_record record = {.kind = CALL_WAIT};

	if (at != HASH_TABLE_NONE) {
		record = recorder.requests[hash_table_value(&recorder.table, at)].record;
		record.request = hash_table_value(&recorder.table, at);
	}
	if (first)
		add_timed(record, begin_ns);
	else if (record.request)
		add_inner(record);
}

int MPI_Start(MPI_Request *request)
{
	uint64_t begin_ns = now_ns();
	int code = PMPI_Start(request);

	add_start(*request, begin_ns, true);
	return code;
}

int MPI_Startall(int count, MPI_Request requests[])
{
	uint64_t begin_ns = now_ns();
	int code = PMPI_Startall(count, requests);

	for (int i = 0; i < count; i++)
		add_start(requests[i], begin_ns, i == 0);
	return code;
}

int MPI_Request_free(MPI_Request *request)
{
	forget_request(*request);
	return PMPI_Request_free(request);
}

/* Both halves begin together, and the call ends with the later one. */
static void add_halves(struct trace_record sent, int to, struct trace_record received, int from, uint64_t begin_ns)
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
			add_timed(record, begin_ns);
		else
			add_inner(record);
		first = false;
	}
	if (first)
		add_nothing(begin_ns);
}

int MPI_Sendrecv(const void *send_buffer, int send_count, MPI_Datatype send_type, int to, int send_tag,
		 void *receive_buffer, int receive_count, MPI_Datatype receive_type, int from, int receive_tag,
		 MPI_Comm comm, MPI_Status *status)
{
	uint64_t begin_ns = now_ns();
	MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
	int code = PMPI_Sendrecv(send_buffer, send_count, send_type, to, send_tag, receive_buffer, receive_count,
				 receive_type, from, receive_tag, comm, seen);

	add_halves(message(CALL_SEND, send_count, send_type, to, send_tag, comm), to,
		   message(CALL_RECEIVE, receive_count, receive_type, seen->MPI_SOURCE, seen->MPI_TAG, comm), from,
		   begin_ns);
	return code;
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int to, int send_tag, int from, int receive_tag,
			 MPI_Comm comm, MPI_Status *status)
{
	uint64_t begin_ns = now_ns();
	MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
	int code = PMPI_Sendrecv_replace(buffer, count, type, to, send_tag, from, receive_tag, comm, seen);

	add_halves(message(CALL_SEND, count, type, to, send_tag, comm), to,
		   message(CALL_RECEIVE, count, type, seen->MPI_SOURCE, seen->MPI_TAG, comm), from, begin_ns);
	return code;
}

/* ---- waits and tests ---- */

/* Copies of the requests before a call that clears them, and statuses that the caller may not want. */
struct several {
	MPI_Request *before;
	MPI_Status *statuses;
	bool own;
};

static struct several several(int count, const MPI_Request *requests, MPI_Status *statuses)
{
	size_t items = count > 0 ? (size_t)count : 1;
	struct several copy = {.before = malloc(items * sizeof *copy.before), .statuses = statuses};

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

static void add_poll(uint64_t begin_ns)
{
	if (!recorder.on)
		return;
	recorder.header->polls++;
	recorder.header->polls_ns += now_ns() - begin_ns;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	uint64_t begin_ns = now_ns();
	MPI_Request before = *request;
	MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
	int code = PMPI_Wait(request, seen);

	add_completion(before, seen, begin_ns, true);
	return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	uint64_t begin_ns = now_ns();
	MPI_Request before = *request;
	MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
	int code = PMPI_Test(request, flag, seen);

	if (*flag && before != MPI_REQUEST_NULL)
		add_completion(before, seen, begin_ns, true);
	else
		add_poll(begin_ns);
	return code;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses)
{
	uint64_t begin_ns = now_ns();
	struct several copy = several(count, requests, statuses);
	int code = PMPI_Waitall(count, requests, copy.statuses);

	for (int i = 0; i < count; i++)
		add_completion(copy.before[i], &copy.statuses[i], begin_ns, i == 0);
	release(&copy);
	return code;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status *statuses)
{
	uint64_t begin_ns = now_ns();
	struct several copy = several(count, requests, statuses);
	int code = PMPI_Testall(count, requests, flag, copy.statuses);

	for (int i = 0; *flag && i < count; i++)
		add_completion(copy.before[i], &copy.statuses[i], begin_ns, i == 0);
	if (!*flag)
		add_poll(begin_ns);
	release(&copy);
	return code;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	uint64_t begin_ns = now_ns();
	struct several copy = several(count, requests, MPI_STATUSES_IGNORE);
	MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
	int code = PMPI_Waitany(count, requests, index, seen);

	add_completion(*index == MPI_UNDEFINED ? MPI_REQUEST_NULL : copy.before[*index], seen, begin_ns, true);
	release(&copy);
	return code;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	uint64_t begin_ns = now_ns();
	struct several copy = several(count, requests, MPI_STATUSES_IGNORE);
	MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
	int code = PMPI_Testany(count, requests, index, flag, seen);

	if (*flag && *index != MPI_UNDEFINED)
		add_completion(copy.before[*index], seen, begin_ns, true);
	else
		add_poll(begin_ns);
	release(&copy);
	return code;
}

static void add_some(const struct several *copy, int done, const int *indices, uint64_t begin_ns)
{
	for (int i = 0; done != MPI_UNDEFINED && i < done; i++)
		add_completion(copy->before[indices[i]], &copy->statuses[i], begin_ns, i == 0);
	if (done == MPI_UNDEFINED || done == 0)
		add_poll(begin_ns);
}

int MPI_Waitsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
	uint64_t begin_ns = now_ns();
	struct several copy = several(count, requests, statuses);
	int code = PMPI_Waitsome(count, requests, done, indices, copy.statuses);

	add_some(&copy, *done, indices, begin_ns);
	release(&copy);
	return code;
}

int MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
	uint64_t begin_ns = now_ns();
	struct several copy = several(count, requests, statuses);
	int code = PMPI_Testsome(count, requests, done, indices, copy.statuses);

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
	return bytes_of(sum, type);
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
	return buffer == MPI_IN_PLACE ? bytes_of(other_count, other_type) : bytes_of(count, type);
}

#define COLLECTIVE(name, iname, kind, parameters, arguments, bytes, root)                                              \
	int MPI_##name(parameters, MPI_Comm comm)                                                                      \
	{                                                                                                              \
		uint64_t begin_ns = now_ns();                                                                          \
		int code = PMPI_##name(arguments, comm);                                                               \
                                                                                                                       \
		add_collective(kind, bytes, root, comm, NULL, begin_ns);                                               \
		return code;                                                                                           \
	}                                                                                                              \
	int MPI_##iname(parameters, MPI_Comm comm, MPI_Request *request)                                               \
	{                                                                                                              \
		uint64_t begin_ns = now_ns();                                                                          \
		int code = PMPI_##iname(arguments, comm, request);                                                     \
                                                                                                                       \
		add_collective(kind, bytes, root, comm, request, begin_ns);                                            \
		return code;                                                                                           \
	}

int MPI_Barrier(MPI_Comm comm)
{
	uint64_t begin_ns = now_ns();
	int code = PMPI_Barrier(comm);

	add_collective(CALL_BARRIER, 0, 0, comm, NULL, begin_ns);
	return code;
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	uint64_t begin_ns = now_ns();
	int code = PMPI_Ibarrier(comm, request);

	add_collective(CALL_BARRIER, 0, 0, comm, request, begin_ns);
	return code;
}

COLLECTIVE(Bcast, Ibcast, CALL_BROADCAST, WORDS(void *buffer, int count, MPI_Datatype type, int root),
	   WORDS(buffer, count, type, root), bytes_of(count, type), root)
COLLECTIVE(Reduce, Ireduce, CALL_REDUCE,
	   WORDS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation, int root),
	   WORDS(from, to, count, type, operation, root), bytes_of(count, type), root)
COLLECTIVE(Allreduce, Iallreduce, CALL_ALLREDUCE,
	   WORDS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation),
	   WORDS(from, to, count, type, operation), bytes_of(count, type), 0)
COLLECTIVE(Scan, Iscan, CALL_SCAN, WORDS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation),
	   WORDS(from, to, count, type, operation), bytes_of(count, type), 0)
COLLECTIVE(Exscan, Iexscan, CALL_SCAN,
	   WORDS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation),
	   WORDS(from, to, count, type, operation), bytes_of(count, type), 0)
COLLECTIVE(Gather, Igather, CALL_GATHER,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
		 int root),
	   WORDS(from, count, type, to, to_count, to_type, root), own_part(from, count, type, to_count, to_type), root)
COLLECTIVE(Gatherv, Igatherv, CALL_GATHER,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, const int counts[], const int places[],
		 MPI_Datatype to_type, int root),
	   WORDS(from, count, type, to, counts, places, to_type, root),
	   from == MPI_IN_PLACE ? 0 : bytes_of(count, type), root)
COLLECTIVE(Scatter, Iscatter, CALL_SCATTER,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
		 int root),
	   WORDS(from, count, type, to, to_count, to_type, root), own_part(to, to_count, to_type, count, type), root)
COLLECTIVE(Scatterv, Iscatterv, CALL_SCATTER,
	   WORDS(const void *from, const int counts[], const int places[], MPI_Datatype type, void *to, int to_count,
		 MPI_Datatype to_type, int root),
	   WORDS(from, counts, places, type, to, to_count, to_type, root),
	   to == MPI_IN_PLACE ? 0 : bytes_of(to_count, to_type), root)
COLLECTIVE(Allgather, Iallgather, CALL_ALLGATHER,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type),
	   WORDS(from, count, type, to, to_count, to_type), bytes_of(to_count, to_type), 0)
COLLECTIVE(Allgatherv, Iallgatherv, CALL_ALLGATHER,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, const int counts[], const int places[],
		 MPI_Datatype to_type),
	   WORDS(from, count, type, to, counts, places, to_type), mean(counts, to_type, comm), 0)
COLLECTIVE(Alltoall, Ialltoall, CALL_ALLTOALL,
	   WORDS(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type),
	   WORDS(from, count, type, to, to_count, to_type), bytes_of(to_count, to_type), 0)
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
	   WORDS(from, to, count, type, operation), bytes_of(count, type), 0)

/* ---- communicators: made by all members of the old one together ---- */

static void add_made(MPI_Comm old, const MPI_Comm *made, uint64_t begin_ns)
{
	uint32_t count = recorder.communicator_count;

	add_collective(CALL_BARRIER, 0, 0, old, NULL, begin_ns);
	add_communicator(*made);
	if (recorder.communicator_count > count)
		add_members();
}

#define MAKER(name, parameters, arguments)                                                                             \
	int MPI_##name(MPI_Comm comm, parameters, MPI_Comm *made)                                                      \
	{                                                                                                              \
		uint64_t begin_ns = now_ns();                                                                          \
		int code = PMPI_##name(comm, arguments, made);                                                         \
                                                                                                                       \
		add_made(comm, made, begin_ns);                                                                        \
		return code;                                                                                           \
	}

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
	uint64_t begin_ns = now_ns();
	int code = PMPI_Comm_dup(comm, made);

	add_made(comm, made, begin_ns);
	return code;
}

int MPI_Comm_free(MPI_Comm *comm)
{
	uint16_t number = number_of(*comm);

	/* The handle may be used again for another one. */
	if (recorder.on && number != UINT16_MAX)
		recorder.communicators[number].handle = MPI_COMM_NULL;
	return PMPI_Comm_free(comm);
}

/* ---- what is not modelled ---- */

#define UNMODELLED(name, parameters, arguments)                                                                        \
	int name(parameters)                                                                                           \
	{                                                                                                              \
		uint64_t begin_ns = now_ns();                                                                          \
		int code = P##name(arguments);                                                                         \
                                                                                                                       \
		add_other(OTHER_##name, begin_ns);                                                                     \
		return code;                                                                                           \
	}

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
