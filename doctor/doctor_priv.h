/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that the checks share: they read files of the host and add findings. Each check is a function in one of the
 * files listed at the end. It adds at least one finding, also if nothing is wrong, and calls doctor_unclear() for a
 * file that it cannot understand.
 */
#ifndef DOCTOR_DOCTOR_PRIV_H
#define DOCTOR_DOCTOR_PRIV_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <doctor/doctor.h>

struct doctor {
	const char *root;
	enum findings_purpose purpose;
	const char *port;
	struct findings *findings;
	bool out_of_memory;
};

/*
 * Adds a finding. `note` is the name of a file in firmware-notes/ that explains it; `fix`, the command that fixes it,
 * may be NULL.
 */
void doctor_add(struct doctor *doctor, const char *check, enum finding_level level, const char *note, const char *fix,
		const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Returns the level for a serious finding: FAIL if the host is checked for a NIC, WARN if only for the lab. */
enum finding_level doctor_serious(const struct doctor *doctor);
/* Adds a WARN finding: the file exists but cannot be read or understood, so that the check has no result. */
void doctor_unclear(struct doctor *doctor, const char *check, const char *note, const char *path);
/* Returns true if the root folder is that of this host, not a copy of another host's files. */
bool doctor_is_live(const struct doctor *doctor);

/*
 * Reads the first line of the file root/path, without trailing blanks; `path` is a printf format. Returns false if the
 * file cannot be read.
 */
bool doctor_read(const struct doctor *doctor, char *text, size_t bytes, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
bool doctor_read_integer(const struct doctor *doctor, int64_t *value, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Results of doctor_ask_integer(). ABSENT: this kernel does not have the file. UNCLEAR: the file has no valid number,
 * and a finding says so.
 */
enum doctor_answer {
	DOCTOR_ABSENT,
	DOCTOR_UNCLEAR,
	DOCTOR_READ,
};
enum doctor_answer doctor_ask_integer(struct doctor *doctor, const char *check, const char *note, int64_t *value,
				      const char *path);
bool doctor_exists(const struct doctor *doctor, const char *path, ...) __attribute__((format(printf, 2, 3)));
/*
 * Finds the first line of the file that begins with `key` and a blank, ":" or "="; copies the text after them. Returns
 * false if there is none.
 */
bool doctor_lookup(const struct doctor *doctor, const char *path, const char *key, char *value, size_t bytes);
/* Copies the last path component of a symbolic link's target (a driver's name). */
bool doctor_link_name(const struct doctor *doctor, char *name, size_t bytes, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * Calls visit (unless it is NULL) for each entry of root/folder whose name has no leading dot, in the order of
 * strverscmp(). Returns the number of entries.
 */
size_t doctor_each(struct doctor *doctor, const char *folder,
		   void (*visit)(struct doctor *doctor, const char *name, void *context), void *context);

/* Converts a list such as "0-3,8" to a set. If it is not a list, returns false and an empty set. */
bool doctor_parse_cpus(const char *list, cpu_set_t *set);
bool cpus_are_within(const cpu_set_t *inner, const cpu_set_t *outer);
bool cpus_meet(const cpu_set_t *a, const cpu_set_t *b);
/* Reads the set of isolated CPUs, /sys/devices/system/cpu/isolated. */
bool doctor_isolated(const struct doctor *doctor, cpu_set_t *set);

/* The checks, one file each. */
void doctor_check_cpu(struct doctor *doctor);    /* clock, frequency, idle states, SMT, isolation, ticks */
void doctor_check_memory(struct doctor *doctor); /* memory, hugepages, NUMA, THP, KSM */
void doctor_check_kernel(struct doctor *doctor); /* AF_PACKET, AF_XDP, namespaces, TUN, IOMMU, VFIO, rights, limits */
void doctor_check_host(struct doctor *doctor);   /* virtual machine, stolen time, load, CPU flaws, DPDK */
void doctor_check_nic(struct doctor *doctor);    /* ports: driver, firmware, PCIe, offloads, pauses, stamps, queues */
void doctor_check_quiet(struct doctor *doctor);  /* interrupts of a polling CPU: IRQs, irqbalance, watchdogs, timers */

/*
 * Reads the settings of a network interface that ethtool shows: by ioctl on this host; with --root, from the file
 * ethtool/NAME in its folder, which has lines "key=value".
 */

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
