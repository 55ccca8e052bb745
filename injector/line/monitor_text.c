/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include <injector/line/monitor.h>

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

void injector_monitor_summary(const json_t *sample, char *text, size_t bytes)
{
	const json_t *ab = json_object_get(sample, "ab"), *ba = json_object_get(sample, "ba");
	double sent = number(sample, "tx_ab") + number(sample, "tx_ba");
	double dropped = number(sample, "ring_full") + number(sample, "nombuf") + number(sample, "rx_missed") +
			 number(sample, "rx_errors") + number(sample, "tx_errors");

	const char *setter = json_string_value(json_object_get(sample, "delay_set_by"));
	const json_t *capture = json_object_get(sample, "capture");
	double held = number(ab, "held") + number(ba, "held");
	char calls[64] = "", delay[64], captured[96] = "", kept[48] = "";

	if (capture)
		snprintf(captured, sizeof captured, "; capture: %.0f frames written, %.0f lost",
			 number(capture, "written"), number(capture, "lost"));

	if (held > 0)
		snprintf(kept, sizeof kept, ", %.0f still held", held);
	if (setter)
		snprintf(delay, sizeof delay, "--%s", setter);
	else
		snprintf(delay, sizeof delay, "%g/%g us", number(sample, "delay_ab_us"), number(sample, "delay_ba_us"));
	if (json_is_number(json_object_get(sample, "stall_us_in_transmit")))
		snprintf(calls, sizeof calls, ", %.1f ms in calls that send",
			 number(sample, "stall_us_in_transmit") / 1e3);
	snprintf(text, bytes,
		 "%.1f s at %s: A->B %.0f in %.0f out, B->A %.0f in %.0f out%s; dropped %.0f (ring full %.0f, no "
		 "buffer "
		 "%.0f, missed %.0f, too long or broken %.0f, not sent by the port %.0f), lost by mode %.0f; late p50 "
		 "%.0f p99 %.0f p99.9 %.0f "
		 "max %.0f ns; %.0f stalls "
		 "over %g us "
		 "(%.1f ms, longest %.0f us%s), %.0f packets disturbed (%.2f %%)%s",
		 number(sample, "uptime_s"), delay, number(sample, "rx_ab"), number(sample, "tx_ab"),
		 number(sample, "rx_ba"), number(sample, "tx_ba"), kept, dropped, number(sample, "ring_full"),
		 number(sample, "nombuf"), number(sample, "rx_missed"), number(sample, "rx_errors"),
		 number(sample, "tx_errors"), number(ab, "lost") + number(ba, "lost"),
		 number(sample, "lateness_p50_ns"), number(sample, "lateness_p99_ns"),
		 number(sample, "lateness_p99_9_ns"), number(sample, "lateness_max_ns"), number(sample, "stalls"),
		 number(sample, "stall_threshold_us"), number(sample, "stall_us_total") / 1e3,
		 number(sample, "stall_max_us"), calls, number(sample, "disturbed"),
		 sent > 0 ? 100 * number(sample, "disturbed") / sent : 0.0, captured);
}

struct metric {
	const char *key, *name, *type, *help;
	double scale;
};

static const struct metric direction_metrics[] = {
	{"delay_us", "nomora_injector_delay_seconds", "gauge", "Delay injected into this direction.", 1e-6},
	{"rx_packets", "nomora_injector_received_packets_total", "counter", "Packets received.", 1},
	{"tx_packets", "nomora_injector_sent_packets_total", "counter", "Packets sent.", 1},
	{"held", "nomora_injector_held_packets", "gauge", "Packets in the delay line.", 1},
	{"ring_full", "nomora_injector_ring_full_packets_total", "counter", "Dropped: the delay line was full.", 1},
	{"tx_full", "nomora_injector_transmit_retries_total", "counter", "Refused by the transmit port, sent later.",
	 1},
	{"nombuf", "nomora_injector_no_buffer_packets_total", "counter", "Dropped: no packet buffer.", 1},
	{"rx_missed", "nomora_injector_missed_packets_total", "counter", "Dropped by the receive port.", 1},
	{"rx_errors", "nomora_injector_receive_errors_total", "counter",
	 "Dropped by the receive port: too long or broken.", 1},
	{"tx_errors", "nomora_injector_transmit_errors_total", "counter",
	 "Dropped by the transmit port after it had taken them.", 1},
	{"lost", "nomora_injector_lost_packets_total", "counter", "Dropped on purpose by a loss mode.", 1},
	{"duplicated", "nomora_injector_duplicated_packets_total", "counter", "Copies made on purpose.", 1},
	{"bypassed", "nomora_injector_bypassed_packets_total", "counter", "Passed at once by the filter.", 1},
	{"disturbed", "nomora_injector_disturbed_packets_total", "counter", "Sent, but disturbed by a stall or hiccup.",
	 1},
};

