/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the round trip with ping: an independent check of the injected delay. */
#include "ping_priv.h"
#include "output_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAXIMUM = 10000 };

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

int ping_parse(const char *output, double *median_us)
{
	double *samples = malloc(SAMPLES_MAXIMUM * sizeof *samples), ms;
	size_t count = 0;

	if (!samples)
		return -ENOMEM;
	for (const char *at = output; (at = strstr(at, "time=")) && count < SAMPLES_MAXIMUM; at += 5)
		if (sscanf(at + 5, "%lf ms", &ms) == 1 && ms >= 0)
			samples[count++] = ms * 1e3;
	qsort(samples, count, sizeof *samples, compare);
	if (count > 0)
		*median_us = count % 2 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
	free(samples);
	return count > 0 ? 0 : -ENOENT;
}

int ping_median(const struct host *host, const char *address, int64_t count, const volatile sig_atomic_t *stop,
		double *median_us, struct error *err)
{
	char line[256];
	struct host_command command = {.phase = "ping", .line = line, .timeout = {20 * NS_PER_S}, .stop = stop};
	struct process_result result;
	int code;

	snprintf(line, sizeof line, "ping -n -i 0.002 -w 10 -c %lld '%.64s'", (long long)count, address);
	if (strchr(address, '\''))
		return error_set(err, EINVAL, "'%s' is no address to ping", address);
	code = host_run(host, &command, &result, err);
	if (code == 0 && ping_parse(result.output, median_us) != 0)
		code = error_set(err, EHOSTUNREACH, "%s does not answer to ping: %.200s", address,
				 output_last_line(result.output));
	process_result_free(&result);
	return code;
}
