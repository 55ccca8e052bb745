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
#include <dp/eal.h>
#include <dp/packet.h>

#include "eal_log_priv.h"
#include "port_priv.h"

enum {
	DEFAULT_DESCRIPTORS = 1024,
	XDP_MTU_MAXIMUM = 3000,         /* frame, headroom and the driver's own header share a page */
	SLOT_BLOCK_BYTES = 65536,       /* unit in which af_packet allocates its ring */
	SLOTS_MAXIMUM = 4096,           /* enough for a stall of 0.4 s at 10 kpps, or of 4 ms at 1 Mpps */
	SLOTS_BYTES_MAXIMUM = 16 << 20, /* largest ring of af_packet, in kernel memory; a port has two rings */
};

const char *const dp_port_driver_names[] = {"auto", "af_xdp", "af_packet", NULL};

struct dp_port {
	char name[64];            /* name as given, without arguments */
	char device[64];          /* name of the device in EAL */
	char interface[IFNAMSIZ]; /* "" = the port is not an interface */
	unsigned int interface_index;
	uint16_t id, queues;
	bool plugged;    /* we attached the virtual device, so we detach it */
	bool configured; /* rte_eth_dev_close() must be called */
	bool started;
	struct dp_stamps stamps;
	int lock;      /* descriptor of dp_port_lock(), -1 = none */
	int socket_fd; /* the driver's socket (it has a counter of dropped packets); -1 = none */
	uint64_t kernel_missed, xdp_missed_before;
	int long_fd; /* socket that counts the frames that are too long for af_packet's slots; -1 = none */
	uint64_t too_long;
};

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
	/* af_packet's driver has no MTU: the size of its slots is the limit. */
	if (mtu <= RTE_ETHER_MTU || strcmp(info->driver_name, "net_af_packet") == 0)
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
	if (port->queues > 1 && port->interface[0])
		most = 1; /* the packet filters and drop counters of an interface work on one socket only */
	if (port->queues > most)
		return error_set(err, ENOTSUP, "%s: driver %s has at most %u queues, not %u", port->name,
				 info->driver_name, most, port->queues);
	if (port->queues == 1)
		return 0;
	configuration->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	configuration->rx_adv_conf.rss_conf.rss_hf = (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP) & info->flow_type_rss_offloads;
	return 0;
}

