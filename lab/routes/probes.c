/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/routes/probes.h>

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

#include "socket_priv.h"

enum { ETHERTYPE = ETH_P_802_EX1, WINDOWS_OPEN = 2 };

struct frame {
	uint64_t run; /* two runs on one lab do not take each other's */
	uint32_t link, window;
	uint16_t end, place;
	uint32_t zero; /* no padding with old bytes in it */
};

/* A bit for each frame of a window. */
struct direction {
	int port; /* interface that it leaves by */
	int to;   /* switch that it leads to */
	uint32_t sent[WINDOWS_OPEN], received[WINDOWS_OPEN];
};

struct link_state {
	bool probed; /* between switches */
	bool lossy;
	uint32_t clean;      /* windows in a row */
	uint32_t skipped;    /* the newest window that does not count; 0: none */
	uint64_t first_lost; /* frame since the start, since the last clean window */
	double notice_windows;
	struct direction directions[2]; /* from end a, from b */
};

struct probes {
	const struct lab *lab;
	int timer;
	int sockets[LAB_SWITCHES_MAXIMUM];
	struct link_state *links;
	uint64_t run;
	uint32_t window, place; /* of the next frame; windows count from 1 */
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
	*probes = (struct probes){.lab = lab, .timer = -1, .window = 1};
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

static void take(struct probes *probes, int at, const struct frame *frame)
{
	struct direction *direction;

	if (frame->run != probes->run || frame->link >= (uint32_t)probes->lab->link_count || frame->end > 1 ||
	    frame->place >= PROBES_PER_WINDOW || probes->window - frame->window >= WINDOWS_OPEN)
		return;
	direction = &probes->links[frame->link].directions[frame->end];
	if (direction->to == at)
		direction->received[frame->window % WINDOWS_OPEN] |= 1u << frame->place;
}

static int receive(struct probes *probes, struct error *err)
{
	for (int s = 0; s < probes->lab->switch_count; s++) {
		struct frame frame;
		ssize_t bytes;

		while ((bytes = recv(probes->sockets[s], &frame, sizeof frame, MSG_TRUNC)) >= 0)
			if (bytes >= (ssize_t)sizeof frame)
				take(probes, s, &frame);
		/* A port that went down is reported once. */
		if (errno != EAGAIN && errno != EINTR && errno != ENETDOWN)
			return error_set(err, errno, "switch %s: cannot receive probes: %s",
					 probes->lab->switches[s].name, strerror(errno));
	}
	return 0;
}

/* Frames of a window that are lost, of the worse direction; *first: the first of them. */
static int count_lost(const struct link_state *state, uint32_t window, int *first)
{
	int worst = 0;

	*first = PROBES_PER_WINDOW;
	for (int e = 0; e < 2; e++) {
		const struct direction *direction = &state->directions[e];
		uint32_t lost = direction->sent[window % WINDOWS_OPEN] & ~direction->received[window % WINDOWS_OPEN];
		int count = __builtin_popcount(lost);

		if (count > 0 && __builtin_ctz(lost) < *first)
			*first = __builtin_ctz(lost);
		if (count > worst)
			worst = count;
	}
	return worst;
}

/* The window before this one. */
static void judge(struct probes *probes, struct link_state *state)
{
	uint32_t window = probes->window - 1;
	int first, lost = count_lost(state, window, &first);
	uint64_t now = (uint64_t)probes->window * PROBES_PER_WINDOW + probes->place;

	if (state->skipped >= window)
		lost = 0;
	if (lost == 0) {
		state->clean++;
		state->lossy &= state->clean < PROBES_CLEAN_WINDOWS;
		return;
	}
	if (state->clean > 0)
		state->first_lost = (uint64_t)window * PROBES_PER_WINDOW + (uint64_t)first;
	state->clean = 0;
	if (lost < PROBES_LOST || state->lossy)
		return;
	state->lossy = true;
	state->notice_windows = (double)(now - state->first_lost) / PROBES_PER_WINDOW;
}

static void begin_window(struct probes *probes)
{
	probes->window++;
	probes->place = 0;
	for (int l = 0; l < probes->lab->link_count; l++)
		for (int e = 0; e < 2; e++) {
			struct direction *direction = &probes->links[l].directions[e];

			direction->sent[probes->window % WINDOWS_OPEN] = 0;
			direction->received[probes->window % WINDOWS_OPEN] = 0;
		}
}

static void send_frame(struct probes *probes, int link, int end)
{
	const struct lab_link *ends = &probes->lab->links[link];
	struct direction *direction = &probes->links[link].directions[end];
	const struct frame frame = {.run = probes->run,
				    .link = (uint32_t)link,
				    .window = probes->window,
				    .end = (uint16_t)end,
				    .place = (uint16_t)probes->place};
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETHERTYPE),
				 .sll_ifindex = direction->port,
				 .sll_halen = ETH_ALEN};

	memset(to.sll_addr, 0xff, ETH_ALEN);
	/* A queue that refuses the frame loses others too; a port that is down does not count. */
	if (sendto(probes->sockets[(end == 0 ? ends->a : ends->b) - probes->lab->host_count], &frame, sizeof frame, 0,
		   (struct sockaddr *)&to, sizeof to) >= 0 ||
	    errno == ENOBUFS)
		direction->sent[probes->window % WINDOWS_OPEN] |= 1u << probes->place;
}

int probes_update(struct probes *probes, struct error *err)
{
	uint64_t due;
	int code;

	/* After a stall one frame is sent, not all that were due: a window is a number of frames. */
	if (read(probes->timer, &due, sizeof due) != sizeof due)
		return 0;
	code = receive(probes, err);
	if (code != 0)
		return code;
	if (probes->place == PROBES_PER_WINDOW)
		begin_window(probes);
	for (int l = 0; l < probes->lab->link_count && probes->place == PROBES_LATE; l++)
		judge(probes, &probes->links[l]);
	for (int l = 0; l < probes->lab->link_count; l++)
		for (int e = 0; e < 2 && probes->links[l].probed; e++)
			send_frame(probes, l, e);
	probes->place++;
	return 0;
}

void probes_skip(struct probes *probes, int link)
{
	probes->links[link].skipped = probes->window;
}

bool probes_is_lossy(const struct probes *probes, int link)
{
	return probes->links[link].lossy;
}

double probes_notice_windows(const struct probes *probes, int link)
{
	return probes->links[link].notice_windows;
}
