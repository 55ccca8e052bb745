/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <base/quantile.h>

enum { INTERFACE_BYTES = 32, LINE_BYTES = 512, BASELINE_PROBES = 200 };

static const double route_timeout_s = 10, probe_timeout_s = 30;
static const struct ns reflector_grace = {2 * NS_PER_S};

bool baseline_parse_route(const char *output, char *interface, size_t bytes)
{
	const char *device = output ? strstr(output, " dev ") : NULL;
	size_t length;

	if (!device)
		return false;
	device += strlen(" dev ");
	length = strcspn(device, " \t\r\n");
	if (length == 0 || length >= bytes)
		return false;
	memcpy(interface, device, length);
	interface[length] = '\0';
	return strcmp(interface, "lo") != 0;
}

/* Finds the interface through which a host reaches an address. Returns 0, or -errno with err set. */
static int find_interface(struct sweeper *sweeper, const struct host *host, const char *address,
			  char interface[INTERFACE_BYTES], struct error *err)
{
	char line[LINE_BYTES] = "";
	struct host_command command = commands_make(sweeper, "ip route get", line, route_timeout_s);
	struct process_result result = {0};
	int code;

	snprintf(line, sizeof line, "ip -o route get '%.64s'", address);
	code = host_run(host, &command, &result, err);
	if (!code && !baseline_parse_route(result.output, interface, INTERFACE_BYTES))
		code = error_set(err, EHOSTUNREACH, "no network interface leads to %s", address);
	process_result_free(&result);
	return code;
}

/* Takes the median of the round trips from the prober's JSON. */
static int take_median(const struct process_result *result, double *median_us, struct error *err)
{
	struct sweep_metric_input input = {.output = result->output, .exit_code = result->exit_code};
	struct sweep_metric_def median;
	int code = sweep_metric_parse("rtt us lower json:peers[0].rtt_us.p50", &median, err);

	if (code)
		return code;
	code = sweep_metric_extract(&median, &input, median_us, err);
	sweep_metric_free(&median);
	if (!code && !(*median_us > 0))
		code = error_set(err, EHOSTUNREACH, "the reflector did not answer");
	return code;
}

static int probe(struct sweeper *sweeper, const char *interface, int64_t count, double *median_us, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	char line[LINE_BYTES] = "";
	struct host_command command = commands_make(sweeper, "nomora probe", line, probe_timeout_s);
	struct process_result result = {0};
	int code;

	snprintf(line, sizeof line,
		 "echo 'server %.64s' | nomora probe '%s' --address '%.64s' --name client --peers - --count %lld "
		 "--interval-us 1000 --duration 0 --wait 5 --quiet --json",
		 plan->server_address, interface, plan->client_address, (long long)count);
	code = host_run(&sweeper->client_host, &command, &result, err);
	if (!code)
		code = take_median(&result, median_us, err);
	process_result_free(&result);
	return code;
}

int probe_median(struct sweeper *sweeper, int64_t count, double *median_us, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	char far[INTERFACE_BYTES], near[INTERFACE_BYTES], line[LINE_BYTES] = "";
	struct host_command command = commands_make(sweeper, "nomora reflect", line, 0);
	struct process *reflector;
	int code = find_interface(sweeper, &sweeper->server_host, plan->client_address, far, err);

	if (!code)
		code = find_interface(sweeper, &sweeper->client_host, plan->server_address, near, err);
	if (code)
		return code;
	snprintf(line, sizeof line, "exec nomora reflect '%s' --address '%.64s' --quiet", far, plan->server_address);
	reflector = host_start(&sweeper->server_host, &command, err);
	if (!reflector)
		return error_code(err, ECHILD);
	code = probe(sweeper, near, count, median_us, err);
	process_stop(reflector, reflector_grace);
	process_destroy(reflector);
	return code;
}

int baseline_measure(struct sweeper *sweeper, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct error reason = {0};
	double median_us = NAN;
	int code;

	sweeper->baseline_rtt_us = sweeper->rtt_without_us = NAN;
	if (plan->no_baseline || !plan->server_address || !plan->client_address)
		return 0;
	if (strchr(plan->server_address, '\'') || strchr(plan->client_address, '\''))
		return 0;
	code = probe_median(sweeper, BASELINE_PROBES, &median_us, &reason);
	if (code == -EINTR || sweeper_is_stopped(sweeper))
		return error_set(err, EINTR, "stopped");
	if (code)
		sweeper_say(sweeper,
			    "the round trip without delay could not be measured: %s: baseline_rtt_us stays empty%s",
			    reason.text, plan->rtt_check ? ", and rtt-check uses ping" : "");
	else
		sweeper->baseline_rtt_us = sweeper->rtt_without_us = median_us;
	sweeper->summary->baseline_rtt_us = sweeper->baseline_rtt_us;
	return 0;
}

/* Measures the round trip with ping: an independent check of the injected delay. */

enum { SAMPLES_MAXIMUM = 10000 };

int ping_parse(const char *output, double *median_us)
{
	double *samples = malloc(SAMPLES_MAXIMUM * sizeof *samples), ms;
	size_t count = 0;

	if (!samples)
		return -ENOMEM;
	for (const char *at = output; (at = strstr(at, "time=")) && count < SAMPLES_MAXIMUM; at += 5)
		if (sscanf(at + 5, "%lf ms", &ms) == 1 && ms >= 0)
			samples[count++] = ms * 1e3;
	if (count > 0)
		*median_us = quantile_median(samples, count);
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

const char *rtt_unchecked_reason(const struct sweep_plan *plan)
{
	if (plan->rule)
		return "the delay is that of a rule";
	return plan->rtt_check ? NULL : "rtt-check is not set";
}
