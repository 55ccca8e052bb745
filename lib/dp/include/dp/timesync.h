/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PTP time stamps that the NIC takes by its own clock as a frame passes the MAC (IEEE 1588 annex; DPDK's timesync API).
 * For each direction, a NIC holds one stamp until it is read. So send one frame, read its stamp, then send the next.
 * Most NICs stamp PTP event frames only. Call these functions in the control thread, or in the one lcore that owns the
 * port.
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
 * Returns the transmit stamp of the packet marked last, on CLOCK_NIC; the stamp is invalid until the NIC has taken it.
 * Reading a stamp clears it in the NIC.
 */
struct stamp dp_timesync_transmitted(const struct dp_port *port);

/*
 * Returns the stamp of a received packet. It is invalid if the NIC took no stamp. It is also invalid if it equals
 * `previous`, the stamp read before it: the NIC then still holds the old stamp.
 */
struct stamp dp_timesync_received(const struct dp_port *port, const struct dp_packet *packet, struct stamp previous);

#endif
