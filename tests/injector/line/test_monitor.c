/* SPDX-License-Identifier: BSD-3-Clause */
/* Each value of the state is the one that the injector and its ports count. They are the test's own. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <injector/line/capture.h>
#include <injector/line/line.h>
#include <injector/line/monitor.h>

static struct injector_statistics counted;
static struct dp_port_statistics ports[2];
static struct dp_port_report reports[2];
static int64_t now_ns;
static bool by_mode, is_reset;
static double set_us[2];

struct ns __wrap_ns_now_monotonic(void);

struct ns __wrap_ns_now_monotonic(void)
{
	return (struct ns){now_ns};
}

int injector_read(struct injector *injector, struct injector_statistics *statistics, struct error *err)
{
	(void)injector;
	(void)err;
	*statistics = counted;
	return 0;
}

static void record(struct histogram *into, int64_t ns, int count)
{
	for (int i = 0; i < count; i++)
		histogram_record(into, ns);
}

void injector_read_lateness(const struct injector *injector, enum injector_direction direction, bool disturbed,
			    struct histogram *into)
{
	(void)injector;
	record(into, 100 * (direction + 1) + disturbed, disturbed ? 2 : 3);
}

void injector_read_delays(const struct injector *injector, enum injector_direction direction, bool applied,
			  struct histogram *into)
{
	(void)injector;
	record(into, 300 * (direction + 1) + applied, applied ? 4 : 5);
}

void injector_read_rule_delays(const struct injector *injector, enum injector_direction direction, size_t rule,
			       bool applied, struct histogram *into)
{
	(void)injector;
	record(into, 700 * (direction + 1) + 2 * (int64_t)rule + applied, applied ? 6 : 7);
}

const char *injector_delay_setter(const struct injector *injector, enum injector_direction direction)
{
	(void)injector;
	return by_mode && direction == INJECTOR_AB ? "steps" : NULL;
}

double injector_delay_us(const struct injector *injector, enum injector_direction direction)
{
	(void)injector;
	return 7 + direction;
}

double injector_longest_delay_us(const struct injector *injector, enum injector_direction direction)
{
	(void)injector;
	return direction;
}

double injector_multiple(const struct injector *injector, enum injector_direction direction)
{
	(void)injector;
	(void)direction;
	return 1;
}

uint32_t injector_slots(const struct injector *injector)
{
	(void)injector;
	return 64;
}

uint32_t injector_slots_needed(double delay_us, double pps)
{
	return (uint32_t)(delay_us * pps);
}

uint64_t injector_delay_changes(const struct injector *injector)
{
	(void)injector;
	return 11;
}

double injector_subtract_ns(const struct injector *injector)
{
	(void)injector;
	return 12;
}

uint32_t injector_lcore_count(const struct injector *injector)
{
	(void)injector;
	return 2;
}

bool injector_trusts_counter(const struct injector *injector)
{
	(void)injector;
	return true;
}

int injector_set_delay(struct injector *injector, const double delay_us[INJECTOR_DIRECTIONS], struct error *err)
{
	(void)injector;
	(void)err;
	memcpy(set_us, delay_us, sizeof set_us);
	return 0;
}

int injector_set_rule(struct injector *injector, const char *text, struct error *err)
{
	(void)injector;
	(void)text;
	(void)err;
	return 0;
}

int injector_reset(struct injector *injector, struct error *err)
{
	(void)injector;
	(void)err;
	is_reset = true;
	return 0;
}

void dp_port_statistics(struct dp_port *port, struct dp_port_statistics *statistics)
{
	*statistics = *(struct dp_port_statistics *)port;
}

void dp_port_report(const struct dp_port *port, struct dp_port_report *report)
{
	*report = reports[(const struct dp_port_statistics *)port - ports];
}

int injector_capture_failed(const struct injector_capture *capture)
{
	(void)capture;
	return 0;
}

const char *injector_capture_path(const struct injector_capture *capture)
{
	(void)capture;
	return "c";
}

uint64_t injector_capture_written(const struct injector_capture *capture)
{
	(void)capture;
	return 21;
}

uint64_t injector_capture_lost(const struct injector_capture *capture)
{
	(void)capture;
	return 22;
}

/* Numbers the counters of a struct of counters: first, first + 1, ... */
static void number(void *counters, size_t bytes, uint64_t first)
{
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)counters)[i] = first + i;
}

