/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/file.h>

/* Columns of /proc/stat, proc(5): user nice system idle iowait irq softirq steal */
enum { TICKS_NICE = 1, TICKS_IDLE = 3, TICKS_WAIT = 4, TICKS_STEAL = 7, TICKS = 8 };

static double read_ticks(const char *fields, double ticks[TICKS])
{
	double sum = 0;

	if (sscanf(fields, "%lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
		   &ticks[5], &ticks[6], &ticks[7]) != TICKS)
		return 0;
	for (int i = 0; i < TICKS; i++)
		sum += ticks[i];
	return sum;
}

void machine_state_read(struct machine_state *state)
{
	char *text = file_read_all("/proc/stat", 1 << 20, NULL, NULL), *save = NULL;
	double ticks[TICKS] = {0};
	cpu_set_t ours;

	*state = (struct machine_state){0};
	if (sched_getaffinity(0, sizeof ours, &ours) != 0)
		CPU_ZERO(&ours);
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && strncmp(line, "cpu", 3) == 0;
	     line = strtok_r(NULL, "\n", &save)) {
		char *fields = line + 3;
		unsigned long cpu;

		if (*fields == ' ') {
			state->total_ticks = read_ticks(fields, ticks);
			state->steal_ticks = ticks[TICKS_STEAL];
			continue;
		}
		cpu = strtoul(fields, &fields, 10);
		if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &ours)) {
			state->our_processors++;
			state->our_ticks += read_ticks(fields, ticks);
			state->our_free_ticks += ticks[TICKS_IDLE] + ticks[TICKS_WAIT] + ticks[TICKS_NICE];
		}
	}
	free(text);
	if (getloadavg(&state->load, 1) != 1)
		state->load = 0;
}

double machine_steal_percent(const struct machine_state *before, const struct machine_state *after)
{
	double ticks = after->total_ticks - before->total_ticks;

	return ticks > 0 ? 100 * (after->steal_ticks - before->steal_ticks) / ticks : 0;
}

/*
 * Keeps processors awake. A processor idles between a request and its delayed answer. The deeper it sleeps, the longer
 * it takes to wake up, which adds to the injected delay (17 to 40 us in a virtual machine, whose idle instruction goes
 * through the hypervisor).
 *
 * If the kernel can idle by polling (state 0 of its cpuidle driver is POLL), a request for zero latency
 * (/dev/cpu_dma_latency) makes it do so: then a write to memory is enough to wake the processor. Otherwise, a loop of
 * the idle scheduling class runs on each processor. The loop takes time from no other process, but to wake a process
 * there, the waking processor (the injector's) must send an interprocessor interrupt.
 */

struct awake {
	int latency; /* descriptor of /dev/cpu_dma_latency, -1 = not available */
	size_t count;
	pid_t pids[CPU_SETSIZE];
};

/* Leaves the core's execution units to its other hardware thread. */
static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void spin(int cpu) __attribute__((noreturn));

static void spin(int cpu)
{
	struct sched_param lowest = {0};
	cpu_set_t only;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	/*
	 * The loop's time counts as niced work, so machine_state_read() can distinguish it from other programs' time.
	 */
	setpriority(PRIO_PROCESS, 0, 19);
	if (sched_setaffinity(0, sizeof only, &only) != 0 || sched_setscheduler(0, SCHED_IDLE, &lowest) != 0)
		_exit(1);
	signal(SIGTERM, SIG_DFL);
	for (;;)
		relax();
}

static bool idles_by_polling(int cpu)
{
	char path[96];
	char *name;
	bool polls;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpuidle/state0/name", cpu);
	name = access(path, R_OK) == 0 ? file_read_all(path, 64, NULL, NULL) : NULL;
	polls = name && strncmp(name, "POLL", 4) == 0;
	free(name);
	return polls;
}

struct awake *awake_start(struct error *err)
{
	struct awake *awake = calloc(1, sizeof *awake);
	static const int none_us = 0;
	cpu_set_t cpus;

	if (!awake || sched_getaffinity(0, sizeof cpus, &cpus) != 0) {
		error_set(err, errno, "cannot keep the processors awake: %s", strerror(errno));
		free(awake);
		return NULL;
	}
	awake->latency = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	if (awake->latency >= 0 && write(awake->latency, &none_us, sizeof none_us) != sizeof none_us) {
		close(awake->latency);
		awake->latency = -1;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		bool needed = CPU_ISSET(cpu, &cpus) && !(awake->latency >= 0 && idles_by_polling(cpu));
		pid_t pid = needed ? fork() : -1;

		if (pid == 0)
			spin(cpu);
		if (pid > 0)
			awake->pids[awake->count++] = pid;
	}
	return awake;
}

void awake_stop(struct awake *awake)
{
	if (!awake)
		return;
	for (size_t i = 0; i < awake->count; i++) {
		kill(awake->pids[i], SIGKILL);
		while (waitpid(awake->pids[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (awake->latency >= 0)
		close(awake->latency);
	free(awake);
}
