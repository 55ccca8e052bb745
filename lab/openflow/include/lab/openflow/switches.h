/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The routes of a dataflow plan in OpenFlow 1.3 switches (Open vSwitch): for each pair of hosts that exchange data and
 * each switch on its route a flow for IPv4 and one for ARP, in both directions, with a cookie that marks them as ours.
 *
 * A switch is reached at its management socket, DIR/NAME.mgmt, which Open vSwitch creates for every bridge. Link number
 * l of the topology, from 0, is port l + 1 at both its ends; host number i of the topology, from 0, has the address
 * `first + i`. An update sets the new routes before it removes the old ones: the last switch of every route first,
 * confirmed by barriers; unused flows are deleted at the end. One thread.
 */
#ifndef LAB_OPENFLOW_SWITCHES_H
#define LAB_OPENFLOW_SWITCHES_H

#include <signal.h>

#include <sched/dataflow/network.h>

enum { OPENFLOW_ATTEMPTS = 3 };

struct openflow_done {
	uint32_t switches, flows; /* that confirmed */
	double ms;                /* from the first flow to the last confirmation */
};

struct openflow_fabric {
	const char *folder;  /* of the management sockets */
	uint32_t first;      /* address of host 0, host byte order */
	uint32_t generation; /* of the flows; its lowest 16 bits must differ from those of the last update */
	int timeout_ms;      /* for a switch to connect or confirm */
	const volatile sig_atomic_t *stop; /* ends openflow_keep_routes(); NULL: never */
	/* Called after an update (done), or after a failed one that is repeated (failure); the other is NULL. */
	void (*event)(void *context, const struct openflow_done *done, const struct error *failure);
	void *context;
};

/*
 * An update that a switch refuses, does not confirm in time or aborts is repeated, up to OPENFLOW_ATTEMPTS times; until
 * it is confirmed, the old flows remain. 0, or -errno with err set, naming the switch.
 */
int openflow_set_routes(struct network *network, const struct openflow_fabric *fabric, struct error *err);

/*
 * The same, and then stays connected: if a switch restarts, or no longer confirms, the flows are set again, as often as
 * necessary. 0 when stopped, or as openflow_set_routes().
 */
int openflow_keep_routes(struct network *network, const struct openflow_fabric *fabric, struct error *err);

#endif