static const struct metric top_metrics[] = {
	{"stalls", "nomora_injector_stalls_total", "counter", "Gaps of the polling loop over the threshold.", 1},
	{"stall_us_total", "nomora_injector_stall_seconds_total", "counter", "Time spent in stalls.", 1e-6},
	{"stall_max_us", "nomora_injector_stall_longest_seconds", "gauge", "Longest stall.", 1e-6},
	{"stall_us_in_transmit", "nomora_injector_stall_in_transmit_seconds_total", "counter",
	 "Time of stalls within calls that send.", 1e-6},
	{"hiccups", "nomora_injector_hiccups_total", "counter", "Shorter gaps of the polling loop.", 1},
	{"delay_changes", "nomora_injector_delay_changes_total", "counter", "How often the delay was set.", 1},
};

static const struct metric capture_metrics[] = {
	{"written", "nomora_injector_capture_written_frames_total", "counter", "Frames in the capture.", 1},
	{"lost", "nomora_injector_capture_lost_frames_total", "counter", "Frames seen that the capture lacks.", 1},
};

static void print_head(FILE *out, const struct metric *metric)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name, metric->type);
}

/* What the object does not have, or has as null, is not known, which is not 0. */
static void print_metrics(FILE *out, const struct metric *metrics, size_t count, const json_t *object)
{
	for (size_t i = 0; i < count; i++) {
		if (!json_is_number(json_object_get(object, metrics[i].key)))
			continue;
		print_head(out, &metrics[i]);
		fprintf(out, "%s %.15g\n", metrics[i].name, number(object, metrics[i].key) * metrics[i].scale);
	}
}

/* As the text format wants it within quotes. */
static void print_label(FILE *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			fputc('\\', out);
		fputc(*value, out);
	}
}

static void print_links(FILE *out, const json_t *sample)
{
	static const struct metric link = {"link_up", "nomora_injector_link_up", "gauge",
					   "1 where the port has a link, 0 where it has none or is gone.", 1};
	static const char *const ports[] = {"a", "b"};

	print_head(out, &link);
	for (size_t p = 0; p < 2; p++) {
		const json_t *port = json_array_get(json_object_get(sample, "ports"), p);

		fprintf(out, "%s{port=\"%s\",name=\"", link.name, ports[p]);
		print_label(out, json_string_value(json_object_get(port, "name")));
		fprintf(out, "\"} %d\n", json_is_true(json_object_get(port, link.key)));
	}
}

static void print_lateness(FILE *out, const json_t *sample, const char *key, const char *name, const char *help)
{
	static const char *const directions[] = {"ab", "ba"};
	static const char *const keys[] = {"p50", "p99", "p99_9"};
	static const char *const quantiles[] = {"0.5", "0.99", "0.999"};

	fprintf(out, "# HELP %s %s\n# TYPE %s summary\n", name, help, name);
	for (size_t d = 0; d < 2; d++) {
		const json_t *lateness = json_object_get(json_object_get(sample, directions[d]), key);
		double count = number(lateness, "count");

		for (size_t q = 0; q < 3; q++)
			fprintf(out, "%s{direction=\"%s\",quantile=\"%s\"} %.9g\n", name, directions[d], quantiles[q],
				number(lateness, keys[q]) * 1e-9);
		fprintf(out, "%s_sum{direction=\"%s\"} %.9g\n", name, directions[d],
			number(lateness, "mean") * count * 1e-9);
		fprintf(out, "%s_count{direction=\"%s\"} %.0f\n", name, directions[d], count);
	}
}

char *injector_monitor_metrics(const json_t *sample)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (size_t i = 0; i < sizeof direction_metrics / sizeof direction_metrics[0]; i++) {
		const struct metric *metric = &direction_metrics[i];

		if (json_is_null(json_object_get(json_object_get(sample, "ab"), metric->key)))
			continue; /* not known is not 0 */
		print_head(out, metric);
		fprintf(out, "%s{direction=\"ab\"} %.15g\n%s{direction=\"ba\"} %.15g\n", metric->name,
			number(json_object_get(sample, "ab"), metric->key) * metric->scale, metric->name,
			number(json_object_get(sample, "ba"), metric->key) * metric->scale);
	}
	print_metrics(out, top_metrics, sizeof top_metrics / sizeof top_metrics[0], sample);
	print_metrics(out, capture_metrics, sizeof capture_metrics / sizeof capture_metrics[0],
		      json_object_get(sample, "capture"));
	print_links(out, sample);
	print_lateness(out, sample, "lateness_ns", "nomora_injector_lateness_seconds", "Release after the due time.");
	print_lateness(out, sample, "undisturbed_lateness_ns", "nomora_injector_undisturbed_lateness_seconds",
		       "Release after the due time, of packets that no stall or hiccup disturbed.");
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
