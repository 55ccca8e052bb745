/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/line/monitor.h>

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/name.h>

void injector_monitor_summary(const struct injector_state *state, char *text, size_t bytes)
{
	const struct injector_state_totals *totals = &state->totals;
	struct injector_interval whole = injector_interval_whole(totals);
	uint64_t held = state->direction[0].held + state->direction[1].held;
	uint64_t lost = state->direction[0].lost + state->direction[1].lost;
	char calls[64] = "", delay[80], captured[96] = "", kept[48] = "";

	if (state->has_capture)
		snprintf(captured, sizeof captured, "; capture: %" PRIu64 " frames written, %" PRIu64 " lost",
			 state->capture_written, state->capture_lost);
	if (held > 0)
		snprintf(kept, sizeof kept, ", %" PRIu64 " still held", held);
	if (totals->delay_set_by[0])
		snprintf(delay, sizeof delay, "--%s", totals->delay_set_by);
	else
		snprintf(delay, sizeof delay, "%g/%g us", totals->delay_us[0], totals->delay_us[1]);
	if (!isnan(totals->transmit_stall_us))
		snprintf(calls, sizeof calls, ", %.1f ms in transmit calls", totals->transmit_stall_us / 1e3);
	snprintf(text, bytes,
		 "%.1f s at %s: A->B %" PRIu64 " in %" PRIu64 " out, B->A %" PRIu64 " in %" PRIu64
		 " out%s; dropped %.0f (ring full %" PRIu64 ", no buffer %" PRIu64 ", missed %" PRIu64
		 ", too long or broken %" PRIu64 ", not sent by the port %" PRIu64 "), lost by mode %" PRIu64
		 "; late p50 %" PRId64 " p99 %" PRId64 " p99.9 %" PRId64 " max %" PRId64 " ns; %" PRIu64
		 " stalls over %g us (%.1f ms, longest %.0f us%s), %" PRIu64 " packets disturbed (%.2f %%)%s",
		 totals->uptime_s, delay, totals->rx_packets[0], totals->tx_packets[0], totals->rx_packets[1],
		 totals->tx_packets[1], kept, whole.dropped, totals->ring_full, totals->no_mbuf, totals->rx_missed,
		 totals->rx_errors, totals->tx_errors, lost, totals->lateness.p50_ns, totals->lateness.p99_ns,
		 totals->lateness.p99_9_ns, totals->lateness.maximum_ns, totals->stalls, totals->stall_threshold_us,
		 totals->stall_us / 1e3, totals->stall_longest_us, calls, totals->disturbed,
		 injector_interval_disturbed_percent(&whole), captured);
}

/* A counter or gauge, and the offset of its value in a struct. */
struct metric {
	size_t offset;
	enum { METRIC_COUNT, METRIC_REAL } kind; /* uint64_t, double */
	const char *name, *type, *help;
	double scale;
};

#define OF_DIRECTION(kind, member, ...)                                                                                \
	{                                                                                                              \
		offsetof(struct injector_state_direction, member), METRIC_##kind, __VA_ARGS__                          \
	}
#define OF_TOTALS(kind, member, ...)                                                                                   \
	{                                                                                                              \
		offsetof(struct injector_state_totals, member), METRIC_##kind, __VA_ARGS__                             \
	}
#define OF_STATE(kind, member, ...)                                                                                    \
	{                                                                                                              \
		offsetof(struct injector_state, member), METRIC_##kind, __VA_ARGS__                                    \
	}

