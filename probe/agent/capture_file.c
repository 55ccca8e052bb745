/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/agent/agent.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <injector/pcapng/pcapng.h>

struct capture_file {
	struct agent *agent;
	FILE *out;
	uint64_t written;
	atomic_bool stop;
	pthread_t thread;
};

static void write_frames(struct capture_file *file)
{
	struct agent_frame frame;

	for (; agent_take_frame(file->agent, &frame); file->written++)
		pcapng_write_frame(file->out, &(struct pcapng_frame){.wall_ns = (uint64_t)frame.at.ns,
								     .outbound = frame.outbound,
								     .captured = frame.captured,
								     .length = frame.length,
								     .bytes = frame.bytes});
}

static void *run(void *context)
{
	const struct timespec nap = {.tv_nsec = 5 * NS_PER_MS};
	struct capture_file *file = context;

	while (!atomic_load(&file->stop)) {
		write_frames(file);
		nanosleep(&nap, NULL);
	}
	return NULL;
}

struct capture_file *capture_file_start(struct agent *agent, FILE *out, struct error *err)
{
	struct capture_file *file = calloc(1, sizeof *file);
	int code;

	if (!file) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	file->agent = agent;
	file->out = out;
	pcapng_write_header(out, AGENT_FRAME_BYTES);
	code = pthread_create(&file->thread, NULL, run, file);
	if (!code)
		return file;
	error_set(err, code, "cannot start a thread for the capture: %s", strerror(code));
	free(file);
	return NULL;
}

void capture_file_stop(struct capture_file *file)
{
	struct agent_summary summary;

	if (!file)
		return;
	atomic_store(&file->stop, true);
	pthread_join(file->thread, NULL);
	write_frames(file);
	agent_summarise(file->agent, &summary);
	pcapng_write_totals(file->out, &(struct pcapng_totals){.wall_ns = (uint64_t)ns_now_wall().v,
							       .seen = file->written + summary.frames_dropped,
							       .lost = summary.frames_dropped});
	free(file);
}
