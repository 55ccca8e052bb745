/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <lab/transfer.h>

enum {
	PORT = 7700,
	CHUNK_BYTES = 16384,
	/*
	 * Small, so that a silent receiver is detected soon; but large enough for the data of 10 ms at 10 MB/s, in case
	 * this process runs late.
	 */
	SEND_BUFFER_BYTES = 131072,
	USER_TIMEOUT_MS = 400,
	TICK_MS = 5,
	REPORT_MS = 50,
	NICE = -15,
};

/*
 * The end of a transfer on this host. The first bytes of a connection (struct header) tell the receiver which transfer
 * it is.
 */
struct end {
	int fd; /* -1 = none */
	bool sends;
	/*
	 * Of a sender: the message AGENT_START. Of a receiver: only number and generation, when the header has been
	 * received.
	 */
	struct agent_message order;
	size_t header;  /* bytes of the header sent or received */
	uint64_t moved; /* bytes of payload written to, or read from, the socket */
	struct ns last; /* of a sender: time of its last report; of a receiver: time of the last data */
};

struct agent {
	int control, listener;
	uint32_t count;
	struct end *ends; /* 2 x count: senders by transfer number, then receivers in any order */
	struct pollfd *polls;
};

struct header {
	uint32_t number, generation;
};

static const char zeros[CHUNK_BYTES];

static bool enter_netns(const char *netns)
{
	char path[128];
	int fd;
	bool entered;

	snprintf(path, sizeof path, "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	entered = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
	if (fd >= 0)
		close(fd);
	return entered;
}

static void say(const struct agent *agent, enum agent_message_kind kind, const struct end *end, uint64_t bytes)
{
	struct agent_message message = {.kind = kind, .bytes = bytes, .at = ns_now_monotonic()};

	if (end) {
		message.number = end->order.number;
		message.generation = end->order.generation;
	}
	while (send(agent->control, &message, sizeof message, 0) < 0 && errno == EINTR)
		;
}

static void drop(struct end *end)
{
	if (end->fd >= 0)
		close(end->fd);
	end->fd = -1;
}

static int listen_on(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, SOMAXCONN) != 0)
		return -1;
	return fd;
}

/*
 * Selects the congestion control cubic or, without it, reno. The default may be one that paces packets, but only the
 * traffic class is to set the rate.
 */
static void set_options(int fd, uint32_t priority)
{
	int buffer = SEND_BUFFER_BYTES, timeout = USER_TIMEOUT_MS, class = (int)priority;

	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) != 0)
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
	setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &class, sizeof class);
}

static void start_sender(struct agent *agent, const struct agent_message *order)
{
	struct end *end = &agent->ends[order->number];
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};

	drop(end);
	*end = (struct end){.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
			    .sends = true,
			    .order = *order,
			    .last = ns_now_monotonic()};
	if (end->fd < 0 || inet_pton(AF_INET, order->address, &address.sin_addr) != 1)
		goto failed;
	set_options(end->fd, order->priority);
	if (connect(end->fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EINPROGRESS)
		return;
failed:
	say(agent, AGENT_FAILED, end, 0);
	drop(end);
}

