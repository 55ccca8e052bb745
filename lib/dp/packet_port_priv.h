/* SPDX-License-Identifier: BSD-3-Clause */
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
#ifndef DP_PACKET_PORT_PRIV_H
#define DP_PACKET_PORT_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <dp/port.h>

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

#endif
