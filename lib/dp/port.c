/* SPDX-License-Identifier: BSD-3-Clause */
#include <dp/port.h>

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

#include <base/log.h>
#include <base/ns.h>
#include <dp/eal.h>
#include <dp/packet.h>

#include "port_priv.h"

enum {
	DEFAULT_DESCRIPTORS = 1024,
	/*
	 * af_xdp: the kernel keeps XDP_HEADROOM bytes of each buffer free (XDP_PACKET_HEADROOM in linux/bpf.h) and
	 * drops longer frames. A buffer and its 320 bytes of headers share a page.
	 */
	XDP_HEADROOM = 256,
	XDP_MTU_MAXIMUM = 3072 - XDP_HEADROOM - 26,
};

const char *const dp_port_driver_names[] = {"auto", "af_xdp", "af_packet", NULL};

/* Drivers whose TX burst is a system call: sendto(), writev() or pcap_sendpacket(). */
static bool sends_by_system_call(const char *driver)
{
	static const char *const drivers[] = {"net_af_packet", "net_af_xdp", "net_pcap", "net_tap", "net_tun"};

	for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++) {
		if (strcmp(driver, drivers[i]) == 0)
			return true;
	}
	return false;
}

static int plug_device(struct dp_port *port, const char *arguments, struct error *err)
{
	struct dp_sockets before;
	int status;

	dp_sockets_look(&before);
	status = rte_eal_hotplug_add("vdev", port->device, arguments);
	dp_eal_log_quiet_libraries();
	if (status)
		return error_set(
			err, -status,
			"%s: DPDK cannot create the device %s%s%s: there is no such driver, or the driver refuses "
			"the arguments (%s; %s)",
			port->name, port->device, *arguments ? " with " : "", arguments, strerror(-status),
			dp_eal_last_log());
	port->plugged = true;
	port->socket_fd = dp_sockets_new(&before);
	status = rte_eth_dev_get_port_by_name(port->device, &port->id);
	if (status)
		return error_set(err, ENODEV, "%s: DPDK made no port of this name", port->device);
	return 0;
}

static int set_mtu(const struct dp_port *port, uint16_t mtu, const struct rte_eth_dev_info *info,
		   struct rte_eth_rxmode *mode, struct error *err)
{
	if (mtu <= RTE_ETHER_MTU || port->packet) /* af_packet: the size of the pool's buffers is the limit */
		return 0;
	if (mtu > info->max_mtu)
		return error_set(err, ENOTSUP, "%s: driver %s supports an MTU of at most %u, not %u", port->name,
				 info->driver_name, info->max_mtu, mtu);
	mode->mtu = mtu;
	return 0;
}

/* Sets the number of queues. RSS spreads flows over the RX queues by their addresses and ports. */
static int set_queues(struct dp_port *port, const struct dp_port_options *options, const struct rte_eth_dev_info *info,
		      struct rte_eth_conf *configuration, struct error *err)
{
	uint16_t most = RTE_MIN(info->max_rx_queues, info->max_tx_queues);

	port->queues = options->queues ? options->queues : 1;
	/* filters and drop counters work on one socket, the guard of net_memif on one queue */
	if (port->queues > 1 && (port->interface[0] || port->memif))
		most = 1;
	if (port->queues > most)
		return error_set(err, ENOTSUP, "%s: driver %s has at most %u queues, not %u", port->name,
				 info->driver_name, most, port->queues);
	if (port->queues == 1)
		return 0;
	configuration->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	configuration->rx_adv_conf.rss_conf.rss_hf = (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP) & info->flow_type_rss_offloads;
	return 0;
}

static int setup_queues(const struct dp_port *port, const struct dp_port_options *options,
			const struct rte_eth_dev_info *info, uint16_t rx, uint16_t tx)
{
	unsigned int node = (unsigned int)rte_eth_dev_socket_id(port->id);
	struct rte_eth_rxconf receive = info->default_rxconf;
	int status = 0;

	if (port->queues > 1)
		receive.rx_drop_en = 1; /* a full queue must not stop the others */
	for (uint16_t queue = 0; !status && queue < port->queues; queue++) {
		status = rte_eth_rx_queue_setup(port->id, queue, rx, node, &receive,
						(struct rte_mempool *)options->pool);
		if (!status)
			status = rte_eth_tx_queue_setup(port->id, queue, tx, node, NULL);
	}
	return status;
}

