/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain forwarding loop between the first two DPDK ports, as testpmd's io engine: the peer in ports.py, for DPDK's
 * own drivers. Arguments: those of EAL. Ends on SIGTERM.
 */
#include <signal.h>
#include <stdlib.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

enum { MBUFS = 32767, DESCRIPTORS = 1024, BURST = 32 };

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static int open_port(uint16_t port, struct rte_mempool *pool)
{
	struct rte_eth_conf configuration = {0};

	return rte_eth_dev_configure(port, 1, 1, &configuration) ||
	       rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, 0, NULL, pool) ||
	       rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, 0, NULL) || rte_eth_dev_start(port) ||
	       rte_eth_promiscuous_enable(port);
}

static void forward(uint16_t from, uint16_t to)
{
	struct rte_mbuf *packets[BURST];
	uint16_t count = rte_eth_rx_burst(from, 0, packets, BURST), sent;

	sent = count ? rte_eth_tx_burst(to, 0, packets, count) : 0;
	rte_pktmbuf_free_bulk(packets + sent, count - sent);
}

int main(int argc, char **argv)
{
	struct rte_mempool *pool;

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("pool", MBUFS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!pool || open_port(0, pool) || open_port(1, pool))
		return 1;
	signal(SIGTERM, end);
	while (!ended) {
		forward(0, 1);
		forward(1, 0);
	}
	rte_eth_dev_stop(0);
	rte_eth_dev_stop(1);
	return rte_eal_cleanup() != 0;
}
