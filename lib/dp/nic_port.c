/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_priv.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_ethdev.h>
#include <rte_pause.h>

struct nic_queue {
	struct nic_port *port;
	void *driver_queue; /* what the driver's burst function gets */
	uint16_t index;
	bool flushed;                  /* since the link went down; written by the polling lcore only */
	_Atomic uint64_t tx_link_down; /* written by the polling lcore only */
};

struct nic_port {
	uint16_t id, queues;
	eth_tx_burst_t driver_transmit;
	bool listens;
	struct rte_eth_link link; /* at the last event; used by EAL's interrupt thread only */
	_Atomic uint32_t link_changes;
	void **handles; /* one per queue: what DPDK hands to transmit() */
	struct nic_queue queue[];
};

/*
 * Drops packets for a link that is down. The driver's ring is emptied once: a NIC keeps its descriptors while the link
 * is down. Drivers that cannot stop a queue send what was in the ring when the link returns.
 */
static uint16_t drop(struct nic_queue *queue, struct rte_mbuf **packets, uint16_t count)
{
	uint16_t id = queue->port->id;

	if (!queue->flushed && rte_eth_dev_tx_queue_stop(id, queue->index) == 0)
		rte_eth_dev_tx_queue_start(id, queue->index);
	queue->flushed = true;
	rte_pktmbuf_free_bulk(packets, count);
	atomic_fetch_add_explicit(&queue->tx_link_down, count, memory_order_relaxed);
	return count;
}

/* The driver's interrupt keeps the state that rte_eth_link_get_nowait() reads: no access to the NIC. */
static uint16_t transmit(void *handle, struct rte_mbuf **packets, uint16_t count)
{
	struct nic_queue *queue = handle;
	struct rte_eth_link link = {0};

	if (count > 0 && rte_eth_link_get_nowait(queue->port->id, &link) == 0 && link.link_status == RTE_ETH_LINK_DOWN)
		return drop(queue, packets, count);
	queue->flushed = false;
	return queue->port->driver_transmit(queue->driver_queue, packets, count);
}

/*
 * Runs in EAL's interrupt thread. If the link has the same state as at the last event, it was down, or up, for a moment
 * in between: that is a change. But if its speed is another one, the driver only reports the speed, as net_e1000_em
 * does after the link came up.
 */
static int link_changed(uint16_t id, enum rte_eth_event_type event, void *context, void *result)
{
	struct nic_port *port = context;
	struct rte_eth_link before = port->link;

	(void)event, (void)result;
	if (rte_eth_link_get_nowait(id, &port->link) == 0 && port->link.link_status == before.link_status &&
	    port->link.link_speed != before.link_speed)
		return 0;
	atomic_fetch_add_explicit(&port->link_changes, 1, memory_order_relaxed);
	return 0;
}

struct nic_port *nic_port_open(uint16_t id, uint16_t queues, struct error *err)
{
	struct nic_port *port = calloc(1, sizeof *port + queues * sizeof port->queue[0]);

	if (port)
		port->handles = calloc(queues, sizeof port->handles[0]);
	if (!port || !port->handles) {
		free(port);
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	port->id = id;
	port->queues = queues;
	for (uint16_t q = 0; q < queues; q++) {
		port->queue[q].port = port;
		port->queue[q].index = q;
		port->handles[q] = &port->queue[q];
	}
	port->listens = rte_eth_dev_callback_register(id, RTE_ETH_EVENT_INTR_LSC, link_changed, port) == 0;
	return port;
}

void nic_port_install(struct nic_port *port)
{
	struct rte_eth_fp_ops *functions = &rte_eth_fp_ops[port->id];

	for (uint16_t q = 0; q < port->queues; q++)
		port->queue[q].driver_queue = functions->txq.data[q];
	port->driver_transmit = functions->tx_pkt_burst;
	functions->txq.data = port->handles;
	functions->tx_pkt_burst = transmit;
}

struct nic_port_counts nic_port_look(const struct nic_port *port)
{
	struct nic_port_counts counts = {.link_changes =
						 atomic_load_explicit(&port->link_changes, memory_order_relaxed)};

	for (uint16_t q = 0; q < port->queues; q++)
		counts.tx_link_down += atomic_load_explicit(&port->queue[q].tx_link_down, memory_order_relaxed);
	return counts;
}

void nic_port_close(struct nic_port *port)
{
	if (!port)
		return;
	/* -EAGAIN: the callback runs now */
	while (port->listens &&
	       rte_eth_dev_callback_unregister(port->id, RTE_ETH_EVENT_INTR_LSC, link_changed, port) == -EAGAIN)
		rte_pause();
	free(port->handles);
	free(port);
}
