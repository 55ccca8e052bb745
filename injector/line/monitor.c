/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/line/monitor.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/log.h>
#include <base/number.h>
#include <injector/line/capture.h>

enum { LATENESS_MAXIMUM_NS = 2000000000, WORD_BYTES = 64 };

static const char *const direction_names[] = {"ab", "ba"};

struct injector_monitor {
	struct injector *injector;
	struct dp_port *ports[INJECTOR_DIRECTIONS]; /* A, B: where a direction comes from */
	struct injector_capture *capture;
	struct histogram *lateness, *scratch;
	struct dp_port_statistics port_base[INJECTOR_DIRECTIONS]; /* at the last reset */
	struct ns started, last_sample;
	uint64_t last_rx[INJECTOR_DIRECTIONS], last_ring_full[INJECTOR_DIRECTIONS];
	bool link_was_up[INJECTOR_DIRECTIONS], capture_failure_told;
	bool stopped;
};

struct injector_monitor *injector_monitor_create(struct injector *injector, struct dp_port *port_a,
						 struct dp_port *port_b, struct injector_capture *capture,
						 struct error *err)
{
	struct injector_monitor *monitor = calloc(1, sizeof *monitor);

	if (monitor) {
		monitor->lateness = histogram_create(1, LATENESS_MAXIMUM_NS, 3);
		monitor->scratch = histogram_create(1, LATENESS_MAXIMUM_NS, 3);
	}
	if (!monitor || !monitor->lateness || !monitor->scratch) {
		injector_monitor_destroy(monitor);
		error_set(err, ENOMEM, "no memory for the injector's histograms");
		return NULL;
	}
	monitor->injector = injector;
	monitor->ports[INJECTOR_AB] = port_a;
	monitor->ports[INJECTOR_BA] = port_b;
	monitor->capture = capture;
	monitor->link_was_up[INJECTOR_AB] = monitor->link_was_up[INJECTOR_BA] = true;
	monitor->started = monitor->last_sample = ns_now_monotonic();
	return monitor;
}

void injector_monitor_destroy(struct injector_monitor *monitor)
{
	if (!monitor)
		return;
	histogram_destroy(monitor->lateness);
	histogram_destroy(monitor->scratch);
	free(monitor);
}

/* What is configured; null where a mode sets the delay: it changes while it is told. */
static json_t *delay_json(const struct injector_monitor *monitor, enum injector_direction d)
{
	if (injector_delay_setter(monitor->injector, d))
		return json_null();
	return json_real(injector_delay_us(monitor->injector, d));
}

static json_t *lateness_json(const struct histogram *lateness)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:f, s:I}", "p50", (json_int_t)histogram_percentile(lateness, 50), "p99",
			 (json_int_t)histogram_percentile(lateness, 99), "p99_9",
			 (json_int_t)histogram_percentile(lateness, 99.9), "max",
			 (json_int_t)histogram_maximum(lateness), "mean", histogram_mean(lateness), "count",
			 (json_int_t)histogram_count(lateness));
}

/* A mode that overflows a ring is a mistake that a person can mend: say how. */
static void warn_ring_full(struct injector_monitor *monitor, unsigned int d,
			   const struct injector_direction_statistics *now, double rx_pps)
{
	double delay_us = injector_longest_delay_us(monitor->injector, d);
	double held_pps = rx_pps * injector_multiple(monitor->injector, d);
	uint32_t slots = injector_slots(monitor->injector), needed = injector_slots_needed(delay_us, held_pps);
	unsigned long long dropped = now->ring_full - monitor->last_ring_full[d];

	monitor->last_ring_full[d] = now->ring_full;
	if (dropped == 0)
		return;
	if (needed > slots)
		log_warning("%s: %llu packets dropped, the ring of %u slots is full: %.0f packets/s for up to %g us "
			    "need --slots %u",
			    direction_names[d], dropped, slots, rx_pps, delay_us, needed);
	else
		log_warning("%s: %llu packets dropped, the ring of %u slots is full: of %.0f packets/s that arrive, "
			    "not all leave in time (a --rate, or the transmit port)",
			    direction_names[d], dropped, slots, rx_pps);
}

