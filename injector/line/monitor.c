/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/line/monitor.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <base/log.h>
#include <injector/line/capture.h>
#include <injector/line/line.h>

enum { LATENESS_MAXIMUM_NS = 2000000000 };

static const char *const direction_names[] = {"ab", "ba"};

struct injector_monitor {
	struct injector *injector;
	struct dp_port *ports[INJECTOR_DIRECTIONS]; /* ports[d]: the port from which direction d receives; A, then B */
	struct injector_capture *capture;
	struct histogram *lateness, *scratch;
	struct dp_port_statistics port_base[INJECTOR_DIRECTIONS]; /* [port]: counters at the last reset */
	struct ns started, last_sample;
	uint64_t last_rx[INJECTOR_DIRECTIONS], last_ring_full[INJECTOR_DIRECTIONS];
	uint64_t last_unaccounted[INJECTOR_DIRECTIONS];
	uint32_t link_base[INJECTOR_DIRECTIONS], link_changes[INJECTOR_DIRECTIONS]; /* at the last reset, sample */
	bool link_was_up[INJECTOR_DIRECTIONS], capture_failure_logged;
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
	for (unsigned int p = 0; p < INJECTOR_DIRECTIONS; p++) {
		struct dp_port_report report;

		dp_port_report(monitor->ports[p], &report);
		monitor->link_base[p] = monitor->link_changes[p] = report.link_changes;
	}
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

/* Returns NAN if a mode sets the delay: then there is no single value. */
static double delay_us(const struct injector_monitor *monitor, unsigned int d)
{
	return injector_delay_setter(monitor->injector, d) ? NAN : injector_delay_us(monitor->injector, d);
}

static struct injector_state_lateness lateness_of(const struct histogram *lateness)
{
	return (struct injector_state_lateness){
		.p50_ns = histogram_percentile(lateness, 50),
		.p99_ns = histogram_percentile(lateness, 99),
		.p99_9_ns = histogram_percentile(lateness, 99.9),
		.maximum_ns = histogram_maximum(lateness),
		.mean_ns = histogram_mean(lateness),
		.count = (int64_t)histogram_count(lateness),
	};
}

static void buckets_of(const struct histogram *times, struct injector_state_buckets *buckets)
{
	struct histogram_cursor cursor = {0};

	buckets->count = 0;
	while (buckets->count < INJECTOR_STATE_BUCKETS && histogram_next(times, &cursor))
		buckets->of[buckets->count++] =
			(struct injector_state_bucket){.ns = cursor.high, .packets = cursor.count};
}

/* Fills the delays of a direction, and leaves its lateness in monitor->scratch. */
static void fill_delays(struct injector_monitor *monitor, unsigned int d,
			const struct injector_direction_statistics *count, struct injector_state_delays *delays)
{
	/* The percentiles are those of the buckets, which are 6 % wide; the means are exact. */
	histogram_reset(monitor->scratch);
	injector_read_delays(monitor->injector, d, false, monitor->scratch);
	delays->requested = lateness_of(monitor->scratch);
	delays->requested.mean_ns = count->requested_mean_ns;
	histogram_reset(monitor->scratch);
	injector_read_delays(monitor->injector, d, true, monitor->scratch);
	delays->applied = lateness_of(monitor->scratch);
	delays->applied.mean_ns = count->applied_mean_ns;
	buckets_of(monitor->scratch, &delays->applied_buckets);
	histogram_reset(monitor->scratch);
	injector_read_lateness(monitor->injector, d, false, monitor->scratch);
	injector_read_lateness(monitor->injector, d, true, monitor->scratch);
	delays->lateness = lateness_of(monitor->scratch);
	buckets_of(monitor->scratch, &delays->lateness_buckets);
}

static void fill_rules(const struct injector_monitor *monitor, unsigned int d,
		       const struct injector_statistics *statistics, struct injector_state_direction *direction)
{
	direction->rule_count = statistics->rule_count[d];
	for (size_t i = 0; i < direction->rule_count; i++) {
		const struct injector_rule_statistics *count = &statistics->rules[d][i];
		struct injector_state_rule *rule = &direction->rules[i];
		struct injector_state_lateness *delays[] = {&rule->requested_delay, &rule->applied_delay};
		const double means_ns[] = {count->requested_mean_ns, count->applied_mean_ns};

		snprintf(rule->text, sizeof rule->text, "%s", count->text);
		rule->packets = count->packets;
		rule->lost = count->lost;
		for (int applied = 0; applied < 2; applied++) {
			histogram_reset(monitor->scratch);
			injector_read_rule_delays(monitor->injector, d, i, applied, monitor->scratch);
			*delays[applied] = lateness_of(monitor->scratch);
			delays[applied]->mean_ns = means_ns[applied];
		}
	}
}

/*
 * If packets were dropped since the last call because the ring was full, logs a warning. The warning names the value of
 * --slots that would be enough, or the limit that slows the packets down.
 */
static void warn_ring_full(struct injector_monitor *monitor, unsigned int d,
			   const struct injector_direction_statistics *now, double rx_pps)
{
	double longest_us = injector_longest_delay_us(monitor->injector, d);
	double held_pps = rx_pps * injector_multiple(monitor->injector, d);
	uint32_t slots = injector_slots(monitor->injector), needed = injector_slots_needed(longest_us, held_pps);
	unsigned long long dropped = now->ring_full - monitor->last_ring_full[d];

	monitor->last_ring_full[d] = now->ring_full;
	if (dropped == 0)
		return;
	if (needed > slots)
		log_warning("%s: %llu packets dropped, the ring of %u slots is full: %.0f packets/s for up to %g us "
			    "need --slots %u",
			    direction_names[d], dropped, slots, rx_pps, longest_us, needed);
	else
		log_warning("%s: %llu packets dropped, the ring of %u slots is full: packets arrive at %.0f/s and "
			    "leave more slowly (--rate or the transmit port limits them)",
			    direction_names[d], dropped, slots, rx_pps);
}

/* Logs a warning if more packets than before are missing in the counters of the loop, a port or its interface. */
static void warn_unaccounted(struct injector_monitor *monitor, unsigned int d,
			     const struct injector_state_direction *direction)
{
	if (direction->unaccounted > monitor->last_unaccounted[d])
		log_warning("%s: %llu packets are not accounted for: %llu that the interface has received never "
			    "arrived, and it did not send %llu (is the MTU of its peer smaller?)",
			    direction_names[d], (unsigned long long)direction->unaccounted,
			    (unsigned long long)direction->rx_uncounted, (unsigned long long)direction->tx_uncounted);
	monitor->last_unaccounted[d] = direction->unaccounted;
}

/* Returns the packets that the loop's own counters miss; 0 unless the loop has a bug. */
static uint64_t imbalance(const struct injector_direction_statistics *count)
{
	uint64_t in = count->rx_packets + count->duplicated;
	uint64_t out = count->tx_packets + count->held + count->ring_full + count->too_late + count->lost;

	return in > out ? in - out : out - in;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns a port's error and drop counters since the start or the last reset. */
static struct dp_port_statistics port_since_reset(const struct injector_monitor *monitor, unsigned int p)
{
	struct dp_port_statistics port;

	dp_port_statistics(monitor->ports[p], &port);
	port.rx_missed -= monitor->port_base[p].rx_missed;
	port.rx_no_mbuf -= monitor->port_base[p].rx_no_mbuf;
	port.rx_errors -= monitor->port_base[p].rx_errors;
	port.tx_errors -= monitor->port_base[p].tx_errors;
	port.tx_link_down -= monitor->port_base[p].tx_link_down;
	port.tx_mtu -= monitor->port_base[p].tx_mtu;
	port.rx_uncounted -= least(port.rx_uncounted, monitor->port_base[p].rx_uncounted);
	port.tx_uncounted -= least(port.tx_uncounted, monitor->port_base[p].tx_uncounted);
	return port;
}

/* Returns the packets per second since the previous sample. */
static double take_rate(struct injector_monitor *monitor, unsigned int d, uint64_t rx_packets, double seconds)
{
	uint64_t before = monitor->last_rx[d];

	monitor->last_rx[d] = rx_packets;
	return seconds > 0 && rx_packets >= before ? (double)(rx_packets - before) / seconds : 0;
}

/* Fills the state of direction `d`. `from` and `to` are the counters of its receive and transmit port. */
static void fill_direction(struct injector_monitor *monitor, unsigned int d,
			   const struct injector_direction_statistics *count, double seconds,
			   const struct dp_port_statistics *from, const struct dp_port_statistics *to,
			   struct injector_state_direction *direction)
{
	*direction = (struct injector_state_direction){
		.delay_us = delay_us(monitor, d),
		.rx_packets = count->rx_packets,
		.tx_packets = count->tx_packets,
		.held = count->held,
		.ring_full = count->ring_full,
		.too_late = count->too_late,
		.tx_full = count->tx_full,
		.no_mbuf = count->no_mbuf + from->rx_no_mbuf,
		.rx_missed = from->rx_missed,
		.rx_errors = from->rx_errors,
		.tx_errors = to->tx_errors,
		.tx_link_down = to->tx_link_down,
		.tx_mtu = to->tx_mtu,
		.rx_uncounted = from->rx_uncounted,
		.tx_uncounted = to->tx_uncounted,
		.lost = count->lost,
		.duplicated = count->duplicated,
		.corrupted = count->corrupted,
		.bypassed = count->bypassed,
		.disturbed = count->disturbed,
		.rx_pps = take_rate(monitor, d, count->rx_packets, seconds),
	};
	warn_ring_full(monitor, d, count, direction->rx_pps);
	direction->unaccounted = direction->rx_uncounted + direction->tx_uncounted + imbalance(count);
	warn_unaccounted(monitor, d, direction);
	histogram_reset(monitor->scratch);
	injector_read_lateness(monitor->injector, d, false, monitor->scratch);
	direction->undisturbed_lateness = lateness_of(monitor->scratch);
	fill_delays(monitor, d, count, &direction->delays);
	histogram_merge(monitor->lateness, monitor->scratch);
}

static void fill_totals(const struct injector_monitor *monitor, const struct injector_statistics *statistics,
			struct injector_state *state)
{
	struct injector_state_totals *totals = &state->totals;
	const char *setter = injector_delay_setter(monitor->injector, INJECTOR_AB);

	injector_state_add_up(state);
	totals->uptime_s = ns_to_s(ns_sub(ns_now_monotonic(), monitor->started));
	snprintf(totals->delay_set_by, sizeof totals->delay_set_by, "%s", setter ? setter : "");
	totals->delay_changes = injector_delay_changes(monitor->injector);
	totals->stalls = statistics->stalls;
	totals->hiccups = statistics->hiccups;
	totals->stall_us = statistics->stall_total_us;
	totals->stall_longest_us = statistics->stall_max_us;
	totals->stall_threshold_us = statistics->stall_threshold_us;
	totals->hiccup_threshold_ns = statistics->hiccup_threshold_ns;
	totals->transmit_stall_us = statistics->transmit_timed ? statistics->stall_transmit_us : NAN;
	totals->subtract_ns = injector_subtract_ns(monitor->injector);
	totals->lcores = injector_lcore_count(monitor->injector);
	totals->lateness = lateness_of(monitor->lateness);
}

/* Logs each loss and return of a port's link once, also if both were since the last sample. */
static void log_link(struct injector_monitor *monitor, unsigned int p, const struct dp_port_report *report)
{
	uint32_t changes = report->link_changes - monitor->link_changes[p];

	if (report->link_changes) /* 0: the interface is gone */
		monitor->link_changes[p] = report->link_changes;
	if (report->link_up == monitor->link_was_up[p]) {
		if (report->link_up && changes > 0)
			log_warning("%s: the link was down for a moment, and is up again: packets were lost",
				    report->name);
		return;
	}
	monitor->link_was_up[p] = report->link_up;
	if (report->link_up)
		log_info("%s: the link is up again", report->name);
	else
		log_warning("%s: the link is down, or the interface is gone: no packets arrive, and transmitted "
			    "packets are lost (tx_errors)",
			    report->name);
}

static void fill_port(struct injector_monitor *monitor, unsigned int p, struct injector_state_port *port)
{
	struct dp_port_report report;

	dp_port_report(monitor->ports[p], &report);
	log_link(monitor, p, &report);
	snprintf(port->name, sizeof port->name, "%s", report.name);
	snprintf(port->driver, sizeof port->driver, "%s", report.driver);
	snprintf(port->mac, sizeof port->mac, "%s", report.mac);
	port->link_up = report.link_up;
	port->link_changes = monitor->link_changes[p] - monitor->link_base[p];
	port->speed_Mbps = report.speed_Mbps;
}

static void fill_capture(struct injector_monitor *monitor, struct injector_state *state)
{
	int status = injector_capture_failed(monitor->capture);

	if (status && !monitor->capture_failure_logged)
		log_warning("%s: %s: the capture ends here; later packets are missing in it",
			    injector_capture_path(monitor->capture), strerror(-status));
	monitor->capture_failure_logged = status != 0;
	state->has_capture = true;
	state->capture_written = injector_capture_written(monitor->capture);
	state->capture_lost = injector_capture_lost(monitor->capture);
}

int injector_monitor_sample(struct injector_monitor *monitor, struct injector_state *state, struct error *err)
{
	struct dp_port_statistics port[INJECTOR_DIRECTIONS];
	struct injector_statistics statistics;
	int status = injector_read(monitor->injector, &statistics, err);
	struct ns now = ns_now_monotonic(); /* after the worker has answered, which takes long beside load */
	double seconds = ns_to_s(ns_sub(now, monitor->last_sample));

	if (status)
		return status;
	*state = (struct injector_state){.time_s = ns_to_s(ns_now_wall()),
					 .counter_trusted = injector_trusts_counter(monitor->injector)};
	histogram_reset(monitor->lateness);
	for (unsigned int p = 0; p < INJECTOR_DIRECTIONS; p++)
		port[p] = port_since_reset(monitor, p);
	for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++)
		fill_direction(monitor, d, &statistics.direction[d], seconds, &port[d], &port[!d],
			       &state->direction[d]);
	for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++)
		fill_rules(monitor, d, &statistics, &state->direction[d]);
	monitor->last_sample = now;
	fill_totals(monitor, &statistics, state);
	for (unsigned int p = 0; p < INJECTOR_DIRECTIONS; p++)
		fill_port(monitor, p, &state->port[p]);
	if (monitor->capture)
		fill_capture(monitor, state);
	return 0;
}

