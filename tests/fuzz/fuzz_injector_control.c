/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of the injector's control socket, with an injector whose counters are the input's: an order is carried
 * out completely or not at all, "stats" shows the delays that are set, and each answer is an object or an error.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/log.h>
#include <injector/line/capture.h>
#include <injector/line/monitor.h>
#include <injector/line/line.h>

#include "fuzz_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct injector {
	double delay_us[INJECTOR_DIRECTIONS];
	uint64_t changes, rule_changes, resets;
	struct injector_statistics statistics;
};

struct dp_port {
	struct dp_port_report report;
	struct dp_port_statistics statistics;
};

static struct injector injector;
static struct dp_port ports[2];

int injector_set_delay(struct injector *of, const double delay_us[INJECTOR_DIRECTIONS], struct error *err)
{
	for (int d = 0; d < INJECTOR_DIRECTIONS; d++)
		if (!(delay_us[d] >= 0 && delay_us[d] <= 10000))
			return error_set(err, ERANGE, "%g us: expected 0 to 10000", delay_us[d]);
	memcpy(of->delay_us, delay_us, sizeof of->delay_us);
	of->changes++;
	return 0;
}

/* A rule of one word is wrong. */
int injector_set_rule(struct injector *of, const char *text, struct error *err)
{
	if (!strchr(text, ' '))
		return error_set(err, EINVAL, "--rule: \"%s\"", text);
	of->rule_changes++;
	return 0;
}

uint64_t injector_delay_changes(const struct injector *of)
{
	return of->changes;
}

double injector_delay_us(const struct injector *of, enum injector_direction direction)
{
	return of->delay_us[direction];
}

int injector_read(struct injector *of, struct injector_statistics *statistics, struct error *err)
{
	(void)err;
	*statistics = of->statistics;
	return 0;
}

int injector_reset(struct injector *of, struct error *err)
{
	(void)err;
	of->statistics = (struct injector_statistics){0};
	of->resets++;
	return 0;
}

void injector_read_lateness(const struct injector *of, enum injector_direction direction, bool disturbed,
			    struct histogram *into)
{
	if (disturbed)
		histogram_record(into, (int64_t)of->statistics.direction[direction].held);
}

void injector_read_delays(const struct injector *of, enum injector_direction direction, bool applied,
			  struct histogram *into)
{
	(void)of;
	(void)direction;
	(void)applied;
	(void)into;
}

void injector_read_rule_delays(const struct injector *of, enum injector_direction direction, size_t rule, bool applied,
			       struct histogram *into)
{
	(void)of;
	(void)direction;
	(void)rule;
	(void)applied;
	(void)into;
}

unsigned int injector_lcore_count(const struct injector *of)
{
	(void)of;
	return 1;
}

double injector_subtract_ns(const struct injector *of)
{
	(void)of;
	return 0;
}

bool injector_trusts_counter(const struct injector *of)
{
	(void)of;
	return false;
}

const char *injector_delay_setter(const struct injector *of, enum injector_direction direction)
{
	(void)of;
	(void)direction;
	return NULL;
}

double injector_longest_delay_us(const struct injector *of, enum injector_direction direction)
{
	return of->delay_us[direction];
}

double injector_multiple(const struct injector *of, enum injector_direction direction)
{
	(void)of;
	(void)direction;
	return 1;
}

uint32_t injector_slots(const struct injector *of)
{
	(void)of;
	return 1024;
}

uint32_t injector_slots_needed(double delay_us, double rate_pps)
{
	law(delay_us >= 0 && rate_pps >= 0 && isfinite(rate_pps));
	return 2048;
}

int injector_capture_failed(const struct injector_capture *capture)
{
	(void)capture;
	return 0;
}

const char *injector_capture_path(const struct injector_capture *capture)
{
	(void)capture;
	return "";
}

uint64_t injector_capture_lost(const struct injector_capture *capture)
{
	(void)capture;
	return 0;
}

uint64_t injector_capture_written(const struct injector_capture *capture)
{
	(void)capture;
	return 0;
}

void dp_port_report(const struct dp_port *port, struct dp_port_report *report)
{
	*report = port->report;
}

void dp_port_statistics(struct dp_port *port, struct dp_port_statistics *statistics)
{
	*statistics = port->statistics;
}

