/* SPDX-License-Identifier: BSD-3-Clause */
/* The parent's side of the transfer agents on a lab's hosts. */
#include <lab/transfer.h>

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/text_stream.h>

#include "lab_priv.h"

enum { FIRST_CLASS = 16 };

struct transfers {
	const struct lab *lab;
	uint32_t count;
	struct transfer *all;
	uint32_t *generation;
	pid_t pids[LAB_HOSTS_MAXIMUM];
	int controls[LAB_HOSTS_MAXIMUM]; /* -1 = none */
};

static int start_agent(struct transfers *t, int host, struct error *err)
{
	struct agent_message ready;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return error_set(err, errno, "cannot start an agent: %s", strerror(errno));
	t->pids[host] = fork();
	if (t->pids[host] == 0) {
		for (int i = 0; i < host; i++)
			close(t->controls[i]);
		close(ends[0]);
		transfer_agent_run(t->lab->hosts[host].netns, ends[1], t->count);
	}
	close(ends[1]);
	t->controls[host] = ends[0];
	if (t->pids[host] < 0 || recv(ends[0], &ready, sizeof ready, 0) != (ssize_t)sizeof ready)
		return error_set(err, EIO, "the agent of host %s did not start", t->lab->hosts[host].name);
	return 0;
}

struct transfers *transfers_create(const struct lab *lab, uint32_t count, struct error *err)
{
	struct transfers *t = calloc(1, sizeof *t);

	if (t) {
		t->lab = lab;
		t->count = count;
		for (int i = 0; i < LAB_HOSTS_MAXIMUM; i++)
			t->controls[i] = -1;
		t->all = calloc(count + 1u, sizeof *t->all);
		t->generation = calloc(count + 1u, sizeof *t->generation);
	}
	if (!t || !t->all || !t->generation) {
		transfers_destroy(t);
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	for (int i = 0; i < lab->host_count; i++) {
		if (start_agent(t, i, err) != 0) {
			transfers_destroy(t);
			return NULL;
		}
	}
	return t;
}

void transfers_kill_host(struct transfers *t, int host)
{
	if (t->controls[host] < 0)
		return;
	kill(t->pids[host], SIGKILL);
	while (waitpid(t->pids[host], NULL, 0) < 0 && errno == EINTR)
		;
	close(t->controls[host]);
	t->controls[host] = -1;
}

void transfers_destroy(struct transfers *t)
{
	if (!t)
		return;
	for (int i = 0; i < LAB_HOSTS_MAXIMUM; i++)
		transfers_kill_host(t, i);
	free(t->all);
	free(t->generation);
	free(t);
}

void transfers_set_hosts(struct transfers *t, uint32_t number, int from, int to)
{
	t->all[number].from = from;
	t->all[number].to = to;
}

const struct transfer *transfers_get(const struct transfers *t, uint32_t number)
{
	return &t->all[number];
}

static void print_class(FILE *out, uint32_t number, double MBps)
{
	double bits = links_wire_bits(MBps);
	double burst_bytes = links_burst_bytes(bits);

	fprintf(out,
		"class replace dev eth0 parent 1:1 classid 1:%x htb rate %.0fbit ceil %.0fbit burst %.0f cburst %.0f\n",
		FIRST_CLASS + number, bits, bits, burst_bytes, burst_bytes);
}

int transfers_set_rates(struct transfers *t, const double *rate_MBps, struct error *err)
{
	char *line = NULL;
	size_t bytes = 0;
	FILE *out = text_stream_open(&line, &bytes);
	int code;

	if (!out)
		return error_set(err, ENOMEM, "out of memory");
	/* The script runs tc for all hosts at the same time and fails if tc fails for one of them. */
	for (int host = 0; host < t->lab->host_count; host++) {
		if (t->controls[host] < 0)
			continue;
		fprintf(out, "tc -n %s -batch - <<'END' & p%d=$!\n", t->lab->hosts[host].netns, host);
		for (uint32_t i = 0; i < t->count; i++) {
			if (t->all[i].from == host && t->all[i].to != host && rate_MBps[i] > 0)
				print_class(out, i, rate_MBps[i]);
		}
		fputs("END\n", out);
	}
	for (int host = 0; host < t->lab->host_count; host++) {
		if (t->controls[host] >= 0)
			fprintf(out, "wait $p%d || exit 1\n", host);
	}
	fclose(out);
	code = line ? links_run(line, err) : error_set(err, ENOMEM, "out of memory");
	free(line);
	return code;
}

static void send_message(struct transfers *t, int host, const struct agent_message *message)
{
	if (t->controls[host] >= 0)
		while (send(t->controls[host], message, sizeof *message, MSG_NOSIGNAL) < 0 && errno == EINTR)
			;
}

int transfers_start(struct transfers *t, uint32_t number, uint64_t bytes, struct error *err)
{
	struct transfer *transfer = &t->all[number];
	struct agent_message message = {.kind = AGENT_START,
					.number = number,
					.generation = ++t->generation[number],
					.priority = 1u << 16 | (FIRST_CLASS + number),
					.bytes = bytes};

	if (t->controls[transfer->from] < 0)
		return error_set(err, EHOSTDOWN, "host %s has failed", t->lab->hosts[transfer->from].name);
	snprintf(message.address, sizeof message.address, "%s", t->lab->hosts[transfer->to].address);
	transfer->bytes = bytes;
	transfer->acknowledged = 0;
	transfer->state = TRANSFER_RUNNING;
	transfer->started = ns_now_monotonic();
	send_message(t, transfer->from, &message);
	return 0;
}

void transfers_cancel(struct transfers *t, uint32_t number)
{
	struct agent_message message = {.kind = AGENT_CANCEL, .number = number};

	t->generation[number]++;
	send_message(t, t->all[number].from, &message);
	send_message(t, t->all[number].to, &message);
	t->all[number].state = TRANSFER_IDLE;
}

static void take_in(struct transfers *t, int host, const struct agent_message *message)
{
	struct transfer *transfer = &t->all[message->number];

	if (message->number >= t->count || message->generation != t->generation[message->number] ||
	    transfer->state != TRANSFER_RUNNING)
		return;
	if (message->kind == AGENT_PROGRESS || message->kind == AGENT_DONE)
		transfer->acknowledged = message->bytes;
	if (message->kind == AGENT_DONE || message->kind == AGENT_FAILED) {
		transfer->state = message->kind == AGENT_DONE ? TRANSFER_DONE : TRANSFER_FAILED;
		transfer->ended = message->at;
		transfer->reporter = host;
	}
}

int transfers_poll(struct transfers *t, struct ns timeout, struct error *err)
{
	struct pollfd polls[LAB_HOSTS_MAXIMUM];
	struct agent_message message;

	for (int i = 0; i < LAB_HOSTS_MAXIMUM; i++)
		polls[i] = (struct pollfd){.fd = t->controls[i], .events = POLLIN};
	if (poll(polls, LAB_HOSTS_MAXIMUM, (int)(timeout.v / 1000000)) < 0 && errno != EINTR)
		return error_set(err, errno, "cannot wait for the agents: %s", strerror(errno));
	for (int i = 0; i < t->lab->host_count; i++) {
		ssize_t count = -1;

		while (t->controls[i] >= 0 && polls[i].revents &&
		       (count = recv(t->controls[i], &message, sizeof message, MSG_DONTWAIT)) ==
			       (ssize_t)sizeof message)
			take_in(t, i, &message);
		if (t->controls[i] >= 0 && count == 0)
			return error_set(err, EPIPE, "the agent of host %s ended", t->lab->hosts[i].name);
	}
	return 0;
}
