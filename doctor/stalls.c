/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures how often a polling loop is interrupted: one thread per CPU reads the counter and counts the gaps. */
#include "doctor_priv.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <base/ns.h>

enum {
	STALL_NS = 1000,       /* a longer gap is a stall, as in the injector, unless its bursts are system calls */
	WORST_GOOD_NS = 10000, /* longest acceptable gap: a tick or an interrupt, which even an isolated CPU may have */
	CALIBRATION_NS = 20 * 1000000 /* gives the rate of the counter within 0.1 %, enough for gaps */
};
#define SHARE_GOOD 1e-4 /* largest acceptable share of the time that a CPU is stalled */

struct stall_watch {
	unsigned int cpu;
	double ticks_per_ns, seconds;
	bool placed;
	uint64_t stalls, stalled_ticks, worst_ticks, total_ticks;
	pthread_t thread;
};

static uint64_t ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return (uint64_t)ns_now_monotonic().v;
#endif
}

static double measure_rate(void)
{
	int64_t start_ns = ns_now_monotonic().v, end_ns;
	uint64_t start = ticks();

	do
		end_ns = ns_now_monotonic().v;
	while (end_ns - start_ns < CALIBRATION_NS);
	return (double)(ticks() - start) / (double)(end_ns - start_ns);
}

static void *watch(void *argument)
{
	struct stall_watch *watch = argument;
	uint64_t limit = (uint64_t)(watch->ticks_per_ns * STALL_NS), start, end, last, now;
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(watch->cpu, &only);
	watch->placed = sched_setaffinity(0, sizeof only, &only) == 0;
	if (!watch->placed)
		return NULL;
	start = last = ticks();
	end = start + (uint64_t)(watch->seconds * 1e9 * watch->ticks_per_ns);
	do {
		now = ticks();
		if (now - last > limit) {
			watch->stalls++;
			watch->stalled_ticks += now - last;
			if (now - last > watch->worst_ticks)
				watch->worst_ticks = now - last;
		}
		last = now;
	} while (now < end);
	watch->total_ticks = now - start;
	return NULL;
}

static void report(struct doctor *doctor, const struct stall_watch *watch)
{
	double share = (double)watch->stalled_ticks / (double)watch->total_ticks;
	double worst_us = (double)watch->worst_ticks / watch->ticks_per_ns / 1000;

	if (!watch->placed) {
		doctor_add(doctor, "stalls", FINDING_WARN, "cores", "taskset -pc $$",
			   "CPU %u: this process may not run there", watch->cpu);
		return;
	}
	doctor_add(doctor, "stalls",
		   worst_us * 1000 <= WORST_GOOD_NS && share <= SHARE_GOOD ? FINDING_OK : FINDING_WARN, "cores",
		   "isolate the CPU and move interrupts and ticks away; in a guest, pin its CPUs on the hypervisor",
		   "CPU %u: %llu stalls over 1 us in %.2f s, %.3f %% of the time, the worst %.1f us", watch->cpu,
		   (unsigned long long)watch->stalls, (double)watch->total_ticks / watch->ticks_per_ns / 1e9,
		   share * 100, worst_us);
}

static int choose_cpus(const struct doctor *doctor, const char *list, cpu_set_t *chosen, struct error *err)
{
	char there[256];
	cpu_set_t online;

	if (list) {
		if (!doctor_parse_cpus(list, chosen) || CPU_COUNT(chosen) == 0)
			return error_set(err, EINVAL, "expected a list such as 2-3,5, found '%s'", list);
		if (doctor_read(doctor, there, sizeof there, "/sys/devices/system/cpu/online") &&
		    doctor_parse_cpus(there, &online) && !cpus_are_within(chosen, &online))
			return error_set(err, EINVAL, "expected CPUs that are online (%s), found '%s'", there, list);
		return 0;
	}
	if (doctor_isolated(doctor, chosen) && CPU_COUNT(chosen) > 0)
		return 0;
	if (sched_getaffinity(0, sizeof *chosen, chosen) != 0)
		return error_set(err, errno, "cannot read this process's CPU affinity");
	return 0;
}

static int run_watches(struct stall_watch *watches, size_t count, struct error *err)
{
	size_t started = 0;
	int code = 0;

	while (started < count && code == 0) {
		int error = pthread_create(&watches[started].thread, NULL, watch, &watches[started]);

		if (error)
			code = error_set(err, error, "cannot start a thread for CPU %u", watches[started].cpu);
		else
			started++;
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(watches[i].thread, NULL);
	return code;
}

int doctor_measure_stalls(double seconds, const char *list, struct findings *findings, struct error *err)
{
	struct doctor doctor = {.root = "", .findings = findings};
	struct stall_watch *watches;
	double rate = measure_rate();
	cpu_set_t cpus;
	size_t count = 0;
	int code = choose_cpus(&doctor, list, &cpus, err);

	if (code)
		return code;
	watches = calloc((size_t)CPU_COUNT(&cpus), sizeof *watches);
	if (!watches)
		return error_set(err, ENOMEM, "out of memory");
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			watches[count++] = (struct stall_watch){.cpu = cpu, .ticks_per_ns = rate, .seconds = seconds};
	code = run_watches(watches, count, err);
	for (size_t i = 0; i < count && code == 0; i++)
		report(&doctor, &watches[i]);
	free(watches);
	if (code == 0 && doctor.out_of_memory)
		code = error_set(err, ENOMEM, "out of memory");
	return code;
}
