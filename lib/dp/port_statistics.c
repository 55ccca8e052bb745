/* SPDX-License-Identifier: BSD-3-Clause */
/* A port's counters, from its driver, its socket and the Linux interface. */
#include <dp/port.h>

#include <rte_ethdev.h>

#include <base/ns.h>

#include "port_priv.h"

/* Longer than the stalls in which packets wait to be received. */
enum { COMPARE_NS = 200000000 };

static void count_packet_port(const struct dp_port *port, struct dp_port_statistics *statistics)
{
	const struct packet_port_counts *count = packet_port_counts(port->packet);

	*statistics = (struct dp_port_statistics){
		.rx_packets = count->rx_packets,
		.rx_bytes = count->rx_bytes,
		.rx_errors = count->rx_errors,
		.tx_packets = count->tx_packets,
		.tx_bytes = count->tx_bytes,
		.tx_errors = count->tx_errors + count->tx_link_down + count->tx_mtu,
		.tx_link_down = count->tx_link_down,
		.tx_mtu = count->tx_mtu,
	};
}

static void count_xdp(const struct dp_port *port, struct dp_port_statistics *statistics)
{
	struct xdp_port_counts count = xdp_port_look(port->xdp);

	/* The lcore may have counted more refusals since the driver's counters were read. */
	statistics->tx_errors -= RTE_MIN(statistics->tx_errors, count.refused);
	statistics->tx_errors += count.tx_link_down + count.tx_mtu;
	statistics->tx_link_down = count.tx_link_down;
	statistics->tx_mtu = count.tx_mtu;
}

static uint64_t excess(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Compares the counters with the interface's own. Packets on their way between both are no difference: what one side
 * has received must be counted by the other COMPARE_NS later, and the interface counts what is sent before we do.
 */
static void compare_interface(struct dp_port *port, const struct dp_port_statistics *statistics)
{
	uint64_t received = port->packet ? packet_port_counts(port->packet)->rx_frames
					 : statistics->rx_packets + statistics->rx_errors + statistics->rx_no_mbuf;
	struct ns now = ns_now_monotonic();
	uint64_t rx, tx;

	if (!port->interface_counts || dp_port_is_gone(port) || !dp_interface_packets(port->interface, &rx, &tx))
		return;
	received += statistics->rx_missed;
	rx -= port->interface_rx;
	port->rx_uncounted = excess(port->interface_rx_before, received) + excess(port->rx_before, rx);
	port->tx_uncounted = excess(statistics->tx_packets, tx - port->interface_tx);
	if (ns_sub(now, port->compared_at).v < COMPARE_NS)
		return;
	port->compared_at = now;
	port->interface_rx_before = rx;
	port->rx_before = received;
}

void dp_port_statistics(struct dp_port *port, struct dp_port_statistics *statistics)
{
	struct rte_eth_stats counters = {0};

	rte_eth_stats_get(port->id, &counters);
	*statistics = (struct dp_port_statistics){
		.rx_packets = counters.ipackets,
		.rx_bytes = counters.ibytes,
		.rx_missed = counters.imissed,
		.rx_errors = counters.ierrors,
		.rx_no_mbuf = counters.rx_nombuf,
		.tx_packets = counters.opackets,
		.tx_bytes = counters.obytes,
		.tx_errors = counters.oerrors,
	};
	if (port->nic)
		statistics->tx_errors += statistics->tx_link_down = nic_port_look(port->nic).tx_link_down;
	if (port->packet)
		count_packet_port(port, statistics);
	if (port->xdp)
		count_xdp(port, statistics);
	if (port->socket_fd >= 0)
		port->kernel_missed += dp_socket_missed(port->socket_fd, &port->xdp_missed_before);
	statistics->rx_missed = RTE_MAX(statistics->rx_missed, port->kernel_missed);
	compare_interface(port, statistics);
	statistics->rx_uncounted = port->rx_uncounted;
	statistics->tx_uncounted = port->tx_uncounted;
}
