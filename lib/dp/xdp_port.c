/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_priv.h"

#include <errno.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>

struct xdp_port {
	const char *interface;
	int index, fd;                /* fd: for ioctl() */
	_Atomic unsigned int mtu;     /* 0 = unknown */
	struct xdp_port_counts count; /* written by the polling lcore only */
	void *queue, *driver_queue;   /* what DPDK hands to transmit(): this structure; and to the driver */
	eth_tx_burst_t driver_transmit;
};

static bool ask(const struct xdp_port *port, unsigned long question, struct ifreq *request)
{
	snprintf(request->ifr_name, sizeof request->ifr_name, "%s", port->interface);
	return ioctl(port->fd, question, request) == 0;
}

/* The index differs if another interface has got the name of a deleted one. */
static bool is_running(const struct xdp_port *port)
{
	const int running = IFF_UP | IFF_RUNNING;
	struct ifreq request = {0};

	return ask(port, SIOCGIFFLAGS, &request) && (request.ifr_flags & running) == running &&
	       ask(port, SIOCGIFINDEX, &request) && request.ifr_ifindex == port->index;
}

static bool is_too_long(const struct rte_mbuf *packet, unsigned int mtu)
{
	const struct rte_ether_hdr *header = rte_pktmbuf_mtod(packet, const struct rte_ether_hdr *);
	bool tagged = header->ether_type == RTE_BE16(RTE_ETHER_TYPE_VLAN);

	return mtu && packet->pkt_len > mtu + RTE_ETHER_HDR_LEN + (tagged ? RTE_VLAN_HLEN : 0);
}

static uint16_t transmit(void *queue, struct rte_mbuf **packets, uint16_t count)
{
	struct xdp_port *port = queue;
	unsigned int mtu = atomic_load_explicit(&port->mtu, memory_order_relaxed);
	uint16_t done = 0;

	if (count > 0 && !is_running(port)) {
		port->count.tx_link_down += count;
		rte_pktmbuf_free_bulk(packets, count);
		return count;
	}
	do {
		uint16_t end = done, sent;

		while (end < count && !is_too_long(packets[end], mtu))
			end++;
		sent = port->driver_transmit(port->driver_queue, packets + done, end - done);
		port->count.refused += end - done - sent;
		done += sent;
		if (done < end)
			break;
		for (; done < count && is_too_long(packets[done], mtu); done++) {
			port->count.tx_mtu++;
			rte_pktmbuf_free(packets[done]);
		}
	} while (done < count);
	return done;
}

struct xdp_port *xdp_port_open(const char *interface, struct error *err)
{
	struct xdp_port *port = calloc(1, sizeof *port);

	if (!port) {
		error_set(err, ENOMEM, "%s: out of memory", interface);
		return NULL;
	}
	port->interface = interface;
	port->index = (int)if_nametoindex(interface);
	port->queue = port;
	port->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (port->fd >= 0)
		return port;
	error_set(err, errno, "%s: cannot watch its link: %s", interface, strerror(errno));
	free(port);
	return NULL;
}

void xdp_port_install(struct xdp_port *port, uint16_t id)
{
	struct rte_eth_fp_ops *functions = &rte_eth_fp_ops[id];

	xdp_port_look(port);
	port->driver_queue = functions->txq.data[0];
	port->driver_transmit = functions->tx_pkt_burst;
	functions->txq.data = &port->queue;
	functions->tx_pkt_burst = transmit;
}

struct xdp_port_counts xdp_port_look(struct xdp_port *port)
{
	atomic_store_explicit(&port->mtu, dp_interface_mtu(port->interface), memory_order_relaxed);
	return port->count;
}

void xdp_port_close(struct xdp_port *port)
{
	if (!port)
		return;
	close(port->fd);
	free(port);
}
