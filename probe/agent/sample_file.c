/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/agent/agent.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/address.h>
#include <model/rtt_samples.h>

struct sample_file {
	struct agent *agent;
	const struct peers *peers;
	FILE *out;
	atomic_bool stop;
	pthread_t thread;
};

static void write_samples(struct sample_file *file)
{
	struct agent_sample sample;

	while (agent_take_sample(file->agent, &sample)) {
		const struct peer *peer = peers_find(file->peers, sample.peer);
		char address[ADDRESS_TEXT_BYTES];

		address_print(sample.peer, address);
		rtt_samples_print(&(struct rtt_sample){.sent_at = {sample.sent_at.ns},
						       .rtt = sample.rtt,
						       .residence = sample.residence,
						       .offset = sample.offset,
						       .sequence = sample.sequence,
						       .source_port = sample.source_port,
						       .disturbed = sample.disturbed},
				  peer ? peer->name : address, file->out);
	}
}

static void *run(void *context)
{
	const struct timespec nap = {.tv_nsec = 5 * NS_PER_MS};
	struct sample_file *file = context;

	while (!atomic_load(&file->stop)) {
		write_samples(file);
		nanosleep(&nap, NULL);
	}
	return NULL;
}

struct sample_file *sample_file_start(struct agent *agent, const struct peers *peers, FILE *out, struct error *err)
{
	struct sample_file *file = calloc(1, sizeof *file);
	int code;

	if (!file) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	file->agent = agent;
	file->peers = peers;
	file->out = out;
	rtt_samples_print_head(out);
	code = pthread_create(&file->thread, NULL, run, file);
	if (!code)
		return file;
	error_set(err, code, "cannot start a thread for the samples: %s", strerror(code));
	free(file);
	return NULL;
}

void sample_file_stop(struct sample_file *file)
{
	if (!file)
		return;
	atomic_store(&file->stop, true);
	pthread_join(file->thread, NULL);
	write_samples(file);
	free(file);
}