static struct injector_monitor *make(void)
{
	struct error err = {0};

	now_ns = 5 * NS_PER_S;
	for (unsigned int d = 0; d < 2; d++) {
		struct injector_direction_statistics *count = &counted.direction[d];

		number(count, offsetof(struct injector_direction_statistics, requested_mean_ns), 1000 * (d + 1));
		count->requested_mean_ns = 1500.5 + d;
		count->applied_mean_ns = 1600.5 + d;
		number(&ports[d], sizeof ports[d], 100 * (d + 1));
		reports[d] =
			(struct dp_port_report){.link_up = true, .link_changes = 4 + d, .speed_Mbps = 1000 * (d + 1)};
		snprintf(reports[d].name, sizeof reports[d].name, "port%u", d);
		snprintf(reports[d].driver, sizeof reports[d].driver, "driver%u", d);
		snprintf(reports[d].mac, sizeof reports[d].mac, "52:54:00:00:00:0%u", d);
		counted.rule_count[d] = 1 + d;
		for (unsigned int r = 0; r <= d; r++)
			counted.rules[d][r] = (struct injector_rule_statistics){r ? "second" : "first", 31 + r, 33 + r,
										35.5 + r, 37.5 + r};
	}
	counted.stalls = 41;
	counted.stall_total_us = 42;
	counted.stall_max_us = 43;
	counted.transmit_timed = true;
	counted.stall_transmit_us = 44;
	counted.stall_threshold_us = 45;
	counted.hiccups = 46;
	counted.hiccup_threshold_ns = 47;
	return injector_monitor_create(NULL, (struct dp_port *)&ports[0], (struct dp_port *)&ports[1],
				       (struct injector_capture *)&counted, &err);
}

static void expect_lateness(const struct injector_state_lateness *seen, int64_t ns, double mean_ns, int64_t count)
{
	cr_expect_eq(seen->count, count);
	cr_expect_eq(seen->maximum_ns, ns);
	cr_expect_eq(seen->p50_ns, ns);
	cr_expect_eq(seen->p99_ns, ns);
	cr_expect_eq(seen->p99_9_ns, ns);
	cr_expect_float_eq(seen->mean_ns, mean_ns, 1e-9);
}

static void expect_direction(const struct injector_state_direction *seen, unsigned int d)
{
	const struct injector_direction_statistics *count = &counted.direction[d];
	const struct dp_port_statistics *from = &ports[d], *to = &ports[!d];
	const uint64_t pairs[][2] = {{seen->rx_packets, count->rx_packets},
				     {seen->tx_packets, count->tx_packets},
				     {seen->held, count->held},
				     {seen->ring_full, count->ring_full},
				     {seen->too_late, count->too_late},
				     {seen->tx_full, count->tx_full},
				     {seen->no_mbuf, count->no_mbuf + from->rx_no_mbuf},
				     {seen->rx_missed, from->rx_missed},
				     {seen->rx_errors, from->rx_errors},
				     {seen->tx_errors, to->tx_errors},
				     {seen->tx_link_down, to->tx_link_down},
				     {seen->tx_mtu, to->tx_mtu},
				     {seen->rx_uncounted, from->rx_uncounted},
				     {seen->tx_uncounted, to->tx_uncounted},
				     {seen->lost, count->lost},
				     {seen->duplicated, count->duplicated},
				     {seen->corrupted, count->corrupted},
				     {seen->bypassed, count->bypassed},
				     {seen->disturbed, count->disturbed},
				     {seen->unaccounted, from->rx_uncounted + to->tx_uncounted + count->tx_packets +
								 count->held + count->ring_full + count->too_late +
								 count->lost - count->rx_packets - count->duplicated},
				     {seen->rule_count, 1 + d}};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		cr_expect_eq(pairs[i][0], pairs[i][1], "direction %u, value %zu: %lu, not %lu", d, i, pairs[i][0],
			     pairs[i][1]);
	expect_lateness(&seen->undisturbed_lateness, 100 * (d + 1), 100 * (d + 1), 3);
	expect_lateness(&seen->delays.requested, 300 * (d + 1), 1500.5 + d, 5);
	expect_lateness(&seen->delays.applied, 300 * (d + 1) + 1, 1600.5 + d, 4);
	cr_expect_eq(seen->delays.applied_buckets.count, 1);
	cr_expect_eq(seen->delays.applied_buckets.of[0].packets, 4);
	cr_expect_eq(seen->delays.lateness.count, 5);
	cr_expect_eq(seen->delays.lateness.maximum_ns, 100 * (d + 1) + 1);
	for (unsigned int r = 0; r <= d; r++) {
		cr_expect_str_eq(seen->rules[r].text, r ? "second" : "first");
		cr_expect_eq(seen->rules[r].packets, 31 + r);
		cr_expect_eq(seen->rules[r].lost, 33 + r);
		expect_lateness(&seen->rules[r].requested_delay, 700 * (d + 1) + 2 * r, 35.5 + r, 7);
		expect_lateness(&seen->rules[r].applied_delay, 700 * (d + 1) + 2 * r + 1, 37.5 + r, 6);
	}
}

