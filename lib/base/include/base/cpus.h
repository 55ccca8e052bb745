/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of CPUs in the kernel's form, "0,4-6" (cpuset(7), "Formats"). Pure. */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

enum { CPUS_LIMIT = 1024 }; /* CPU numbers are below this, as in the C library's cpu_set_t */

/*
 * Stores the first `capacity` CPUs of the list, in the order of the list. Returns the number of CPUs in the list, 0 for
 * an empty one, or -EINVAL if the text is no list. A newline may end the list, as in /sys.
 */
int cpus_parse(const char *list, unsigned int *cpus, unsigned int capacity);

#endif