/* A port's counters since the start or the last reset. */
static struct dp_port_statistics port_since_reset(const struct injector_monitor *monitor, unsigned int p)
{
	struct dp_port_statistics port;

	dp_port_statistics(monitor->ports[p], &port);
	port.rx_missed -= monitor->port_base[p].rx_missed;
	port.rx_no_mbuf -= monitor->port_base[p].rx_no_mbuf;
	port.rx_errors -= monitor->port_base[p].rx_errors;
	port.tx_errors -= monitor->port_base[p].tx_errors;
	return port;
}

/* `from` and `to`: the ports that it comes from and leaves by. */
static json_t *direction_json(struct injector_monitor *monitor, unsigned int d,
			      const struct injector_direction_statistics *count, double seconds,
			      const struct dp_port_statistics *from, const struct dp_port_statistics *to)
{
	double rx_pps = seconds > 0 && count->rx_packets >= monitor->last_rx[d]
				? (double)(count->rx_packets - monitor->last_rx[d]) / seconds
				: 0;
	json_t *clean, *raw;

	warn_ring_full(monitor, d, count, rx_pps);
	monitor->last_rx[d] = count->rx_packets;
	histogram_reset(monitor->scratch);
	injector_read_lateness(monitor->injector, d, false, monitor->scratch);
	clean = lateness_json(monitor->scratch);
	injector_read_lateness(monitor->injector, d, true, monitor->scratch);
	raw = lateness_json(monitor->scratch);
	histogram_merge(monitor->lateness, monitor->scratch);
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o}",
			 "delay_us", delay_json(monitor, d), "rx_packets", (json_int_t)count->rx_packets, "tx_packets",
			 (json_int_t)count->tx_packets, "held", (json_int_t)count->held, "ring_full",
			 (json_int_t)count->ring_full, "tx_full", (json_int_t)count->tx_full, "nombuf",
			 (json_int_t)(count->no_mbuf + from->rx_no_mbuf), "rx_missed", (json_int_t)from->rx_missed,
			 "rx_errors", (json_int_t)from->rx_errors, "tx_errors", (json_int_t)to->tx_errors, "lost",
			 (json_int_t)count->lost, "duplicated", (json_int_t)count->duplicated, "bypassed",
			 (json_int_t)count->bypassed, "disturbed", (json_int_t)count->disturbed, "rx_pps", rx_pps,
			 "lateness_ns", raw, "undisturbed_lateness_ns", clean);
}

/* Sums and short names at the top: what a sweep looks at. */
static json_t *top_json(struct injector_monitor *monitor, const struct injector_statistics *statistics,
			const struct dp_port_statistics port[INJECTOR_DIRECTIONS])
{
	const struct injector_direction_statistics *ab = &statistics->direction[INJECTOR_AB],
						   *ba = &statistics->direction[INJECTOR_BA];

	return json_pack(
		"{s:s, s:f, s:f, s:o, s:o, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, "
		"s:o, s:I, s:I, s:I, s:f, s:f, s:s, s:I, s:I, s:I, s:I, s:I}",
		"schema", "nomora.inject/1", "time", ns_to_s(ns_now_wall()), "uptime_s",
		ns_to_s(ns_sub(ns_now_monotonic(), monitor->started)), "delay_ab_us", delay_json(monitor, INJECTOR_AB),
		"delay_ba_us", delay_json(monitor, INJECTOR_BA), "delay_set_by",
		injector_delay_setter(monitor->injector, INJECTOR_AB), "delay_changes",
		(json_int_t)injector_delay_changes(monitor->injector), "rx_ab", (json_int_t)ab->rx_packets, "tx_ab",
		(json_int_t)ab->tx_packets, "rx_ba", (json_int_t)ba->rx_packets, "tx_ba", (json_int_t)ba->tx_packets,
		"ring_full", (json_int_t)(ab->ring_full + ba->ring_full), "tx_full",
		(json_int_t)(ab->tx_full + ba->tx_full), "nombuf",
		(json_int_t)(ab->no_mbuf + ba->no_mbuf + port[0].rx_no_mbuf + port[1].rx_no_mbuf), "rx_missed",
		(json_int_t)(port[0].rx_missed + port[1].rx_missed), "disturbed",
		(json_int_t)(ab->disturbed + ba->disturbed), "stalls", (json_int_t)statistics->stalls, "stall_us_total",
		statistics->stall_total_us, "stall_max_us", statistics->stall_max_us, "stall_threshold_us",
		statistics->stall_threshold_us, "stall_us_in_transmit",
		statistics->transmit_timed ? json_real(statistics->stall_transmit_us) : json_null(), "rx_errors",
		(json_int_t)(port[0].rx_errors + port[1].rx_errors), "tx_errors",
		(json_int_t)(port[0].tx_errors + port[1].tx_errors), "hiccups", (json_int_t)statistics->hiccups,
		"hiccup_threshold_ns", statistics->hiccup_threshold_ns, "subtract_ns",
		injector_subtract_ns(monitor->injector), "counter",
		injector_trusts_counter(monitor->injector) ? "trusted" : "invariant", "lcores",
		(json_int_t)injector_lcore_count(monitor->injector), "lateness_p50_ns",
		(json_int_t)histogram_percentile(monitor->lateness, 50), "lateness_p99_ns",
		(json_int_t)histogram_percentile(monitor->lateness, 99), "lateness_p99_9_ns",
		(json_int_t)histogram_percentile(monitor->lateness, 99.9), "lateness_max_ns",
		(json_int_t)histogram_maximum(monitor->lateness));
}

