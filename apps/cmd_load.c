/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora load: a memcached client for measuring, with Facebook's ETC workload. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/log.h>
#include <base/progress.h>
#include <base/stop.h>
#include <injector/load/etc.h>
#include <injector/load/load.h>

struct settings {
	int mode, gap; /* gap and rate_per_s are negative if not given */
	int64_t connections, depth, keys, seed;
	double duration_s, warm_up_s, timeout_s, rate_per_s, update_share, skew;
	bool no_fill, fill_only, json;
};

static const char *const gap_names[] = {"etc", "exponential", "fixed", NULL};

static const struct option_row rows[] = {
	OPTION_HEADING("Load"),
	OPTION_CHOICE(
		struct settings, mode, "mode", 'm', "MODE", load_mode_names,
		"closed: each connection keeps DEPTH requests in flight; open: requests are sent when they are due"),
	OPTION_INTEGER(struct settings, connections, "connections", 'c', "N", 1, 1024, "TCP connections"),
	OPTION_INTEGER(struct settings, depth, "depth", 'd', "N", 1, 65536, "requests in flight per connection"),
	OPTION_DOUBLE(struct settings, rate_per_s, "rate", 'r', "PER_S", 0, 1e8,
		      "open loop: requests per second; 0, the default: ETC's own mean gap of 19 us"),
	OPTION_CHOICE(struct settings, gap, "gap", 'g', "SHAPE", gap_names,
		      "open loop: distribution of the gaps; default: etc"),
	OPTION_DOUBLE(struct settings, duration_s, "duration", 't', "S", 0.001, 86400, "length of the measurement"),
	OPTION_DOUBLE(struct settings, warm_up_s, "warm-up", 'w', "S", 0, 3600, "time of load before the measurement"),
	OPTION_DOUBLE(struct settings, timeout_s, "timeout", 0, "S", 0.01, 3600,
		      "fail when the server is silent for this long"),
	OPTION_HEADING("Data"),
	OPTION_INTEGER(struct settings, keys, "keys", 'k', "N", 1, 100000000, "keys, all stored before the load"),
	OPTION_DOUBLE(struct settings, update_share, "update-share", 'u', "P", 0, 1, "share of updates (set)"),
	OPTION_DOUBLE(struct settings, skew, "skew", 'z', "S", 0, 10,
		      "Zipf exponent of the keys' popularity, 0 = uniform"),
	OPTION_FLAG(struct settings, no_fill, "no-fill", 0, "don't store the keys first"),
	OPTION_FLAG(struct settings, fill_only, "fill-only", 0, "store the keys and stop"),
	OPTION_INTEGER(struct settings, seed, "seed", 's', "N", 0, 0x1p53,
		       "the same seed gives the same keys and requests"),
	OPTION_FLAG(struct settings, json, "json", 'j', "print JSON (nomora.load/1)"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora load",
	.operands = "HOST[:PORT]",
	.summary = "Load memcached with Facebook's ETC workload.",
	.teach = "Key sizes, value sizes and gaps are drawn from the distributions of Atikoglu et al. (SIGMETRICS "
		 "2012), with\n"
		 "3 % updates. In the open loop a latency counts from the moment a request was due: a stall is seen by "
		 "every\n"
		 "request that it held up.\n"
		 "Examples:\n"
		 "  memcached -u nobody -l 127.0.0.1 -p 11311 &\n"
		 "  nomora load 127.0.0.1:11311 --connections 4 --depth 1 --duration 5\n"
		 "  nomora load 127.0.0.1:11311 --mode open --rate 20000 --json",
	.rows = rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
};

static void show_progress(void *context, const char *phase, double share)
{
	progress_update(context, (uint64_t)(share * 1000), phase);
}

/* Refuses options that would have no effect. */
static int check_sense(const struct settings *settings, struct error *err)
{
	if (settings->mode == LOAD_CLOSED && (settings->rate_per_s >= 0 || settings->gap >= 0))
		return error_set(err, EINVAL,
				 "--%s applies to the open loop; a closed loop sends the next request when one is "
				 "answered: add --mode open, or leave the option out",
				 settings->rate_per_s >= 0 ? "rate" : "gap");
	if (settings->fill_only && settings->no_fill)
		return error_set(err, EINVAL, "--fill-only and --no-fill are mutually exclusive");
	return 0;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;
	const char *server = operands->items[0];
	char *text = strdup(server);
	struct progress *bar = progress_create(stderr, "load", 1000);
	struct load_settings load = {.mode = (enum load_mode)settings->mode,
				     .gap = settings->gap < 0 ? LOAD_GAP_ETC : (enum load_gap)settings->gap,
				     .rate_per_s = settings->rate_per_s < 0 ? 0 : settings->rate_per_s,
				     .connections = (int)settings->connections,
				     .depth = (int)settings->depth,
				     .keys = (uint64_t)settings->keys,
				     .skew = settings->skew,
				     .update_share = settings->update_share,
				     .fill = !settings->no_fill,
				     .warm_up = {(int64_t)(settings->warm_up_s * 1e9)},
				     .duration = {(int64_t)(settings->duration_s * 1e9)},
				     .timeout = {(int64_t)(settings->timeout_s * 1e9)},
				     .seed = (uint64_t)settings->seed,
				     .stop = stop_flag(),
				     .progress = show_progress,
				     .progress_context = bar};
	struct load_result result;
	int code = check_sense(settings, err);

	if (!code)
		code = text ? load_split_server(text, &load.host, &load.port, err)
			    : error_set(err, ENOMEM, "out of memory");
	if (settings->fill_only)
		load.warm_up = load.duration = (struct ns){0};
	stop_catch_signals(); /* Ctrl-C ends the measurement early, and the results are still printed */
	if (!code)
		code = load_run(&load, &result, err);
	progress_destroy(bar);
	free(text);
	if (code)
		return err->code == EINVAL ? COMMAND_USAGE : COMMAND_FAILED;
	if (settings->json)
		code = command_print_json(load_to_json(&load, server, &result));
	else
		load_print(&load, server, &result, stdout);
	if (!code && !settings->fill_only && load_explain_nothing(&load, &result))
		code = COMMAND_NEGATIVE; /* rates and latencies of 0 would be misleading */
	if (result.total.errors > 0)
		code = error_set(err, EREMOTEIO, "%llu of %llu requests failed, the first with '%s'",
				 (unsigned long long)result.total.errors,
				 (unsigned long long)(result.total.gets + result.total.sets), result.refusal);
	load_result_free(&result);
	return code;
}

int command_load(int argc, char **argv)
{
	struct settings settings = {.connections = 4,
				    .depth = 1,
				    .keys = 10000,
				    .duration_s = 10,
				    .warm_up_s = 1,
				    .timeout_s = 5,
				    .update_share = ETC_UPDATE_SHARE,
				    .rate_per_s = -1,
				    .gap = -1,
				    .seed = 1};

	return command_run(&usage, argc, argv, &settings, run);
}
