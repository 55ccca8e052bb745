/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PTP stamps of a port's own clock, taken by the NIC as a frame passes the MAC (IEEE 1588 annex; DPDK's timesync API).
 * A NIC keeps one stamp in each direction until it is read, usually of PTP event frames only: send one, read its stamp,
 * send the next. Control thread, or the one lcore that owns the port.
 */
#ifndef DP_TIMESYNC_H
#define DP_TIMESYNC_H

#include <base/error.h>
#include <base/stamp.h>
#include <dp/packet.h>
#include <dp/port.h>

/* After dp_port_start(). -ENOTSUP with err set where the driver has no PTP clock. */
int dp_timesync_enable(const struct dp_port *port, struct error *err);
void dp_timesync_disable(const struct dp_port *port);

/* Asks for a transmit stamp of this packet. */
static inline void dp_timesync_mark(struct dp_packet *packet)
{
	dp_mbuf(packet)->ol_flags |= RTE_MBUF_F_TX_IEEE1588_TMST;
}

/* The stamp of the newest marked packet, on CLOCK_NIC; invalid until the NIC has it. Clears it in the NIC. */
struct stamp dp_timesync_transmitted(const struct dp_port *port);

/* The stamp of a received packet; invalid where the NIC took none, or where it still holds `previous` (not cleared). */
struct stamp dp_timesync_received(const struct dp_port *port, const struct dp_packet *packet, struct stamp previous);

#endif
