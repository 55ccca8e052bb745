/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/mman.h>

#include <base/options.h>

struct settings {
	double delay_us;
	int64_t count;
	bool json;
	const char *control;
	struct option_list hosts;
};

static const struct option_row rows[] = {
	OPTION_DOUBLE(struct settings, delay_us, "delay-us", 'd', "US", 0, 10000, "delay"),
	OPTION_INTEGER(struct settings, count, "count", 'c', "N", 1, 100, "how many"),
	OPTION_FLAG(struct settings, json, "json", 'j', "print JSON"),
	OPTION_STRING(struct settings, control, "control", 0, "PATH", "socket"),
	OPTION_LIST(struct settings, hosts, "host", 0, "NAME", "a host"),
	OPTION_END,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct option_usage usage = {.command = "fuzz", .summary = "", .rows = rows};
	struct option_operands operands = {0};
	struct settings settings = {0};
	struct error err = {0};
	char path[32];
	int fd = memfd_create("config", 0);

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		options_read_file(&usage, path, &settings, &operands.strings, &err);
	}
	options_free(&operands);
	close(fd);
	return 0;
}
