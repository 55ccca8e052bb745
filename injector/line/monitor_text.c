/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/line/monitor.h>

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/metrics.h>
#include <base/text_stream.h>

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
		 " out%s; dropped %.0f (ring full %" PRIu64 ", too late %" PRIu64 ", no buffer %" PRIu64
		 ", missed %" PRIu64 ", too long or broken %" PRIu64 ", not sent by the port %" PRIu64
		 "), lost by mode %" PRIu64 "; late p50 %" PRId64 " p99 %" PRId64 " p99.9 %" PRId64 " max %" PRId64
		 " ns; %" PRIu64 " stalls over %g us (%.1f ms, longest %.0f us%s), %" PRIu64
		 " packets disturbed (%.2f %%)%s",
		 totals->uptime_s, delay, totals->rx_packets[0], totals->tx_packets[0], totals->rx_packets[1],
		 totals->tx_packets[1], kept, whole.dropped, totals->ring_full, totals->too_late, totals->no_mbuf,
		 totals->rx_missed, totals->rx_errors, totals->tx_errors, lost, totals->lateness.p50_ns,
		 totals->lateness.p99_ns, totals->lateness.p99_9_ns, totals->lateness.maximum_ns, totals->stalls,
		 totals->stall_threshold_us, totals->stall_us / 1e3, totals->stall_longest_us, calls, totals->disturbed,
		 injector_interval_disturbed_percent(&whole), captured);
}

/* A counter (uint64_t) in the state of a direction. */
struct direction_metric {
	size_t offset;
	const char *name, *type, *help;
};

#define OF(member, ...)                                                                                                \
	{                                                                                                              \
		offsetof(struct injector_state_direction, member), __VA_ARGS__                                         \
	}

static const struct direction_metric direction_metrics[] = {
	OF(rx_packets, "received_packets_total", "counter", "Packets received."),
	OF(tx_packets, "sent_packets_total", "counter", "Packets sent."),
	OF(held, "held_packets", "gauge", "Packets in the delay line."),
	OF(ring_full, "ring_full_packets_total", "counter", "Dropped: the delay line was full."),
	OF(too_late, "too_late_packets_total", "counter", "Dropped: later than the limit."),
	OF(tx_full, "transmit_retries_total", "counter", "Refused by the transmit port, sent later."),
	OF(no_mbuf, "no_buffer_packets_total", "counter", "Dropped: no packet buffer."),
	OF(rx_missed, "missed_packets_total", "counter", "Dropped by the receive port."),
	OF(rx_errors, "receive_errors_total", "counter", "Dropped by the receive port: too long or broken."),
	OF(tx_errors, "transmit_errors_total", "counter", "Dropped by the transmit port after accepting them."),
	OF(tx_link_down, "transmit_link_down_total", "counter", "Part of the transmit errors: the link was down."),
	OF(tx_mtu, "transmit_mtu_total", "counter", "Part of the transmit errors: longer than the MTU."),
	OF(rx_uncounted, "receive_uncounted_packets", "gauge",
	   "Received by the interface, but missing in the counters of the port."),
	OF(tx_uncounted, "transmit_uncounted_packets", "gauge",
	   "Sent by the port, but missing in the counters of the interface."),
	OF(unaccounted, "unaccounted_packets", "gauge",
	   "Packets received that are not sent, held or dropped by any counter."),
	OF(lost, "lost_packets_total", "counter", "Dropped on purpose by a loss mode."),
	OF(duplicated, "duplicated_packets_total", "counter", "Copies made on purpose."),
	OF(corrupted, "corrupted_packets_total", "counter", "Packets of which a bit was flipped on purpose."),
	OF(bypassed, "bypassed_packets_total", "counter", "Passed at once: not matched by the filter."),
	OF(disturbed, "disturbed_packets_total", "counter", "Sent, but disturbed by a stall or hiccup."),
};

static void print_both(FILE *out, const char *name, const char *type, const char *help, double ab, double ba)
{
	char full[80];

	if (isnan(ab) || isnan(ba))
		return;
	snprintf(full, sizeof full, "nomora_injector_%s", name);
	metric_head(out, full, type, NULL, help);
	metric_sample(out, full, METRIC_LABELS("direction", "ab"), ab);
	metric_sample(out, full, METRIC_LABELS("direction", "ba"), ba);
}

static uint64_t count_of(const struct injector_state_direction *direction, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)direction + offset);
}

static void print_directions(FILE *out, const struct injector_state *state)
{
	const struct injector_state_direction *ab = &state->direction[0], *ba = &state->direction[1];

	print_both(out, "delay_seconds", "gauge", "Delay injected into this direction.", ab->delay_us * 1e-6,
		   ba->delay_us * 1e-6);
	for (size_t i = 0; i < sizeof direction_metrics / sizeof direction_metrics[0]; i++) {
		const struct direction_metric *metric = &direction_metrics[i];

		print_both(out, metric->name, metric->type, metric->help, (double)count_of(ab, metric->offset),
			   (double)count_of(ba, metric->offset));
	}
}

