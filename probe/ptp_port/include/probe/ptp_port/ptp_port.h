/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PTP through a DPDK port, over Ethernet. If the driver has a PTP clock, the NIC stamps our event messages as they pass
 * the MAC, see <dp/timesync.h>. The software stamps are this host's wall clock right before the transmit burst and
 * right after the receive burst; the thread does not sleep. Starts EAL and stops it.
 */
#ifndef PTP_PORT_H
#define PTP_PORT_H

#include <base/options.h>
#include <probe/ptp/measure.h>

/*
 * As ptp_measure(); the port is options->interface, by any name that <dp/port.h> takes; operands->rest goes to EAL.
 * Says in the log that there are no stamps of the NIC: its driver has no PTP clock, or it gave none.
 */
int ptp_port_measure(const struct ptp_options *options, const struct option_operands *operands,
		     struct ptp_result *result, const volatile sig_atomic_t *stop, struct error *err);

#endif
