/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora.inject/1: the tables below name each field once, for both the writer and the reader. */
#include <model/injector_state.h>

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <base/json.h>
#include <base/number.h>

/* A number in the file and its offset in a struct. */
struct field {
	const char *key;
	enum {
		FIELD_COUNT,
		FIELD_REAL,
		FIELD_SIGNED
	} kind; /* type of the struct's member: uint64_t, double, int64_t */
	size_t offset;
};

#define TOTAL(key, kind, member)                                                                                       \
	{                                                                                                              \
		key, FIELD_##kind, offsetof(struct injector_state_totals, member)                                      \
	}
#define DIRECTION(key, kind, member)                                                                                   \
	{                                                                                                              \
		key, FIELD_##kind, offsetof(struct injector_state_direction, member)                                   \
	}
#define LATENESS(key, kind, member)                                                                                    \
	{                                                                                                              \
		key, FIELD_##kind, offsetof(struct injector_state_lateness, member)                                    \
	}

static const struct field total_fields[] = {
	TOTAL("uptime_s", REAL, uptime_s),
	TOTAL("delay_ab_us", REAL, delay_us[0]),
	TOTAL("delay_ba_us", REAL, delay_us[1]),
	TOTAL("delay_changes", COUNT, delay_changes),
	TOTAL("rx_ab", COUNT, rx_packets[0]),
	TOTAL("tx_ab", COUNT, tx_packets[0]),
	TOTAL("rx_ba", COUNT, rx_packets[1]),
	TOTAL("tx_ba", COUNT, tx_packets[1]),
	TOTAL("ring_full", COUNT, ring_full),
	TOTAL("too_late", COUNT, too_late),
	TOTAL("tx_full", COUNT, tx_full),
	TOTAL("nombuf", COUNT, no_mbuf),
	TOTAL("rx_missed", COUNT, rx_missed),
	TOTAL("rx_errors", COUNT, rx_errors),
	TOTAL("tx_errors", COUNT, tx_errors),
	TOTAL("unaccounted", COUNT, unaccounted),
	TOTAL("disturbed", COUNT, disturbed),
	TOTAL("stalls", COUNT, stalls),
	TOTAL("stall_us_total", REAL, stall_us),
	TOTAL("stall_max_us", REAL, stall_longest_us),
	TOTAL("stall_threshold_us", REAL, stall_threshold_us),
	TOTAL("stall_us_in_transmit", REAL, transmit_stall_us),
	TOTAL("hiccups", COUNT, hiccups),
	TOTAL("hiccup_threshold_ns", REAL, hiccup_threshold_ns),
	TOTAL("subtract_ns", REAL, subtract_ns),
	TOTAL("lateness_p50_ns", SIGNED, lateness.p50_ns),
	TOTAL("lateness_p99_ns", SIGNED, lateness.p99_ns),
	TOTAL("lateness_p99_9_ns", SIGNED, lateness.p99_9_ns),
	TOTAL("lateness_max_ns", SIGNED, lateness.maximum_ns),
	TOTAL("lateness_mean_ns", REAL, lateness.mean_ns),
	TOTAL("lateness_count", SIGNED, lateness.count),
};

static const struct field direction_fields[] = {
	DIRECTION("delay_us", REAL, delay_us),
	DIRECTION("rx_packets", COUNT, rx_packets),
	DIRECTION("tx_packets", COUNT, tx_packets),
	DIRECTION("held", COUNT, held),
	DIRECTION("ring_full", COUNT, ring_full),
	DIRECTION("too_late", COUNT, too_late),
	DIRECTION("tx_full", COUNT, tx_full),
	DIRECTION("nombuf", COUNT, no_mbuf),
	DIRECTION("rx_missed", COUNT, rx_missed),
	DIRECTION("rx_errors", COUNT, rx_errors),
	DIRECTION("tx_errors", COUNT, tx_errors),
	DIRECTION("tx_link_down", COUNT, tx_link_down),
	DIRECTION("tx_mtu", COUNT, tx_mtu),
	DIRECTION("rx_uncounted", COUNT, rx_uncounted),
	DIRECTION("tx_uncounted", COUNT, tx_uncounted),
	DIRECTION("unaccounted", COUNT, unaccounted),
	DIRECTION("lost", COUNT, lost),
	DIRECTION("duplicated", COUNT, duplicated),
	DIRECTION("corrupted", COUNT, corrupted),
	DIRECTION("bypassed", COUNT, bypassed),
	DIRECTION("disturbed", COUNT, disturbed),
	DIRECTION("rx_pps", REAL, rx_pps),
};

