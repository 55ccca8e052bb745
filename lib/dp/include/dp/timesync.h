/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PTP stamps by a port's own clock, taken by the NIC as a frame passes the MAC (IEEE 1588 annex; DPDK's timesync API).
 * For each direction a NIC keeps one stamp until it is read, usually of PTP event frames only: so send one frame, read
 * its stamp, then send the next. For the control thread, or the one lcore that owns the port.
 */
#ifndef DP_TIMESYNC_H
#define DP_TIMESYNC_H

#include <base/error.h>
#include <base/stamp.h>
#include <dp/packet.h>
#include <dp/port.h>

/* Call it after dp_port_start(). Returns 0, or -errno with err set; -ENOTSUP if the driver has no PTP clock. */
int dp_timesync_enable(const struct dp_port *port, struct error *err);
void dp_timesync_disable(const struct dp_port *port);

/* Asks for a transmit stamp of this packet. */
static inline void dp_timesync_mark(struct dp_packet *packet)
{
	dp_mbuf(packet)->ol_flags |= RTE_MBUF_F_TX_IEEE1588_TMST;
}

/*
 * Returns the stamp of the last marked packet, on CLOCK_NIC; it is invalid until the NIC has it. Reading clears it in
 * the NIC.
 */
struct stamp dp_timesync_transmitted(const struct dp_port *port);

/* Returns the stamp of a received packet; it is invalid if the NIC took none, or still has `previous` (not cleared). */
struct stamp dp_timesync_received(const struct dp_port *port, const struct dp_packet *packet, struct stamp previous);

#endif