static json_t *request_stats(struct injector_monitor *monitor, struct error *err)
{
	struct injector_state state;
	json_t *answer;

	if (injector_monitor_sample(monitor, &state, err))
		return NULL;
	answer = injector_state_to_json(&state);
	if (!answer)
		error_set(err, ENOMEM, "out of memory");
	return answer;
}

/* Reads a member of the body of "set" into delays_us. named[d] is true if an earlier member has set direction d. */
static int set_one(const char *name, const json_t *value, double delays_us[INJECTOR_DIRECTIONS],
		   bool named[INJECTOR_DIRECTIONS], struct error *err)
{
	static const char *const names[] = {"delay_ab_us", "delay_ba_us", "delay_us"};
	size_t which = 0;

	while (which < 3 && strcmp(name, names[which]) != 0)
		which++;
	if (which == 3)
		return error_set(err, EINVAL,
				 "set: \"%s\": expected delay_us=, delay_ab_us= or delay_ba_us=, or rule= alone", name);
	if (!json_is_number(value))
		return error_set(err, EINVAL, "set: \"%s\": expected a number of microseconds", name);
	for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++) {
		if (which != 2 && which != d)
			continue;
		if (named[d])
			return error_set(err, EINVAL, "set: \"%s\": direction %s is given twice", name,
					 direction_names[d]);
		named[d] = true;
		delays_us[d] = json_number_value(value);
	}
	return 0;
}

