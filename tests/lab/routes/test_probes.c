/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probes of links, with simulated packet sockets: one interval is one call of probes_update(). The test decides
 * which frames arrive.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <lab/routes/links.h>

#include "routes_priv.h"

enum { SOCKETS = 1000, BYTES = 64, QUEUE = 64 };

static struct lab lab;
static struct probes *probes;
static struct frame {
	unsigned char bytes[BYTES];
	size_t count;
} queues[LAB_SWITCHES_MAXIMUM][QUEUE]; /* frames that have arrived, by switch */
static size_t queued[LAB_SWITCHES_MAXIMUM];
static int sent[LAB_SWITCHES_MAXIMUM]; /* by sending switch */
/* Frames from spine1 to leaf1, and from leaf1 to spine1, that are lost; errno of sending there. */
static bool lose_down, lose_up, due = true;
static int send_errno, receive_errno = EAGAIN;

ssize_t __wrap_read(int descriptor, void *buffer, size_t bytes);
ssize_t __wrap_recv(int socket, void *buffer, size_t bytes, int flags);
ssize_t __wrap_sendto(int socket, const void *buffer, size_t bytes, int flags, const struct sockaddr *to,
		      socklen_t length);

/* Of the timer. */
ssize_t __wrap_read(int descriptor, void *buffer, size_t bytes)
{
	(void)descriptor;
	memset(buffer, 1, bytes);
	return due ? (ssize_t)bytes : -1;
}

ssize_t __wrap_recv(int socket, void *buffer, size_t bytes, int flags)
{
	int s = socket - SOCKETS;
	struct frame frame = queues[s][0];

	(void)flags;
	if (queued[s] == 0) {
		errno = receive_errno;
		return -1;
	}
	memmove(&queues[s][0], &queues[s][1], --queued[s] * sizeof frame);
	memcpy(buffer, frame.bytes, frame.count < bytes ? frame.count : bytes);
	return (ssize_t)frame.count;
}

static void deliver(int s, const void *bytes, size_t count)
{
	cr_assert(count <= BYTES && queued[s] < QUEUE);
	memcpy(queues[s][queued[s]].bytes, bytes, count);
	queues[s][queued[s]++].count = count;
}

struct sockaddr_link {
	unsigned short family, protocol;
	int port;
};

/* The interface to switch `to` has the index to + 1. Switch 0 is spine1, switch 1 leaf1, switch 2 leaf2. */
ssize_t __wrap_sendto(int socket, const void *buffer, size_t bytes, int flags, const struct sockaddr *to,
		      socklen_t length)
{
	int s = socket - SOCKETS, there = ((const struct sockaddr_link *)to)->port - 1;

	(void)flags;
	(void)length;
	sent[s]++;
	if (send_errno && s == 0 && there == 1) {
		errno = send_errno;
		return -1;
	}
	if (!(lose_down && s == 0 && there == 1) && !(lose_up && s == 1))
		deliver(there, buffer, bytes);
	return (ssize_t)bytes;
}

struct mnl_socket *socket_open(const char *netns, unsigned groups, struct error *err)
{
	(void)netns;
	(void)groups;
	(void)err;
	return NULL;
}

int socket_open_packet(const char *netns, int ethertype, int priority, struct error *err)
{
	(void)ethertype;
	(void)err;
	cr_assert_eq(priority, LAB_CONTROL_PRIORITY);
	for (int s = 0; s < lab.switch_count; s++)
		if (strcmp(lab.switches[s].netns, netns) == 0)
			return SOCKETS + s;
	return error_set(err, ENOENT, "no namespace %s", netns);
}

int socket_port(int socket, const char *name)
{
	(void)socket;
	for (int s = 0; s < lab.switch_count; s++)
		if (strcmp(lab.switches[s].name, name) == 0)
			return s + 1;
	return -ENODEV;
}

int socket_request(struct mnl_socket *socket, void *buffer, mnl_cb_t take, void *context)
{
	(void)socket;
	(void)buffer;
	(void)take;
	(void)context;
	return -ENOSYS;
}

static void open_probes(void)
{
	struct lab_spec spec = {.name = "lab0", .hosts = 2, .racks = 2, .slots = 1, .mtu_bytes = 1500, .spines = 1};
	struct error err = {0};

	cr_assert_eq(lab_plan(&spec, &lab, &err), 0, "%s", err.text);
	probes = probes_open(&lab, &err);
	cr_assert(probes, "%s", err.text);
}

static void close_probes(void)
{
	probes_close(probes);
}

TestSuite(lab_probes, .init = open_probes, .fini = close_probes);

/* The link of spine1 and a leaf, switch s. */
static int link_of(int s)
{
	for (int l = 0; l < lab.link_count; l++)
		if (lab.links[l].a >= lab.host_count &&
		    (lab.links[l].a == lab.host_count + s || lab.links[l].b == lab.host_count + s))
			return l;
	return -1;
}

static void run(int intervals)
{
	struct error err = {0};

	for (int i = 0; i < intervals; i++)
		cr_assert_eq(probes_update(probes, &err), 0, "%s", err.text);
}

