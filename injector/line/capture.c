/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/capture.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <injector/line.h>

#include "capture_priv.h"
#include "pcapng_priv.h"

/* The thread looks this often: 65536 records last 6.5 ms at 10 million frames a second. */
enum { LOOK_NS = 1000000 };

struct injector_capture {
	struct capture_ring rings[INJECTOR_DIRECTIONS];
	struct dp_clock clock; /* the writer thread's */
	FILE *file;
	char *path;
	pthread_t thread;
	_Atomic bool stop;
	_Atomic uint64_t written;
	int write_error; /* the thread's until it is joined */
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

/* Writes what both rings hold, older records first. */
static void drain(struct injector_capture *capture)
{
	for (;;) {
		const struct capture_record *first = peek(&capture->rings[0]), *second = peek(&capture->rings[1]);
		bool take_first = first && (!second || (int64_t)(second->tsc - first->tsc) >= 0);
		const struct capture_record *record = take_first ? first : second;
		struct capture_ring *ring = &capture->rings[take_first ? 0 : 1];
		struct pcapng_frame frame;

		if (!record)
			return;
		frame = (struct pcapng_frame){
			.wall_ns = (uint64_t)dp_clock_wall(&capture->clock, record->tsc).v,
			.interface = record->port,
			.outbound = record->outbound,
			.captured = record->captured,
			.length = record->length,
			.bytes = record->bytes,
		};
		if (!capture->write_error)
			capture->write_error = pcapng_write_frame(capture->file, &frame);
		atomic_store_explicit(&ring->tail, atomic_load_explicit(&ring->tail, memory_order_relaxed) + 1,
				      memory_order_release);
		atomic_fetch_add_explicit(&capture->written, 1, memory_order_relaxed);
	}
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
		fclose(capture->file);
	free(capture->path);
	free(capture);
}

struct injector_capture *injector_capture_open(const char *path, const struct dp_clock *clock, struct error *err)
{
	struct injector_capture *capture = calloc(1, sizeof *capture);
	int status;

	if (!capture) {
		error_set(err, ENOMEM, "no memory for the capture");
		return NULL;
	}
	capture->clock = *clock;
	capture->path = strdup(path);
	for (unsigned int i = 0; i < INJECTOR_DIRECTIONS; i++) {
		capture->rings[i].records = calloc(CAPTURE_RECORDS, sizeof(struct capture_record));
		if (!capture->rings[i].records || !capture->path) {
			error_set(err, ENOMEM, "no memory for the capture");
			free_capture(capture);
			return NULL;
		}
	}
	capture->file = fopen(path, "wbe");
	if (!capture->file) {
		error_set(err, errno, "%s: cannot create the capture: %s", path, strerror(errno));
		free_capture(capture);
		return NULL;
	}
	setvbuf(capture->file, NULL, _IOFBF, 1 << 20);
	status = pcapng_write_header(capture->file, CAPTURE_SNAP_BYTES);
	if (!status)
		status = -pthread_create(&capture->thread, NULL, write_loop, capture);
	if (status) {
		error_set(err, -status, "%s: cannot start the capture: %s", path, strerror(-status));
		free_capture(capture);
		return NULL;
	}
	return capture;
}

int injector_capture_close(struct injector_capture *capture, struct error *err)
{
	int status = 0;

	if (!capture)
		return 0;
	atomic_store(&capture->stop, true);
	pthread_join(capture->thread, NULL);
	if (!capture->write_error && fflush(capture->file) != 0)
		capture->write_error = -errno;
	if (capture->write_error)
		status = error_set(err, -capture->write_error, "%s: the capture is not whole: %s", capture->path,
				   strerror(-capture->write_error));
	free_capture(capture);
	return status;
}

uint64_t injector_capture_lost(const struct injector_capture *capture)
{
	uint64_t lost = 0;

	for (unsigned int i = 0; i < INJECTOR_DIRECTIONS; i++)
		lost += atomic_load_explicit(&capture->rings[i].lost, memory_order_relaxed);
	return lost;
}

uint64_t injector_capture_written(const struct injector_capture *capture)
{
	return atomic_load_explicit(&capture->written, memory_order_relaxed);
}