/* Once for each time that a link goes or comes back. */
static void tell_link(struct injector_monitor *monitor, unsigned int p, const struct dp_port_report *report)
{
	if (report->link_up == monitor->link_was_up[p])
		return;
	monitor->link_was_up[p] = report->link_up;
	if (report->link_up)
		log_info("%s: the link is up again", report->name);
	else
		log_warning("%s: the link is down, or the interface is gone: nothing arrives, and what is sent is lost "
			    "(tx_errors)",
			    report->name);
}

static json_t *port_json(struct injector_monitor *monitor, unsigned int p)
{
	struct dp_port_report report;

	dp_port_report(monitor->ports[p], &report);
	tell_link(monitor, p, &report);
	return json_pack("{s:s, s:s, s:s, s:b, s:I}", "name", report.name, "driver", report.driver, "mac", report.mac,
			 "link_up", report.link_up, "speed_Mbps", (json_int_t)report.speed_Mbps);
}

static json_t *capture_json(struct injector_monitor *monitor)
{
	int status = injector_capture_failed(monitor->capture);

	if (status && !monitor->capture_failure_told)
		log_warning("%s: %s: the capture ends here, and all that passes from now on is missing in it",
			    injector_capture_path(monitor->capture), strerror(-status));
	monitor->capture_failure_told = status != 0;
	return json_pack("{s:I, s:I}", "written", (json_int_t)injector_capture_written(monitor->capture), "lost",
			 (json_int_t)injector_capture_lost(monitor->capture));
}

json_t *injector_monitor_sample(struct injector_monitor *monitor, struct error *err)
{
	struct dp_port_statistics port[INJECTOR_DIRECTIONS];
	struct injector_statistics statistics;
	struct ns now = ns_now_monotonic();
	double seconds = ns_to_s(ns_sub(now, monitor->last_sample));
	json_t *directions[INJECTOR_DIRECTIONS], *sample;

	if (injector_read(monitor->injector, &statistics, err))
		return NULL;
	histogram_reset(monitor->lateness);
	for (unsigned int p = 0; p < INJECTOR_DIRECTIONS; p++)
		port[p] = port_since_reset(monitor, p);
	for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++)
		directions[d] = direction_json(monitor, d, &statistics.direction[d], seconds, &port[d], &port[!d]);
	monitor->last_sample = now;
	sample = top_json(monitor, &statistics, port);
	for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++)
		json_object_set_new(sample, direction_names[d], directions[d]);
	json_object_set_new(sample, "ports", json_pack("[o, o]", port_json(monitor, 0), port_json(monitor, 1)));
	if (monitor->capture)
		json_object_set_new(sample, "capture", capture_json(monitor));
	if (!sample)
		error_set(err, ENOMEM, "no memory for the statistics");
	return sample;
}

