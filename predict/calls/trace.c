/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of nomora trace. */
#include <predict/calls/trace.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/hash_table.h>

#include "calls_priv.h"

enum { COMMUNICATORS_MAXIMUM = 1 << 16 };
static const size_t bytes_maximum = (size_t)1 << 40;

struct known {
	uint32_t group;
	uint64_t id; /* equal in all ranks */
};

struct reader {
	struct mpi_run *run;
	struct mpi_rank *rank;
	struct trace_header header;
	const char *records;
	uint64_t at; /* record */
	uint64_t now_ns;
	struct known *known; /* by the number of a communicator */
	size_t known_count, known_capacity;
	struct hash_table open; /* request of a receive from any source to its call */
	struct error *err;
};

static int fail(const struct reader *reader, const char *field, const char *expected, int64_t found)
{
	return error_set(reader->err, EINVAL, "%s: record %llu: %s: found %lld, expected %s", reader->rank->file,
			 (unsigned long long)reader->at + 1, field, (long long)found, expected);
}

static struct trace_record record_at(const struct reader *reader, uint64_t at)
{
	struct trace_record record;

	memcpy(&record, reader->records + at * sizeof record, sizeof record);
	return record;
}

/* Adds the next communicator; on success the run owns `members`. */
static int add_known(struct reader *reader, uint32_t *members, uint32_t size)
{
	struct known *known = array_grow(reader->known, reader->known_count, &reader->known_capacity, sizeof *known);
	uint32_t group = known ? mpi_find_group(reader->run, members, size) : UINT32_MAX, nth = 0;

	if (known)
		reader->known = known;
	if (group == UINT32_MAX) {
		free(members);
		return -ENOMEM;
	}
	for (size_t i = 0; i < reader->known_count; i++)
		nth += known[i].group == group;
	known[reader->known_count++] = (struct known){group, hash_mix((uint64_t)group << 32 | nth)};
	return 0;
}

static int add_predefined(struct reader *reader)
{
	uint32_t ranks = reader->run->rank_count, *world = malloc(ranks * sizeof *world), *self = malloc(sizeof *self);
	int code;

	if (!world || !self) {
		free(world);
		free(self);
		return -ENOMEM;
	}
	for (uint32_t rank = 0; rank < ranks; rank++)
		world[rank] = rank;
	*self = reader->header.rank;
	code = add_known(reader, world, ranks);
	if (code < 0)
		free(self);
	return code < 0 ? code : add_known(reader, self, 1);
}

static int read_communicator(struct reader *reader, const struct trace_record *record)
{
	uint64_t size = record->bytes, rows = (size + TRACE_MEMBERS - 1) / TRACE_MEMBERS;
	uint32_t *members, rank = reader->header.rank;
	bool own = false;

	if (record->communicator != reader->known_count || reader->known_count >= COMMUNICATORS_MAXIMUM)
		return fail(reader, "communicator", "the number after that of the one before", record->communicator);
	if (size > reader->run->rank_count || rows > reader->header.records - reader->at - 1)
		return fail(reader, "communicator", "at most all ranks as members", (int64_t)size);
	members = malloc((rows ? rows : 1) * TRACE_MEMBERS * sizeof *members);
	if (!members)
		return -ENOMEM;
	memcpy(members, reader->records + (reader->at + 1) * sizeof *record, rows * sizeof *record);
	for (uint64_t i = 0; i < size; i++) {
		own = own || members[i] == rank;
		if (members[i] >= reader->run->rank_count)
			own = false, i = size;
	}
	/* An intercommunicator has no members; its calls are refused. */
	if (size > 0 && !own) {
		free(members);
		return fail(reader, "communicator", "members that are ranks, and this rank among them", (int64_t)size);
	}
	reader->at += rows;
	return add_known(reader, members, (uint32_t)size);
}

