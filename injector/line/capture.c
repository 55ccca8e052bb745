/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/line/capture.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <injector/line/line.h>

#include <injector/pcapng/pcapng.h>

#include "line_priv.h"

/* LOOK_NS: period of the writer thread. A ring of 65536 records is full after 6.5 ms at 10 million frames a second. */
enum { LOOK_NS = 1000000, PORTS = 2 };

struct injector_capture {
	struct capture_ring rings[INJECTOR_DIRECTIONS];
	struct dp_clock clock; /* owned by the writer thread */
	FILE *file;
	char *path;
	pthread_t thread;
	bool started, finished;
	_Atomic bool stop;
	/* Written by the writer thread. Other threads only display them, so relaxed reads are enough. */
	_Atomic uint64_t written[PORTS];   /* [port]: frames that are in the file for certain */
	_Atomic uint64_t unwritten[PORTS]; /* [port]: frames lost because a write failed */
	_Atomic int write_error;           /* -errno */
	uint64_t pending[PORTS];           /* [port]: frames in the stream's buffer, not yet in the file */
	off_t good_bytes;                  /* length of the file up to the last frame that is in it for certain */
};

struct capture_ring *capture_ring_of(struct injector_capture *capture, unsigned int direction)
{
	return &capture->rings[direction];
}

static const struct capture_record *peek(struct capture_ring *ring)
{
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&ring->head, memory_order_acquire))
		return NULL;
	return &ring->records[tail & (CAPTURE_RECORDS - 1)];
}

static void count(_Atomic uint64_t counters[PORTS], uint64_t pending[PORTS])
{
	for (unsigned int p = 0; p < PORTS; p++) {
		atomic_fetch_add_explicit(&counters[p], pending[p], memory_order_relaxed);
		pending[p] = 0;
	}
}

/* Truncates the file to good_bytes, and counts the frames in the stream's buffer as unwritten. */
static void give_up(struct injector_capture *capture, int status)
{
	atomic_store(&capture->write_error, status);
	count(capture->unwritten, capture->pending);
	__fpurge(capture->file);
	if (ftruncate(fileno(capture->file), capture->good_bytes) == 0)
		fseeko(capture->file, capture->good_bytes, SEEK_SET);
}

/*
 * Flushes the stream's buffer, and counts the frames in it as written. `status`: 0, or the error of an earlier write.
 * If `status` is an error or flushing fails, calls give_up().
 */
static void settle(struct injector_capture *capture, int status)
{
	if (!status && fflush(capture->file) != 0)
		status = -errno;
	if (status) {
		give_up(capture, status);
		return;
	}
	count(capture->written, capture->pending);
	capture->good_bytes = ftello(capture->file);
}

static int write_record(struct injector_capture *capture, const struct capture_record *record)
{
	const struct pcapng_frame frame = {
		.wall_ns = (uint64_t)dp_clock_wall(&capture->clock, record->tsc).v,
		.interface = record->port,
		.outbound = record->outbound,
		.captured = record->captured,
		.length = record->length,
		.bytes = record->bytes,
	};

	capture->pending[record->port]++;
	return pcapng_write_frame(capture->file, &frame);
}

/* Writes the records of both rings, older ones first. */
static void drain(struct injector_capture *capture)
{
	int status = 0;

	for (;;) {
		const struct capture_record *first = peek(&capture->rings[0]), *second = peek(&capture->rings[1]);
		bool take_first = first && (!second || (int64_t)(second->tsc - first->tsc) >= 0);
		const struct capture_record *record = take_first ? first : second;
		struct capture_ring *ring = &capture->rings[take_first ? 0 : 1];

		if (!record)
			break;
		if (status || capture->write_error)
			capture->pending[record->port]++;
		else
			status = write_record(capture, record);
		atomic_store_explicit(&ring->tail, atomic_load_explicit(&ring->tail, memory_order_relaxed) + 1,
				      memory_order_release);
	}
	if (capture->write_error)
		count(capture->unwritten, capture->pending);
	else if (status || capture->pending[0] + capture->pending[1] > 0)
		settle(capture, status);
}

static void *write_loop(void *argument)
{
	struct injector_capture *capture = argument;
	struct timespec pause = {.tv_nsec = LOOK_NS};

	while (!atomic_load(&capture->stop)) {
		drain(capture);
		nanosleep(&pause, NULL);
	}
	drain(capture);
	return NULL;
}

