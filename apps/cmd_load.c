/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora load: a memcached client for measuring, with Facebook's ETC workload. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <base/log.h>
#include <base/number.h>
#include <base/progress.h>
#include <base/stop.h>
#include <injector/load/etc.h>
#include <injector/load/load.h>

struct settings {
	int mode, gap; /* gap and rate_per_s: under 0 where they are not given */
	int64_t connections, depth, keys, seed;
	double duration_s, warm_up_s, timeout_s, rate_per_s, update_share, skew;
	bool no_fill, fill_only, json;
};

static const char *const mode_names[] = {"closed", "open", NULL};
static const char *const gap_names[] = {"etc", "exponential", "fixed", NULL};

static const struct option_row rows[] = {
	OPTION_HEADING("Load"),
	OPTION_CHOICE(
		struct settings, mode, "mode", 'm', "MODE", mode_names,
		"closed: each connection keeps DEPTH requests under way; open: requests go out when they are due"),
	OPTION_INTEGER(struct settings, connections, "connections", 'c', "N", 1, 1024, "TCP connections"),
	OPTION_INTEGER(struct settings, depth, "depth", 'd', "N", 1, 65536, "requests under way per connection"),
	OPTION_DOUBLE(struct settings, rate_per_s, "rate", 'r', "PER_S", 0, 1e8,
		      "open loop: requests per second; 0, the default: ETC's own mean gap of 19 us"),
	OPTION_CHOICE(struct settings, gap, "gap", 'g', "SHAPE", gap_names,
		      "open loop: distribution of the gaps, etc unless given"),
	OPTION_DOUBLE(struct settings, duration_s, "duration", 't', "S", 0.001, 86400, "length of the measurement"),
	OPTION_DOUBLE(struct settings, warm_up_s, "warm-up", 'w', "S", 0, 3600, "load before it, not measured"),
	OPTION_DOUBLE(struct settings, timeout_s, "timeout", 0, "S", 0.01, 3600, "longest silence of the server"),
	OPTION_HEADING("Data"),
	OPTION_INTEGER(struct settings, keys, "keys", 'k', "N", 1, 100000000, "keys, all stored before the load"),
	OPTION_DOUBLE(struct settings, update_share, "update-share", 'u', "P", 0, 1, "share of updates (set)"),
	OPTION_DOUBLE(struct settings, skew, "skew", 'z', "S", 0, 10,
		      "Zipf exponent of the keys' popularity, 0 = uniform"),
	OPTION_FLAG(struct settings, no_fill, "no-fill", 0, "don't store the keys first"),
	OPTION_FLAG(struct settings, fill_only, "fill-only", 0, "store the keys and stop"),
	OPTION_INTEGER(struct settings, seed, "seed", 's', "N", 0, 0x1p53, "same seed, same keys and requests"),
	OPTION_FLAG(struct settings, json, "json", 'j', "print JSON (nomora.load/1)"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora load",
	.operands = "HOST[:PORT]",
	.summary = "Loads a memcached server with Facebook's ETC workload and reports rate and latency.",
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

/* "HOST", "HOST:PORT", "[IPv6]:PORT"; cuts up `text`. */
static int split_server(char *text, const char **host, const char **port, struct error *err)
{
	char *colon = strrchr(text, ':');
	int64_t number;

	*host = text;
	*port = "11211";
	if (text[0] == '[' && strchr(text, ']')) {
		char *end = strchr(text, ']');

		*host = text + 1;
		*end = '\0';
		if (end[1] == ':')
			*port = end + 2;
	} else if (colon && strchr(text, ':') == colon) {
		*colon = '\0';
		*port = colon + 1;
	}
	if (number_parse_i64(*port, &number) != 0 || number < 1 || number > 65535)
		return error_set(err, EINVAL, "port '%s': expected 1 to 65535", *port);
	return 0;
}

static json_t *latency_to_json(const struct histogram *histogram)
{
	return json_pack(
		"{s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "count", (json_int_t)histogram_count(histogram), "mean",
		histogram_mean(histogram) / 1e3, "deviation", histogram_deviation(histogram) / 1e3, "min",
		(double)histogram_minimum(histogram) / 1e3, "p50", (double)histogram_percentile(histogram, 50) / 1e3,
		"p95", (double)histogram_percentile(histogram, 95) / 1e3, "p99",
		(double)histogram_percentile(histogram, 99) / 1e3, "p999",
		(double)histogram_percentile(histogram, 99.9) / 1e3, "max", (double)histogram_maximum(histogram) / 1e3);
}

static json_t *counts_to_json(const struct load_counts *counts)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "gets", (json_int_t)counts->gets, "sets",
			 (json_int_t)counts->sets, "hits", (json_int_t)counts->hits, "misses",
			 (json_int_t)counts->misses, "stored", (json_int_t)counts->stored, "errors",
			 (json_int_t)counts->errors);
}