static void print_totals(FILE *out, const struct injector_state *state)
{
	const struct injector_state_totals *totals = &state->totals;
	const struct metric metrics[] = {
		{"stalls_total", "counter", "Gaps of the polling loop over the stall threshold.",
		 (double)totals->stalls},
		{"stall_seconds_total", "counter", "Time spent in stalls.", totals->stall_us * 1e-6},
		{"stall_longest_seconds", "gauge", "Longest stall.", totals->stall_longest_us * 1e-6},
		{"stall_in_transmit_seconds_total", "counter", "Time of stalls within transmit calls.",
		 totals->transmit_stall_us * 1e-6},
		{"hiccups_total", "counter", "Shorter gaps of the polling loop, over the hiccup threshold.",
		 (double)totals->hiccups},
		{"delay_changes_total", "counter", "Number of times a delay or a rule was set.",
		 (double)totals->delay_changes},
		{"capture_written_frames_total", "counter", "Frames in the capture.",
		 state->has_capture ? (double)state->capture_written : NAN},
		{"capture_lost_frames_total", "counter", "Frames missing in the capture.",
		 state->has_capture ? (double)state->capture_lost : NAN},
	};

	metrics_print(out, "nomora_injector_", metrics, sizeof metrics / sizeof metrics[0]);
}

static void print_links(FILE *out, const struct injector_state *state)
{
	static const char *const name = "nomora_injector_link_up", *const ports[] = {"a", "b"};

	metric_head(out, name, "gauge", NULL, "1 if the port has a link, 0 if it has none or is gone.");
	for (size_t p = 0; p < INJECTOR_STATE_DIRECTIONS; p++)
		metric_sample(out, name, METRIC_LABELS("port", ports[p], "name", state->port[p].name),
			      state->port[p].link_up);
}

static void print_summary(FILE *out, const struct injector_state_lateness *lateness, const char *name,
			  const char *direction)
{
	const char *const *labels = METRIC_LABELS("direction", direction);
	char part[80];

	metric_sample(out, name, METRIC_LABELS("direction", direction, "quantile", "0.5"),
		      (double)lateness->p50_ns * 1e-9);
	metric_sample(out, name, METRIC_LABELS("direction", direction, "quantile", "0.99"),
		      (double)lateness->p99_ns * 1e-9);
	metric_sample(out, name, METRIC_LABELS("direction", direction, "quantile", "0.999"),
		      (double)lateness->p99_9_ns * 1e-9);
	snprintf(part, sizeof part, "%s_sum", name);
	metric_sample(out, part, labels, lateness->mean_ns * (double)lateness->count * 1e-9);
	snprintf(part, sizeof part, "%s_count", name);
	metric_sample(out, part, labels, (double)lateness->count);
}

static void print_lateness(FILE *out, const struct injector_state *state)
{
	static const char *const all = "nomora_injector_lateness_seconds",
				 *const undisturbed = "nomora_injector_undisturbed_lateness_seconds";

	metric_head(out, all, "summary", NULL, "Time from the due time to the release.");
	print_summary(out, &state->direction[0].delays.lateness, all, "ab");
	print_summary(out, &state->direction[1].delays.lateness, all, "ba");
	metric_head(out, undisturbed, "summary", NULL,
		    "Time from the due time to the release, of packets that met no stall or hiccup.");
	print_summary(out, &state->direction[0].undisturbed_lateness, undisturbed, "ab");
	print_summary(out, &state->direction[1].undisturbed_lateness, undisturbed, "ba");
}

/* With modes only: the fixed loop does not count delays. */
static void print_delays(FILE *out, const struct injector_state *state)
{
	static const char *const requested = "nomora_injector_requested_delay_seconds",
				 *const applied = "nomora_injector_applied_delay_seconds";
	const struct injector_state_direction *ab = &state->direction[0], *ba = &state->direction[1];

	if (ab->delays.applied.count == 0 || ba->delays.applied.count == 0)
		return;
	metric_head(out, requested, "summary", NULL, "Delay that the modes chose for a packet.");
	print_summary(out, &ab->delays.requested, requested, "ab");
	print_summary(out, &ba->delays.requested, requested, "ba");
	metric_head(out, applied, "summary", NULL, "Delay until a packet was due.");
	print_summary(out, &ab->delays.applied, applied, "ab");
	print_summary(out, &ba->delays.applied, applied, "ba");
}

char *injector_monitor_metrics(const struct injector_state *state)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&text, &bytes);

	if (!out)
		return NULL;
	print_directions(out, state);
	print_totals(out, state);
	print_links(out, state);
	print_lateness(out, state);
	print_delays(out, state);
	fclose(out);
	return text;
}
