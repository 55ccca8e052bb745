/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora ptp, without its DPDK part, which is in the program nomora-probe. */
#ifndef APPS_CMD_PTP_H
#define APPS_CMD_PTP_H

#include "commands.h"

#include <probe/ptp/measure.h>

typedef int ptp_measurer(const struct ptp_options *options, const struct option_operands *operands,
			 struct ptp_result *result, const volatile sig_atomic_t *stop, struct error *err);

/*
 * Runs nomora ptp. With --dpdk, measures by calling by_port(); if by_port is NULL, the process becomes nomora-probe
 * instead.
 */
int command_ptp_by(int argc, char **argv, ptp_measurer *by_port);

#endif