static int configure_device(struct dp_port *port, const struct dp_port_options *options, struct error *err)
{
	struct rte_eth_conf configuration = {0};
	struct rte_eth_dev_info info;
	struct dp_sockets before;
	uint16_t rx = options->descriptors ? options->descriptors : DEFAULT_DESCRIPTORS;
	uint16_t tx = rx;
	int status = rte_eth_dev_info_get(port->id, &info);

	if (status)
		return error_set(err, -status, "%s: its driver does not answer: %s", port->name, strerror(-status));
	port->memif = strcmp(info.driver_name, "net_memif") == 0;
	if (options->hardware_rx_stamps) {
		if (!(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP))
			return error_set(err, ENOTSUP, "%s: driver %s cannot stamp every received packet", port->name,
					 info.driver_name);
		configuration.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
		if (rte_mbuf_dyn_rx_timestamp_register(&port->stamps.offset, &port->stamps.flag) != 0)
			return error_set(err, rte_errno, "%s: no room for stamps in an mbuf", port->name);
	}
	status = set_mtu(port, options->mtu, &info, &configuration.rxmode, err);
	if (!status)
		status = set_queues(port, options, &info, &configuration, err);
	if (status)
		return status;
	configuration.intr_conf.lsc = (*info.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
	dp_sockets_look(&before);
	status = rte_eth_dev_configure(port->id, port->queues, port->queues, &configuration);
	port->configured = true;
	if (!status)
		status = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx, &tx);
	if (!status)
		status = setup_queues(port, options, &info, rx, tx);
	dp_eal_log_quiet_libraries();
	if (status)
		return error_set(err, -status, "%s: cannot set up its queues: %s (%s)", port->name, strerror(-status),
				 dp_eal_last_log());
	if (port->socket_fd < 0)
		port->socket_fd = dp_sockets_new(&before);
	if (options->promiscuous)
		rte_eth_promiscuous_enable(port->id); /* not supported by ring and null devices: not an error */
	if (!configuration.intr_conf.lsc && !port->memif)
		return 0;
	port->nic = nic_port_open(port->id, port->queues, err);
	return port->nic ? 0 : error_code(err, ENOMEM);
}

/* Opens a device that already exists: probed by EAL (PCI, --vdev) or made by the program (rings). */
static int open_existing(struct dp_port *port, const struct dp_port_options *options, struct error *err)
{
	int status;

	if (dp_port_is_pci(options->name)) {
		status = dp_pci_check(options->name, err);
		if (status)
			return status;
	}
	if (rte_eth_dev_get_port_by_name(port->device, &port->id) != 0)
		return error_set(err, ENODEV, "%s: DPDK has no driver for this device, or may not use it (%s)",
				 port->name, dp_eal_last_log());
	return configure_device(port, options, err);
}

/* Brings the interface up and locks it. */
static int take_interface(struct dp_port *port, struct error *err)
{
	int status = dp_interface_check(port->interface, err);

	if (status)
		return status;
	port->interface_index = if_nametoindex(port->interface);
	port->lock = dp_port_lock(port->interface, err);
	return port->lock < 0 ? port->lock : 0;
}

static int open_vdev(struct dp_port *port, const struct dp_port_options *options, const char *arguments,
		     struct error *err)
{
	int status = 0;

	if (dp_port_vdev_interface(arguments, port->interface, sizeof port->interface))
		status = take_interface(port, err);
	if (!status)
		status = plug_device(port, arguments, err);
	if (!status)
		status = configure_device(port, options, err);
	if (status || !port->interface[0] || strncmp(port->device, "net_af_xdp", strlen("net_af_xdp")) != 0)
		return status;
	port->xdp = xdp_port_open(port->interface, err);
	return port->xdp ? 0 : error_code(err, ENOMEM);
}

/* Gives the device the address of the interface, which the prober sends from. */
static void copy_address(const struct dp_port *port)
{
	struct rte_ether_addr address;

	if (dp_interface_address(port->interface, address.addr_bytes))
		rte_eth_dev_default_mac_addr_set(port->id, &address);
}

static int open_packet_port(struct dp_port *port, const struct dp_port_options *options, const char *interface,
			    struct error *err)
{
	int status;

	snprintf(port->interface, sizeof port->interface, "%s", interface);
	snprintf(port->device, sizeof port->device, "net_null_%s", interface);
	status = take_interface(port, err);
	if (status)
		return status;
	port->packet = packet_port_open(port->interface, options->pool, options->promiscuous, err);
	if (!port->packet)
		return error_code(err, ENOMEM);
	status = plug_device(port, "", err);
	if (!status)
		status = configure_device(port, options, err);
	if (status)
		return status;
	port->socket_fd = packet_port_socket(port->packet);
	copy_address(port);
	return 0;
}

