/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of all CPU time: what another guest of the machine took while we wanted to run. */
#define STEAL_LIMIT 0.005
/* DPDK's ABI number is that of its LTS: 23 = 22.11 (DPDK ABI policy). */
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

/* Since boot, and on the host we run on also right now. */
static void check_steal(struct doctor *doctor)
{
	static const char fix[] = "pin the guest's CPUs on the hypervisor, or measure on hardware of your own";
	struct cpu_time first, second;
	double share, recent = 0;

	if (!read_cpu_time(doctor, &first))
		return;
	share = first.stolen / first.total;
	if (doctor_is_live(doctor)) {
		nanosleep(&(struct timespec){0, STEAL_WINDOW_MS * 1000000L}, NULL);
		if (read_cpu_time(doctor, &second) && second.total > first.total)
			recent = (second.stolen - first.stolen) / (second.total - first.total);
	}
	if (share > STEAL_LIMIT || recent > STEAL_LIMIT)
		doctor_add(doctor, "steal", FINDING_WARN, "virtual", fix,
			   "%.2f %% of CPU time was stolen since boot, %.2f %% just now: stalls that nothing here can "
			   "help",
			   share * 100, recent * 100);
	else
		doctor_add(doctor, "steal", FINDING_OK, "virtual", NULL, "%.2f %% of CPU time stolen since boot",
			   share * 100);
}

static void check_virtual(struct doctor *doctor)
{
	char flags[16384], vendor[128] = "unknown";

	if (!doctor_lookup(doctor, "/proc/cpuinfo", "flags", flags, sizeof flags))
		return;
	if (!strstr(flags, " hypervisor")) {
		doctor_add(doctor, "hardware", FINDING_OK, "virtual", NULL, "no hypervisor below");
		return;
	}
	doctor_read(doctor, vendor, sizeof vendor, "/sys/class/dmi/id/sys_vendor");
	doctor_add(
		doctor, "hardware", FINDING_WARN, "virtual",
		"fine for trying things out; for figures to publish use a machine of your own",
		"a virtual machine (%s): the hypervisor stops CPUs for tens of us to ms; disturbed figures are marked",
		vendor[0] ? vendor : "unknown");
}

static void check_load(struct doctor *doctor)
{
	char text[128], list[1024];
	struct cpu_set_bits online = {0};
	double load;

	if (!doctor_read(doctor, text, sizeof text, "/proc/loadavg") || sscanf(text, "%lf", &load) != 1 ||
	    !doctor_read(doctor, list, sizeof list, "/sys/devices/system/cpu/online") || !cpu_set_parse(list, &online))
		return;
	if (load > online.count * 0.5)
		doctor_add(doctor, "load", FINDING_WARN, "cores", "ps -eo pcpu,args --sort=-pcpu | head",
			   "load is %.2f on %u CPUs: other work disturbs the measurement", load, online.count);
	else
		doctor_add(doctor, "load", FINDING_OK, "cores", NULL, "load is %.2f on %u CPUs", load, online.count);
}

static void check_watchdog(struct doctor *doctor)
{
	int64_t watchdog = 0;

	doctor_read_integer(doctor, &watchdog, "/proc/sys/kernel/nmi_watchdog");
	if (watchdog)
		doctor_add(doctor, "watchdog", FINDING_WARN, "cores",
			   "sysctl -w kernel.nmi_watchdog=0 (for good: nmi_watchdog=0)",
			   "the NMI watchdog interrupts polling cores and takes a performance counter");
}

static void check_dpdk(struct doctor *doctor)
{
	char pattern[PATH_MAX];
	int abi = 0;
	glob_t found;

	if (snprintf(pattern, sizeof pattern, "%s/usr/lib*/*/librte_eal.so.[0-9]*", doctor->root) >=
	    (int)sizeof pattern)
		return;
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			int one = atoi(strstr(found.gl_pathv[i], ".so.") + 4);

			abi = one == DPDK_ABI_WANTED || abi == 0 ? one : abi;
		}
	}
	globfree(&found);
	if (abi == DPDK_ABI_WANTED)
		doctor_add(doctor, "dpdk", FINDING_OK, "kernel", NULL, "DPDK %d.11 is installed (ABI %d)", abi - 1,
			   abi);
	else if (abi)
		doctor_add(doctor, "dpdk", FINDING_WARN, "kernel", "apt install libdpdk-dev on Debian 12",
			   "DPDK with ABI %d is installed; tested is 22.11 (ABI %d)", abi, DPDK_ABI_WANTED);
	else
		doctor_add(doctor, "dpdk", FINDING_FAIL, "kernel", "apt install dpdk libdpdk-dev, then build again",
			   "DPDK is not installed: neither injector nor prober runs");
}

void doctor_check_host(struct doctor *doctor)
{
	check_virtual(doctor);
	check_steal(doctor);
	check_load(doctor);
	check_watchdog(doctor);
	check_dpdk(doctor);
}
