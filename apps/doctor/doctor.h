/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomora doctor: is this host ready? Each check reads files of /proc, /sys and /dev below a root folder (so that tests
 * can show it any host), and adds findings. Plain data, one thread.
 */
#ifndef APPS_DOCTOR_H
#define APPS_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/cpus.h>
#include <base/error.h>

enum finding_level {
	FINDING_OK,
	FINDING_WARN, /* works, but figures will be worse or less to be trusted */
	FINDING_FAIL, /* does not work, or measures nonsense */
};

struct finding {
	const char *check; /* "hugepages"; one check may have several findings */
	enum finding_level level;
	char found[256];
	char fix[320];    /* the line that sets it; "" = nothing to do */
	const char *note; /* file in firmware-notes/ without ".md" */
};

enum doctor_purpose {
	DOCTOR_LAB, /* the virtual rack, af_packet and af_xdp */
	DOCTOR_NIC, /* delays and probes on a NIC of its own: what is a warning in the lab may be a failure */
};

struct doctor {
	const char *root; /* "" for the real one */
	enum doctor_purpose purpose;
	const char *port; /* look at this interface alone; NULL = all that are hardware */
	struct finding *findings;
	size_t count, capacity;
	bool out_of_memory;
};

/* Adds a finding; `fix` may be NULL. */
void doctor_add(struct doctor *doctor, const char *check, enum finding_level level, const char *note, const char *fix,
		const char *format, ...) __attribute__((format(printf, 6, 7)));

/* WARN in the lab, FAIL on a NIC. */
enum finding_level doctor_serious(const struct doctor *doctor);
/* WARN: the file is there but cannot be read or understood, so that the check says nothing. */
void doctor_unclear(struct doctor *doctor, const char *check, const char *note, const char *path);
bool doctor_is_live(const struct doctor *doctor);

/* First line of root/path without its end and blanks; false if it cannot be read. The path is a printf format. */
bool doctor_read(const struct doctor *doctor, char *text, size_t bytes, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
bool doctor_read_integer(const struct doctor *doctor, int64_t *value, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* A number that a kernel may lack. UNCLEAR has added its finding. */
enum doctor_answer {
	DOCTOR_ABSENT,
	DOCTOR_UNCLEAR,
	DOCTOR_READ,
};
enum doctor_answer doctor_ask_integer(struct doctor *doctor, const char *check, const char *note, int64_t *value,
				      const char *path);
bool doctor_exists(const struct doctor *doctor, const char *path, ...) __attribute__((format(printf, 2, 3)));
FILE *doctor_open(const struct doctor *doctor, const char *path);
/* Value of "key<blanks or colon>value" in a file of such lines; the first that matches. */
bool doctor_lookup(const struct doctor *doctor, const char *path, const char *key, char *value, size_t bytes);
/* Last path component of a symbolic link (a driver's name). */
bool doctor_link_name(const struct doctor *doctor, char *name, size_t bytes, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
/* Calls visit for each entry of root/folder that is no dot file, in the order of names; returns how many. */
size_t doctor_each(struct doctor *doctor, const char *folder,
		   void (*visit)(struct doctor *doctor, const char *name, void *context), void *context);

/* "0-3,8" as a set; false if it is not a list. */
struct cpu_set_bits {
	uint64_t words[CPUS_LIMIT / 64];
	unsigned int count;
};
bool cpu_set_parse(const char *list, struct cpu_set_bits *set);
void cpu_set_add(struct cpu_set_bits *set, unsigned int cpu);
bool cpu_set_has(const struct cpu_set_bits *set, unsigned int cpu);
bool cpu_set_within(const struct cpu_set_bits *inner, const struct cpu_set_bits *outer);
bool cpu_set_meets(const struct cpu_set_bits *a, const struct cpu_set_bits *b);
/* /sys/devices/system/cpu/isolated. */
bool doctor_isolated(const struct doctor *doctor, struct cpu_set_bits *set);

/* The checks, one file each. */
void doctor_check_cpu(struct doctor *doctor);    /* clock, frequency, idle states, SMT, isolation, ticks */
void doctor_check_memory(struct doctor *doctor); /* memory, hugepages, NUMA, THP, KSM */
void doctor_check_kernel(struct doctor *doctor); /* AF_PACKET, AF_XDP, namespaces, TUN, IOMMU, VFIO, rights, limits */
void doctor_check_host(struct doctor *doctor);   /* virtual machine, stolen time, load, CPU flaws, DPDK */
void doctor_check_nic(struct doctor *doctor);    /* ports: driver, firmware, PCIe, offloads, pauses, stamps, queues */
void doctor_check_quiet(struct doctor *doctor); /* what interrupts a polling CPU: IRQs, irqbalance, watchdogs, timers */

/*
 * Polls the time stamp counter on each of `cpus` (NULL: the isolated ones, or all that this process may use) for
 * `seconds`, all at once, and adds a finding for each: gaps over 1 us are stalls. This host only.
 */
int doctor_measure_stalls(struct doctor *doctor, double seconds, const char *cpus, struct error *err);

/* doctor_report.c */
void doctor_print(const struct doctor *doctor, bool all, FILE *out);
int doctor_print_json(const struct doctor *doctor, struct error *err);
size_t doctor_count(const struct doctor *doctor, enum finding_level level);

#endif
