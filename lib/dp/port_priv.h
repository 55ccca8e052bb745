/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port, and functions shared by the files port*.c: they interpret names, check Linux interfaces, and read the
 * counters that drivers do not report.
 */
#ifndef DP_PORT_PRIV_H
#define DP_PORT_PRIV_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <dp/port.h>

struct dp_port {
	char name[64];            /* name as given, without arguments */
	char device[64];          /* name of the device in EAL */
	char interface[IFNAMSIZ]; /* "" = the port is not an interface */
	unsigned int interface_index;
	uint16_t id, queues;
	unsigned int room; /* for a frame in a buffer of the pool, bytes */
	bool plugged;      /* we attached the virtual device, so we detach it */
	bool configured;   /* rte_eth_dev_close() must be called */
	bool started;
	bool interface_counts; /* the Linux interface counts packets */
	struct dp_stamps stamps;
	int lock;      /* descriptor of dp_port_lock(), -1 = none */
	int socket_fd; /* the driver's socket (it has a counter of dropped packets); -1 = none */
	uint64_t kernel_missed, xdp_missed_before;
	struct packet_port *packet;              /* NULL: not af_packet */
	struct xdp_port *xdp;                    /* NULL: not af_xdp */
	struct nic_port *nic;                    /* NULL: the driver does not report changes of the link */
	bool memif;                              /* the driver is net_memif */
	uint64_t interface_rx, interface_tx;     /* the interface's counters at the start */
	struct ns compared_at;                   /* time of the last comparison with these counters */
	uint64_t interface_rx_before, rx_before; /* since the start, at that time: of the interface, of the port */
	uint64_t rx_uncounted, tx_uncounted;
};

/* Returns true for names such as "0000:03:00.0" or "03:00.0". */
bool dp_port_is_pci(const char *name);

/* Returns true for a name that EAL's --vdev takes: "net_ring0", "net_af_packet0,iface=va", "eth_...". */
bool dp_port_is_vdev(const char *name);

/* Copies the value of "iface=..." in a vdev's arguments. Returns false if there is none. */
bool dp_port_vdev_interface(const char *arguments, char *interface, size_t bytes);

/*
 * Checks that the interface exists and that we may open raw sockets on it; brings it up if it is down. Returns 0, or
 * -errno with err set.
 */
int dp_interface_check(const char *interface, struct error *err);

/* Returns true if the interface is up with a carrier and still has this index. */
bool dp_interface_running(const char *interface, unsigned int index);

/* Returns how often the interface has lost or got a carrier since it was made; 0 if it is unknown or gone. */
uint32_t dp_interface_link_changes(unsigned int index);

/* Copies the interface's MAC address. Returns false if it is unknown. */
bool dp_interface_address(const char *interface, uint8_t address[6]);

/* Returns the interface's MTU, or 0 if it is unknown. */
unsigned int dp_interface_mtu(const char *interface);

/* Reads the packets that the interface itself has counted. Returns false if they are unknown. */
bool dp_interface_packets(const char *interface, uint64_t *rx, uint64_t *tx);

/* Returns true if no device is behind the interface, as with veth, tap and macvlan. */
bool dp_interface_is_virtual(const char *interface);

/*
 * Returns the interface's number of receive queues, or 1 if it is unknown. af_xdp's driver receives from only one of
 * them.
 */
unsigned int dp_interface_rx_queues(const char *interface);

/*
 * Locks a port's name for this process, within the network namespace; close() or the end of the process releases it.
 * Returns a descriptor, or -errno with err set (-EBUSY: another process has locked it).
 */
int dp_port_lock(const char *name, struct error *err);

/* Checks that a PCI device exists and is bound to a driver that DPDK can use. Returns 0, or -errno with err set. */
int dp_pci_check(const char *address, struct error *err);

/*
 * A set of open sockets. af_xdp's driver does not report drops at a full RX ring, but the socket that the driver
 * opened has this counter. We find the socket by
 * comparing the sockets that are open before and after the driver is started.
 */
