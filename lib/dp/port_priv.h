/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the parts of a port: names, the checks of a Linux interface, the counters that drivers leave out. */
#ifndef DP_PORT_PRIV_H
#define DP_PORT_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>

/* "0000:03:00.0" or "03:00.0". */
bool dp_port_is_pci(const char *name);

/* "net_ring0", "net_af_packet0,iface=va", "eth_..." : what EAL's --vdev takes. */
bool dp_port_is_vdev(const char *name);

/* Copies the value of "iface=..." in a vdev's arguments; false if there is none. */
bool dp_port_vdev_interface(const char *arguments, char *interface, size_t bytes);

/* The interface exists, we may open raw sockets on it, it is up (or is brought up). 0 or -errno with err set. */
int dp_interface_check(const char *interface, struct error *err);

/* True if the interface is up with a carrier and still has this index. */
bool dp_interface_running(const char *interface, unsigned int index);

/* 0 if unknown. */
unsigned int dp_interface_mtu(const char *interface);

/* Queues that packets can arrive on; af_xdp's driver binds one. 1 if unknown. */
unsigned int dp_interface_rx_queues(const char *interface);

/*
 * Takes a name for this process within the network namespace; released by close() or death. Returns a descriptor or
 * -errno with err set (-EBUSY: another process has it).
 */
int dp_port_lock(const char *name, struct error *err);

/* A PCI device is there and bound to a driver that DPDK can use. */
int dp_pci_check(const char *address, struct error *err);

/*
 * af_packet's driver does not report what the kernel dropped, af_xdp's leaves out a full RX ring. Both are known to the
 * socket, so we find the one that the driver opened: the sockets seen after minus those seen before.
 */
struct dp_sockets {
	uint8_t open[1024 / 8];
};

void dp_sockets_look(struct dp_sockets *sockets);
int dp_sockets_new(const struct dp_sockets *before); /* a duplicate of the descriptor, the caller's; -1 = none */

/*
 * af_packet's driver truncates a frame that does not fit its slot. Makes the driver's socket refuse such frames, and
 * opens a second socket on the interface that only counts them. Returns its descriptor, or -errno with err set.
 */
int dp_socket_refuse_longer(int socket_fd, const char *interface, unsigned int bytes, struct error *err);

/* Packets counted by the descriptor of dp_socket_refuse_longer() since the last call. */
uint64_t dp_socket_refused(int counting_fd);

/* The longest frame that fits a slot of af_packet's driver, from its arguments ("framesz=", 2048 if not given). */
unsigned int dp_af_packet_frame_bytes(const char *arguments);

/* The slot of af_packet's driver that holds frames of this MTU, a power of two. */
unsigned int dp_af_packet_slot_bytes(unsigned int mtu);

/* Packets that the kernel dropped since the last call because a buffer was full. */
uint64_t dp_socket_missed(int socket_fd, uint64_t *xdp_total_before);

#endif
