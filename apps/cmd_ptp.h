/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora ptp. Its DPDK part is in nomora-probe. */
#ifndef APPS_CMD_PTP_H
#define APPS_CMD_PTP_H

#include "commands.h"

#include <probe/ptp/measure.h>

typedef int ptp_measurer(const struct ptp_options *options, const struct option_operands *operands,
			 struct ptp_result *result, const volatile sig_atomic_t *stop, struct error *err);

/*
 * `by_port` measures through DPDK ports. If it is NULL and DPDK ports are asked for, the process becomes nomora-probe.
 */
int command_ptp_by(int argc, char **argv, ptp_measurer *by_port);

#endif
