/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks what interrupts a polling CPU: device interrupts, irqbalance, watchdogs, other CPUs' timers. */
#include "doctor_priv.h"

#include <string.h>

struct irq_scan {
	const cpu_set_t *isolated;
	unsigned int irqs, inside;
};

static void scan_irq(struct doctor *doctor, const char *name, void *context)
{
	struct irq_scan *scan = context;
	cpu_set_t affinity;
	char list[1024];

	if (!doctor_read(doctor, list, sizeof list, "/proc/irq/%s/smp_affinity_list", name) ||
	    !doctor_parse_cpus(list, &affinity))
		return;
	scan->irqs++;
	scan->inside += cpus_meet(&affinity, scan->isolated);
}

static void check_interrupts(struct doctor *doctor, const cpu_set_t *isolated)
{
	struct irq_scan scan = {.isolated = isolated};

	doctor_each(doctor, "/proc/irq", scan_irq, &scan);
	if (scan.inside)
		doctor_add(
			doctor, "irq-affinity", FINDING_WARN, "cores",
			"for i in /proc/irq/*/smp_affinity_list; do echo 0-1 > $i; done (with your housekeeping CPUs)",
			"%u of %u interrupts may come to isolated CPUs", scan.inside, scan.irqs);
	else
		doctor_add(doctor, "irq-affinity", FINDING_OK, "cores", NULL,
			   "none of %u interrupts may come to isolated CPUs", scan.irqs);
}

static void scan_process(struct doctor *doctor, const char *name, void *context)
{
	bool *found = context;
	char command[32];

	if (name[0] >= '0' && name[0] <= '9' && doctor_read(doctor, command, sizeof command, "/proc/%s/comm", name) &&
	    strcmp(command, "irqbalance") == 0)
		*found = true;
}

static void check_balancer(struct doctor *doctor)
{
	bool found = false;

	doctor_each(doctor, "/proc", scan_process, &found);
	if (found)
		doctor_add(doctor, "irqbalance", FINDING_WARN, "cores",
			   "systemctl disable --now irqbalance (or IRQBALANCE_BANNED_CPULIST= in its defaults)",
			   "irqbalance runs: it moves interrupts while you measure, though not to isolated CPUs");
	else
		doctor_add(doctor, "irqbalance", FINDING_OK, "cores", NULL, "irqbalance does not run");
}

static void check_watchdog(struct doctor *doctor, const cpu_set_t *isolated)
{
	static const char mask_path[] = "/proc/sys/kernel/watchdog_cpumask";
	int64_t nmi = 0, soft = 0;
	cpu_set_t watched;
	char list[1024];

	if (doctor_ask_integer(doctor, "watchdog", "cores", &nmi, "/proc/sys/kernel/nmi_watchdog") == DOCTOR_UNCLEAR ||
	    doctor_ask_integer(doctor, "watchdog", "cores", &soft, "/proc/sys/kernel/soft_watchdog") == DOCTOR_UNCLEAR)
		return;
	if (nmi)
		doctor_add(doctor, "watchdog", FINDING_WARN, "cores",
			   "sysctl -w kernel.nmi_watchdog=0 (for good: nmi_watchdog=0)",
			   "the NMI watchdog interrupts polling cores and takes a performance counter");
	else if (soft && CPU_COUNT(isolated) && doctor_read(doctor, list, sizeof list, mask_path) &&
		 doctor_parse_cpus(list, &watched) && cpus_meet(&watched, isolated))
		doctor_add(
			doctor, "watchdog", FINDING_WARN, "cores",
			"sysctl -w kernel.watchdog_cpumask=0-1 (with your housekeeping CPUs; for good: nosoftlockup)",
			"the soft lockup watchdog runs on isolated CPUs too: a thread every few seconds");
	else
		doctor_add(doctor, "watchdog", FINDING_OK, "cores", NULL, "%s",
			   CPU_COUNT(isolated) ? "no watchdog on isolated CPUs" : "no NMI watchdog");
}

/*
 * The kernel's get_nohz_timer_target() moves the timers of an idle CPU to a busy CPU that may do housekeeping: also to
 * a polling CPU, unless it is isolated.
 */
static void check_timers(struct doctor *doctor, const cpu_set_t *isolated)
{
	int64_t migrates = 0;

	if (doctor_ask_integer(doctor, "timers", "cores", &migrates, "/proc/sys/kernel/timer_migration") ==
	    DOCTOR_UNCLEAR)
		return;
	if (migrates && CPU_COUNT(isolated) == 0)
		doctor_add(doctor, "timers", FINDING_WARN, "cores", "sysctl -w kernel.timer_migration=0",
			   "idle CPUs hand their timers to busy ones: a polling CPU that is not isolated gets them");
	else
		doctor_add(doctor, "timers", FINDING_OK, "cores", NULL, "no other CPU's timers run on polling CPUs");
}

void doctor_check_quiet(struct doctor *doctor)
{
	cpu_set_t isolated;

	doctor_isolated(doctor, &isolated);
	if (CPU_COUNT(&isolated)) /* without isolated CPUs, check_isolation() has added a finding already */
		check_interrupts(doctor, &isolated);
	check_balancer(doctor);
	check_watchdog(doctor, &isolated);
	check_timers(doctor, &isolated);
}