static int print_json(const struct settings *settings, const char *server, const struct load_result *result)
{
	json_t *root = json_pack(
		"{s:s,s:s,s:s,s:I,s:I,s:I,s:f,s:f,s:f,s:I,s:o,s:o,s:I,s:I,s:o,s:o,s:o,s:o}", "schema", "nomora.load/1",
		"server", server, "mode", mode_names[settings->mode], "connections", (json_int_t)settings->connections,
		"depth", (json_int_t)settings->depth, "keys", (json_int_t)settings->keys, "duration_s",
		ns_to_s(result->elapsed), "qps", result->request_rate_per_s, "offered_qps", result->offered_rate_per_s,
		"unanswered", (json_int_t)result->unanswered, "measured", counts_to_json(&result->measured), "total",
		counts_to_json(&result->total), "bytes_in", (json_int_t)result->total.bytes_in, "bytes_out",
		(json_int_t)result->total.bytes_out, "latency_us", latency_to_json(result->response_ns),
		"get_latency_us", latency_to_json(result->get_ns), "set_latency_us", latency_to_json(result->set_ns),
		"service_us", latency_to_json(result->service_ns));
	struct error err = {0};

	if (!root) {
		error_set(&err, ENOMEM, "out of memory");
		return command_fail(&err, COMMAND_FAILED);
	}
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(root);
	return COMMAND_OK;
}

static void print_latency(const char *name, const struct histogram *histogram)
{
	if (histogram_count(histogram) == 0)
		return;
	printf("%-9s %11llu %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f\n", name,
	       (unsigned long long)histogram_count(histogram), histogram_mean(histogram) / 1e3,
	       (double)histogram_percentile(histogram, 50) / 1e3, (double)histogram_percentile(histogram, 95) / 1e3,
	       (double)histogram_percentile(histogram, 99) / 1e3, (double)histogram_percentile(histogram, 99.9) / 1e3,
	       (double)histogram_maximum(histogram) / 1e3);
}

static void print_text(const struct settings *settings, const char *server, const struct load_result *result)
{
	const struct load_counts *measured = &result->measured;

	printf("%s, %s loop, %lld connection%s of depth %lld, %lld keys, %.3f s\n", server, mode_names[settings->mode],
	       (long long)settings->connections, settings->connections == 1 ? "" : "s", (long long)settings->depth,
	       (long long)settings->keys, ns_to_s(result->elapsed));
	printf("%.0f requests/s answered", result->request_rate_per_s);
	if (settings->mode == LOAD_OPEN)
		printf(" of %.0f offered, %llu unanswered", result->offered_rate_per_s,
		       (unsigned long long)result->unanswered);
	printf("; %llu gets (%llu hits, %llu misses), %llu sets, %llu errors\n", (unsigned long long)measured->gets,
	       (unsigned long long)measured->hits, (unsigned long long)measured->misses,
	       (unsigned long long)measured->sets, (unsigned long long)measured->errors);
	printf("%-9s %11s %9s %9s %9s %9s %9s %9s\n", "us", "count", "mean", "p50", "p95", "p99", "p99.9", "max");
	print_latency("all", result->response_ns);
	print_latency("get", result->get_ns);
	print_latency("set", result->set_ns);
	if (settings->mode == LOAD_OPEN)
		print_latency("service", result->service_ns);
}

/* Refuses options that would be ignored. */
static int check_sense(const struct settings *settings, struct error *err)
{
	if (settings->mode == LOAD_CLOSED && (settings->rate_per_s >= 0 || settings->gap >= 0))
		return error_set(err, EINVAL,
				 "--%s applies to the open loop; a closed loop sends as fast as it is answered: add "
				 "--mode open, or leave it out",
				 settings->rate_per_s >= 0 ? "rate" : "gap");
	if (settings->fill_only && settings->no_fill)
		return error_set(err, EINVAL, "--fill-only and --no-fill are mutually exclusive");
	return 0;
}

/* Without any answer, rates and latencies are zeros, not figures: a negative answer. */
static int report_nothing(const struct settings *settings, const struct load_result *result)
{
	if (result->unanswered > 0)
		log_warning("none of the %llu requests that were due in the measured time was answered: the server was "
			    "still busy with earlier ones, or is slower than --timeout: try a lower --rate, a shorter "
			    "--warm-up or a longer --timeout",
			    (unsigned long long)result->unanswered);
	else
		log_warning("no request was %s in the measured time of %.3g s: try a longer --duration",
			    settings->mode == LOAD_OPEN ? "due" : "answered", ns_to_s(result->elapsed));
	return COMMAND_NEGATIVE;
}

static int run(const struct settings *settings, const char *server, struct error *err)
{
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
		code = text ? split_server(text, &load.host, &load.port, err) : error_set(err, ENOMEM, "out of memory");
	if (settings->fill_only)
		load.warm_up = load.duration = (struct ns){0};
	if (!code)
		code = load_run(&load, &result, err);
	progress_destroy(bar);
	free(text);
	if (code)
		return command_fail(err, err->code == EINVAL ? COMMAND_USAGE : COMMAND_FAILED);
	if (settings->json)
		code = print_json(settings, server, &result);
	else
		print_text(settings, server, &result);
	if (!code && !settings->fill_only && histogram_count(result.response_ns) == 0)
		code = report_nothing(settings, &result);
	if (result.total.errors > 0) {
		error_set(err, EREMOTEIO, "%llu of %llu requests failed, the first with '%s'",
			  (unsigned long long)result.total.errors,
			  (unsigned long long)(result.total.gets + result.total.sets), result.refusal);
		code = command_fail(err, COMMAND_FAILED);
	}
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
	struct option_operands operands;
	struct error err = {0};
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	stop_catch_signals(); /* Ctrl-C ends the measurement early and still prints it */
	code = run(&settings, operands.items[0], &err);
	options_free(&operands);
	return code;
}