static const struct metric direction_metrics[] = {
	OF_DIRECTION(REAL, delay_us, "nomora_injector_delay_seconds", "gauge", "Delay injected into this direction.",
		     1e-6),
	OF_DIRECTION(COUNT, rx_packets, "nomora_injector_received_packets_total", "counter", "Packets received.", 1),
	OF_DIRECTION(COUNT, tx_packets, "nomora_injector_sent_packets_total", "counter", "Packets sent.", 1),
	OF_DIRECTION(COUNT, held, "nomora_injector_held_packets", "gauge", "Packets in the delay line.", 1),
	OF_DIRECTION(COUNT, ring_full, "nomora_injector_ring_full_packets_total", "counter",
		     "Dropped: the delay line was full.", 1),
	OF_DIRECTION(COUNT, tx_full, "nomora_injector_transmit_retries_total", "counter",
		     "Refused by the transmit port, sent later.", 1),
	OF_DIRECTION(COUNT, no_mbuf, "nomora_injector_no_buffer_packets_total", "counter", "Dropped: no packet buffer.",
		     1),
	OF_DIRECTION(COUNT, rx_missed, "nomora_injector_missed_packets_total", "counter",
		     "Dropped by the receive port.", 1),
	OF_DIRECTION(COUNT, rx_errors, "nomora_injector_receive_errors_total", "counter",
		     "Dropped by the receive port: too long or broken.", 1),
	OF_DIRECTION(COUNT, tx_errors, "nomora_injector_transmit_errors_total", "counter",
		     "Dropped by the transmit port after accepting them.", 1),
	OF_DIRECTION(COUNT, tx_link_down, "nomora_injector_transmit_link_down_total", "counter",
		     "Part of the transmit errors: the link was down.", 1),
	OF_DIRECTION(COUNT, tx_mtu, "nomora_injector_transmit_mtu_total", "counter",
		     "Part of the transmit errors: longer than the MTU.", 1),
	OF_DIRECTION(COUNT, rx_uncounted, "nomora_injector_receive_uncounted_packets", "gauge",
		     "Received by the interface, but missing in the counters of the port.", 1),
	OF_DIRECTION(COUNT, tx_uncounted, "nomora_injector_transmit_uncounted_packets", "gauge",
		     "Sent by the port, but missing in the counters of the interface.", 1),
	OF_DIRECTION(COUNT, unaccounted, "nomora_injector_unaccounted_packets", "gauge",
		     "Packets received that are not sent, held or dropped by any counter.", 1),
	OF_DIRECTION(COUNT, lost, "nomora_injector_lost_packets_total", "counter", "Dropped on purpose by a loss mode.",
		     1),
	OF_DIRECTION(COUNT, duplicated, "nomora_injector_duplicated_packets_total", "counter",
		     "Copies made on purpose.", 1),
	OF_DIRECTION(COUNT, bypassed, "nomora_injector_bypassed_packets_total", "counter",
		     "Passed at once: not matched by the filter.", 1),
	OF_DIRECTION(COUNT, disturbed, "nomora_injector_disturbed_packets_total", "counter",
		     "Sent, but disturbed by a stall or hiccup.", 1),
};

static const struct metric top_metrics[] = {
	OF_TOTALS(COUNT, stalls, "nomora_injector_stalls_total", "counter",
		  "Gaps of the polling loop over the stall threshold.", 1),
	OF_TOTALS(REAL, stall_us, "nomora_injector_stall_seconds_total", "counter", "Time spent in stalls.", 1e-6),
	OF_TOTALS(REAL, stall_longest_us, "nomora_injector_stall_longest_seconds", "gauge", "Longest stall.", 1e-6),
	OF_TOTALS(REAL, transmit_stall_us, "nomora_injector_stall_in_transmit_seconds_total", "counter",
		  "Time of stalls within transmit calls.", 1e-6),
	OF_TOTALS(COUNT, hiccups, "nomora_injector_hiccups_total", "counter",
		  "Shorter gaps of the polling loop, over the hiccup threshold.", 1),
	OF_TOTALS(COUNT, delay_changes, "nomora_injector_delay_changes_total", "counter",
		  "Number of times the delay was set.", 1),
};

static const struct metric capture_metrics[] = {
	OF_STATE(COUNT, capture_written, "nomora_injector_capture_written_frames_total", "counter",
		 "Frames in the capture.", 1),
	OF_STATE(COUNT, capture_lost, "nomora_injector_capture_lost_frames_total", "counter",
		 "Frames missing in the capture.", 1),
};

static void print_head(FILE *out, const struct metric *metric)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name, metric->type);
}