static json_t *set_delays(struct injector_monitor *monitor, json_t *wanted, struct error *err)
{
	double delays_us[] = {injector_delay_us(monitor->injector, INJECTOR_AB),
			      injector_delay_us(monitor->injector, INJECTOR_BA)};
	bool named[INJECTOR_DIRECTIONS] = {false, false};
	const char *name;
	json_t *value;
	int code = 0;

	json_object_foreach (wanted, name, value)
		code = code ? code : set_one(name, value, delays_us, named, err);
	if (json_object_size(wanted) == 0)
		code = error_set(err, EINVAL, "set: expected delay_us=, delay_ab_us=, delay_ba_us= or rule=");
	if (code || injector_set_delay(monitor->injector, delays_us, err))
		return NULL;
	return json_pack("{s:s, s:f, s:f}", "schema", INJECTOR_STATE_SCHEMA, "delay_ab_us", delays_us[0], "delay_ba_us",
			 delays_us[1]);
}

static json_t *set_rule(struct injector_monitor *monitor, const char *rule, struct error *err)
{
	if (injector_set_rule(monitor->injector, rule, err))
		return NULL;
	return json_pack("{s:s, s:s}", "schema", INJECTOR_STATE_SCHEMA, "rule", rule);
}

static json_t *request_set(struct injector_monitor *monitor, const char *body, struct error *err)
{
	json_t *wanted = json_read_text("set", 0, body, strlen(body), err), *answer;
	const char *rule = json_string_value(json_object_get(wanted, "rule"));

	if (!wanted)
		return NULL;
	answer =
		rule && json_object_size(wanted) == 1 ? set_rule(monitor, rule, err) : set_delays(monitor, wanted, err);
	json_decref(wanted);
	return answer;
}