static bool is_lossy(void)
{
	cr_assert_not(probes_is_lossy(probes, link_of(2)), "the other link never loses a frame");
	return probes_is_lossy(probes, link_of(1));
}

Test(lab_probes, a_frame_in_each_direction_of_links_between_switches)
{
	run(100);
	cr_assert(sent[0] == 200 && sent[1] == 100 && sent[2] == 100);
	cr_assert_not(is_lossy());
	cr_assert_geq(probes_descriptor(probes), 0, "the timer");
	due = false;
	run(1);
	cr_assert_eq(sent[0], 200, "only when the timer says so");
}

/*
 * Two lost frames of 20 make a link lossy, 10 frames after the second one was sent. It was noticed 11 frames after the
 * first was sent: 11 / 20 windows. It ends 5 windows of 20 clean frames later.
 */
static void lose_two(bool *lose, int gap)
{
	run(30);
	*lose = true;
	run(1);
	*lose = false;
	run(gap - 1);
	*lose = true;
	run(1);
	*lose = false;
	run(9);
	cr_assert_not(is_lossy());
	run(1);
}

Test(lab_probes, two_losses_in_a_window_make_a_link_lossy)
{
	lose_two(&lose_down, 1);
	cr_assert(is_lossy());
	cr_assert_float_eq(probes_notice_windows(probes, link_of(1)), 11.0 / 20, 1e-12);
	run(99);
	cr_assert(is_lossy());
	run(1);
	cr_assert_not(is_lossy());
}

Test(lab_probes, a_window_has_twenty_frames)
{
	lose_two(&lose_up, 19);
	cr_assert(is_lossy());
	cr_assert_float_eq(probes_notice_windows(probes, link_of(1)), 29.0 / 20, 1e-12);
	lose_up = true; /* a single loss prolongs it */
	run(1);
	lose_up = false;
	run(109);
	cr_assert(is_lossy());
	run(1);
	cr_assert_not(is_lossy());
}

Test(lab_probes, losses_further_apart_do_not)
{
	lose_two(&lose_down, 20);
	cr_assert_not(is_lossy());
}

/* One frame lost in each direction: neither direction has two. */
Test(lab_probes, directions_count_apart)
{
	run(30);
	lose_up = lose_down = true;
	run(1);
	lose_up = lose_down = false;
	run(60);
	cr_assert_not(is_lossy());
}

/* A full queue loses packets; an interface that is down sends none. */
Test(lab_probes, frames_that_could_not_be_sent)
{
	send_errno = ENETDOWN;
	run(60);
	cr_assert_not(is_lossy());
	send_errno = ENOBUFS;
	run(12);
	cr_assert(is_lossy());
}

Test(lab_probes, frames_without_a_carrier_do_not_count)
{
	run(30);
	lose_up = lose_down = true;
	for (int i = 0; i < 40; i++) {
		run(1);
		probes_skip(probes, link_of(1));
	}
	lose_up = lose_down = false;
	run(40);
	cr_assert_not(is_lossy());
}

/* A frame may arrive up to ten intervals after it was sent. */
static int delay_all(int intervals, bool *lossy)
{
	static struct frame late[128];
	int count = 0, at = 0;

	for (int i = 0; i < 60; i++) {
		lose_down = false;
		run(1);
		cr_assert_eq(queued[1], 1);
		late[count++] = queues[1][0];
		queued[1] = 0;
		if (count > intervals) {
			deliver(1, late[at].bytes, late[at].count);
			at++;
		}
		*lossy |= probes_is_lossy(probes, link_of(1));
	}
	return count;
}

Test(lab_probes, a_frame_may_be_late)
{
	bool lossy = false;

	delay_all(PROBES_LATE - 1, &lossy);
	cr_assert_not(lossy);
}

Test(lab_probes, a_frame_that_is_too_late_is_lost)
{
	bool lossy = false;

	delay_all(PROBES_LATE, &lossy);
	cr_assert(lossy);
}

/* Frames of other processes, of a wrong length, or at a wrong switch count for nothing. */
Test(lab_probes, foreign_frames_do_not_count)
{
	struct frame frame;

	run(30);
	for (int kind = 0; kind < 3; kind++) {
		for (int i = 0; i < 14; i++) {
			run(1);
			cr_assert_eq(queued[1], 1);
			frame = queues[1][0];
			queued[1] = 0;
			if (kind == 0)
				frame.bytes[0] ^= 1;
			if (kind == 1)
				frame.count--;
			deliver(kind == 2 ? 2 : 1, frame.bytes, frame.count);
		}
		cr_assert(probes_is_lossy(probes, link_of(1)), "kind %d", kind);
		run(120);
		cr_assert_not(is_lossy());
	}
}

Test(lab_probes, errors_of_receiving)
{
	struct error err = {0};

	receive_errno = ENETDOWN; /* the kernel reports it once when a port goes down */
	cr_assert_eq(probes_update(probes, &err), 0);
	receive_errno = ENOMEM;
	cr_assert_eq(probes_update(probes, &err), -ENOMEM);
	cr_assert_str_eq(err.text, "switch spine1: cannot receive probes: Cannot allocate memory");
}
