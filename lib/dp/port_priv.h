/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions shared by port.c and port_linux.c: they interpret names, check Linux interfaces, and read the counters that
 * drivers do not report.
 */
#ifndef DP_PORT_PRIV_H
#define DP_PORT_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>

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

#endif
