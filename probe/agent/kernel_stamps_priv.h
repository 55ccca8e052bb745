/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services of Linux for an af_packet port that DPDK 22.11's driver lacks: waking the process when a packet arrives, and
 * timestamps of arrivals and departures. A second packet socket on the interface takes copies of STAMP packets with the
 * kernel's receive timestamp (SO_TIMESTAMPNS); a filter on it and on the driver's own socket keeps other traffic away
 * from both. UDP sockets that discard everything keep the kernel from answering "port unreachable" where the address is
 * its own. One thread.
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

/* driver_socket: borrowed, -1 = none. departures: kernel_stamps_departures() will be used. NULL with err set. */
struct kernel_stamps *kernel_stamps_open(const char *interface, uint16_t udp_port, int driver_socket, bool departures,
					 struct error *err);
void kernel_stamps_close(struct kernel_stamps *stamps); /* NULL is legal */

/*
 * Attaches the filter: UDP from or to `port`; for the driver also ARP, neighbour discovery and ICMP time exceeded;
 * nothing that leaves. 0 or -1 with errno.
 */
int kernel_stamps_filter(int socket_fd, uint16_t port, bool driver);

/*
 * Holds UDP `port` of `address` in the kernel. 1 = held; 0 = the address is not the kernel's (nothing to do, and ARP
 * is ours to answer); -EADDRINUSE = another program has the port.
 */
int kernel_stamps_hold_port(struct kernel_stamps *stamps, ip_address address, uint16_t port, struct error *err);

/* Sleeps until a packet is there, a signal comes or `timeout` passes. */
void kernel_stamps_wait(struct kernel_stamps *stamps, struct ns timeout);

/* Reads the timestamps received so far; call it before kernel_stamps_find(). */
void kernel_stamps_drain(struct kernel_stamps *stamps);

/*
 * Passes on the STAMP frames sent since the last call, headers and base packet, with the kernel's timestamp at the
 * driver of the interface. On a veth pair that is before dp_transmit() returns.
 */
struct kernel_departure {
	const struct frame *frame;
	const uint8_t *bytes; /* of the frame */
	size_t captured, length;
	struct stamp at; /* CLOCK_WALL */
};

typedef void kernel_stamps_left(void *context, const struct kernel_departure *departure);

void kernel_stamps_departures(struct kernel_stamps *stamps, kernel_stamps_left *left, void *context);
/* True if departures are available. */
bool kernel_stamps_has_departures(const struct kernel_stamps *stamps);

struct kernel_arrival {
	struct stamp at;  /* CLOCK_WALL; invalid where there is no timestamp (any more) */
	bool no_checksum; /* the kernel knows that its sender left the checksum unfinished (TP_STATUS_CSUMNOTREADY) */
};

/* The arrival of a STAMP frame. */
struct kernel_arrival kernel_stamps_find(const struct kernel_stamps *stamps, const struct frame *frame);

#endif
