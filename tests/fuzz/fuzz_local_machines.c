/* SPDX-License-Identifier: BSD-3-Clause */
/* The machines file of the local agent: what is accepted can stand in a path and in an order to a shell. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine.h"

static void check(const char *text)
{
	if (text && (text[0] == '-' || text[0] == '.' || strpbrk(text, "/' \n")))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int file = memfd_create("machines", MFD_CLOEXEC);
	struct machines machines = {0};
	struct error err = {0};
	char path[40];

	if (file < 0 || write(file, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	if (machines_read(&machines, path, &err) < 0 && err.text[0] == '\0')
		abort(); /* a refusal says why */
	for (size_t m = 0; m < machines.count && err.code == 0; m++) {
		check(machines.items[m].name);
		check(machines.items[m].rack);
		check(machines.items[m].ssh);
		if (machines_find(&machines, machines.items[m].name) != &machines.items[m])
			abort();
	}
	machines_free(&machines);
	close(file);
	return 0;
}
