/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port: a DPDK device with as many RX as TX queues, opened by one of these names:
 *
 *   0000:03:00.0                      PCI address (bound to vfio-pci; Mellanox to its own driver)
 *   net_af_packet0,iface=va           any virtual device with its arguments, as EAL's --vdev takes it:
 *                                     net_ring, net_null, net_pcap, net_memif, net_tap, net_af_xdp ...
 *   veth0                             a Linux interface: af_xdp on a NIC if that works, else af_packet
 *
 * af_packet is a packet socket of our own, not DPDK's driver, also as net_af_packet0,iface=va. It finishes the
 * checksums that a host left to its NIC, and cuts super-packets (TSO) into the frames that the NIC would send.
 *
 * The caller owns the pool of packets, which must outlive the port. The control thread opens, starts and closes the
 * port; one lcore at a time calls the burst functions (see dp/packet.h). A process holds a lock on a Linux interface as
 * long as the port is open, so that two injectors never share one.
 */
#ifndef DP_PORT_H
#define DP_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>

enum dp_port_driver {
	DP_PORT_AUTO, /* Linux interface: af_xdp on a NIC, or af_packet if that fails; af_packet on a veth or tap */
	DP_PORT_AF_XDP,
	DP_PORT_AF_PACKET,
};

/* NULL-terminated names for OPTION_CHOICE: "auto", "af_xdp", "af_packet". */
extern const char *const dp_port_driver_names[];

struct dp_pool;

/*
 * Creates a pool of `count` buffers, each with `data_bytes` for a frame (2048 bytes hold a frame of any MTU up to 1500;
 * af_xdp copies frames into them). Returns NULL with err set on failure. Free the pool after the ports that use it are
 * closed; NULL is legal for dp_pool_free().
 */
struct dp_pool *dp_pool_create(const char *name, unsigned int count, uint16_t data_bytes, struct error *err);
void dp_pool_free(struct dp_pool *pool);

/*
 * Returns `data_bytes` for dp_pool_create(): each buffer then holds a frame of this MTU (at most DP_MTU_MAXIMUM) with
 * its header and tags, with af_xdp up to an MTU of 2790, which is af_xdp's limit. The result is a multiple of 1 KiB and
 * at least 2 KiB, because NICs count their buffers in KiB (82599 datasheet, SRRCTL.BSIZEPACKET).
 */
#define DP_MTU_MAXIMUM 9600
uint16_t dp_pool_bytes(uint16_t mtu);

struct dp_port_options {
	const char *name;
	enum dp_port_driver driver; /* has an effect on Linux interfaces only */
	uint16_t queues; /* number of RX queues and of TX queues, each used by one lcore; 0 = 1; an interface has only 1
			  */
	uint16_t descriptors; /* of each queue; 0 = 1024; reduced to the device's maximum */
	struct dp_pool *pool; /* pool for received packets; each buffer holds a whole frame */
	uint16_t mtu; /* smallest MTU that the port must support; 0 = 1500; the MTU of a Linux interface is not changed
		       */
	bool promiscuous;
	bool hardware_rx_stamps; /* the NIC stamps every packet; -ENOTSUP if it cannot */
};

struct dp_port;

/*
 * Opens and configures a port; traffic flows after dp_port_start(). Returns NULL with err set: -ENODEV (no such port),
 * -EPERM, -EBUSY (another process has it open), -EINVAL (bad arguments), -ENOTSUP.
 */
struct dp_port *dp_port_open(const struct dp_port_options *options, struct error *err);
int dp_port_start(struct dp_port *port, struct error *err);
/* Stops and closes the device (detaching af_xdp's program) and frees the port. NULL is legal. */
void dp_port_close(struct dp_port *port);

uint16_t dp_port_id(const struct dp_port *port);

/* Returns the Linux interface behind the port, or "" if there is none. */
const char *dp_port_interface(const struct dp_port *port);
/*
 * Returns true if the Linux interface behind the port was removed: the port then receives nothing more, even if another
 * interface gets the name.
 */
bool dp_port_is_gone(const struct dp_port *port);
/*
 * Returns the driver's AF_PACKET or AF_XDP socket, or -1 if there is none. Use it to wait for packets or to filter
 * them. The port owns the socket.
 */
int dp_port_socket(const struct dp_port *port);

struct dp_port_report {
	char name[64];           /* as given, without a vdev's arguments */
	char driver[32];         /* "net_af_xdp", "net_ixgbe" ... */
	char mac[18];            /* "52:54:00:00:00:01" */
	bool link_up;            /* the link is up now; for a Linux interface: it exists, is up, and has a carrier */
	uint32_t link_changes;   /* how often the link went down or up; 0 = never, or the driver does not report it */
	uint32_t speed_Mbps;     /* 0 = unknown */
	int numa_node;           /* -1 = unknown, as of Linux interfaces */
	bool hardware_rx_stamps; /* the NIC can stamp every received packet */
	uint16_t queues;
	uint16_t mtu;              /* MTU of the Linux interface, or of the device if there is none; 0 = unknown */
	bool sends_by_system_call; /* each dp_transmit() is a system call, even without packets */
};

void dp_port_report(const struct dp_port *port, struct dp_port_report *report);

/*
 * The device's counters since it was started:
 * - rx_missed: packets dropped because the device had no buffer space or no descriptor
 * - rx_no_mbuf: packets dropped because the pool was empty
 * - rx_errors: broken frames, and frames that are too long for the device. af_packet drops frames that are too long for
 *   the pool's buffers, which have 2048 bytes at the MTU of 1500; it never truncates them.
 * - tx_errors: packets accepted for transmission and then dropped by the device. Parts of it: tx_link_down, because the
 *   link was down, or the Linux interface was down or removed (on Linux interfaces, and on devices whose driver reports
 *   changes of the link by an interrupt); tx_mtu, because they were longer than the MTU of the Linux interface
 * - rx_uncounted, tx_uncounted: packets missing in the counters of one side. A Linux interface counts packets itself:
 *   rx_uncounted were received by the interface 0.2 s or more before, but not by the port, or vice versa; tx_uncounted
 *   were sent by the port, but not by the interface. Both are 0 if each packet is accounted for; packets that the host
 *   itself sends through the interface may hide some of tx_uncounted. They keep their values if the interface is
 *   removed.
 */
struct dp_port_statistics {
	uint64_t rx_packets, rx_bytes, rx_missed, rx_errors, rx_no_mbuf;
	uint64_t tx_packets, tx_bytes, tx_errors, tx_link_down, tx_mtu;
	uint64_t rx_uncounted, tx_uncounted;
};

/*
 * Reads the counters; call it on the control thread. Drivers update the counters without locks, so the last burst may
 * be missing in them.
 */
void dp_port_statistics(struct dp_port *port, struct dp_port_statistics *statistics);

/* Location of a NIC's receive stamp in a packet; offset < 0: there is none. */
struct dp_stamps {
	int offset;
	uint64_t flag;
};

/* Sets *stamps for dp_packet_stamp(). Returns 0, or -ENOTSUP if the port was opened without hardware RX stamps. */
int dp_port_stamps(const struct dp_port *port, struct dp_stamps *stamps);

/*
 * Reads the NIC's clock, and the time stamp counter at the middle of that reading. Returns 0, -ENOTSUP or another
 * -errno.
 */
int dp_port_read_clock(const struct dp_port *port, uint64_t *nic, uint64_t *tsc);

#endif