static const struct field lateness_fields[] = {
	LATENESS("p50", SIGNED, p50_ns),     LATENESS("p99", SIGNED, p99_ns), LATENESS("p99_9", SIGNED, p99_9_ns),
	LATENESS("max", SIGNED, maximum_ns), LATENESS("mean", REAL, mean_ns), LATENESS("count", SIGNED, count),
};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static const char *const direction_names[INJECTOR_STATE_DIRECTIONS] = {"ab", "ba"};

void injector_state_add_up(struct injector_state *state)
{
	struct injector_state_totals *totals = &state->totals;

	totals->ring_full = totals->too_late = totals->tx_full = totals->no_mbuf = totals->rx_missed = 0;
	totals->rx_errors = totals->tx_errors = totals->unaccounted = totals->disturbed = 0;
	for (size_t d = 0; d < INJECTOR_STATE_DIRECTIONS; d++) {
		const struct injector_state_direction *direction = &state->direction[d];

		totals->delay_us[d] = direction->delay_us;
		totals->delays[d] = direction->delays;
		totals->rx_packets[d] = direction->rx_packets;
		totals->tx_packets[d] = direction->tx_packets;
		totals->ring_full += direction->ring_full;
		totals->too_late += direction->too_late;
		totals->tx_full += direction->tx_full;
		totals->no_mbuf += direction->no_mbuf;
		totals->rx_missed += direction->rx_missed;
		totals->rx_errors += direction->rx_errors;
		totals->tx_errors += direction->tx_errors;
		totals->unaccounted += direction->unaccounted;
		totals->disturbed += direction->disturbed;
	}
}

static json_t *field_to_json(const struct field *field, const void *object)
{
	const char *at = (const char *)object + field->offset;

	switch (field->kind) {
	case FIELD_COUNT:
		return json_integer((json_int_t) * (const uint64_t *)(const void *)at);
	case FIELD_SIGNED:
		return json_integer((json_int_t) * (const int64_t *)(const void *)at);
	case FIELD_REAL:
		break;
	}
	/* An unknown value is null, never 0. */
	return isnan(*(const double *)(const void *)at) ? json_null() : json_real(*(const double *)(const void *)at);
}

static void put_fields(json_t *json, const struct field *fields, size_t count, const void *object)
{
	for (size_t i = 0; i < count; i++)
		json_object_set_new(json, fields[i].key, field_to_json(&fields[i], object));
}

static json_t *lateness_to_json(const struct injector_state_lateness *lateness)
{
	json_t *json = json_object();

	put_fields(json, lateness_fields, COUNT_OF(lateness_fields), lateness);
	return json;
}

static json_t *delay_to_json(const struct injector_state_lateness *delay)
{
	return delay->count ? lateness_to_json(delay) : json_null();
}

static json_t *buckets_to_json(const struct injector_state_buckets *buckets)
{
	json_t *json = json_array();

	for (size_t i = 0; i < buckets->count; i++)
		json_array_append_new(
			json, json_pack("[I, I]", (json_int_t)buckets->of[i].ns, (json_int_t)buckets->of[i].packets));
	return json;
}

static json_t *rules_to_json(const struct injector_state_direction *direction)
{
	json_t *json = json_array();

	for (size_t i = 0; i < direction->rule_count; i++) {
		const struct injector_state_rule *rule = &direction->rules[i];

		json_array_append_new(json, json_pack("{s:s, s:I, s:I, s:o, s:o}", "rule", rule->text, "packets",
						      (json_int_t)rule->packets, "lost", (json_int_t)rule->lost,
						      "requested_delay_ns", delay_to_json(&rule->requested_delay),
						      "applied_delay_ns", delay_to_json(&rule->applied_delay)));
	}
	return json;
}

