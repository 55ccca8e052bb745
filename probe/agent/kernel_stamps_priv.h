/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds to an af_packet port what DPDK's ports lack: the process is woken when a packet arrives, and the kernel
 * timestamps arrivals and departures. A second packet socket on the interface receives copies of STAMP packets with the
 * kernel's receive timestamp (SO_TIMESTAMPNS). A filter on this socket and on the driver's own socket rejects all other
 * traffic. If the kernel has our address, UDP sockets that discard everything keep it from answering "port
 * unreachable". One thread.
 */
#ifndef PROBE_KERNEL_STAMPS_PRIV_H
#define PROBE_KERNEL_STAMPS_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <base/stamp.h>
#include <probe/rtt/frame.h>

struct kernel_stamps;

/* driver_socket: borrowed, -1 = none. departures: enables kernel_stamps_departures(). Returns NULL with err set. */
struct kernel_stamps *kernel_stamps_open(const char *interface, uint16_t udp_port, int driver_socket, bool departures,
					 struct error *err);
void kernel_stamps_close(struct kernel_stamps *stamps); /* NULL is legal */

/*
 * Attaches a filter that accepts incoming UDP packets from or to `port` and, for the driver, also ARP, neighbour
 * discovery and ICMP time exceeded. Returns 0, or -1 with errno.
 */
int kernel_stamps_filter(int socket_fd, uint16_t port, bool driver);

/*
 * Reserves UDP `port` of `address` in the kernel. Returns 1 if it is reserved; 0 if the kernel does not have the
 * address (we must answer ARP ourselves); -EADDRINUSE if another program has the port; or another -errno.
 */
int kernel_stamps_hold_port(struct kernel_stamps *stamps, ip_address address, uint16_t port, struct error *err);

/* Sleeps until a packet can be read, a signal arrives or `timeout` has passed. */
void kernel_stamps_wait(struct kernel_stamps *stamps, struct ns timeout);

/* Reads all pending arrival timestamps; call it before kernel_stamps_find(). */
void kernel_stamps_drain(struct kernel_stamps *stamps);

/*
 * A sent STAMP frame and the time when it left. The kernel takes this timestamp in the driver of the interface; on a
 * veth pair, this is before dp_transmit() returns. kernel_stamps_departures() calls left() for each frame that was sent
 * since the previous call.
 */
struct kernel_departure {
	const struct frame *frame;
	const uint8_t *bytes;    /* the beginning of the frame: at least the headers and the base packet */
	size_t captured, length; /* number of bytes at `bytes`, and length of the whole frame */
	struct stamp at;         /* CLOCK_WALL */
};

typedef void kernel_stamps_left(void *context, const struct kernel_departure *departure);

void kernel_stamps_departures(struct kernel_stamps *stamps, kernel_stamps_left *left, void *context);
/* True if departures are available. */
bool kernel_stamps_has_departures(const struct kernel_stamps *stamps);

struct kernel_arrival {
	struct stamp at;  /* CLOCK_WALL; invalid if the kernel gave no timestamp, or if a newer packet took its slot */
	bool no_checksum; /* its sender left the checksum unfinished, as the kernel reports (TP_STATUS_CSUMNOTREADY) */
};

/* Returns the arrival of a STAMP frame. */
struct kernel_arrival kernel_stamps_find(const struct kernel_stamps *stamps, const struct frame *frame);

#endif
