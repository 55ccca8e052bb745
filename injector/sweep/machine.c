/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine_priv.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