static int check(const struct reader *reader, const struct trace_record *record)
{
	uint32_t group = record->communicator < reader->known_count ? reader->known[record->communicator].group : 0;
	int64_t most = record->kind < CALL_WAIT ? reader->run->rank_count : reader->run->groups[group].size;

	if (record->communicator >= reader->known_count || reader->run->groups[group].size == 0)
		return fail(reader, "communicator",
			    "one that was made by a call which is recorded; intercommunicators are not supported",
			    record->communicator);
	if (record->kind == CALL_WAIT || (record->kind == CALL_RECEIVE && record->peer == -1 && record->request))
		return 0;
	if (record->peer < 0 || record->peer >= most)
		return fail(reader, "peer", "a rank", record->peer);
	return 0;
}

static int add_call(struct reader *reader, const struct trace_record *record, uint64_t begin_ns)
{
	const struct known *known = &reader->known[record->communicator];
	struct mpi_call call = {
		.begin_us = (double)begin_ns / 1000,
		.end_us = (double)reader->now_ns / 1000,
		.bytes = record->bytes,
		.request = record->request,
		.communicator = known->id,
		.group = known->group,
		.peer = record->peer,
		.tag = record->tag,
		.line = (uint32_t)reader->at + 1,
		.count = record->request != 0,
		.kind = record->kind,
	};

	return mpi_add_call(reader->rank, call);
}

/* What a receive from any source got is known when it is over. */
static int resolve(struct reader *reader, const struct trace_record *record)
{
	uint32_t at = hash_table_first(&reader->open, record->request);
	struct mpi_call *call;

	if (at == HASH_TABLE_NONE)
		return 0;
	call = &reader->rank->calls[hash_table_value(&reader->open, at)];
	hash_table_remove(&reader->open, at);
	if (record->peer < 0 || (uint32_t)record->peer >= reader->run->rank_count)
		return fail(reader, "peer", "the rank that was received from", record->peer);
	call->peer = record->peer;
	call->tag = record->tag;
	return 0;
}

/* A receive that was cancelled becomes a wait for nothing. */
static void cancel(struct reader *reader, uint32_t request)
{
	uint32_t at = hash_table_first(&reader->open, request);
	size_t i = reader->rank->count;

	if (at != HASH_TABLE_NONE)
		hash_table_remove(&reader->open, at);
	while (i > 0) {
		struct mpi_call *call = &reader->rank->calls[--i];

		if (call->kind != CALL_RECEIVE || call->request != request)
			continue;
		call->kind = CALL_WAIT;
		call->request = CALL_NO_REQUEST;
		call->count = 0;
		return;
	}
}

static int read_call(struct reader *reader, const struct trace_record *record, uint64_t begin_ns)
{
	int code = check(reader, record);

	if (code == 0 && record->kind == CALL_WAIT && (record->flags & TRACE_CANCELLED))
		cancel(reader, record->request);
	else if (code == 0 && record->kind == CALL_WAIT && record->request)
		code = resolve(reader, record);
	if (code < 0)
		return code;
	if (add_call(reader, record, begin_ns) < 0)
		return -ENOMEM;
	if (record->kind != CALL_RECEIVE || !record->request || (record->peer >= 0 && record->tag >= 0))
		return 0;
	return hash_table_insert(&reader->open, record->request, (uint32_t)reader->rank->count - 1);
}

static int read_record(struct reader *reader)
{
	static const char *const others[] = {
#define TRACE_NAME(name) #name,
		TRACE_OTHERS(TRACE_NAME)
#undef TRACE_NAME
	};
	struct trace_record record = record_at(reader, reader->at);
	uint64_t begin_ns = reader->now_ns + record.gap_ns;

	if (record.kind == TRACE_PAUSE && record.bytes <= (uint64_t)1 << 60) {
		reader->now_ns += record.bytes;
		if ((record.flags & TRACE_NO_TIME) && reader->rank->count > 0)
			reader->rank->calls[reader->rank->count - 1].end_us = (double)reader->now_ns / 1000;
		return 0;
	}
	if (record.kind == TRACE_COMMUNICATOR)
		return read_communicator(reader, &record);
	reader->now_ns = begin_ns + record.duration_ns;
	if (record.kind == TRACE_OTHER && record.peer >= 0 && record.peer < TRACE_OTHER_COUNT) {
		/* Without time: as a wait for nothing, which is no computation. */
		struct trace_record nothing = {.kind = CALL_WAIT};

		if (mpi_count_other(reader->run, others[record.peer], 1, record.duration_ns / 1000.) < 0 ||
		    ((record.flags & TRACE_NO_TIME) && add_call(reader, &nothing, begin_ns) < 0))
			return -ENOMEM;
		return 0;
	}
	if (record.kind >= CALL_KINDS)
		return fail(reader, "kind", "a kind of record", record.kind);
	return read_call(reader, &record, begin_ns);
}

