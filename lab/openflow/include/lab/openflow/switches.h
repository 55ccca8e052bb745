/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets the routes of a dataflow plan in OpenFlow 1.3 switches (Open vSwitch): for each pair of hosts that exchange
 * data, each switch on their route has a flow for IPv4 and one for ARP, in both directions, with a cookie that marks
 * them as ours.
 *
 * A switch is reached at its management socket, DIR/NAME.mgmt, which Open vSwitch creates for every bridge. Link number
 * l of the topology, from 0, is port l + 1 at both its ends; host number i of the topology, from 0, has the address
 * `first + i`. An update sets the new routes before it removes the old ones. It goes backwards along all routes
 * at once: first it sets the flows of the last switch of every route, then those of the switches one hop before, and so
 * on. It begins each of these steps only when barriers have confirmed the flows of the previous step. At the end it
 * deletes the flows of earlier updates. One thread.
 */
#ifndef LAB_OPENFLOW_SWITCHES_H
#define LAB_OPENFLOW_SWITCHES_H

#include <signal.h>

#include <sched/dataflow/network.h>

enum { OPENFLOW_ATTEMPTS = 3 };

struct openflow_done {
	uint32_t switches, flows; /* number of switches that confirmed the update; number of flows set */
	double ms;                /* time from the first message of a flow to the last confirmation */
	const char
		*lost_by; /* NULL: an update; otherwise the switch that had lost `flows` flows, which are set again */
};

struct openflow_fabric {
	const char *folder;  /* folder of the management sockets (DIR) */
	uint32_t first;      /* address of host 0, host byte order */
	uint32_t generation; /* number of the plan, part of the flows' cookies; its lowest 16 bits must differ from
				those of the previous plan */
	int timeout_ms;      /* time limit for a switch to connect or to confirm */
	const volatile sig_atomic_t *stop; /* *stop != 0 ends openflow_keep_routes(); NULL: no end */
	/*
	 * Called after a successful update or when lost flows are set again (failure is NULL), and after a failed
	 * update that will be repeated (done is NULL).
	 */
	void (*event)(void *context, const struct openflow_done *done, const struct error *failure);
	void *context;
};

/*
 * Sets the routes. If a switch refuses the update, does not confirm it in time or closes the connection, the update is
 * repeated; there are at most OPENFLOW_ATTEMPTS attempts. The old flows remain until the new ones are confirmed.
 * Returns 0, or -errno with err set; err names the switch. -EEXIST: a flow of another controller has the match and the
 * priority of one of ours; nothing was set.
 */
int openflow_set_routes(struct network *network, const struct openflow_fabric *fabric, struct error *err);

/*
 * Sets the routes as openflow_set_routes() does, and then stays connected. Reads the flows of all switches twice a
 * second and sets missing or changed ones again. If a switch restarts or no longer confirms, repeats the update as
 * often as necessary. Returns 0 when stopped, an error of openflow_set_routes(), or -EEXIST if another controller or a
 * later update has replaced one of our flows.
 */
int openflow_keep_routes(struct network *network, const struct openflow_fabric *fabric, struct error *err);

#endif
