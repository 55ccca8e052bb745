/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port: a DPDK device with as many RX as TX queues, opened by one of these names:
 *
 *   0000:03:00.0                      PCI address (bound to vfio-pci; Mellanox to its own driver)
 *   net_af_packet0,iface=va           any virtual device with its arguments, as EAL's --vdev takes it:
 *                                     net_ring, net_null, net_pcap, net_memif, net_tap, net_af_xdp ...
 *   veth0                             a Linux interface: af_xdp if that works on it, else af_packet
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
	DP_PORT_AUTO, /* Linux interface: af_xdp, or af_packet if that fails */
	DP_PORT_AF_XDP,
	DP_PORT_AF_PACKET,
};

/* NULL-terminated names for OPTION_CHOICE: "auto", "af_xdp", "af_packet". */
extern const char *const dp_port_driver_names[];

struct dp_pool;

/*
 * Creates a pool of `count` buffers, each with `data_bytes` for a frame (2048 hold any 1500-byte MTU; af_xdp copies
 * into it). Returns NULL with err set. Free it after the ports that use it are closed; NULL is legal for
 * dp_pool_free().
 */
struct dp_pool *dp_pool_create(const char *name, unsigned int count, uint16_t data_bytes, struct error *err);
void dp_pool_free(struct dp_pool *pool);

/*
 * Returns the `data_bytes` of a pool whose buffers hold a frame of this MTU (at most DP_MTU_MAXIMUM), its header and
 * its tags, for all of these ports. It is in whole KiB, at least 2, because NICs count their buffers in KiB (82599
 * datasheet, SRRCTL.BSIZEPACKET). It is a power of two if any port is an interface or an af_packet device: their slots
 * are powers of two and are copied whole.
 */
#define DP_MTU_MAXIMUM 9600
uint16_t dp_pool_bytes(uint16_t mtu, const char *const *ports, size_t port_count);

struct dp_port_options {
	const char *name;
	enum dp_port_driver driver; /* has an effect on Linux interfaces only */
	uint16_t queues;            /* RX and TX, each for one lcore; 0 = 1, the maximum for an interface */
	uint16_t descriptors;       /* of each queue; 0 = 1024; reduced to the device's maximum */
	struct dp_pool *pool;       /* for RX; its buffers hold a whole frame */
	uint16_t mtu;               /* minimum MTU to support; 0 = 1500. An interface keeps its own */
	bool promiscuous;
	bool hardware_rx_stamps; /* the NIC stamps every packet; -ENOTSUP if it cannot */
};

struct dp_port;

/*
 * Opens and configures a port; traffic flows after dp_port_start(). Returns NULL with err set: -ENODEV (no such port),
 * -EPERM, -EBUSY (taken), -EINVAL (bad arguments), -ENOTSUP.
 */
struct dp_port *dp_port_open(const struct dp_port_options *options, struct error *err);
int dp_port_start(struct dp_port *port, struct error *err);
/* Stops and closes the device (detaching af_xdp's program) and frees the port. NULL is legal. */
void dp_port_close(struct dp_port *port);

uint16_t dp_port_id(const struct dp_port *port);

/* Returns the Linux interface behind the port, or "" if there is none. */
const char *dp_port_interface(const struct dp_port *port);
/* Returns true if that interface was removed: the port then stays silent, even if another one gets its name. */
bool dp_port_is_gone(const struct dp_port *port);
/*
 * Returns the driver's AF_PACKET or AF_XDP socket, to sleep on it or filter its packets, or -1 if there is none.
 * Borrowed.
 */
int dp_port_socket(const struct dp_port *port);

struct dp_port_report {
	char name[64];           /* as given, without a vdev's arguments */
	char driver[32];         /* "net_af_xdp", "net_ixgbe" ... */
	char mac[18];            /* "52:54:00:00:00:01" */
	bool link_up;            /* now; a Linux interface exists, is up, and has a carrier */
	uint32_t speed_Mbps;     /* 0 = unknown */
	int numa_node;           /* -1 = unknown */
	bool hardware_rx_stamps; /* can stamp every packet */
	uint16_t queues;
	uint16_t mtu;              /* of the interface, else of the device; 0 = unknown */
	bool sends_by_system_call; /* each dp_transmit() enters the kernel, an empty one too */
};

void dp_port_report(const struct dp_port *port, struct dp_port_report *report);

/*
 * Device counters since start. rx_missed: the device had no room or descriptor; rx_no_mbuf: the pool was empty;
 * rx_errors: broken, or too long for the device (with af_packet, for its slots, 2048 bytes at the MTU of 1500: such a
 * frame is dropped, never cut). tx_errors: accepted for transmission, then dropped by the device, for example because
 * the Linux interface is down.
 */
struct dp_port_statistics {
	uint64_t rx_packets, rx_bytes, rx_missed, rx_errors, rx_no_mbuf;
	uint64_t tx_packets, tx_bytes, tx_errors;
};

/* Control thread; drivers keep these counters without locks, so figures may lag by a burst. */
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
