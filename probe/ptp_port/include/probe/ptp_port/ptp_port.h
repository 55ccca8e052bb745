/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PTP through a DPDK port, over Ethernet. If the driver has a PTP clock, the NIC stamps event messages as they pass the
 * MAC, see <dp/timesync.h>. The software stamps are this host's wall clock, read right before the TX burst and right
 * after the RX burst; the thread polls without sleeping. Starts EAL and stops it.
 */
#ifndef PTP_PORT_H
#define PTP_PORT_H

#include <base/options.h>
#include <probe/ptp/measure.h>

/*
 * Measures like ptp_measure(). The port is options->interface, any name that <dp/port.h> accepts; operands->rest goes
 * to EAL. Logs a warning if there are no stamps of the NIC, because the driver has no PTP clock or the NIC did not
 * stamp.
 */
int ptp_port_measure(const struct ptp_options *options, const struct option_operands *operands,
		     struct ptp_result *result, const volatile sig_atomic_t *stop, struct error *err);

#endif
