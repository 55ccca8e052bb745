/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks before each TX burst of DPDK's af_xdp driver. Without them, packets for a link that is down wait in the
 * kernel's ring and leave when the link is up again, and frames longer than the MTU are dropped without a count. The
 * driver also counts each refused packet as an error, although the caller keeps it.
 */
#ifndef DP_XDP_PORT_PRIV_H
#define DP_XDP_PORT_PRIV_H

#include <stdint.h>

#include <base/error.h>

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

#endif
