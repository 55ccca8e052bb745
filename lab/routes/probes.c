/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/routes/links.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "routes_priv.h"

enum { ETHERTYPE = ETH_P_802_EX1, FRAMES_KEPT = 32 };

_Static_assert((int)PROBES_LATE < (int)FRAMES_KEPT && PROBES_PER_WINDOW < 32, "a bit for each frame");

struct frame {
	uint64_t run; /* random, so that processes on the same lab ignore each other's frames */
	uint32_t link, number;
	uint32_t end;
	uint32_t zero; /* in place of padding, whose content would be undefined */
};

struct direction {
	int port;                /* index of the interface over which this direction's frames are sent */
	int to;                  /* switch at the other end, from 0 */
	uint32_t sent, received; /* frame N is bit N modulo FRAMES_KEPT */
	uint32_t lost;           /* the lost frames among the last PROBES_PER_WINDOW judged ones; bit 0: the latest */
};

struct link_state {
	bool probed; /* true for a link between switches, on which frames are sent */
	bool lossy;
	uint32_t clean; /* number of frames judged since the last loss in either direction */
	double notice_windows;
	struct direction directions[2]; /* from end a, from end b */
};

struct probes {
	const struct lab *lab;
	int timer;
	int sockets[LAB_SWITCHES_MAXIMUM];
	struct link_state *links;
	uint64_t run;
	uint32_t number; /* number of the next frame to be sent */
};

static int open_links(struct probes *probes, struct error *err)
{
	const struct lab *lab = probes->lab;

	for (int l = 0; l < lab->link_count; l++) {
		struct link_state *state = &probes->links[l];
		int ends[] = {lab->links[l].a, lab->links[l].b};

		state->probed = ends[0] >= lab->host_count;
		for (int e = 0; e < 2 && state->probed; e++) {
			struct direction *direction = &state->directions[e];

			direction->to = ends[!e] - lab->host_count;
			direction->port =
				socket_port(probes->sockets[ends[e] - lab->host_count], lab_node_name(lab, ends[!e]));
			if (direction->port < 0)
				return error_set(err, -direction->port, "switch %s has no port '%s'",
						 lab_node_name(lab, ends[e]), lab_node_name(lab, ends[!e]));
		}
	}
	return 0;
}

static int start_timer(struct probes *probes, struct error *err)
{
	const struct timespec interval = {.tv_nsec = PROBES_INTERVAL_MS * 1000000L};
	const struct itimerspec each = {.it_interval = interval, .it_value = interval};

	probes->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (probes->timer < 0 || timerfd_settime(probes->timer, 0, &each, NULL) != 0)
		return error_set(err, errno, "cannot start a timer: %s", strerror(errno));
	return 0;
}

struct probes *probes_open(const struct lab *lab, struct error *err)
{
	struct probes *probes = calloc(1, sizeof *probes);
	int code = 0;

	if (!probes) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	*probes = (struct probes){.lab = lab, .timer = -1};
	for (int s = 0; s < LAB_SWITCHES_MAXIMUM; s++)
		probes->sockets[s] = -1;
	probes->links = calloc((size_t)lab->link_count + 1, sizeof *probes->links);
	if (!probes->links || getrandom(&probes->run, sizeof probes->run, 0) != sizeof probes->run)
		code = error_set(err, ENOMEM, "out of memory");
	for (int s = 0; s < lab->switch_count && code == 0; s++) {
		probes->sockets[s] = socket_open_packet(lab->switches[s].netns, ETHERTYPE, LAB_CONTROL_PRIORITY, err);
		code = probes->sockets[s] < 0 ? probes->sockets[s] : 0;
	}
	if (code == 0)
		code = open_links(probes, err);
	if (code == 0)
		code = start_timer(probes, err);
	if (code == 0)
		return probes;
	probes_close(probes);
	return NULL;
}

void probes_close(struct probes *probes)
{
	if (!probes)
		return;
	for (int s = 0; s < LAB_SWITCHES_MAXIMUM; s++)
		if (probes->sockets[s] >= 0)
			close(probes->sockets[s]);
	if (probes->timer >= 0)
		close(probes->timer);
	free(probes->links);
	free(probes);
}

int probes_descriptor(const struct probes *probes)
{
	return probes->timer;
}

static uint32_t bit_of(uint32_t number)
{
	return 1u << number % FRAMES_KEPT;
}

