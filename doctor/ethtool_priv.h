/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the settings of a network interface that ethtool shows: by ioctl on this host; with --root, from the file
 * ethtool/NAME in its folder, which has lines "key=value".
 */
#ifndef DOCTOR_ETHTOOL_PRIV_H
#define DOCTOR_ETHTOOL_PRIV_H

#include "doctor_priv.h"

/*
 * Which received packets the NIC stamps: none, those of PTP, or all. The file ethtool/NAME has these numbers, from -1
 * on.
 */
enum nic_stamps {
	STAMPS_UNKNOWN = -1,
	STAMPS_NONE,
	STAMPS_PTP,
	STAMPS_ALL,
};

/* Settings of an interface; -1 = the driver does not report the setting. */
struct nic_settings {
	char firmware[64];
	int rx_pause, tx_pause, gro, lro, tso, gso, rx_usecs, adaptive_rx, stamps;
	/*
	 * combined: number of receive queues that share an interrupt with a transmit queue; rx_queues: number of the
	 * others
	 */
	int combined, rx_queues;
	int ntuple; /* 1 if ntuple filters, which match fields of a packet, are on */
};

/* Fills every field: -1 if the driver does not report it, "" for an unknown firmware version. */
void nic_settings_ask(const struct doctor *doctor, const char *name, struct nic_settings *settings);

#endif