/* Counters only grow, by any amount. */
static void pass(struct events *events)
{
	struct injector_direction_statistics *count = &injector.statistics.direction[events_below(events, 2)];
	struct dp_port *port = &ports[events_below(events, 2)];
	uint64_t by = (uint64_t)events_byte(events) << events_below(events, 56);

	count->rx_packets += by;
	count->tx_packets += events_below(events, 2) ? by : 0;
	count->held = events_byte(events);
	count->ring_full += events_below(events, 3);
	port->statistics.rx_uncounted += events_below(events, 2);
	port->statistics.tx_errors += events_below(events, 2);
	port->report.link_up = events_below(events, 4);
	port->report.link_changes += events_below(events, 3);
}

/* The delays of an answer to "stats" are those that are set. */
static void check_stats(const json_t *answer)
{
	static const char *const names[] = {"ab", "ba"};

	for (int d = 0; d < INJECTOR_DIRECTIONS; d++)
		law(json_number_value(json_object_get(json_object_get(answer, names[d]), "delay_us")) ==
		    injector.delay_us[d]);
}

static void request(struct injector_monitor *monitor, struct events *events)
{
	static const struct {
		const char *command, *body;
	} requests[] = {{"stats", ""},
			{"set", "{\"delay_us\": 20}"},
			{"set", "{\"delay_ab_us\": 3, \"delay_ba_us\": 0.5}"},
			{"set", "{\"rule\": \"udp:53 loss=1\"}"},
			{"reset", ""},
			{"metrics", ""},
			{"stop", ""},
			{"set", "{\"delay_us\": 1, \"delay_ab_us\": 2}"},
			{"set", "{\"delay_us\": 99999}"},
			{"set", "{\"rule\": \"udp:53\"}"},
			{"set", "{\"rule\": \"udp:53 loss=1\", \"delay_us\": 1}"},
			{"set", "{\"rule\": 7}"},
			{"set", "{}"},
			{"set", "[]"},
			{"stats", ""},
			{"stats", ""}};
	double before[INJECTOR_DIRECTIONS] = {injector.delay_us[0], injector.delay_us[1]};
	uint64_t changes = injector.changes, rule_changes = injector.rule_changes;
	uint8_t kind = events_byte(events);
	struct error err = {0};
	char body[128] = "";
	const char *command = requests[kind & 15].command;
	const uint8_t *bytes;
	size_t count, used;
	json_t *answer;

	snprintf(body, sizeof body, "%s", kind & 64 ? kind & 1 ? "{\"delay_us\": " : "{" : requests[kind & 15].body);
	used = strlen(body);
	bytes = events_bytes(events, kind & 192 ? kind & 31 : 0, &count);
	memcpy(body + used, bytes, count);
	body[used + count] = '\0';
	answer = injector_monitor_request(monitor, command, body, &err);
	law(answer ? json_is_object(answer) : err.text[0] != '\0');
	law(injector.changes + injector.rule_changes ==
	    changes + rule_changes + (answer && strcmp(command, "set") == 0));
	law(injector.rule_changes == rule_changes || json_object_get(answer, "rule"));
	if (injector.changes == changes)
		law(before[0] == injector.delay_us[0] && before[1] == injector.delay_us[1]);
	if (answer && strcmp(command, "stats") == 0)
		check_stats(answer);
	if (strcmp(command, "stop") == 0)
		law(injector_monitor_stopped(monitor));
	json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct events events = {data, size};
	struct error err = {0};
	struct injector_monitor *monitor;
	struct injector_state state;
	char text[800];

	log_set_sink(NULL);
	injector = (struct injector){.delay_us = {5, 5}};
	for (int p = 0; p < 2; p++)
		ports[p] = (struct dp_port){.report = {.name = "port", .driver = "fake", .link_up = true}};
	monitor = injector_monitor_create(&injector, &ports[0], &ports[1], NULL, &err);
	law(monitor);
	for (int i = 0; i < 64 && events_left(&events); i++) {
		if (events_below(&events, 2))
			pass(&events);
		else
			request(monitor, &events);
	}
	law(injector_monitor_sample(monitor, &state, &err) == 0);
	injector_monitor_summary(&state, text, sizeof text);
	law(strlen(text) < sizeof text);
	injector_monitor_destroy(monitor);
	return 0;
}
