/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor_priv.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Limit for stolen time, as a share of all CPU time. Time is stolen while other guests run although this one is ready
 * to run.
 */
#define STEAL_LIMIT 0.005
/* The ABI number changes with each LTS release of DPDK: 23 is the ABI of 22.11 (DPDK ABI policy). */
enum { DPDK_ABI_WANTED = 23, STEAL_WINDOW_MS = 300 };

struct cpu_time {
	double total, stolen;
};

static bool read_cpu_time(struct doctor *doctor, struct cpu_time *time)
{
	double fields[8];
	char text[256];

	*time = (struct cpu_time){0};
	if (!doctor_lookup(doctor, "/proc/stat", "cpu", text, sizeof text) ||
	    sscanf(text, "%lf %lf %lf %lf %lf %lf %lf %lf", &fields[0], &fields[1], &fields[2], &fields[3], &fields[4],
		   &fields[5], &fields[6], &fields[7]) != 8)
		return false;
	for (size_t i = 0; i < 8; i++)
		time->total += fields[i];
	time->stolen = fields[7];
	return time->total > 0;
}

/* Checks the stolen time since boot and, on the host we run on, also during the next 300 ms. */
static void check_steal(struct doctor *doctor)
{
	static const char fix[] = "pin the guest's CPUs on the hypervisor, or measure on dedicated hardware";
	struct cpu_time first, second;
	double share, recent = 0;

	if (!read_cpu_time(doctor, &first)) {
		doctor_unclear(doctor, "steal", "virtual", "/proc/stat");
		return;
	}
	share = first.stolen / first.total;
	if (doctor_is_live(doctor)) {
		nanosleep(&(struct timespec){0, STEAL_WINDOW_MS * 1000000L}, NULL);
		if (read_cpu_time(doctor, &second) && second.total > first.total)
			recent = (second.stolen - first.stolen) / (second.total - first.total);
	}
	if (share > STEAL_LIMIT || recent > STEAL_LIMIT)
		doctor_add(doctor, "steal", FINDING_WARN, "virtual", fix,
			   "%.2f %% of CPU time was stolen since boot, %.2f %% just now; no setting of this "
			   "guest prevents these stalls",
			   share * 100, recent * 100);
	else
		doctor_add(doctor, "steal", FINDING_OK, "virtual", NULL, "%.2f %% of CPU time stolen since boot",
			   share * 100);
}

static void check_virtual(struct doctor *doctor)
{
	char flags[16384], vendor[128] = "unknown";

	if (!doctor_lookup(doctor, "/proc/cpuinfo", "flags", flags, sizeof flags)) {
		doctor_unclear(doctor, "hardware", "virtual", "/proc/cpuinfo");
		return;
	}
	if (!strstr(flags, " hypervisor")) {
		doctor_add(doctor, "hardware", FINDING_OK, "virtual", NULL, "not a virtual machine");
		return;
	}
	doctor_read(doctor, vendor, sizeof vendor, "/sys/class/dmi/id/sys_vendor");
	doctor_add(
		doctor, "hardware", FINDING_WARN, "virtual",
		"use it for trials; measure figures for publication on a dedicated machine",
		"a virtual machine (%s): the hypervisor stops CPUs for tens of us to ms; disturbed figures are marked",
		vendor[0] ? vendor : "unknown");
}

static void check_load(struct doctor *doctor)
{
	char text[128], list[1024];
	cpu_set_t online = {0};
	double load;

	if (!doctor_read(doctor, text, sizeof text, "/proc/loadavg") || sscanf(text, "%lf", &load) != 1) {
		doctor_unclear(doctor, "load", "cores", "/proc/loadavg");
		return;
	}
	if (!doctor_read(doctor, list, sizeof list, "/sys/devices/system/cpu/online") ||
	    !doctor_parse_cpus(list, &online) || CPU_COUNT(&online) == 0) {
		doctor_unclear(doctor, "load", "cores", "/sys/devices/system/cpu/online");
		return;
	}
	if (load > CPU_COUNT(&online) * 0.5)
		doctor_add(doctor, "load", FINDING_WARN, "cores", "ps -eo pcpu,args --sort=-pcpu | head",
			   "load is %.2f on %u CPUs: other work disturbs the measurement", load, CPU_COUNT(&online));
	else
		doctor_add(doctor, "load", FINDING_OK, "cores", NULL, "load is %.2f on %u CPUs", load,
			   CPU_COUNT(&online));
}