static void free_capture(struct injector_capture *capture)
{
	for (unsigned int i = 0; i < INJECTOR_DIRECTIONS; i++)
		free(capture->rings[i].records);
	if (capture->file)
		fclose(capture->file); /* cannot fail: the stream's buffer is empty */
	free(capture->path);
	free(capture);
}

/* Removes the file, which has no frames, unless it is a device or a pipe. */
static void remove_file(const struct injector_capture *capture)
{
	struct stat info;

	if (fstat(fileno(capture->file), &info) == 0 && S_ISREG(info.st_mode))
		unlink(capture->path);
}

/* Writes the header now, so that a full disk is reported before any packet passes. */
static int open_file(struct injector_capture *capture)
{
	int status;

	capture->file = fopen(capture->path, "wbe");
	if (!capture->file)
		return -errno;
	setvbuf(capture->file, NULL, _IOFBF, 1 << 20);
	status = pcapng_write_header(capture->file, CAPTURE_SNAP_BYTES);
	if (!status && fflush(capture->file) != 0)
		status = -errno;
	capture->good_bytes = ftello(capture->file);
	if (status) {
		__fpurge(capture->file);
		remove_file(capture);
	}
	return status;
}

struct injector_capture *injector_capture_create(const char *path, const struct dp_clock *clock, struct error *err)
{
	struct injector_capture *capture = calloc(1, sizeof *capture);
	bool whole = capture;

	if (capture) {
		capture->clock = *clock;
		capture->path = strdup(path);
		whole = capture->path;
	}
	for (unsigned int i = 0; whole && i < INJECTOR_DIRECTIONS; i++) {
		capture->rings[i].records = calloc(CAPTURE_RECORDS, sizeof(struct capture_record));
		whole = capture->rings[i].records;
	}
	if (whole)
		return capture;
	error_set(err, ENOMEM, "no memory for the capture");
	if (capture)
		free_capture(capture);
	return NULL;
}

int injector_capture_start(struct injector_capture *capture, struct error *err)
{
	int status = open_file(capture);

	if (status)
		return error_set(err, -status, "%s: cannot create the capture: %s", capture->path, strerror(-status));
	status = -pthread_create(&capture->thread, NULL, write_loop, capture);
	capture->started = !status;
	if (!status)
		return 0;
	remove_file(capture);
	return error_set(err, -status, "%s: cannot start the capture: %s", capture->path, strerror(-status));
}

static uint64_t lost_at(const struct injector_capture *capture, unsigned int port)
{
	uint64_t lost = atomic_load_explicit(&capture->unwritten[port], memory_order_relaxed);

	for (unsigned int i = 0; i < INJECTOR_DIRECTIONS; i++)
		lost += atomic_load_explicit(&capture->rings[i].lost[port], memory_order_relaxed);
	return lost;
}

/*
 * Appends the numbers of frames that passed each port and of those that are missing in the file. If that fails, the
 * file still ends with its last whole frame.
 */
static void write_totals(struct injector_capture *capture)
{
	int status = 0;

	for (unsigned int p = 0; !status && p < PORTS; p++) {
		uint64_t lost = lost_at(capture, p);

		status =
			pcapng_write_totals(capture->file, &(struct pcapng_totals){.wall_ns = (uint64_t)ns_now_wall().v,
										   .interface = p,
										   .seen = capture->written[p] + lost,
										   .lost = lost});
	}
	settle(capture, status);
}

int injector_capture_finish(struct injector_capture *capture, struct error *err)
{
	if (!capture || !capture->started)
		return 0;
	if (!capture->finished) {
		capture->finished = true;
		atomic_store(&capture->stop, true);
		pthread_join(capture->thread, NULL);
		write_totals(capture);
	}
	if (!capture->write_error)
		return 0;
	return error_set(err, -capture->write_error, "%s: the capture is incomplete: %s", capture->path,
			 strerror(-capture->write_error));
}

int injector_capture_close(struct injector_capture *capture, struct error *err)
{
	int status = injector_capture_finish(capture, err);

	if (capture)
		free_capture(capture);
	return status;
}

int injector_capture_failed(const struct injector_capture *capture)
{
	return atomic_load_explicit(&capture->write_error, memory_order_relaxed);
}

const char *injector_capture_path(const struct injector_capture *capture)
{
	return capture->path;
}

uint64_t injector_capture_lost(const struct injector_capture *capture)
{
	return lost_at(capture, 0) + lost_at(capture, 1);
}

uint64_t injector_capture_written(const struct injector_capture *capture)
{
	return atomic_load_explicit(&capture->written[0], memory_order_relaxed) +
	       atomic_load_explicit(&capture->written[1], memory_order_relaxed);
}
