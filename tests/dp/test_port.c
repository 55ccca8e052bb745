/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include <dp/eal.h>
#include <dp/packet.h>
#include <dp/port.h>
#include <dp/timesync.h>

#include "port_priv.h"

static struct dp_pool *pool;

static void set_up(void)
{
	struct dp_eal_options options = {.memory_MiB = 64};
	struct error err = {0};

	cr_assert_eq(dp_eal_start(&options, &err), 0, "%s", err.text);
	pool = dp_pool_create("pool", 4095, 2048, &err);
	cr_assert_not_null(pool, "%s", err.text);
}

static void tear_down(void)
{
	dp_pool_free(pool);
	dp_eal_stop();
}

TestSuite(port, .init = set_up, .fini = tear_down);

static struct dp_port *open_port(const char *name, struct error *err)
{
	struct dp_port_options options = {.name = name, .pool = pool, .promiscuous = true};

	return dp_port_open(&options, err);
}

Test(port_name, tells_pci_addresses_and_virtual_devices)
{
	cr_assert(dp_port_is_pci("0000:03:00.0"));
	cr_assert(dp_port_is_pci("03:00.1"));
	cr_assert(!dp_port_is_pci("03:00"));
	cr_assert(!dp_port_is_pci("0000:03:00.00"));
	cr_assert(!dp_port_is_pci("veth0"));
	cr_assert(dp_port_is_vdev("net_null0"));
	cr_assert(dp_port_is_vdev("net_af_packet0,iface=va"));
	cr_assert(!dp_port_is_vdev("veth0"));
}

Test(port_name, finds_the_interface_in_a_virtual_devices_arguments)
{
	char interface[16];

	cr_assert(dp_port_vdev_interface("blocksz=4096,iface=va,qpairs=1", interface, sizeof interface));
	cr_assert_str_eq(interface, "va");
	cr_assert(!dp_port_vdev_interface("rx_pcap=file", interface, sizeof interface));
}

Test(port, a_virtual_device_sends_and_counts)
{
	struct error err = {0};
	struct dp_port *port = open_port("net_null3,size=80", &err);
	struct dp_port_statistics statistics;
	struct dp_port_report report;
	struct rte_mbuf *packets[32];
	uint16_t received;

	cr_assert_not_null(port, "%s", err.text);
	cr_assert_eq(dp_port_start(port, &err), 0, "%s", err.text);
	received = rte_eth_rx_burst(dp_port_id(port), 0, packets, 32);
	cr_assert_eq(received, 32);
	cr_assert_eq(packets[0]->pkt_len, 80);
	cr_assert_eq(rte_eth_tx_burst(dp_port_id(port), 0, packets, 32), 32);
	dp_port_statistics(port, &statistics);
	cr_assert_eq(statistics.rx_packets, 32);
	cr_assert_eq(statistics.tx_packets, 32);
	dp_port_report(port, &report);
	cr_assert_str_eq(report.name, "net_null3");
	cr_assert_str_eq(report.driver, "net_null");
	cr_assert(report.link_up);
	cr_assert(!report.hardware_rx_stamps);
	cr_assert(!report.sends_by_system_call);
	dp_port_close(port);
	cr_assert_null(open_port("net_null3,size=bad", &err));
	cr_assert_eq(rte_eth_dev_count_avail(), 0, "a closed or refused port leaves no device");
}

Test(port, a_report_says_where_sending_is_a_system_call)
{
	char name[] = "/tmp/nomora-test-XXXXXX", device[64];
	struct dp_port_report report;
	struct error err = {0};
	struct dp_port *port;
	int file = mkstemp(name);

	cr_assert_geq(file, 0);
	snprintf(device, sizeof device, "net_pcap0,tx_pcap=%s", name);
	port = open_port(device, &err);
	cr_assert_not_null(port, "%s", err.text);
	dp_port_report(port, &report);
	cr_assert(report.sends_by_system_call, "%s", report.driver);
	dp_port_close(port);
	close(file);
	unlink(name);
}

Test(port, queues_are_as_many_as_asked_for_or_refused)
{
	struct dp_port_options options = {.name = "net_null4,size=64", .pool = pool, .queues = 2};
	struct dp_packet *packets[8];
	struct dp_port_report report;
	struct error err = {0};
	struct dp_port *port = dp_port_open(&options, &err);

	cr_assert_not_null(port, "%s", err.text);
	cr_assert_eq(dp_port_start(port, &err), 0, "%s", err.text);
	dp_port_report(port, &report);
	cr_assert_eq(report.queues, 2);
	for (uint16_t queue = 0; queue < 2; queue++) {
		cr_assert_eq(dp_receive(dp_port_id(port), queue, packets, 8), 8);
		cr_assert_eq(dp_transmit(dp_port_id(port), queue, packets, 8), 8);
	}
	dp_port_close(port);
	options.queues = UINT16_MAX;
	cr_assert_null(dp_port_open(&options, &err));
	cr_assert_eq(err.code, ENOTSUP, "%s", err.text);
}

