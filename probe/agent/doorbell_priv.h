/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Linux can do for an af_packet port that DPDK 22.11's driver cannot: let the process sleep until a probe is
 * there, and tell when it arrived. A second packet socket on the interface takes copies of STAMP packets with the
 * kernel's receive stamp (SO_TIMESTAMPNS); its filter, and one put on the driver's own socket, keep other traffic
 * away from both. UDP sockets that swallow everything keep the kernel from answering "port unreachable" when the
 * address is its own. One thread.
 */
#ifndef PROBE_DOORBELL_PRIV_H
#define PROBE_DOORBELL_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <probe/rtt/frame.h>

struct doorbell;

/* driver_socket: borrowed, -1 = none. NULL with err set. */
struct doorbell *doorbell_open(const char *interface, uint16_t udp_port, int driver_socket, struct error *err);
void doorbell_close(struct doorbell *doorbell); /* NULL is legal */

/*
 * Holds UDP `port` of `address` in the kernel. 1 = held; 0 = the address is not the kernel's (nothing to do, and ARP
 * is ours to answer); -EADDRINUSE = another program has the port.
 */
int doorbell_hold_port(struct doorbell *doorbell, uint32_t address, uint16_t port, struct error *err);

/* Sleeps until a packet is there, a signal comes or `timeout` passes. */
void doorbell_wait(struct doorbell *doorbell, struct ns timeout);

/* Takes in the stamps that have come; call before doorbell_stamp(). */
void doorbell_drain(struct doorbell *doorbell);
/* The wall-clock stamp of a STAMP frame; false if there is none (any more). */
bool doorbell_stamp(const struct doorbell *doorbell, const struct frame *frame, struct ns *arrived_at);

#endif
