/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { AVAILABLE_GOOD_MIB = 2048, AVAILABLE_LEAST_MIB = 512, HUGEPAGES_GOOD_MIB = 512 };

static void check_available(struct doctor *doctor)
{
	char text[64];
	int64_t available_MiB;

	if (!doctor_lookup(doctor, "/proc/meminfo", "MemAvailable", text, sizeof text) || text[0] < '0' ||
	    text[0] > '9') {
		doctor_unclear(doctor, "memory", "memory", "/proc/meminfo");
		return;
	}
	available_MiB = strtoll(text, NULL, 10) / 1024;
	if (available_MiB >= AVAILABLE_GOOD_MIB)
		doctor_add(doctor, "memory", FINDING_OK, "memory", NULL, "%" PRId64 " MiB available", available_MiB);
	else
		doctor_add(doctor, "memory", available_MiB < AVAILABLE_LEAST_MIB ? FINDING_FAIL : FINDING_WARN,
			   "memory", "end other programs, or add memory to the machine: 2 GiB free is enough",
			   "%" PRId64 " MiB available: an injector takes 256 MiB, a prober 64", available_MiB);
}

struct hugepage_scan {
	int64_t total_MiB, free_MiB;
};

static void scan_hugepages(struct doctor *doctor, const char *name, void *context)
{
	struct hugepage_scan *scan = context;
	int64_t total = 0, unused = 0, size_kB;

	if (strncmp(name, "hugepages-", 10) != 0)
		return;
	size_kB = strtoll(name + 10, NULL, 10);
	doctor_read_integer(doctor, &total, "/sys/kernel/mm/hugepages/%s/nr_hugepages", name);
	doctor_read_integer(doctor, &unused, "/sys/kernel/mm/hugepages/%s/free_hugepages", name);
	scan->total_MiB += total * size_kB / 1024;
	scan->free_MiB += unused * size_kB / 1024;
}

static void check_hugepages(struct doctor *doctor)
{
	static const char fix[] = "echo 512 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages (for good: "
				  "vm.nr_hugepages=512 in /etc/sysctl.d, or default_hugepagesz=1G hugepages=2)";
	struct hugepage_scan scan = {0};

	doctor_each(doctor, "/sys/kernel/mm/hugepages", scan_hugepages, &scan);
	if (scan.free_MiB >= HUGEPAGES_GOOD_MIB)
		doctor_add(doctor, "hugepages", FINDING_OK, "memory", NULL, "%" PRId64 " of %" PRId64 " MiB free",
			   scan.free_MiB, scan.total_MiB);
	else if (scan.total_MiB > 0)
		doctor_add(doctor, "hugepages", FINDING_WARN, "memory", fix,
			   "%" PRId64 " of %" PRId64 " MiB free, %d wanted", scan.free_MiB, scan.total_MiB,
			   HUGEPAGES_GOOD_MIB);
	else
		doctor_add(doctor, "hugepages", doctor_serious(doctor), "memory", fix,
			   "none: DPDK uses ordinary memory, which suffices for Linux interfaces; a NIC needs "
			   "hugepages");
}

static void scan_node(struct doctor *doctor, const char *name, void *context)
{
	(void)doctor;
	*(unsigned int *)context += strncmp(name, "node", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

static void check_numa(struct doctor *doctor)
{
	unsigned int nodes = 0;
	int64_t balancing = 0;

	doctor_each(doctor, "/sys/devices/system/node", scan_node, &nodes);
	if (nodes <= 1) {
		doctor_add(doctor, "numa", FINDING_OK, "memory", NULL, "one memory node");
		return;
	}
	if (doctor_ask_integer(doctor, "numa", "memory", &balancing, "/proc/sys/kernel/numa_balancing") ==
	    DOCTOR_UNCLEAR)
		return;
	if (balancing)
		doctor_add(doctor, "numa", FINDING_WARN, "memory", "sysctl -w kernel.numa_balancing=0",
			   "%u memory nodes with automatic balancing: the kernel unmaps pages of running programs",
			   nodes);
	else
		doctor_add(doctor, "numa", FINDING_OK, "memory", NULL,
			   "%u memory nodes, no automatic balancing: keep the NIC's node (see its finding) for polling",
			   nodes);
}

/* The file has "always [madvise] never"; the brackets mark the mode in use. */
static void check_transparent(struct doctor *doctor)
{
	static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
	char enabled[128];

	if (!doctor_read(doctor, enabled, sizeof enabled, path)) {
		if (doctor_exists(doctor, path))
			doctor_unclear(doctor, "thp", "memory", path);
		else
			doctor_add(doctor, "thp", FINDING_OK, "memory", NULL,
				   "this kernel has no transparent hugepages");
	} else if (strstr(enabled, "[always]"))
		doctor_add(doctor, "thp", FINDING_WARN, "memory",
			   "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
			   "transparent hugepages are always on: khugepaged moves memory of running applications");
	else if (strstr(enabled, "[madvise]") || strstr(enabled, "[never]"))
		doctor_add(doctor, "thp", FINDING_OK, "memory", NULL,
			   "transparent hugepages are off, or used only on request");
	else
		doctor_unclear(doctor, "thp", "memory", path);
}

static void check_merging(struct doctor *doctor)
{
	int64_t merging = 0;

	if (doctor_ask_integer(doctor, "ksm", "memory", &merging, "/sys/kernel/mm/ksm/run") == DOCTOR_UNCLEAR)
		return;
	if (merging == 1)
		doctor_add(doctor, "ksm", FINDING_WARN, "memory", "echo 0 > /sys/kernel/mm/ksm/run",
			   "same-page merging is on: it write-protects memory of running programs");
	else
		doctor_add(doctor, "ksm", FINDING_OK, "memory", NULL, "no same-page merging (KSM)");
}

void doctor_check_memory(struct doctor *doctor)
{
	check_available(doctor);
	check_hugepages(doctor);
	check_numa(doctor);
	check_transparent(doctor);
	check_merging(doctor);
}
