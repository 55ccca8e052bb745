/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora ptp --dpdk: measures the delay to a PTP clock through a DPDK port. */
#include "../cmd_ptp.h"

#include <probe/ptp_port/ptp_port.h>

int command_ptp_port(int argc, char **argv)
{
	return command_ptp_by(argc, argv, ptp_port_measure);
}