struct flaw_scan {
	unsigned int listed, mitigated, open, unread;
};

static void scan_flaw(struct doctor *doctor, const char *name, void *context)
{
	struct flaw_scan *scan = context;
	char state[256];

	scan->listed++;
	if (!doctor_read(doctor, state, sizeof state, "/sys/devices/system/cpu/vulnerabilities/%s", name))
		scan->unread++;
	else if (strncmp(state, "Mitigation", 10) == 0)
		scan->mitigated++;
	else if (strncmp(state, "Vulnerable", 10) == 0)
		scan->open++;
}

/*
 * Reports the mitigations of CPU flaws. If they can be read, the level is ok, even for an open flaw: whether to turn
 * mitigations off is a question of security.
 */
static void check_flaws(struct doctor *doctor)
{
	static const char folder[] = "/sys/devices/system/cpu/vulnerabilities";
	char microcode[64] = "unknown";
	struct flaw_scan scan = {0};

	doctor_each(doctor, folder, scan_flaw, &scan);
	if (scan.unread || (scan.listed == 0 && doctor_exists(doctor, folder))) {
		doctor_unclear(doctor, "mitigations", "kernel", folder);
		return;
	}
	doctor_lookup(doctor, "/proc/cpuinfo", "microcode", microcode, sizeof microcode);
	doctor_add(doctor, "mitigations", FINDING_OK, "kernel", NULL,
		   "of %u CPU flaws %u are mitigated and %u open, microcode %s: hosts that you compare should be equal "
		   "in this",
		   scan.listed, scan.mitigated, scan.open, microcode);
}

/* Returns the ABI number of DPDK's library in the folders where distributions and `meson install` put it; 0 = none. */
static int find_dpdk(const struct doctor *doctor)
{
	static const char *const folders[] = {"usr/lib/*",       "usr/lib",       "usr/lib64",
					      "usr/local/lib/*", "usr/local/lib", "usr/local/lib64"};
	char pattern[PATH_MAX];
	int abi = 0;

	for (size_t i = 0; i < sizeof folders / sizeof folders[0] && abi != DPDK_ABI_WANTED; i++) {
		glob_t found = {0};

		if (snprintf(pattern, sizeof pattern, "%s/%s/librte_eal.so.[0-9]*", doctor->root, folders[i]) >=
		    (int)sizeof pattern)
			continue;
		if (glob(pattern, 0, NULL, &found) == 0)
			for (size_t j = 0; j < found.gl_pathc; j++) {
				int one = atoi(strstr(strrchr(found.gl_pathv[j], '/'), ".so.") + 4);

				abi = one == DPDK_ABI_WANTED || abi == 0 ? one : abi;
			}
		globfree(&found);
	}
	return abi;
}

static void check_dpdk(struct doctor *doctor)
{
	int abi = find_dpdk(doctor);

	if (abi == DPDK_ABI_WANTED)
		doctor_add(doctor, "dpdk", FINDING_OK, "kernel", NULL, "DPDK %d.11 is installed (ABI %d)", abi - 1,
			   abi);
	else if (abi)
		doctor_add(doctor, "dpdk", FINDING_WARN, "kernel", "apt install libdpdk-dev on Debian 12",
			   "DPDK with ABI %d is installed; nomora is tested with 22.11 (ABI %d)", abi, DPDK_ABI_WANTED);
	else
		doctor_add(doctor, "dpdk", FINDING_FAIL, "kernel", "apt install dpdk libdpdk-dev, then build again",
			   "DPDK is not installed: neither injector nor prober runs");
}

void doctor_check_host(struct doctor *doctor)
{
	check_virtual(doctor);
	check_steal(doctor);
	check_load(doctor);
	check_flaws(doctor);
	check_dpdk(doctor);
}
