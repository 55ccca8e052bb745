/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor_priv.h"

#include <string.h>

#define NOHZ_FULL "/sys/devices/system/cpu/nohz_full"

/* Limit for the exit latency of idle states. Longer latencies are visible in the measured delays. */
enum { IDLE_EXIT_LIMIT_US = 10 };

static bool has_flag(const char *flags, const char *flag)
{
	size_t length = strlen(flag);

	for (const char *at = strstr(flags, flag); at; at = strstr(at + length, flag))
		if ((at == flags || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

static void check_counter(struct doctor *doctor)
{
	char flags[16384];

	if (!doctor_lookup(doctor, "/proc/cpuinfo", "flags", flags, sizeof flags)) {
		doctor_add(doctor, "tsc", FINDING_FAIL, "clock", "use an x86-64 host",
			   "no x86 CPU flags in /proc/cpuinfo: there is no time stamp counter to measure with");
		return;
	}
	if (has_flag(flags, "constant_tsc") && has_flag(flags, "nonstop_tsc"))
		doctor_add(doctor, "tsc", FINDING_OK, "clock", NULL,
			   "time stamp counter is invariant (constant_tsc, nonstop_tsc)");
	else
		doctor_add(doctor, "tsc", FINDING_FAIL, "clock",
			   "use a CPU with an invariant counter, or let the hypervisor pass invtsc through (QEMU: -cpu "
			   "host,+invtsc); 'nomora inject --trust-counter' takes the counter as it is",
			   "time stamp counter is not invariant: CPU flags missing:%s%s",
			   has_flag(flags, "constant_tsc") ? "" : " constant_tsc",
			   has_flag(flags, "nonstop_tsc") ? "" : " nonstop_tsc");
}

/* The kernel takes only a clock that it lists. */
static const char *clock_fix(const char *available)
{
	if (has_flag(available, "tsc"))
		return "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource "
		       "(for good: tsc=reliable clocksource=tsc on the kernel's command line)";
	return "the kernel does not offer the tsc as its clock: on a guest, let the hypervisor pass invtsc through "
	       "(QEMU: "
	       "-cpu host,+invtsc); on a host, see 'dmesg | grep -i tsc'";
}

static void check_clock_source(struct doctor *doctor)
{
	char source[64], available[256] = "";

	doctor_read(doctor, available, sizeof available,
		    "/sys/devices/system/clocksource/clocksource0/available_clocksource");
	if (!doctor_read(doctor, source, sizeof source,
			 "/sys/devices/system/clocksource/clocksource0/current_clocksource"))
		doctor_add(doctor, "clocksource", FINDING_WARN, "clock", "mount -t sysfs sysfs /sys",
			   "the kernel does not say which clock it uses");
	else if (strcmp(source, "tsc") == 0)
		doctor_add(doctor, "clocksource", FINDING_OK, "clock", NULL, "the kernel's clock is the tsc");
	else
		doctor_add(
			doctor, "clocksource", doctor_serious(doctor), "clock", clock_fix(available),
			"the kernel's clock is %s: it is slow to read, and can only be compared coarsely with the tsc",
			source);
}

struct cpu_scan {
	unsigned int cpus, with_governor, not_performance;
	char governor[32];
	int64_t worst_exit_us;
	char worst_state[32];
	bool has_idle;
};

static void scan_idle_state(struct doctor *doctor, const char *cpu, unsigned int state, struct cpu_scan *scan)
{
	int64_t exit_us, disabled = 0;
	char name[32] = "?";

	if (!doctor_read_integer(doctor, &exit_us, "/sys/devices/system/cpu/%s/cpuidle/state%u/latency", cpu, state))
		return;
	scan->has_idle = true;
	doctor_read_integer(doctor, &disabled, "/sys/devices/system/cpu/%s/cpuidle/state%u/disable", cpu, state);
	doctor_read(doctor, name, sizeof name, "/sys/devices/system/cpu/%s/cpuidle/state%u/name", cpu, state);
	if (!disabled && exit_us > scan->worst_exit_us) {
		scan->worst_exit_us = exit_us;
		snprintf(scan->worst_state, sizeof scan->worst_state, "%s", name);
	}
}

static void scan_cpu(struct doctor *doctor, const char *name, void *context)
{
	struct cpu_scan *scan = context;
	char governor[32];

	if (strncmp(name, "cpu", 3) != 0 || strspn(name + 3, "0123456789") != strlen(name + 3) || !name[3])
		return;
	scan->cpus++;
	if (doctor_read(doctor, governor, sizeof governor, "/sys/devices/system/cpu/%s/cpufreq/scaling_governor",
			name)) {
		scan->with_governor++;
		if (strcmp(governor, "performance") != 0) {
			scan->not_performance++;
			snprintf(scan->governor, sizeof scan->governor, "%s", governor);
		}
	}
	for (unsigned int state = 0; state < 16; state++)
		scan_idle_state(doctor, name, state, scan);
}

static void check_power(struct doctor *doctor, const struct cpu_scan *scan)
{
	if (scan->with_governor == 0)
		doctor_add(doctor, "governor", FINDING_OK, "power", NULL,
			   "no frequency scaling to set (it is fixed, or set by the hypervisor)");
	else if (scan->not_performance == 0)
		doctor_add(doctor, "governor", FINDING_OK, "power", NULL, "governor is performance on all %u CPUs",
			   scan->with_governor);
	else
		doctor_add(doctor, "governor", FINDING_WARN, "power", "cpupower frequency-set -g performance",
			   "governor is %s on %u of %u CPUs: their speed changes while measuring", scan->governor,
			   scan->not_performance, scan->with_governor);
	if (!scan->has_idle)
		doctor_add(doctor, "c-states", FINDING_OK, "power", NULL,
			   "no idle states to set (there are none, or the hypervisor sets them)");
	else if (scan->worst_exit_us <= IDLE_EXIT_LIMIT_US)
		doctor_add(doctor, "c-states", FINDING_OK, "power", NULL, "idle states wake within %lld us",
			   (long long)scan->worst_exit_us);
	else
		doctor_add(doctor, "c-states", FINDING_WARN, "power",
			   "cpupower idle-set -D 10 (for good: intel_idle.max_cstate=1 processor.max_cstate=1)",
			   "idle state %s takes %lld us to wake: this delays sleeping probers and applications",
			   scan->worst_state, (long long)scan->worst_exit_us);
}

static void check_smt(struct doctor *doctor)
{
	int64_t active = 0;

	if (doctor_ask_integer(doctor, "smt", "power", &active, "/sys/devices/system/cpu/smt/active") == DOCTOR_UNCLEAR)
		return;
	if (!active)
		doctor_add(doctor, "smt", FINDING_OK, "power", NULL, "no two threads share a core (SMT off or absent)");
	else
		doctor_add(doctor, "smt", FINDING_WARN, "power",
			   "echo off > /sys/devices/system/cpu/smt/control (for good: nosmt)",
			   "SMT is on: a busy sibling thread slows a polling thread");
}

static void print_range(unsigned int first, unsigned int last, char *text, size_t bytes)
{
	snprintf(text, bytes, first == last ? "%u" : "%u-%u", first, last);
}

/* Suggests isolating the upper half of the CPUs; CPU 0 always has housekeeping to do. */
static void suggest_isolation(const struct doctor *doctor, unsigned int cpus, char *fix, size_t bytes)
{
	unsigned int first = cpus >= 4 ? cpus / 2 : 1, last = cpus > 1 ? cpus - 1 : 1;
	char list[32], rest[32], ticks[96] = "";

	print_range(first, last, list, sizeof list);
	print_range(0, first - 1, rest, sizeof rest);
	if (doctor_exists(doctor, NOHZ_FULL)) /* without this file the kernel does not know the option */
		snprintf(ticks, sizeof ticks, "nohz_full=%s rcu_nocbs=%s ", list, list);
	snprintf(fix, bytes,
		 "isolcpus=managed_irq,domain,%s %sirqaffinity=%s on the kernel's command line, then reboot", list,
		 ticks, rest);
}

static void check_count(struct doctor *doctor, unsigned int cpus)
{
	if (cpus < 2)
		doctor_add(doctor, "cpus", doctor_serious(doctor), "cores", "give the machine two CPUs or more",
			   "%u CPU: the injector and the programs that it delays compete for it", cpus);
	else
		doctor_add(doctor, "cpus", FINDING_OK, "cores", NULL, "%u CPUs", cpus);
}

static void check_ticks(struct doctor *doctor, const cpu_set_t *isolated)
{
	static const char found[] = "isolated CPUs still take the timer tick: 100 to 1000 stalls a second (CONFIG_HZ)";
	cpu_set_t ticks;
	char list[1024];

	if (!doctor_exists(doctor, NOHZ_FULL))
		doctor_add(doctor, "nohz_full", FINDING_WARN, "cores",
			   "a kernel with CONFIG_NO_HZ_FULL (Debian's has it)", "%s", found);
	else if (!doctor_read(doctor, list, sizeof list, NOHZ_FULL))
		doctor_unclear(doctor, "nohz_full", "cores", NOHZ_FULL);
	else if (doctor_parse_cpus(list, &ticks) && /* false for "(null)", which the kernel writes for no CPU */
		 cpus_are_within(isolated, &ticks))
		doctor_add(doctor, "nohz_full", FINDING_OK, "cores", NULL, "isolated CPUs run without the timer tick");
	else
		doctor_add(doctor, "nohz_full", FINDING_WARN, "cores",
			   "add nohz_full= and rcu_nocbs=, with the list of isolcpus=, to the kernel's command line",
			   "%s", found);
}

static void check_isolation(struct doctor *doctor, unsigned int cpus)
{
	static const char path[] = "/sys/devices/system/cpu/isolated";
	cpu_set_t isolated;
	char fix[256];

	if (!doctor_isolated(doctor, &isolated) && doctor_exists(doctor, "%s", path)) {
		doctor_unclear(doctor, "isolcpus", "cores", path);
		return;
	}
	if (CPU_COUNT(&isolated) == 0) {
		suggest_isolation(doctor, cpus, fix, sizeof fix);
		doctor_add(doctor, "isolcpus", doctor_serious(doctor), "cores", fix,
			   "no CPU is isolated: polling loops are interrupted by other work (stalls are counted, not "
			   "avoided)");
		return;
	}
	doctor_add(doctor, "isolcpus", FINDING_OK, "cores", NULL, "%u isolated CPUs", CPU_COUNT(&isolated));
	check_ticks(doctor, &isolated);
}

/*
 * Returns the number of online CPUs, or `folders` if it is not known. `folders`, the number of CPUs in
 * /sys/devices/system/cpu, includes offline ones.
 */
static unsigned int count_online(const struct doctor *doctor, unsigned int folders)
{
	cpu_set_t online;
	char list[1024];

	if (doctor_read(doctor, list, sizeof list, "/sys/devices/system/cpu/online") &&
	    doctor_parse_cpus(list, &online) && CPU_COUNT(&online) > 0)
		return CPU_COUNT(&online);
	return folders;
}

void doctor_check_cpu(struct doctor *doctor)
{
	struct cpu_scan scan = {0};

	doctor_each(doctor, "/sys/devices/system/cpu", scan_cpu, &scan);
	check_counter(doctor);
	check_clock_source(doctor);
	check_power(doctor, &scan);
	check_smt(doctor);
	scan.cpus = count_online(doctor, scan.cpus);
	check_count(doctor, scan.cpus);
	check_isolation(doctor, scan.cpus);
}