static void accept_receiver(struct agent *agent)
{
	int fd = accept4(agent->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	for (uint32_t i = agent->count; i < 2 * agent->count && fd >= 0; i++) {
		if (agent->ends[i].fd >= 0)
			continue;
		agent->ends[i] = (struct end){.fd = fd, .last = ns_now_monotonic()};
		return;
	}
	if (fd >= 0)
		close(fd);
}

/* Returns the number of bytes of payload that the other host has acknowledged. */
static uint64_t acknowledged(const struct end *end)
{
	int unsent = 0;

	ioctl(end->fd, SIOCOUTQ, &unsent);
	return end->moved > (uint64_t)unsent ? end->moved - (uint64_t)unsent : 0;
}

static void fail_end(struct agent *agent, struct end *end)
{
	say(agent, AGENT_FAILED, end, end->sends ? acknowledged(end) : 0);
	drop(end);
}

static void send_some(struct agent *agent, struct end *end)
{
	struct header header = {end->order.number, end->order.generation};

	for (;;) {
		uint64_t left = end->order.bytes - end->moved;
		ssize_t count;

		if (end->header < sizeof header)
			count = send(end->fd, (char *)&header + end->header, sizeof header - end->header, MSG_NOSIGNAL);
		else if (left > 0)
			count = send(end->fd, zeros, left < CHUNK_BYTES ? left : CHUNK_BYTES, MSG_NOSIGNAL);
		else
			return;
		if (count < 0) {
			if (errno != EAGAIN && errno != ENOTCONN && errno != EINTR)
				fail_end(agent, end);
			return;
		}
		if (end->header < sizeof header)
			end->header += (size_t)count;
		else
			end->moved += (uint64_t)count;
	}
}

static void receive_some(struct agent *agent, struct end *end)
{
	static char sink[65536];
	struct header header;

	for (;;) {
		ssize_t count;

		if (end->header < sizeof header) {
			count = recv(end->fd, (char *)&end->order.number + end->header, sizeof header - end->header, 0);
			end->header += count > 0 ? (size_t)count : 0;
		} else {
			count = recv(end->fd, sink, sizeof sink, 0);
			end->moved += count > 0 ? (uint64_t)count : 0;
		}
		if (count < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (count < 0 && end->header == sizeof header)
			fail_end(agent, end);
		if (count <= 0) {
			drop(end);
			return;
		}
		end->last = ns_now_monotonic();
	}
}

/*
 * Reports the progress or the end of a sender, and the failure of a receiver that has received nothing for
 * TRANSFER_SILENCE_MS.
 */
static void look_after(struct agent *agent, struct end *end, struct ns now)
{
	int64_t age_ns = now.v - end->last.v;

	if (!end->sends) {
		if (age_ns > TRANSFER_SILENCE_MS * INT64_C(1000000) && end->header == sizeof(struct header))
			fail_end(agent, end);
		return;
	}
	if (end->moved == end->order.bytes && end->header == sizeof(struct header) &&
	    acknowledged(end) == end->order.bytes) {
		say(agent, AGENT_DONE, end, end->order.bytes);
		drop(end);
	} else if (age_ns > REPORT_MS * INT64_C(1000000)) {
		say(agent, AGENT_PROGRESS, end, acknowledged(end));
		end->last = now;
	}
}

static void obey(struct agent *agent)
{
	struct agent_message message;
	ssize_t count;

	while ((count = recv(agent->control, &message, sizeof message, MSG_DONTWAIT)) == (ssize_t)sizeof message) {
		if (message.kind == AGENT_START && message.number < agent->count)
			start_sender(agent, &message);
		for (uint32_t i = 0; i < 2 * agent->count && message.kind == AGENT_CANCEL; i++) {
			if (agent->ends[i].fd >= 0 && agent->ends[i].order.number == message.number)
				drop(&agent->ends[i]);
		}
	}
	if (count == 0)
		_exit(0); /* the parent has ended */
}

static void turn(struct agent *agent)
{
	struct ns now;

	agent->polls[0] = (struct pollfd){.fd = agent->control, .events = POLLIN};
	agent->polls[1] = (struct pollfd){.fd = agent->listener, .events = POLLIN};
	for (uint32_t i = 0; i < 2 * agent->count; i++) {
		struct end *end = &agent->ends[i];
		bool writes = end->sends && (end->moved < end->order.bytes || end->header < sizeof(struct header));

		agent->polls[2 + i] = (struct pollfd){.fd = end->fd,
						      .events = writes       ? POLLOUT
								: end->sends ? 0
									     : POLLIN};
	}
	poll(agent->polls, 2 + 2 * agent->count, TICK_MS);
	if (agent->polls[0].revents)
		obey(agent);
	if (agent->polls[1].revents)
		accept_receiver(agent);
	now = ns_now_monotonic();
	for (uint32_t i = 0; i < 2 * agent->count; i++) {
		struct end *end = &agent->ends[i];

		if (end->fd < 0)
			continue;
		if (end->fd == agent->polls[2 + i].fd && agent->polls[2 + i].revents) {
			if (end->sends && (agent->polls[2 + i].revents & (POLLERR | POLLHUP)))
				fail_end(agent, end);
			else if (end->sends)
				send_some(agent, end);
			else
				receive_some(agent, end);
		}
		if (end->fd >= 0)
			look_after(agent, end, now);
	}
}

void transfer_agent_run(const char *netns, int control, uint32_t count)
{
	struct agent agent = {.control = control, .count = count};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	setpriority(PRIO_PROCESS, 0, NICE); /* other programs must not delay the measured transfers */
	agent.ends = calloc(2 * count + 1u, sizeof *agent.ends);
	agent.polls = calloc(2 * count + 3u, sizeof *agent.polls);
	if (!agent.ends || !agent.polls || !enter_netns(netns))
		_exit(1);
	for (uint32_t i = 0; i < 2 * count; i++)
		agent.ends[i].fd = -1;
	agent.listener = listen_on();
	if (agent.listener < 0)
		_exit(1);
	say(&agent, AGENT_READY, NULL, 0);
	for (;;)
		turn(&agent);
}