static void release(struct dp_port *port)
{
	if (port->started)
		rte_eth_dev_stop(port->id);
	if (port->socket_fd >= 0 && !port->packet)
		close(port->socket_fd);
	port->socket_fd = -1;
	packet_port_close(port->packet);
	xdp_port_close(port->xdp);
	nic_port_close(port->nic);
	port->packet = NULL;
	port->xdp = NULL;
	port->nic = NULL;
	if (port->configured)
		rte_eth_dev_close(port->id);
	if (port->plugged)
		rte_eal_hotplug_remove("vdev", port->device);
	port->configured = port->plugged = false;
	if (port->lock >= 0)
		close(port->lock);
	port->lock = -1;
}

static int open_xdp(struct dp_port *port, const struct dp_port_options *options, struct error *err)
{
	char arguments[160];

	snprintf(port->device, sizeof port->device, "net_af_xdp_%s", options->name);
	snprintf(arguments, sizeof arguments, "iface=%s,start_queue=0,queue_count=1", options->name);
	return open_vdev(port, options, arguments, err);
}

/* Fills `reason` if af_xdp cannot serve the interface. */
static int check_xdp(const struct dp_port_options *options, struct error *reason)
{
	unsigned int queues = dp_interface_rx_queues(options->name);

	if (queues != 1)
		return error_set(reason, ENOTSUP,
				 "%s has %u receive queues, but af_xdp would see only the first: run 'ethtool -L "
				 "%s combined 1' (or rx 1 tx 1) first, or use --driver af_packet",
				 options->name, queues, options->name);
	if (options->mtu > XDP_MTU_MAXIMUM)
		return error_set(reason, ENOTSUP,
				 "%s: af_xdp supports an MTU of at most %d, not %u: use --driver af_packet",
				 options->name, XDP_MTU_MAXIMUM, options->mtu);
	return 0;
}

static int open_interface(struct dp_port *port, const struct dp_port_options *options, struct error *err)
{
	struct error reason = {0};
	int status;

	if (options->driver == DP_PORT_AF_PACKET)
		return open_packet_port(port, options, options->name, err);
	status = options->driver == DP_PORT_AUTO && dp_interface_is_virtual(options->name)
			 ? error_set(&reason, ENOTSUP, "it is virtual, so hosts may leave checksums to it")
			 : check_xdp(options, &reason);
	if (!status)
		status = open_xdp(port, options, &reason);
	if (!status || options->driver == DP_PORT_AF_XDP || status == -ENODEV || status == -EPERM || status == -EBUSY) {
		if (status && err)
			*err = reason;
		return status;
	}
	release(port);
	log_info("%s: driver af_packet instead of af_xdp: %s", options->name, reason.text);
	return open_packet_port(port, options, options->name, err);
}

/* "net_af_packetN,iface=NAME" means our af_packet, not DPDK's driver (see port_priv.h). */
static int open_named_vdev(struct dp_port *port, const struct dp_port_options *options, const char *arguments,
			   struct error *err)
{
	char interface[IFNAMSIZ];

	if (strncmp(port->device, "net_af_packet", strlen("net_af_packet")) != 0)
		return open_vdev(port, options, arguments, err);
	if (!dp_port_vdev_interface(arguments, interface, sizeof interface) || strchr(arguments, ','))
		return error_set(err, EINVAL, "%s: expected iface=NAME and no other argument, not '%s'", port->name,
				 arguments);
	return open_packet_port(port, options, interface, err);
}

struct dp_port *dp_port_open(const struct dp_port_options *options, struct error *err)
{
	struct dp_port *port = calloc(1, sizeof *port);
	size_t length = strcspn(options->name, ",");
	int status;

	if (!port) {
		error_set(err, ENOMEM, "%s: out of memory", options->name);
		errno = ENOMEM;
		return NULL;
	}
	port->lock = port->socket_fd = port->stamps.offset = -1;
	port->room = rte_pktmbuf_data_room_size((struct rte_mempool *)options->pool) - RTE_PKTMBUF_HEADROOM;
	snprintf(port->name, sizeof port->name, "%.*s", (int)length, options->name);
	snprintf(port->device, sizeof port->device, "%.*s", (int)length, options->name);
	if (dp_port_is_pci(options->name) || rte_eth_dev_get_port_by_name(options->name, &port->id) == 0)
		status = open_existing(port, options, err);
	else if (length >= sizeof port->device)
		status = error_set(err, ENODEV, "there is no port '%.80s...'", options->name);
	else if (dp_port_is_vdev(options->name))
		status = open_named_vdev(port, options, options->name[length] ? options->name + length + 1 : "", err);
	else
		status = open_interface(port, options, err);
	if (!status)
		return port;
	dp_port_close(port);
	errno = -status;
	return NULL;
}