static int read_head(struct reader *reader, const char *name, const char *data, size_t bytes)
{
	struct trace_header *header = &reader->header;
	uint32_t ranks = reader->run->rank_count;

	if (bytes < TRACE_HEADER_BYTES || memcmp(data, TRACE_MAGIC, sizeof header->magic) != 0)
		return error_set(reader->err, EINVAL, "%s: not a file of nomora trace", name);
	memcpy(header, data, sizeof *header);
	if (header->version != TRACE_VERSION)
		return error_set(reader->err, EINVAL, "%s: version %u, expected %d", name, header->version,
				 TRACE_VERSION);
	if (header->ranks != ranks || header->rank >= ranks)
		return error_set(reader->err, EINVAL,
				 "%s: rank %u of %u, but %u file%s given: one for each rank is needed", name,
				 header->rank, header->ranks, ranks, ranks == 1 ? " was" : "s were");
	if (header->records > (bytes - TRACE_HEADER_BYTES) / sizeof(struct trace_record))
		return error_set(reader->err, EINVAL, "%s: cut: it should have %llu records", name,
				 (unsigned long long)header->records);
	if (header->several_threads)
		return error_set(reader->err, ENOTSUP, "%s: several threads called MPI; only one of them is recorded",
				 name);
	reader->rank = &reader->run->ranks[header->rank];
	if (reader->rank->file)
		return error_set(reader->err, EINVAL, "%s: rank %u was in %s already", name, header->rank,
				 reader->rank->file);
	reader->rank->file = strdup(name);
	reader->records = data + TRACE_HEADER_BYTES;
	return reader->rank->file ? 0 : -ENOMEM;
}

static int read_all(struct reader *reader, const char *name, const char *data, size_t bytes)
{
	int code = read_head(reader, name, data, bytes);

	if (code == 0)
		code = add_predefined(reader);
	for (; code == 0 && reader->at < reader->header.records; reader->at++)
		code = read_record(reader);
	if (code < 0)
		return code;
	if (reader->open.count > 0)
		return error_set(reader->err, EINVAL,
				 "%s: %u receive%s from any source did not end, so that their sources are not known",
				 name, reader->open.count, reader->open.count == 1 ? "" : "s");
	reader->rank->end_us = (double)(reader->header.total_ns ? reader->header.total_ns : reader->now_ns) / 1000;
	if (reader->header.polls && mpi_count_other(reader->run, "MPI_Test without success", reader->header.polls,
						    (double)reader->header.polls_ns / 1000) < 0)
		return -ENOMEM;
	return 0;
}

int mpi_parse_trace(struct mpi_run *run, const char *name, const char *data, size_t bytes, struct error *err)
{
	struct reader reader = {.run = run, .err = err};
	int code = read_all(&reader, name, data, bytes);

	if (code == -ENOMEM)
		error_set(err, ENOMEM, "%s: out of memory", name);
	free(reader.known);
	hash_table_free(&reader.open);
	return code;
}

int mpi_read_traces(char *const *paths, uint32_t count, struct mpi_run *run, struct error *err)
{
	int code = mpi_run_init(run, count);

	if (code < 0)
		return error_set(err, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < count && code == 0; i++) {
		size_t bytes;
		char *data = file_read_all(paths[i], bytes_maximum, &bytes, err);

		code = data ? mpi_parse_trace(run, paths[i], data, bytes, err) : error_code(err, ENOMEM);
		free(data);
	}
	return code;
}

bool mpi_is_trace(const char *path)
{
	char magic[sizeof TRACE_MAGIC - 1];
	FILE *in = fopen(path, "rb");
	bool is = in && fread(magic, 1, sizeof magic, in) == sizeof magic &&
		  memcmp(magic, TRACE_MAGIC, sizeof magic) == 0;

	if (in)
		fclose(in);
	return is;
}