Test(port, ptp_stamps_are_refused_where_there_is_no_ptp_clock)
{
	struct error err = {0};
	struct dp_port *port = open_port("net_null5", &err);

	cr_assert_not_null(port, "%s", err.text);
	cr_assert_eq(dp_port_start(port, &err), 0, "%s", err.text);
	cr_assert_eq(dp_timesync_enable(port, &err), -ENOTSUP, "%s", err.text);
	cr_assert(!dp_timesync_transmitted(port).valid);
	dp_port_close(port);
}

/* With one page per buffer, all of them would share a few lines of the L1 cache, which halves the forwarding rate. */
Test(port, buffers_lie_side_by_side_and_a_pool_can_be_made_again)
{
	struct dp_pool *small;
	struct error err = {0};
	struct rte_mbuf *a, *b;

	for (int i = 0; i < 3; i++) {
		small = dp_pool_create("small", 1023, 2048, &err);
		cr_assert_not_null(small, "%s", err.text);
		a = rte_pktmbuf_alloc((struct rte_mempool *)small);
		b = rte_pktmbuf_alloc((struct rte_mempool *)small);
		cr_assert_leq(labs((char *)a - (char *)b), 2560);
		cr_assert_neq(labs((char *)a - (char *)b) % 4096, 0);
		if (!dp_eal_has_hugepages())
			cr_assert_eq(a->buf_iova, (rte_iova_t)(uintptr_t)a->buf_addr);
		rte_pktmbuf_free(a);
		rte_pktmbuf_free(b);
		dp_pool_free(small);
	}
	cr_assert_null(dp_pool_create("large", 1 << 20, 2048, &err));
	cr_assert_not_null(strstr(err.text, "give fewer slots"), "%s", err.text);
}

Test(port, a_pair_joined_by_memory_carries_frames)
{
	struct error err = {0};
	struct dp_port *port = open_port("net_ring5", &err); /* receives the packets that it sends */
	struct rte_mbuf *packet = rte_pktmbuf_alloc((struct rte_mempool *)pool), *back = NULL;

	cr_assert_not_null(port, "%s", err.text);
	cr_assert_eq(dp_port_start(port, &err), 0);
	memcpy(rte_pktmbuf_append(packet, 60), "hello", 6);
	cr_assert_eq(rte_eth_tx_burst(dp_port_id(port), 0, &packet, 1), 1);
	cr_assert_eq(rte_eth_rx_burst(dp_port_id(port), 0, &back, 1), 1);
	cr_assert_str_eq(rte_pktmbuf_mtod(back, char *), "hello");
	rte_pktmbuf_free(back);
	dp_port_close(port);
}

Test(port, what_does_not_exist_is_refused_with_its_name)
{
	static const char *const names[] = {"nosuchif0",
					    "0000:fe:1f.7",
					    "net_nosuchdriver0",
					    "net_af_packet0,iface=nosuchif0",
					    "net_af_packet0,iface=lo,blocksz=4096",
					    "averyveryverylonginterfacename"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct error err = {0};

		cr_assert_null(open_port(names[i], &err), "%s", names[i]);
		cr_assert_gt(strlen(err.text), 0);
		cr_assert_null(strchr(err.text, '\n'), "one line: %s", err.text);
	}
	cr_assert_eq(rte_eth_dev_count_avail(), 0);
}

Test(port, stamps_are_refused_where_the_driver_has_none)
{
	struct dp_port_options options = {.name = "net_null1", .pool = pool, .hardware_rx_stamps = true};
	struct error err = {0};

	cr_assert_null(dp_port_open(&options, &err));
	cr_assert_eq(err.code, ENOTSUP, "%s", err.text);
}

Test(port, buffers_hold_what_the_mtu_asks_for)
{
	cr_assert_eq(dp_pool_bytes(0), 2048);
	cr_assert_eq(dp_pool_bytes(1500), 2048);
	cr_assert_eq(dp_pool_bytes(1766), 2048);
	cr_assert_eq(dp_pool_bytes(2790), 3072, "af_xdp needs a buffer and its headers in a page");
	cr_assert_eq(dp_pool_bytes(3000), 3072);
	cr_assert_eq(dp_pool_bytes(9000), 9216);
	cr_assert_eq(dp_pool_bytes(UINT16_MAX), dp_pool_bytes(DP_MTU_MAXIMUM));
	for (uint16_t mtu = 68; mtu <= DP_MTU_MAXIMUM; mtu++) {
		unsigned int bytes = dp_pool_bytes(mtu), needed = mtu + 26U + (mtu <= 2790 ? 256 : 0);

		cr_assert_eq(bytes % 1024, 0);
		cr_assert(bytes >= needed && (bytes == 2048 || bytes < needed + 1024), "%u", mtu);
	}
}

Test(port_lock, is_held_once_and_given_back)
{
	struct error err = {0};
	int lock = dp_port_lock("test-interface", &err);

	cr_assert_geq(lock, 0, "%s", err.text);
	cr_assert_eq(dp_port_lock("test-interface", &err), -EBUSY);
	close(lock);
	lock = dp_port_lock("test-interface", &err);
	cr_assert_geq(lock, 0);
	close(lock);
}