/* Warns if the interface may receive frames that are longer than `most`, the longest that the port takes. */
static void warn_long_frames(const struct dp_port *port, unsigned int most, const char *counter)
{
	unsigned int mtu = dp_interface_mtu(port->interface);

	if (mtu + RTE_ETHER_HDR_LEN > most)
		log_warning("%s has an MTU of %u: frames of more than %u bytes are dropped and counted as %s "
			    "(use 'ip link set dev %s mtu %u', or open the port for a larger MTU)",
			    port->interface, mtu, most, counter, port->interface,
			    most - RTE_ETHER_HDR_LEN - 2 * RTE_VLAN_HLEN);
}

int dp_port_start(struct dp_port *port, struct error *err)
{
	int status = rte_eth_dev_start(port->id);

	if (status)
		return error_set(err, -status, "%s: cannot start: %s (%s)", port->name, strerror(-status),
				 dp_eal_last_log());
	port->started = true;
	rte_eth_stats_reset(port->id);
	if (port->socket_fd >= 0)
		dp_socket_missed(port->socket_fd, &port->xdp_missed_before);
	if (port->packet) {
		packet_port_install(port->packet, port->id);
		warn_long_frames(port, port->room, "rx_errors");
	}
	if (port->nic)
		nic_port_install(port->nic);
	if (port->memif)
		memif_port_install(port->id);
	if (port->xdp) {
		xdp_port_install(port->xdp, port->id);
		warn_long_frames(port, port->room - XDP_HEADROOM, "rx_missed");
	}
	port->interface_counts =
		port->interface[0] && dp_interface_packets(port->interface, &port->interface_rx, &port->interface_tx);
	return 0;
}

void dp_port_close(struct dp_port *port)
{
	if (!port)
		return;
	release(port);
	free(port);
}

uint16_t dp_pool_bytes(uint16_t mtu)
{
	unsigned int carried = RTE_MIN(mtu, DP_MTU_MAXIMUM);
	unsigned int frame = carried + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN;

	if (carried <= XDP_MTU_MAXIMUM)
		frame += XDP_HEADROOM;
	return (uint16_t)RTE_MAX(2048U, RTE_ALIGN_CEIL(frame, 1024U));
}

uint16_t dp_port_id(const struct dp_port *port)
{
	return port->id;
}

bool dp_port_is_gone(const struct dp_port *port)
{
	char name[IF_NAMESIZE];

	return port->interface[0] && !if_indextoname(port->interface_index, name);
}

const char *dp_port_interface(const struct dp_port *port)
{
	return port->interface;
}

int dp_port_socket(const struct dp_port *port)
{
	return port->socket_fd;
}

void dp_port_report(const struct dp_port *port, struct dp_port_report *report)
{
	struct rte_eth_dev_info info;
	struct rte_eth_link link = {0};
	struct rte_ether_addr mac = {0};

	*report = (struct dp_port_report){.numa_node = port->interface[0] ? -1 : rte_eth_dev_socket_id(port->id),
					  .queues = port->queues};
	snprintf(report->name, sizeof report->name, "%s", port->name);
	if (rte_eth_dev_info_get(port->id, &info) == 0) {
		snprintf(report->driver, sizeof report->driver, "%s",
			 port->packet ? "net_af_packet" : info.driver_name);
		report->hardware_rx_stamps = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP;
		report->sends_by_system_call = sends_by_system_call(report->driver);
	}
	if (port->interface[0])
		report->mtu = (uint16_t)RTE_MIN(dp_interface_mtu(port->interface), UINT16_MAX);
	else if (rte_eth_dev_get_mtu(port->id, &report->mtu))
		report->mtu = 0;
	if (rte_eth_macaddr_get(port->id, &mac) == 0)
		rte_ether_format_addr(report->mac, sizeof report->mac, &mac);
	if (rte_eth_link_get_nowait(port->id, &link) == 0) {
		report->link_up = link.link_status == RTE_ETH_LINK_UP;
		report->speed_Mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
	}
	/* Drivers of Linux interfaces report the link state as it was at the start. */
	if (port->interface[0])
		report->link_up = dp_interface_running(port->interface, port->interface_index);
	if (port->interface[0])
		report->link_changes = dp_interface_link_changes(port->interface_index);
	else if (port->nic)
		report->link_changes = nic_port_look(port->nic).link_changes;
}

int dp_port_stamps(const struct dp_port *port, struct dp_stamps *stamps)
{
	if (port->stamps.offset < 0)
		return -ENOTSUP;
	*stamps = port->stamps;
	return 0;
}

int dp_port_read_clock(const struct dp_port *port, uint64_t *nic, uint64_t *tsc)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) { /* keep the reading during which the fewest cycles passed */
		uint64_t before = dp_cycles(), clock;
		int status = rte_eth_read_clock(port->id, &clock);
		uint64_t after = dp_cycles();

		if (status)
			return status;
		if (after - before >= best)
			continue;
		best = after - before;
		*nic = clock;
		*tsc = before + best / 2;
	}
	return 0;
}