static json_t *direction_to_json(const struct injector_state_direction *direction)
{
	const struct injector_state_delays *delays = &direction->delays;
	json_t *json = json_object();

	put_fields(json, direction_fields, COUNT_OF(direction_fields), direction);
	json_object_set_new(json, "lateness_ns", lateness_to_json(&delays->lateness));
	json_object_set_new(json, "undisturbed_lateness_ns", lateness_to_json(&direction->undisturbed_lateness));
	json_object_set_new(json, "requested_delay_ns", delay_to_json(&delays->requested));
	json_object_set_new(json, "applied_delay_ns", delay_to_json(&delays->applied));
	json_object_set_new(json, "lateness_buckets", buckets_to_json(&delays->lateness_buckets));
	if (delays->applied.count)
		json_object_set_new(json, "applied_buckets", buckets_to_json(&delays->applied_buckets));
	if (direction->rule_count > 0)
		json_object_set_new(json, "rules", rules_to_json(direction));
	return json;
}

static json_t *port_to_json(const struct injector_state_port *port)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:I, s:I}", "name", port->name, "driver", port->driver, "mac", port->mac,
			 "link_up", port->link_up, "link_changes", (json_int_t)port->link_changes, "speed_Mbps",
			 (json_int_t)port->speed_Mbps);
}

json_t *injector_state_ports_to_json(const struct injector_state_port port[INJECTOR_STATE_DIRECTIONS])
{
	return json_pack("[o, o]", port_to_json(&port[0]), port_to_json(&port[1]));
}

void injector_state_ports_from_json(struct json_reader *reader, const json_t *object,
				    struct injector_state_port port[INJECTOR_STATE_DIRECTIONS])
{
	const json_t *ports = json_may_array(reader, object, "", "ports");

	for (size_t i = 0; i < INJECTOR_STATE_DIRECTIONS; i++) {
		const json_t *item = json_array_get(ports, i);
		const char *name = json_may_string(reader, item, "ports", "name", "");
		const char *driver = json_may_string(reader, item, "ports", "driver", "");

		port[i] = (struct injector_state_port){.speed_Mbps = (uint32_t)json_may_integer(
							       reader, item, "ports", "speed_Mbps", 0, UINT32_MAX, 0)};
		snprintf(port[i].name, sizeof port[i].name, "%s", name ? name : "");
		snprintf(port[i].driver, sizeof port[i].driver, "%s", driver ? driver : "");
	}
}

json_t *injector_state_to_json(const struct injector_state *state)
{
	const struct injector_state_totals *totals = &state->totals;
	json_t *json = json_pack(
		"{s:s, s:f, s:o, s:s, s:I}", "schema", INJECTOR_STATE_SCHEMA, "time", state->time_s, "delay_set_by",
		totals->delay_set_by[0] ? json_string(totals->delay_set_by) : json_null(), "counter",
		state->counter_trusted ? "trusted" : "invariant", "lcores", (json_int_t)totals->lcores);

	if (!json)
		return NULL;
	put_fields(json, total_fields, COUNT_OF(total_fields), totals);
	for (size_t d = 0; d < INJECTOR_STATE_DIRECTIONS; d++)
		json_object_set_new(json, direction_names[d], direction_to_json(&state->direction[d]));
	json_object_set_new(json, "ports", injector_state_ports_to_json(state->port));
	if (state->has_capture)
		json_object_set_new(json, "capture",
				    json_pack("{s:I, s:I}", "written", (json_int_t)state->capture_written, "lost",
					      (json_int_t)state->capture_lost));
	return json;
}

static void read_fields(struct json_reader *reader, const json_t *json, const char *where, const struct field *fields,
			size_t count, void *object)
{
	for (const struct field *field = fields; field < fields + count && !reader->failed; field++) {
		char *at = (char *)object + field->offset;

		switch (field->kind) {
		case FIELD_COUNT:
			*(uint64_t *)(void *)at =
				(uint64_t)json_may_integer(reader, json, where, field->key, 0, INT64_MAX, 0);
			break;
		case FIELD_SIGNED:
			*(int64_t *)(void *)at =
				json_may_integer(reader, json, where, field->key, INT64_MIN, INT64_MAX, 0);
			break;
		case FIELD_REAL:
			*(double *)(void *)at = json_may_number(reader, json, where, field->key, 0, 1e18, NAN);
			break;
		}
	}
}