static json_t *request_metrics(struct injector_monitor *monitor, struct error *err)
{
	struct injector_state state;
	json_t *answer;
	char *text;

	if (injector_monitor_sample(monitor, &state, err))
		return NULL;
	text = injector_monitor_metrics(&state);
	answer = text ? json_pack("{s:s, s:s}", "schema", INJECTOR_STATE_SCHEMA, "metrics", text) : NULL;
	if (!answer)
		error_set(err, ENOMEM, "out of memory");
	free(text);
	return answer;
}

static json_t *request_reset(struct injector_monitor *monitor, struct error *err)
{
	if (injector_reset(monitor->injector, err))
		return NULL;
	for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++) {
		dp_port_statistics(monitor->ports[d], &monitor->port_base[d]);
		monitor->last_rx[d] = monitor->last_ring_full[d] = 0;
		monitor->link_base[d] = monitor->link_changes[d];
	}
	monitor->started = monitor->last_sample = ns_now_monotonic();
	return json_pack("{s:s, s:b}", "schema", INJECTOR_STATE_SCHEMA, "reset", 1);
}

json_t *injector_monitor_request(struct injector_monitor *monitor, const char *command, const char *body,
				 struct error *err)
{
	if (strcmp(command, "stats") == 0)
		return request_stats(monitor, err);
	if (strcmp(command, "set") == 0)
		return request_set(monitor, body, err);
	if (strcmp(command, "metrics") == 0)
		return request_metrics(monitor, err);
	if (strcmp(command, "reset") == 0)
		return request_reset(monitor, err);
	if (strcmp(command, "stop") == 0) {
		monitor->stopped = true;
		return json_pack("{s:s, s:b}", "schema", INJECTOR_STATE_SCHEMA, "stopping", 1);
	}
	error_set(err, EINVAL, "unknown command \"%.60s\": expected stats, set, metrics, reset or stop", command);
	return NULL;
}

bool injector_monitor_stopped(const struct injector_monitor *monitor)
{
	return monitor->stopped;
}