/* `named`: the directions that a word before this one has set. */
static int set_one(const char *word, double delay_us[INJECTOR_DIRECTIONS], bool named[INJECTOR_DIRECTIONS],
		   struct error *err)
{
	static const char *const names[] = {"delay_ab_us=", "delay_ba_us=", "delay_us="};
	size_t which = 0;
	double value;

	while (which < 3 && strncmp(word, names[which], strlen(names[which])) != 0)
		which++;
	if (which == 3)
		return error_set(err, EINVAL, "set: \"%s\": expected delay_us=, delay_ab_us= or delay_ba_us=", word);
	if (number_parse_double(word + strlen(names[which]), &value) != 0)
		return error_set(err, EINVAL, "set: \"%s\": expected a number of microseconds", word);
	for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++) {
		if (which != 2 && which != d)
			continue;
		if (named[d])
			return error_set(err, EINVAL, "set: \"%s\": expected each direction once, %s was named before",
					 word, direction_names[d]);
		named[d] = true;
		delay_us[d] = value;
	}
	return 0;
}

static json_t *request_set(struct injector_monitor *monitor, const char *arguments, struct error *err)
{
	double delay_us[] = {injector_delay_us(monitor->injector, INJECTOR_AB),
			     injector_delay_us(monitor->injector, INJECTOR_BA)};
	bool named[INJECTOR_DIRECTIONS] = {false, false};
	char word[WORD_BYTES];
	int count = 0;

	for (arguments += strspn(arguments, " "); *arguments; arguments += strspn(arguments, " "), count++) {
		size_t length = strcspn(arguments, " ");

		if (length >= sizeof word) {
			error_set(err, EINVAL, "set: a word of %zu bytes is too long", length);
			return NULL;
		}
		memcpy(word, arguments, length);
		word[length] = '\0';
		arguments += length;
		if (set_one(word, delay_us, named, err))
			return NULL;
	}
	if (count == 0) {
		error_set(err, EINVAL, "set what? expected delay_us=, delay_ab_us= or delay_ba_us=");
		return NULL;
	}
	if (injector_set_delay(monitor->injector, delay_us, err))
		return NULL;
	return json_pack("{s:s, s:f, s:f}", "schema", "nomora.inject/1", "delay_ab_us", delay_us[0], "delay_ba_us",
			 delay_us[1]);
}

static json_t *request_metrics(struct injector_monitor *monitor, struct error *err)
{
	json_t *sample = injector_monitor_sample(monitor, err);
	char *text = sample ? injector_monitor_metrics(sample) : NULL;
	json_t *answer = text ? json_pack("{s:s, s:s}", "schema", "nomora.inject/1", "metrics", text) : NULL;

	free(text);
	json_decref(sample);
	return answer;
}

static json_t *request_reset(struct injector_monitor *monitor, struct error *err)
{
	if (injector_reset(monitor->injector, err))
		return NULL;
	for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++) {
		dp_port_statistics(monitor->ports[d], &monitor->port_base[d]);
		monitor->last_rx[d] = monitor->last_ring_full[d] = 0;
	}
	monitor->started = monitor->last_sample = ns_now_monotonic();
	return json_pack("{s:s, s:b}", "schema", "nomora.inject/1", "reset", 1);
}

json_t *injector_monitor_request(void *context, const char *line, struct error *err)
{
	struct injector_monitor *monitor = context;

	if (strcmp(line, "stats") == 0)
		return injector_monitor_sample(monitor, err);
	if (strcmp(line, "set") == 0 || strncmp(line, "set ", 4) == 0)
		return request_set(monitor, line + 3, err);
	if (strcmp(line, "metrics") == 0)
		return request_metrics(monitor, err);
	if (strcmp(line, "reset") == 0)
		return request_reset(monitor, err);
	if (strcmp(line, "stop") == 0) {
		monitor->stopped = true;
		return json_pack("{s:s, s:b}", "schema", "nomora.inject/1", "stopping", 1);
	}
	error_set(err, EINVAL, "there is no command \"%.60s\": expected stats, set, metrics, reset or stop", line);
	return NULL;
}

bool injector_monitor_stopped(const struct injector_monitor *monitor)
{
	return monitor->stopped;
}
