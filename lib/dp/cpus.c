/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_priv.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include <base/cpus.h>

static int choose_isolated(unsigned int count, unsigned int *cpus)
{
	char text[1024] = "";
	FILE *file = fopen("/sys/devices/system/cpu/isolated", "re");
	int found;

	if (!file)
		return 0;
	if (!fgets(text, sizeof text, file))
		text[0] = '\0';
	fclose(file);
	found = cpus_parse(text, cpus, count);
	return found > 0 && (unsigned int)found >= count;
}

int dp_cpus_choose(const char *list, unsigned int count, unsigned int *cpus, struct error *err)
{
	long online = sysconf(_SC_NPROCESSORS_CONF);
	int found;

	if (!list)
		return choose_isolated(count, cpus);
	found = cpus_parse(list, cpus, count);
	if (found < 0)
		return error_set(err, EINVAL, "CPU list \"%s\": expected numbers and ranges such as 2 or 2,4-5", list);
	if ((unsigned int)found < count)
		return error_set(err, EINVAL,
				 "CPU list \"%s\" names %d CPUs, but %u are needed (one for each busy lcore)", list,
				 found, count);
	for (unsigned int i = 0; i < count; i++) {
		if ((long)cpus[i] >= online)
			return error_set(err, EINVAL, "CPU list \"%s\": there is no CPU %u, this host has 0-%ld", list,
					 cpus[i], online - 1);
	}
	return 1;
}

void dp_cpus_allowed(char *text, size_t bytes)
{
	cpu_set_t set;
	size_t length = 0;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) == 0)
		CPU_SET(0, &set);
	text[0] = '\0';
	for (int first = 0; first < CPU_SETSIZE && length < bytes; first++) {
		int last = first;

		if (!CPU_ISSET(first, &set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
			last++;
		length += (size_t)snprintf(text + length, bytes - length, last > first ? "%s%d-%d" : "%s%d",
					   length ? "," : "", first, last);
		first = last;
	}
}