static void take(struct probes *probes, int at, const struct frame *frame)
{
	struct direction *direction;

	if (frame->run != probes->run || frame->link >= (uint32_t)probes->lab->link_count || frame->end > 1 ||
	    probes->number - frame->number > PROBES_LATE)
		return;
	direction = &probes->links[frame->link].directions[frame->end];
	if (direction->to == at)
		direction->received |= bit_of(frame->number);
}

static int receive(struct probes *probes, struct error *err)
{
	for (int s = 0; s < probes->lab->switch_count; s++) {
		struct frame frame;
		ssize_t bytes;

		while ((bytes = recv(probes->sockets[s], &frame, sizeof frame, MSG_TRUNC)) >= 0)
			if (bytes >= (ssize_t)sizeof frame)
				take(probes, s, &frame);
		/* ENETDOWN is no failure: the kernel reports it once when a port goes down. */
		if (errno != EAGAIN && errno != EINTR && errno != ENETDOWN)
			return error_set(err, errno, "switch %s: cannot receive probes: %s",
					 probes->lab->switches[s].name, strerror(errno));
	}
	return 0;
}

/* Judges, in both directions of a link, the frame that was sent PROBES_LATE frames ago. */
static void judge(struct probes *probes, struct link_state *state)
{
	uint32_t bit = bit_of(probes->number - PROBES_LATE), oldest;
	bool clean = true;

	for (int e = 0; e < 2; e++) {
		struct direction *direction = &state->directions[e];
		bool lost = direction->sent & ~direction->received & bit;

		direction->lost = (direction->lost << 1 | lost) & ((1u << PROBES_PER_WINDOW) - 1);
		clean &= !lost;
		if (state->lossy || __builtin_popcount(direction->lost) < PROBES_LOST)
			continue;
		oldest = 31 - (uint32_t)__builtin_clz(direction->lost);
		state->lossy = true;
		state->notice_windows = (double)(oldest + PROBES_LATE) / PROBES_PER_WINDOW;
	}
	state->clean = clean ? state->clean + 1 : 0;
	state->lossy &= state->clean < PROBES_CLEAN_WINDOWS * PROBES_PER_WINDOW;
}

static void send_frame(struct probes *probes, int link, int end)
{
	const struct lab_link *ends = &probes->lab->links[link];
	struct direction *direction = &probes->links[link].directions[end];
	const struct frame frame = {
		.run = probes->run, .link = (uint32_t)link, .number = probes->number, .end = (uint32_t)end};
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETHERTYPE),
				 .sll_ifindex = direction->port,
				 .sll_halen = ETH_ALEN};

	memset(to.sll_addr, 0xff, ETH_ALEN);
	direction->sent &= ~bit_of(probes->number);
	direction->received &= ~bit_of(probes->number);
	/*
	 * ENOBUFS: the port's queue is full. The frame counts as sent, and therefore as lost, because the queue drops
	 * other packets, too. A frame that cannot be sent because the port is down does not count.
	 */
	if (sendto(probes->sockets[(end == 0 ? ends->a : ends->b) - probes->lab->host_count], &frame, sizeof frame, 0,
		   (struct sockaddr *)&to, sizeof to) >= 0 ||
	    errno == ENOBUFS)
		direction->sent |= bit_of(probes->number);
}

int probes_update(struct probes *probes, struct error *err)
{
	uint64_t due;
	int code;

	/*
	 * After a stall, sends one frame, not all that were due: a frame counts as lost if it has not arrived when
	 * PROBES_LATE more have been sent, and a burst would leave it no time.
	 */
	if (read(probes->timer, &due, sizeof due) != sizeof due)
		return 0;
	code = receive(probes, err);
	if (code != 0)
		return code;
	for (int l = 0; l < probes->lab->link_count; l++) {
		judge(probes, &probes->links[l]);
		for (int e = 0; e < 2 && probes->links[l].probed; e++)
			send_frame(probes, l, e);
	}
	probes->number++;
	return 0;
}

void probes_skip(struct probes *probes, int link)
{
	for (int e = 0; e < 2; e++) {
		probes->links[link].directions[e].sent = 0;
		probes->links[link].directions[e].lost = 0;
	}
}

bool probes_is_lossy(const struct probes *probes, int link)
{
	return probes->links[link].lossy;
}

double probes_notice_windows(const struct probes *probes, int link)
{
	return probes->links[link].notice_windows;
}