static int setup_queues(const struct dp_port *port, const struct dp_port_options *options, uint16_t rx, uint16_t tx)
{
	unsigned int node = (unsigned int)rte_eth_dev_socket_id(port->id);
	int status = 0;

	for (uint16_t queue = 0; !status && queue < port->queues; queue++) {
		status = rte_eth_rx_queue_setup(port->id, queue, rx, node, NULL, (struct rte_mempool *)options->pool);
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
	dp_sockets_look(&before);
	status = rte_eth_dev_configure(port->id, port->queues, port->queues, &configuration);
	port->configured = true;
	if (!status)
		status = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx, &tx);
	if (!status)
		status = setup_queues(port, options, rx, tx);
	dp_eal_log_quiet_libraries();
	if (status)
		return error_set(err, -status, "%s: cannot set up its queues: %s (%s)", port->name, strerror(-status),
				 dp_eal_last_log());
	if (port->socket_fd < 0)
		port->socket_fd = dp_sockets_new(&before);
	if (options->promiscuous)
		rte_eth_promiscuous_enable(port->id); /* not supported by ring and null devices: not an error */
	return 0;
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

static int refuse_long_frames(struct dp_port *port, const struct dp_port_options *options, const char *arguments,
			      struct error *err)
{
	unsigned int bytes = dp_af_packet_frame_bytes(arguments);
	unsigned int mtu = dp_interface_mtu(port->interface); /* the driver would report 1500 */

	if (port->socket_fd < 0)
		return 0;
	if (options->mtu > RTE_ETHER_MTU && options->mtu + RTE_ETHER_HDR_LEN > (int)bytes)
		return error_set(
			err, EINVAL,
			"%s: its slots hold frames of %u bytes, too short for an MTU of %u: use blocksz=%d,framesz=%u",
			port->name, bytes, options->mtu, SLOT_BLOCK_BYTES, dp_af_packet_slot_bytes(options->mtu));
	port->long_fd = dp_socket_refuse_longer(port->socket_fd, port->interface, bytes, err);
	if (port->long_fd < 0)
		return port->long_fd;
	if (mtu + RTE_ETHER_HDR_LEN > bytes)
		log_warning(
			"%s has an MTU of %u: frames of more than %u bytes are dropped and counted as rx_errors (use "
			"'ip link set dev %s mtu %u', or open the port for a larger MTU)",
			port->interface, mtu, bytes, port->interface, options->mtu ? options->mtu : RTE_ETHER_MTU);
	return 0;
}

static int open_vdev(struct dp_port *port, const struct dp_port_options *options, const char *arguments,
		     struct error *err)
{
	int status;

	if (dp_port_vdev_interface(arguments, port->interface, sizeof port->interface)) {
		status = dp_interface_check(port->interface, err);
		if (status)
			return status;
		port->interface_index = if_nametoindex(port->interface);
		port->lock = dp_port_lock(port->interface, err);
		if (port->lock < 0)
			return port->lock;
	}
	status = plug_device(port, arguments, err);
	if (!status)
		status = configure_device(port, options, err);
	if (!status && strncmp(port->device, "net_af_packet", strlen("net_af_packet")) == 0)
		status = refuse_long_frames(port, options, arguments, err);
	return status;
}

static void release(struct dp_port *port)
{
	if (port->started)
		rte_eth_dev_stop(port->id);
	if (port->socket_fd >= 0)
		close(port->socket_fd);
	port->socket_fd = -1;
	if (port->long_fd >= 0)
		close(port->long_fd);
	port->long_fd = -1;
	if (port->configured)
		rte_eth_dev_close(port->id);
	if (port->plugged)
		rte_eal_hotplug_remove("vdev", port->device);
	port->configured = port->plugged = false;
	if (port->lock >= 0)
		close(port->lock);
	port->lock = -1;
}

static int open_interface_with(struct dp_port *port, const struct dp_port_options *options, bool xdp, struct error *err)
{
	unsigned int slot = dp_af_packet_slot_bytes(options->mtu);
	char arguments[160];

	snprintf(port->device, sizeof port->device, "net_%s_%s", xdp ? "af_xdp" : "af_packet", options->name);
	if (xdp)
		snprintf(arguments, sizeof arguments, "iface=%s,start_queue=0,queue_count=1", options->name);
	else
		snprintf(arguments, sizeof arguments, "iface=%s,blocksz=%d,framesz=%u,framecnt=%u", options->name,
			 SLOT_BLOCK_BYTES, slot, RTE_MIN((unsigned int)SLOTS_MAXIMUM, SLOTS_BYTES_MAXIMUM / slot));
	return open_vdev(port, options, arguments, err);
}

static int open_interface(struct dp_port *port, const struct dp_port_options *options, struct error *err)
{
	bool one_queue = dp_interface_rx_queues(options->name) == 1, fits = options->mtu <= XDP_MTU_MAXIMUM;
	struct error reason = {0};
	int status;

	if (options->driver == DP_PORT_AF_PACKET)
		return open_interface_with(port, options, false, err);
	if (options->driver == DP_PORT_AF_XDP) {
		if (!one_queue)
			return error_set(
				err, ENOTSUP,
				"%s has %u receive queues, but af_xdp would see only the first: run 'ethtool -L "
				"%s combined 1' (or rx 1 tx 1) first, or use --driver af_packet",
				options->name, dp_interface_rx_queues(options->name), options->name);
		if (!fits)
			return error_set(err, ENOTSUP,
					 "%s: af_xdp supports an MTU of at most %d, not %u: use --driver af_packet",
					 options->name, XDP_MTU_MAXIMUM, options->mtu);
		return open_interface_with(port, options, true, err);
	}
	if (one_queue && fits) {
		status = open_interface_with(port, options, true, &reason);
		if (!status || status == -ENODEV || status == -EPERM || status == -EBUSY) {
			if (status && err)
				*err = reason;
			return status;
		}
		release(port);
		log_debug("%s; trying af_packet", reason.text);
	}
	return open_interface_with(port, options, false, err);
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
	port->lock = port->socket_fd = port->long_fd = port->stamps.offset = -1;
	snprintf(port->name, sizeof port->name, "%.*s", (int)length, options->name);
	snprintf(port->device, sizeof port->device, "%.*s", (int)length, options->name);
	if (dp_port_is_pci(options->name) || rte_eth_dev_get_port_by_name(options->name, &port->id) == 0)
		status = open_existing(port, options, err);
	else if (length >= sizeof port->device)
		status = error_set(err, ENODEV, "there is no port '%.80s...'", options->name);
	else if (dp_port_is_vdev(options->name))
		status = open_vdev(port, options, options->name[length] ? options->name + length + 1 : "", err);
	else
		status = open_interface(port, options, err);
	if (!status)
		return port;
	dp_port_close(port);
	errno = -status;
	return NULL;
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
	if (port->long_fd >= 0)
		dp_socket_refused(port->long_fd);
	return 0;
}

void dp_port_close(struct dp_port *port)
{
	if (!port)
		return;
	release(port);
	free(port);
}

static bool may_be_slotted(const char *name)
{
	return !dp_port_is_pci(name) && (!dp_port_is_vdev(name) || strncmp(name, "net_af_", strlen("net_af_")) == 0);
}

uint16_t dp_pool_bytes(uint16_t mtu, const char *const *ports, size_t port_count)
{
	unsigned int carried = RTE_MIN(mtu, DP_MTU_MAXIMUM);
	unsigned int frame = carried + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN;

	for (size_t i = 0; i < port_count; i++) {
		if (may_be_slotted(ports[i]))
			return (uint16_t)dp_af_packet_slot_bytes(carried);
	}
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

	*report = (struct dp_port_report){.numa_node = rte_eth_dev_socket_id(port->id), .queues = port->queues};
	snprintf(report->name, sizeof report->name, "%s", port->name);
	if (rte_eth_dev_info_get(port->id, &info) == 0) {
		snprintf(report->driver, sizeof report->driver, "%s", info.driver_name);
		report->hardware_rx_stamps = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP;
		report->sends_by_system_call = sends_by_system_call(info.driver_name);
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
	if (port->long_fd >= 0)
		port->too_long += dp_socket_refused(port->long_fd);
	statistics->rx_errors += port->too_long;
	if (port->socket_fd < 0)
		return;
	port->kernel_missed += dp_socket_missed(port->socket_fd, &port->xdp_missed_before);
	if (port->kernel_missed > statistics->rx_missed)
		statistics->rx_missed = port->kernel_missed;
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
