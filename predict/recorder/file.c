/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace of this rank. The file is mapped into memory, so that what was recorded survives the end of the process by
 * any signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "recorder_priv.h"

enum { CHUNK_RECORDS = 1 << 17 };
#define CHUNK_BYTES ((size_t)CHUNK_RECORDS * sizeof(struct trace_record))

static struct {
	bool on;
	int file;
	struct trace_header *header;
	struct trace_record *chunk;
	uint32_t used; /* of the chunk */
	uint64_t chunks, last_ns, start_ns;
} trace;

static __thread bool is_own_thread;

uint64_t recorder_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool recorder_is_on(void)
{
	if (!trace.on)
		return false;
	if (!is_own_thread)
		trace.header->several_threads = 1;
	return is_own_thread;
}

void recorder_give_up(const char *what)
{
	if (trace.on)
		fprintf(stderr, "nomora trace: rank %u: %s: %s; the recording ends here\n", trace.header->rank, what,
			strerror(errno));
	trace.on = false;
}

static bool next_chunk(void)
{
	off_t at = TRACE_HEADER_BYTES + (off_t)(trace.chunks * CHUNK_BYTES);

	if (trace.chunk)
		munmap(trace.chunk, CHUNK_BYTES);
	/* Blocks that are allocated now cannot be missing later, when a store would end the program. */
	errno = posix_fallocate(trace.file, at, (off_t)CHUNK_BYTES);
	trace.chunk = errno ? MAP_FAILED : mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, trace.file, at);
	if (trace.chunk == MAP_FAILED) {
		trace.chunk = NULL;
		recorder_give_up("cannot enlarge the trace");
		return false;
	}
	trace.chunks++;
	trace.used = 0;
	return true;
}

void recorder_append(const struct trace_record *record)
{
	if (!trace.on || (trace.used == CHUNK_RECORDS && !next_chunk()))
		return;
	trace.chunk[trace.used++] = *record;
	__atomic_store_n(&trace.header->records, trace.header->records + 1, __ATOMIC_RELEASE);
}

void recorder_add(struct trace_record record, uint64_t begin_ns)
{
	uint64_t end_ns = recorder_now_ns(), gap_ns = begin_ns - trace.last_ns, duration_ns = end_ns - begin_ns;

	if (gap_ns > UINT32_MAX) {
		recorder_append(&(struct trace_record){.kind = TRACE_PAUSE, .bytes = gap_ns});
		gap_ns = 0;
	}
	record.gap_ns = (uint32_t)gap_ns;
	record.duration_ns = duration_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)duration_ns;
	recorder_append(&record);
	if (duration_ns > UINT32_MAX)
		recorder_append(&(struct trace_record){
			.kind = TRACE_PAUSE, .flags = TRACE_NO_TIME, .bytes = duration_ns - UINT32_MAX});
	trace.last_ns = end_ns;
}

void recorder_add_poll(uint64_t begin_ns)
{
	trace.header->polls++;
	trace.header->polls_ns += recorder_now_ns() - begin_ns;
}

bool recorder_open(const char *folder, int rank, int ranks)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/rank-%06d.trace", folder, rank);
	trace.file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (trace.file >= 0 && ftruncate(trace.file, TRACE_HEADER_BYTES) == 0)
		trace.header = mmap(NULL, TRACE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, trace.file, 0);
	if (!trace.header || trace.header == MAP_FAILED) {
		fprintf(stderr, "nomora trace: %s: %s; rank %d is not recorded\n", path, strerror(errno), rank);
		return false;
	}
	*trace.header = (struct trace_header){
		.magic = TRACE_MAGIC, .version = TRACE_VERSION, .rank = (uint32_t)rank, .ranks = (uint32_t)ranks};
	gethostname(trace.header->host, sizeof trace.header->host - 1);
	is_own_thread = trace.on = true;
	trace.start_ns = trace.last_ns = recorder_now_ns();
	return next_chunk();
}

void recorder_close(void)
{
	if (!recorder_is_on())
		return;
	trace.header->total_ns = recorder_now_ns() - trace.start_ns;
	trace.on = false;
	munmap(trace.chunk, CHUNK_BYTES);
	if (ftruncate(trace.file, TRACE_HEADER_BYTES + (off_t)(trace.header->records * sizeof(struct trace_record))) !=
	    0)
		perror("nomora trace");
	close(trace.file);
}