struct dp_sockets {
	uint8_t open[1024 / 8];
};

void dp_sockets_look(struct dp_sockets *sockets);
int dp_sockets_new(const struct dp_sockets *before); /* returns a duplicate of the new socket's descriptor, which the
							caller closes; -1 = none */

/*
 * Returns the number of packets that the kernel dropped since the last call because a buffer was full.
 * *xdp_total_before: the kernel's total at the last call, for an AF_XDP socket only; set it to 0 before the first call.
 */
uint64_t dp_socket_missed(int socket_fd, uint64_t *xdp_total_before);

/*
 * The burst functions of af_packet: a packet socket on a Linux interface, in place of DPDK's driver of that name, which
 * joins IPv4 fragments (PACKET_FANOUT_FLAG_DEFRAG), turns S-tags into C-tags, forwards what its own host sends, loses
 * frames whose checksum or segmentation a host left to its NIC, and keeps frames in its TX ring while the link is down.
 *
 * Frames arrive in a ring of TPACKET_V2; version 3 delivers blocks of frames, after a timeout of 1 ms or more. They are
 * sent by sendmmsg(), which returns the reason for each frame that the interface does not send.
 *
 * Debian's DPDK does not install the headers for drivers, so that the port is a net_null device whose burst functions
 * are replaced in rte_eth_fp_ops[], which is public. rte_eth_dev_stop() resets them.
 */

struct packet_port;

struct packet_port_counts {
	uint64_t rx_packets, rx_bytes;
	uint64_t rx_frames; /* as the interface counts them: a super-packet is one frame */
	uint64_t rx_errors; /* frames that are too long for a buffer of the pool, and super-packets of unknown form */
	uint64_t tx_packets, tx_bytes; /* frames that the interface took */
	/* Frames that transmit() took and dropped: no link, longer than the MTU, another reason. */
	uint64_t tx_link_down, tx_mtu, tx_errors;
};

/* Opens a socket on an interface. Returns NULL with err set on failure. `interface` must outlive the port. */
struct packet_port *packet_port_open(const char *interface, struct dp_pool *pool, bool promiscuous, struct error *err);
/* Replaces the burst functions of a started device. */
void packet_port_install(struct packet_port *port, uint16_t id);
int packet_port_socket(const struct packet_port *port);
const struct packet_port_counts *packet_port_counts(const struct packet_port *port);
void packet_port_close(struct packet_port *port); /* NULL is legal */

/*
 * Checks before each TX burst of DPDK's af_xdp driver. Without them, packets for a link that is down wait in the
 * kernel's ring and leave when the link is up again, and frames longer than the MTU are dropped without a count. The
 * driver also counts each refused packet as an error, although the caller keeps it.
 */

struct xdp_port;

struct xdp_port_counts {
	uint64_t tx_link_down, tx_mtu; /* packets that were dropped */
	uint64_t refused;              /* packets that the driver has refused, and has counted as errors */
};

/* Returns NULL with err set on failure. `interface` must outlive the port. */
struct xdp_port *xdp_port_open(const char *interface, struct error *err);
/* Puts the checks before the TX burst function of a started device. */
void xdp_port_install(struct xdp_port *port, uint16_t id);
/* Reads the counters, and the interface's MTU, which the checks then use. */
struct xdp_port_counts xdp_port_look(struct xdp_port *port);
void xdp_port_close(struct xdp_port *port); /* NULL is legal */

/*
 * A check before each TX burst of a NIC whose driver reports changes of the link by an interrupt, and of net_memif.
 * Without it, packets for a link that is down wait in the NIC's ring, and leave when the link is up again; net_memif
 * takes none while it has no peer.
 */

struct nic_port;

struct nic_port_counts {
	uint64_t tx_link_down; /* packets that were dropped */
	uint32_t link_changes;
};