static double value_of(const struct metric *metric, const void *object)
{
	const char *at = (const char *)object + metric->offset;

	return metric->scale * (metric->kind == METRIC_COUNT ? (double)*(const uint64_t *)(const void *)at
							     : *(const double *)(const void *)at);
}

/* Leaves out values that are not known (NAN): they are not 0. */
static void print_metrics(FILE *out, const struct metric *metrics, size_t count, const void *object)
{
	for (size_t i = 0; i < count; i++) {
		double value = value_of(&metrics[i], object);

		if (isnan(value))
			continue;
		print_head(out, &metrics[i]);
		fprintf(out, "%s %.15g\n", metrics[i].name, value);
	}
}

static void print_directions(FILE *out, const struct injector_state *state)
{
	for (size_t i = 0; i < sizeof direction_metrics / sizeof direction_metrics[0]; i++) {
		const struct metric *metric = &direction_metrics[i];
		double ab = value_of(metric, &state->direction[0]), ba = value_of(metric, &state->direction[1]);

		if (isnan(ab) || isnan(ba))
			continue;
		print_head(out, metric);
		fprintf(out, "%s{direction=\"ab\"} %.15g\n%s{direction=\"ba\"} %.15g\n", metric->name, ab, metric->name,
			ba);
	}
}

static void print_links(FILE *out, const struct injector_state *state)
{
	static const struct metric link = {.name = "nomora_injector_link_up",
					   .type = "gauge",
					   .help = "1 if the port has a link, 0 if it has none or is gone."};
	static const char *const ports[] = {"a", "b"};

	print_head(out, &link);
	for (size_t p = 0; p < INJECTOR_STATE_DIRECTIONS; p++) {
		fprintf(out, "%s{port=\"%s\",name=", link.name, ports[p]);
		name_print_quoted(out, state->port[p].name);
		fprintf(out, "} %d\n", state->port[p].link_up);
	}
}

static void print_summary(FILE *out, const struct injector_state_lateness *lateness, const char *name,
			  const char *direction)
{
	const struct {
		const char *quantile;
		int64_t ns;
	} quantiles[] = {{"0.5", lateness->p50_ns}, {"0.99", lateness->p99_ns}, {"0.999", lateness->p99_9_ns}};

	for (size_t q = 0; q < sizeof quantiles / sizeof quantiles[0]; q++)
		fprintf(out, "%s{direction=\"%s\",quantile=\"%s\"} %.9g\n", name, direction, quantiles[q].quantile,
			(double)quantiles[q].ns * 1e-9);
	fprintf(out, "%s_sum{direction=\"%s\"} %.9g\n", name, direction,
		lateness->mean_ns * (double)lateness->count * 1e-9);
	fprintf(out, "%s_count{direction=\"%s\"} %" PRId64 "\n", name, direction, lateness->count);
}

static void print_lateness(FILE *out, const struct injector_state *state)
{
	static const struct metric all = {.name = "nomora_injector_lateness_seconds",
					  .type = "summary",
					  .help = "Time from the due time to the release."};
	static const struct metric undisturbed = {
		.name = "nomora_injector_undisturbed_lateness_seconds",
		.type = "summary",
		.help = "Time from the due time to the release, of packets that met no stall or hiccup."};

	print_head(out, &all);
	print_summary(out, &state->direction[0].lateness, all.name, "ab");
	print_summary(out, &state->direction[1].lateness, all.name, "ba");
	print_head(out, &undisturbed);
	print_summary(out, &state->direction[0].undisturbed_lateness, undisturbed.name, "ab");
	print_summary(out, &state->direction[1].undisturbed_lateness, undisturbed.name, "ba");
}

char *injector_monitor_metrics(const struct injector_state *state)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	print_directions(out, state);
	print_metrics(out, top_metrics, sizeof top_metrics / sizeof top_metrics[0], &state->totals);
	if (state->has_capture)
		print_metrics(out, capture_metrics, sizeof capture_metrics / sizeof capture_metrics[0], state);
	print_links(out, state);
	print_lateness(out, state);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
