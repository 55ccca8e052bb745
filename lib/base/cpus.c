/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/cpus.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static bool parse_number(const char **cursor, unsigned int *value)
{
	char *end;
	unsigned long number;

	if (**cursor < '0' || **cursor > '9')
		return false;
	number = strtoul(*cursor, &end, 10);
	if (number >= CPUS_LIMIT)
		return false;
	*value = (unsigned int)number;
	*cursor = end;
	return true;
}

int cpus_parse(const char *list, unsigned int *cpus, unsigned int capacity)
{
	unsigned int count = 0;

	if (*list == '\0' || *list == '\n')
		return 0;
	for (const char *cursor = list;; cursor++) {
		unsigned int first, last;

		if (!parse_number(&cursor, &first))
			return -EINVAL;
		last = first;
		if (*cursor == '-') {
			cursor++;
			if (!parse_number(&cursor, &last) || last < first)
				return -EINVAL;
		}
		for (unsigned int cpu = first; cpu <= last; cpu++, count++) {
			if (count < capacity)
				cpus[count] = cpu;
		}
		if (*cursor == '\0' || *cursor == '\n')
			return (int)count;
		if (*cursor != ',')
			return -EINVAL;
	}
}
