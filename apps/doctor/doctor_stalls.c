/* SPDX-License-Identifier: BSD-3-Clause */
/* How often a polling loop is stopped: one thread a CPU does nothing but read the counter and look at the gaps. */
#include "doctor.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <base/ns.h>

enum {
	STALL_NS = 1000,              /* as the injector counts them */
	WORST_GOOD_NS = 10000,        /* a tick, an interrupt: what an isolated CPU may still show */
	CALIBRATION_NS = 20 * 1000000 /* 0.1 % of a rate is plenty for a limit */
};
#define SHARE_GOOD 1e-4 /* of the time */

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

static int choose_cpus(const struct doctor *doctor, const char *list, struct cpu_set_bits *chosen, struct error *err)
{
	struct cpu_set_bits online;
	char there[256];
	cpu_set_t allowed;

	if (list) {
		if (!cpu_set_parse(list, chosen) || chosen->count == 0)
			return error_set(err, EINVAL, "--cpus: expected a list as 2-3,5, found '%s'", list);
		if (doctor_read(doctor, there, sizeof there, "/sys/devices/system/cpu/online") &&
		    cpu_set_parse(there, &online) && !cpu_set_within(chosen, &online))
			return error_set(err, EINVAL, "--cpus: this host's CPUs are %s, found '%s'", there, list);
		return 0;
	}
	if (doctor_isolated(doctor, chosen) && chosen->count > 0)
		return 0;
	*chosen = (struct cpu_set_bits){0};
	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
		return error_set(err, errno, "cannot ask for this process's CPUs");
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpu_set_add(chosen, cpu);
	return 0;
}

int doctor_measure_stalls(struct doctor *doctor, double seconds, const char *list, struct error *err)
{
	struct cpu_set_bits cpus;
	struct stall_watch *watches;
	double rate = measure_rate();
	size_t count = 0, started = 0;
	int code = choose_cpus(doctor, list, &cpus, err);

	if (code)
		return code;
	watches = calloc(cpus.count, sizeof *watches);
	if (!watches)
		return error_set(err, ENOMEM, "out of memory");
	for (unsigned int cpu = 0; cpu < CPUS_LIMIT; cpu++)
		if (cpu_set_has(&cpus, cpu))
			watches[count++] = (struct stall_watch){.cpu = cpu, .ticks_per_ns = rate, .seconds = seconds};
	while (started < count && code == 0) {
		int error = pthread_create(&watches[started].thread, NULL, watch, &watches[started]);

		if (error)
			code = error_set(err, error, "cannot start a thread for CPU %u", watches[started].cpu);
		else
			started++;
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(watches[i].thread, NULL);
	for (size_t i = 0; i < started && code == 0; i++)
		report(doctor, &watches[i]);
	free(watches);
	return code;
}