/* A missing object leaves everything 0. */
static void read_lateness(struct json_reader *reader, const json_t *direction, const char *key,
			  struct injector_state_lateness *lateness)
{
	const json_t *json = json_object_get(direction, key);

	if (json_is_object(json))
		read_fields(reader, json, key, lateness_fields, COUNT_OF(lateness_fields), lateness);
}

static void read_buckets(struct json_reader *reader, const json_t *direction, const char *key,
			 struct injector_state_buckets *buckets)
{
	const json_t *json = json_may_array(reader, direction, "", key);
	int64_t last_ns = INT64_MIN;

	for (size_t i = 0; i < json_array_size(json) && !reader->failed; i++) {
		json_int_t ns, packets;

		if (i == INJECTOR_STATE_BUCKETS ||
		    json_unpack(json_array_get(json, i), "[I, I!]", &ns, &packets) != 0 || ns <= last_ns ||
		    packets < 0) {
			json_fail(reader, "", key,
				  "element %zu: expected at most %d pairs of nanoseconds, ascending, and packets", i,
				  INJECTOR_STATE_BUCKETS);
			return;
		}
		buckets->of[buckets->count++] = (struct injector_state_bucket){.ns = ns, .packets = (uint64_t)packets};
		last_ns = ns;
	}
}

/* A missing direction leaves everything 0. */
static void read_delays(struct json_reader *reader, const json_t *direction, struct injector_state_delays *delays)
{
	if (!direction)
		return;
	read_lateness(reader, direction, "lateness_ns", &delays->lateness);
	read_lateness(reader, direction, "requested_delay_ns", &delays->requested);
	read_lateness(reader, direction, "applied_delay_ns", &delays->applied);
	read_buckets(reader, direction, "lateness_buckets", &delays->lateness_buckets);
	read_buckets(reader, direction, "applied_buckets", &delays->applied_buckets);
}

int injector_state_from_json(const char *file, const json_t *root, struct injector_state_totals *totals,
			     struct error *err)
{
	struct json_reader reader = {.file = file, .err = err};
	const char *setter;

	memset(totals, 0, sizeof *totals);
	json_need_schema(&reader, root, INJECTOR_STATE_SCHEMA);
	json_need_number(&reader, root, "", "uptime_s", 0, 1e12);
	setter = json_may_string(&reader, root, "", "delay_set_by", "");
	if (!setter || !setter[0]) {
		json_need_number(&reader, root, "", "delay_ab_us", 0, 1e9);
		json_need_number(&reader, root, "", "delay_ba_us", 0, 1e9);
	}
	read_fields(&reader, root, "", total_fields, COUNT_OF(total_fields), totals);
	for (size_t d = 0; d < INJECTOR_STATE_DIRECTIONS; d++)
		read_delays(&reader, json_object_get(root, direction_names[d]), &totals->delays[d]);
	totals->lcores = (uint32_t)json_may_integer(&reader, root, "", "lcores", 1, 1024, 1);
	if (reader.failed)
		return error_code(err, EINVAL);
	snprintf(totals->delay_set_by, sizeof totals->delay_set_by, "%s", setter);
	if (isnan(totals->stall_us))
		totals->stall_us = 0;
	return 0;
}

int injector_state_split_rule(const char *text, double *delay_us, char rest[INJECTOR_STATE_RULE_OF_SWEEP_BYTES])
{
	char word[INJECTOR_STATE_RULE_OF_SWEEP_BYTES];
	size_t used = 0;

	*delay_us = NAN;
	rest[0] = '\0';
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t length = strcspn(text, " ");

		if (length + 2 > sizeof word - used)
			return -EINVAL;
		snprintf(word, sizeof word, "%.*s", (int)length, text);
		text += length;
		if (used > 0 && strncmp(word, "delay=", 6) == 0) {
			if (number_parse_double(word + 6, delay_us) != 0)
				return -EINVAL;
			continue;
		}
		used += (size_t)snprintf(rest + used, INJECTOR_STATE_RULE_OF_SWEEP_BYTES - used, "%s%s",
					 used > 0 ? " " : "", word);
	}
	return 0;
}