Test(monitor, a_sample_has_each_counter)
{
	struct injector_monitor *monitor = make();
	struct injector_state state;
	const struct injector_state_totals *totals = &state.totals;
	struct error err = {0};

	now_ns += 3 * NS_PER_S;
	by_mode = true;
	reports[1].link_changes += 2;
	cr_assert_eq(injector_monitor_sample(monitor, &state, &err), 0);
	for (unsigned int d = 0; d < 2; d++) {
		expect_direction(&state.direction[d], d);
		cr_expect_float_eq(state.direction[d].rx_pps, 1000 * (d + 1) / 3.0, 1e-9);
		cr_expect_str_eq(state.port[d].name, reports[d].name);
		cr_expect_str_eq(state.port[d].driver, reports[d].driver);
		cr_expect_str_eq(state.port[d].mac, reports[d].mac);
		cr_expect(state.port[d].link_up && state.port[d].link_changes == 2 * d);
		cr_expect_eq(state.port[d].speed_Mbps, 1000 * (d + 1));
	}
	cr_expect(isnan(state.direction[0].delay_us) && state.direction[1].delay_us == 8);
	cr_expect(state.has_capture && state.capture_written == 21 && state.capture_lost == 22);
	cr_expect(state.counter_trusted);
	cr_expect_eq(totals->uptime_s, 3);
	cr_expect_str_eq(totals->delay_set_by, "steps");
	cr_expect(totals->delay_changes == 11 && totals->subtract_ns == 12 && totals->lcores == 2);
	cr_expect(totals->stalls == 41 && totals->stall_us == 42 && totals->stall_longest_us == 43);
	cr_expect(totals->transmit_stall_us == 44 && totals->stall_threshold_us == 45);
	cr_expect(totals->hiccups == 46 && totals->hiccup_threshold_ns == 47);
	cr_expect_eq(totals->lateness.count, 10, "of both directions");
	cr_expect_eq(totals->lateness.maximum_ns, 201);
	counted.transmit_timed = by_mode = false;
	cr_assert_eq(injector_monitor_sample(monitor, &state, &err), 0);
	cr_expect(isnan(totals->transmit_stall_us));
	cr_expect_str_empty(totals->delay_set_by);
	cr_expect_eq(state.direction[0].delay_us, 7);
	cr_expect_eq(state.direction[0].rx_pps, 0, "no time has passed");
	now_ns += 2 * NS_PER_S;
	counted.direction[0].rx_packets += 500;
	cr_assert_eq(injector_monitor_sample(monitor, &state, &err), 0);
	cr_expect_eq(state.direction[0].rx_pps, 250);
	injector_monitor_destroy(monitor);
}