/* For a configured device with this number of TX queues. Returns NULL with err set on failure. */
struct nic_port *nic_port_open(uint16_t id, uint16_t queues, struct error *err);
/* Puts the check before the TX burst function of a started device. */
void nic_port_install(struct nic_port *port);
struct nic_port_counts nic_port_look(const struct nic_port *port);
void nic_port_close(struct nic_port *port); /* of a stopped device; NULL is legal */

/*
 * Keeps bursts on a port of DPDK's net_memif apart from the end of its peer. When the peer ends, the driver unmaps the
 * shared rings in EAL's interrupt thread, without waiting for a burst that a worker has begun (read in 22.11 and
 * later): the worker then crashes. The driver offers no hook between the two, so we define munmap(), which DPDK's
 * libraries then call, and make it wait until the bursts that run have ended.
 */

/* Puts the guard around the burst functions of a started device, which has one queue. */
void memif_port_install(uint16_t id);

/*
 * Cuts a super-packet (TCP segments, or UDP datagrams, that a host joined for its NIC to cut) into the frames that the
 * NIC would send, with their checksums. Pure: no I/O.
 */

enum { SEGMENTS_BYTES_MAXIMUM = 65536 + 64 }; /* an IP packet with its Ethernet header and tags */

struct segments {
	const uint8_t *frame;
	uint32_t bytes;                       /* of the super-packet */
	uint32_t network, transport, payload; /* offsets of the headers and of the payload */
	uint32_t size;                        /* payload of each segment, bytes */
	uint32_t at;                          /* offset of the next segment's payload; 0 = no segment is left */
	uint16_t index;
	bool is_ipv4, is_tcp;
};

/*
 * Starts with a super-packet, which must stay in place until no segment is left. Returns false, and leaves none, if it
 * is neither TCP nor UDP over IPv4 or IPv6 without extension headers, or if a segment has more than `room` bytes.
 */
bool segments_begin(struct segments *segments, const uint8_t *frame, uint32_t bytes, uint32_t size, uint32_t room);
static inline bool segments_left(const struct segments *segments)
{
	return segments->at != 0;
}
/* Writes the next segment, a whole frame; returns its length. */
uint16_t segments_next(struct segments *segments, uint8_t *to);

/* The Internet checksum (RFC 1071): adds bytes to a sum; folds a sum into 16 bits, in the order of memory. */
uint32_t segments_sum(const uint8_t *bytes, size_t count, uint32_t sum);
uint16_t segments_fold(uint32_t sum);

/* Captures the log of DPDK and its drivers: keeps the last line for error messages, prints the rest only on request. */

/* Starts capturing the log. `verbose`: also print it on stderr. Call it before rte_eal_init(). */
void dp_eal_log_capture(bool verbose);

/* Call it after rte_eal_init(): silences libxdp and libbpf, which af_xdp's driver loads and which print on stderr. */
void dp_eal_log_quiet_libraries(void);

/*
 * Mutes stdout and stderr, or restores them. If EAL does not start, it prints its whole usage on stdout and alerts on
 * stderr, although our error message contains the reason. Mute only around rte_eal_init(), while the process has one
 * thread. Does nothing if the log is verbose.
 */
void dp_eal_log_mute(bool mute);

void dp_eal_log_release(void);

/* Chooses the CPUs of the lcores. The functions have no side effects; they read /sys and the thread's affinity. */

/*
 * Fills cpus[0..count-1] from `list` ("2,4-5"), or from the kernel's isolated CPUs if `list` is NULL. Returns:
 * - 1: each worker has its own CPU
 * - 0: `list` is NULL and there are too few isolated CPUs, so workers may run on any CPU
 * - -errno with err set
 */
int dp_cpus_choose(const char *list, unsigned int count, unsigned int *cpus, struct error *err);

/* Writes this thread's affinity in the kernel's format, such as "0-3". */
void dp_cpus_allowed(char *text, size_t bytes);

#endif