/* Returns the rule with the conditions of `rule` in one direction of a state, or NULL. */
static const json_t *find_rule(const json_t *direction, const char *rule)
{
	size_t length = strcspn(rule, " "), i;
	const json_t *item;

	json_array_foreach (json_object_get(direction, "rules"), i, item) {
		const char *text = json_string_value(json_object_get(item, "rule"));

		if (text)
			text += strspn(text, " ");
		if (text && strncmp(text, rule, length) == 0 && strcspn(text, " ") == length)
			return item;
	}
	return NULL;
}

static int take_rule(struct json_reader *reader, const json_t *direction, const char *rule, double *delay_us,
		     struct injector_state_delays *delays)
{
	const json_t *item = find_rule(direction, rule);
	const char *text = json_string_value(json_object_get(item, "rule"));
	char rest[INJECTOR_STATE_RULE_OF_SWEEP_BYTES];
	double fixed_us;

	if (!item)
		return error_set(reader->err, ENOENT,
				 "%s: no rule has these conditions: start the injector with --rule '%s delay=0'",
				 reader->file, rule);
	if (injector_state_split_rule(text, &fixed_us, rest) != 0 || strcmp(rest, rule) != 0)
		return error_set(reader->err, EINVAL, "%s: rules: '%s': expected '%s' and a delay", reader->file, text,
				 rule);
	if (!isnan(fixed_us))
		*delay_us = fixed_us;
	delays->requested = delays->applied = (struct injector_state_lateness){0};
	delays->applied_buckets.count = 0;
	delays->of_rule = true;
	read_lateness(reader, item, "requested_delay_ns", &delays->requested);
	read_lateness(reader, item, "applied_delay_ns", &delays->applied);
	return reader->failed ? -EINVAL : 0;
}

int injector_state_take_rule(const char *file, const json_t *root, const char *rule,
			     struct injector_state_totals *totals, struct error *err)
{
	struct json_reader reader = {.file = file, .err = err};
	int code = 0;

	for (size_t d = 0; d < INJECTOR_STATE_DIRECTIONS && !code; d++)
		code = take_rule(&reader, json_object_get(root, direction_names[d]), rule, &totals->delay_us[d],
				 &totals->delays[d]);
	return code;
}

static double zero_if_unknown(double value)
{
	return isnan(value) ? 0 : value;
}

struct injector_interval injector_interval_whole(const struct injector_state_totals *totals)
{
	return (struct injector_interval){
		.elapsed_s = totals->uptime_s,
		.packets = (double)totals->tx_packets[0] + (double)totals->tx_packets[1],
		.dropped = (double)totals->ring_full + (double)totals->too_late + (double)totals->no_mbuf +
			   (double)totals->rx_missed + (double)totals->rx_errors + (double)totals->tx_errors +
			   (double)totals->unaccounted,
		.disturbed = (double)totals->disturbed,
		.stalls = (double)totals->stalls,
		.lcores = totals->lcores,
		.stall_us = totals->stall_us,
		.transmit_stall_us = zero_if_unknown(totals->transmit_stall_us),
		.received = (double)totals->rx_packets[0] + (double)totals->rx_packets[1],
		.ring_full = (double)totals->ring_full,
		.too_late = (double)totals->too_late,
		.no_mbuf = (double)totals->no_mbuf,
		.rx_missed = (double)totals->rx_missed,
		.rx_errors = (double)totals->rx_errors,
		.tx_errors = (double)totals->tx_errors,
		.unaccounted = (double)totals->unaccounted,
		.delays = {{NAN, NAN, NAN, NAN}, {NAN, NAN, NAN, NAN}},
	};
}

/* Returns the mean of the packets that only `after` counts, µs; NAN if there are none. */
static double mean_us(const struct injector_state_lateness *before, const struct injector_state_lateness *after)
{
	double sum_ns = zero_if_unknown(after->mean_ns) * (double)after->count -
			zero_if_unknown(before->mean_ns) * (double)before->count;

	if (after->count <= before->count)
		return NAN;
	/* in whole picoseconds: the difference of two large sums leaves some 1e-12 where there is no delay */
	return rint(fmax(sum_ns, 0) / (double)(after->count - before->count) * 1e3) / 1e6;
}

