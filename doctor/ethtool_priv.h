/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of a network interface as ethtool shows them: by ioctl on this host, or from the file ethtool/NAME below
 * --root.
 */
#ifndef DOCTOR_ETHTOOL_PRIV_H
#define DOCTOR_ETHTOOL_PRIV_H

#include "doctor_priv.h"

/* Which received packets the NIC stamps. The file ethtool/NAME in --root's folder uses these numbers. */
enum nic_stamps {
	STAMPS_UNKNOWN = -1,
	STAMPS_NONE,
	STAMPS_PTP,
	STAMPS_ALL,
};

/* Settings; -1 = the driver does not report it. With --root, the file ethtool/NAME in its folder has lines "key=value".
 */
struct nic_settings {
	char firmware[64];
	int rx_pause, tx_pause, gro, lro, tso, gso, rx_usecs, adaptive_rx, stamps;
	/* numbers of receive queues: combined shares its interrupts with transmit queues, rx_queues does not */
	int combined, rx_queues;
	int ntuple; /* 1 if ntuple filters, which match fields of a packet, are on */
};

/* Fills every field: -1 if the driver does not report it, "" for an unknown firmware version. */
void nic_settings_ask(const struct doctor *doctor, const char *name, struct nic_settings *settings);

#endif