/* The counters of ports and links go on; those of the state start again at 0. */
Test(monitor, a_reset_starts_again)
{
	struct injector_monitor *monitor = make();
	struct injector_state state;
	struct error err = {0};

	cr_assert_eq(injector_monitor_sample(monitor, &state, &err), 0);
	json_decref(injector_monitor_request(monitor, "reset", "", &err));
	cr_assert(is_reset);
	now_ns += 2 * NS_PER_S;
	counted = (struct injector_statistics){0};
	counted.direction[0].rx_packets = 500;
	for (unsigned int d = 0; d < 2; d++) {
		for (size_t i = 0; i < sizeof ports[d] / sizeof(uint64_t); i++)
			((uint64_t *)&ports[d])[i] += 1 + i;
		reports[d].link_changes++;
	}
	cr_assert_eq(injector_monitor_sample(monitor, &state, &err), 0);
	for (unsigned int d = 0; d < 2; d++) {
		const struct injector_state_direction *seen = &state.direction[d];
		struct dp_port_statistics more;

		number(&more, sizeof more, 1);
		cr_expect(seen->rx_missed == more.rx_missed && seen->rx_errors == more.rx_errors);
		cr_expect(seen->no_mbuf == more.rx_no_mbuf && seen->tx_errors == more.tx_errors);
		cr_expect(seen->tx_link_down == more.tx_link_down && seen->tx_mtu == more.tx_mtu);
		cr_expect(seen->rx_uncounted == more.rx_uncounted && seen->tx_uncounted == more.tx_uncounted);
		cr_expect_eq(state.port[d].link_changes, 1);
	}
	cr_expect_eq(state.direction[0].rx_pps, 250);
	cr_expect_eq(state.totals.uptime_s, 2);
	injector_monitor_destroy(monitor);
}

Test(monitor, requests_are_answered)
{
#define ANSWER(more) "{\"schema\": \"nomora.inject/1\", " more "}"
	static const struct {
		const char *command, *body, *answer;
		double ab_us, ba_us;
	} rows[] = {
		{"set", "{\"delay_us\": 5}", ANSWER("\"delay_ab_us\": 5.0, \"delay_ba_us\": 5.0"), 5, 5},
		{"set", "{\"delay_ab_us\": 5}", ANSWER("\"delay_ab_us\": 5.0, \"delay_ba_us\": 8.0"), 5, 8},
		{"set", "{\"delay_ba_us\": 5}", ANSWER("\"delay_ab_us\": 7.0, \"delay_ba_us\": 5.0"), 7, 5},
		{"set", "{\"delay_ab_us\": 1, \"delay_ba_us\": 2}",
		 ANSWER("\"delay_ab_us\": 1.0, \"delay_ba_us\": 2.0"), 1, 2},
		{"set", "{\"rule\": \"udp: delay=5\"}", ANSWER("\"rule\": \"udp: delay=5\""), 0, 0},
		{"reset", "", ANSWER("\"reset\": true"), 0, 0},
		{"stop", "", ANSWER("\"stopping\": true"), 0, 0},
		{"set", "{\"delay_ab_us\": 1, \"delay_us\": 2}", "set: \"delay_us\": direction ab is given twice", 0,
		 0},
		{"set", "{\"delay_us\": \"x\"}", "set: \"delay_us\": expected a number of microseconds", 0, 0},
		{"set", "{\"x\": 1}", "set: \"x\": expected delay_us=, delay_ab_us= or delay_ba_us=, or rule= alone", 0,
		 0},
		{"set", "{}", "set: expected delay_us=, delay_ab_us=, delay_ba_us= or rule=", 0, 0},
		{"go", "", "unknown command \"go\": expected stats, set, metrics, reset or stop", 0, 0},
	};
	struct injector_monitor *monitor = make();

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		struct error err = {0};
		json_t *answer = injector_monitor_request(monitor, rows[r].command, rows[r].body, &err);
		char *text;

		cr_expect_eq(injector_monitor_stopped(monitor), r > 6 || (r == 6 && answer));
		text = answer ? json_dumps(answer, 0) : strdup(err.text);
		cr_expect_str_eq(text, rows[r].answer, "row %zu: %s", r, text);
		if (rows[r].ab_us > 0)
			cr_expect(set_us[0] == rows[r].ab_us && set_us[1] == rows[r].ba_us, "row %zu", r);
		free(text);
		json_decref(answer);
	}
	injector_monitor_destroy(monitor);
}