/* Sets *rest to the packets that only `after` counts. Returns their number. */
static uint64_t subtract(const struct injector_state_buckets *before, const struct injector_state_buckets *after,
			 struct injector_state_buckets *rest)
{
	uint64_t sum = 0;
	size_t b = 0;

	*rest = *after;
	for (size_t a = 0; a < rest->count; a++) {
		struct injector_state_bucket *bucket = &rest->of[a];

		while (b < before->count && before->of[b].ns < bucket->ns)
			b++;
		if (b < before->count && before->of[b].ns == bucket->ns)
			bucket->packets -=
				before->of[b].packets < bucket->packets ? before->of[b].packets : bucket->packets;
		sum += bucket->packets;
	}
	return sum;
}

/* Returns the 99th percentile of the packets that only `after` counts, µs; NAN if there are none. */
static double p99_us(const struct injector_state_buckets *before, const struct injector_state_buckets *after)
{
	struct injector_state_buckets rest;
	uint64_t sum = subtract(before, after, &rest), above = 0;

	for (size_t i = rest.count; sum > 0 && i-- > 0;) {
		above += rest.of[i].packets;
		if ((double)above > 0.01 * (double)sum)
			return (double)rest.of[i].ns / 1e3;
	}
	return NAN;
}

static struct injector_interval_delays delays_between(const struct injector_state_totals *before,
						      const struct injector_state_totals *after, size_t d)
{
	const struct injector_state_delays *from = &before->delays[d], *to = &after->delays[d];
	double late_us = mean_us(&from->lateness, &to->lateness);
	double late_p99_us = p99_us(&from->lateness_buckets, &to->lateness_buckets);

	if (to->applied.count == 0 && !to->of_rule)
		return (struct injector_interval_delays){.requested_us = after->delay_us[d],
							 .applied_us = after->delay_us[d] + late_us,
							 .applied_p99_us = after->delay_us[d] + late_p99_us,
							 .late_p99_us = late_p99_us};
	return (struct injector_interval_delays){.requested_us = mean_us(&from->requested, &to->requested),
						 .applied_us = mean_us(&from->applied, &to->applied) + late_us,
						 .applied_p99_us = p99_us(&from->applied_buckets, &to->applied_buckets),
						 .late_p99_us = late_p99_us};
}

struct injector_interval injector_interval_between(const struct injector_state_totals *before,
						   const struct injector_state_totals *after, double elapsed_s)
{
	struct injector_interval from = injector_interval_whole(before), to = injector_interval_whole(after);

	return (struct injector_interval){
		.elapsed_s = elapsed_s,
		.packets = to.packets - from.packets,
		.dropped = to.dropped - from.dropped,
		.disturbed = to.disturbed - from.disturbed,
		.stalls = to.stalls - from.stalls,
		.lcores = to.lcores,
		.stall_us = to.stall_us - from.stall_us,
		.transmit_stall_us = to.transmit_stall_us - from.transmit_stall_us,
		.received = to.received - from.received,
		.ring_full = to.ring_full - from.ring_full,
		.too_late = to.too_late - from.too_late,
		.no_mbuf = to.no_mbuf - from.no_mbuf,
		.rx_missed = to.rx_missed - from.rx_missed,
		.rx_errors = to.rx_errors - from.rx_errors,
		.tx_errors = to.tx_errors - from.tx_errors,
		.unaccounted = to.unaccounted - from.unaccounted,
		.delays = {delays_between(before, after, 0), delays_between(before, after, 1)},
	};
}

double injector_interval_stall_bound_percent(const struct injector_interval *interval)
{
	double stall_us = fmax(interval->stall_us - interval->transmit_stall_us, 0);

	return interval->elapsed_s > 0 ? fmin(stall_us / interval->elapsed_s / 1e4, 100) : 0;
}

double injector_interval_stall_percent(const struct injector_interval *interval)
{
	double stall_us = fmax(interval->stall_us - interval->transmit_stall_us, 0);

	return interval->elapsed_s > 0 ? fmin(stall_us / fmax(interval->lcores, 1) / interval->elapsed_s / 1e4, 100)
				       : 0;
}

double injector_interval_disturbed_percent(const struct injector_interval *interval)
{
	return interval->packets > 0 ? 100 * interval->disturbed / interval->packets : 0;
}
