/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_priv.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_ethdev.h>

enum { RECEIVE, TRANSMIT, BURSTS };

/* A burst function of a port. The thread that polls the port writes the sequence: odd while the driver works. */
struct burst {
	void *handle; /* what DPDK hands to our burst function: this structure */
	void *driver_queue;
	union {
		eth_rx_burst_t receive;
		eth_tx_burst_t transmit;
	} driver;
	_Atomic uint32_t sequence;
} __attribute__((aligned(64)));

static struct burst bursts[RTE_MAX_ETHPORTS][BURSTS];

/*
 * The driver reads its flag for a connected peer after this. The fence pairs with the one in munmap(): either the
 * driver sees that the flag is cleared, or munmap() sees the odd sequence.
 */
static void enter(struct burst *burst)
{
	uint32_t sequence = atomic_load_explicit(&burst->sequence, memory_order_relaxed);

	atomic_store_explicit(&burst->sequence, sequence + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

static void leave(struct burst *burst)
{
	uint32_t sequence = atomic_load_explicit(&burst->sequence, memory_order_relaxed);

	atomic_store_explicit(&burst->sequence, sequence + 1, memory_order_release);
}

static uint16_t receive(void *handle, struct rte_mbuf **packets, uint16_t count)
{
	struct burst *burst = handle;

	enter(burst);
	count = burst->driver.receive(burst->driver_queue, packets, count);
	leave(burst);
	return count;
}

static uint16_t transmit(void *handle, struct rte_mbuf **packets, uint16_t count)
{
	struct burst *burst = handle;

	if (count == 0) /* newer drivers than that of 22.11 read the first packet of an empty burst */
		return 0;
	enter(burst);
	count = burst->driver.transmit(burst->driver_queue, packets, count);
	leave(burst);
	return count;
}

/* Waits until the burst that runs now, if any, has ended. */
static void wait_for(const struct burst *burst)
{
	uint32_t sequence = atomic_load_explicit(&burst->sequence, memory_order_acquire);

	while (sequence % 2 == 1 && atomic_load_explicit(&burst->sequence, memory_order_acquire) == sequence)
		sched_yield();
}

/* Replaces the C library's function for DPDK's libraries, see port_priv.h. */
int munmap(void *address, size_t bytes)
{
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned int id = 0; id < RTE_MAX_ETHPORTS; id++) {
		for (unsigned int i = 0; i < BURSTS; i++)
			wait_for(&bursts[id][i]);
	}
	return (int)syscall(SYS_munmap, address, bytes);
}

void memif_port_install(uint16_t id)
{
	struct rte_eth_fp_ops *functions = &rte_eth_fp_ops[id];
	struct burst *in = &bursts[id][RECEIVE], *out = &bursts[id][TRANSMIT];

	in->handle = in;
	in->driver_queue = functions->rxq.data[0];
	in->driver.receive = functions->rx_pkt_burst;
	functions->rxq.data = &in->handle;
	functions->rx_pkt_burst = receive;
	out->handle = out;
	out->driver_queue = functions->txq.data[0];
	out->driver.transmit = functions->tx_pkt_burst;
	functions->txq.data = &out->handle;
	functions->tx_pkt_burst = transmit;
}
