/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of a network interface as ethtool shows them: of this host by ioctl, under --root from the file ethtool/NAME
 * there. */
#ifndef DOCTOR_ETHTOOL_PRIV_H
#define DOCTOR_ETHTOOL_PRIV_H

#include "doctor_priv.h"

/* Which received packets the NIC stamps; the numbers are those of the file that stands for ethtool. */
enum nic_stamps {
	STAMPS_UNKNOWN = -1,
	STAMPS_NONE,
	STAMPS_PTP,
	STAMPS_ALL,
};

/* Settings; -1 = the driver does not report it. Under --root it is read from ethtool/NAME, lines "key=value". */
struct nic_settings {
	char firmware[64];
	int rx_pause, tx_pause, gro, lro, tso, gso, rx_usecs, adaptive_rx, stamps;
	int combined, rx_queues; /* receive queues that share their interrupt with sending, and those that do not */
	int ntuple;              /* filters by fields of a packet */
};

/* Fills every field: -1 where the driver does not answer, "" for an unknown firmware version. */
void nic_settings_ask(const struct doctor *doctor, const char *name, struct nic_settings *settings);

#endif
