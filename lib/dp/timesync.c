/* SPDX-License-Identifier: BSD-3-Clause */
#include <dp/timesync.h>

#include <string.h>
#include <time.h>

static struct stamp from_timespec(const struct timespec *at)
{
	return stamp_at(CLOCK_NIC, at->tv_sec * NS_PER_S + at->tv_nsec);
}

int dp_timesync_enable(const struct dp_port *port, struct error *err)
{
	int status = rte_eth_timesync_enable(dp_port_id(port));

	if (status)
		return error_set(err, -status, "port %u has no PTP clock that its driver can use: %s", dp_port_id(port),
				 strerror(-status));
	return 0;
}

void dp_timesync_disable(const struct dp_port *port)
{
	rte_eth_timesync_disable(dp_port_id(port));
}

struct stamp dp_timesync_transmitted(const struct dp_port *port)
{
	struct timespec at;

	if (rte_eth_timesync_read_tx_timestamp(dp_port_id(port), &at) != 0)
		return (struct stamp){.clock = CLOCK_NIC};
	return from_timespec(&at);
}

struct stamp dp_timesync_received(const struct dp_port *port, const struct dp_packet *packet, struct stamp previous)
{
	const struct rte_mbuf *mbuf = dp_mbuf(packet);
	struct stamp stamp;
	struct timespec at;

	if (!(mbuf->ol_flags & RTE_MBUF_F_RX_IEEE1588_TMST) ||
	    rte_eth_timesync_read_rx_timestamp(dp_port_id(port), &at, mbuf->timesync) != 0)
		return (struct stamp){.clock = CLOCK_NIC};
	stamp = from_timespec(&at);
	stamp.valid = !previous.valid || stamp.ns != previous.ns;
	return stamp;
}
