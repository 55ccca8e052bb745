/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/load/load.h>

#include <errno.h>
#include <string.h>

#include <base/log.h>
#include <base/number.h>

const char *const load_mode_names[] = {"closed", "open", NULL};

int load_split_server(char *text, const char **host, const char **port, struct error *err)
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

bool load_explain_nothing(const struct load_settings *settings, const struct load_result *result)
{
	if (histogram_count(result->response_ns) > 0)
		return false;
	if (result->unanswered > 0)
		log_warning("none of the %llu requests that were due in the measured time was answered: the server was "
			    "still busy with earlier ones, or takes longer than --timeout; try a lower --rate, a "
			    "shorter --warm-up or a longer --timeout",
			    (unsigned long long)result->unanswered);
	else
		log_warning("no request was %s in the measured time of %.3g s: try a longer --duration",
			    settings->mode == LOAD_OPEN ? "due" : "answered", ns_to_s(result->elapsed));
	return true;
}

json_t *load_to_json(const struct load_settings *settings, const char *server, const struct load_result *result)
{
	return json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:f,s:f,s:f,s:I,s:o,s:o,s:I,s:I,s:o,s:o,s:o,s:o}", "schema",
			 "nomora.load/1", "server", server, "mode", load_mode_names[settings->mode], "connections",
			 (json_int_t)settings->connections, "depth", (json_int_t)settings->depth, "keys",
			 (json_int_t)settings->keys, "duration_s", ns_to_s(result->elapsed), "qps",
			 result->request_rate_per_s, "offered_qps", result->offered_rate_per_s, "unanswered",
			 (json_int_t)result->unanswered, "measured", counts_to_json(&result->measured), "total",
			 counts_to_json(&result->total), "bytes_in", (json_int_t)result->total.bytes_in, "bytes_out",
			 (json_int_t)result->total.bytes_out, "latency_us", latency_to_json(result->response_ns),
			 "get_latency_us", latency_to_json(result->get_ns), "set_latency_us",
			 latency_to_json(result->set_ns), "service_us", latency_to_json(result->service_ns));
}

static void print_latency(FILE *out, const char *name, const struct histogram *histogram)
{
	if (histogram_count(histogram) == 0)
		return;
	fprintf(out, "%-9s %11llu %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f\n", name,
		(unsigned long long)histogram_count(histogram), histogram_mean(histogram) / 1e3,
		(double)histogram_percentile(histogram, 50) / 1e3, (double)histogram_percentile(histogram, 95) / 1e3,
		(double)histogram_percentile(histogram, 99) / 1e3, (double)histogram_percentile(histogram, 99.9) / 1e3,
		(double)histogram_maximum(histogram) / 1e3);
}

void load_print(const struct load_settings *settings, const char *server, const struct load_result *result, FILE *out)
{
	const struct load_counts *measured = &result->measured;

	fprintf(out, "%s, %s loop, %d connection%s of depth %d, %llu key%s, %.3f s\n", server,
		load_mode_names[settings->mode], settings->connections, number_s((uint64_t)settings->connections),
		settings->depth, (unsigned long long)settings->keys, number_s((uint64_t)settings->keys),
		ns_to_s(result->elapsed));
	fprintf(out, "%.0f requests/s answered", result->request_rate_per_s);
	if (settings->mode == LOAD_OPEN)
		fprintf(out, " of %.0f offered, %llu unanswered", result->offered_rate_per_s,
			(unsigned long long)result->unanswered);
	fprintf(out, "; %llu get%s (%llu hit%s, %llu miss%s), %llu set%s, %llu error%s\n",
		(unsigned long long)measured->gets, number_s(measured->gets), (unsigned long long)measured->hits,
		number_s(measured->hits), (unsigned long long)measured->misses, measured->misses == 1 ? "" : "es",
		(unsigned long long)measured->sets, number_s(measured->sets), (unsigned long long)measured->errors,
		number_s(measured->errors));
	fprintf(out, "%-9s %11s %9s %9s %9s %9s %9s %9s\n", "us", "count", "mean", "p50", "p95", "p99", "p99.9", "max");
	print_latency(out, "all", result->response_ns);
	print_latency(out, "get", result->get_ns);
	print_latency(out, "set", result->set_ns);
	if (settings->mode == LOAD_OPEN)
		print_latency(out, "service", result->service_ns);
}
