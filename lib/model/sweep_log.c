/* SPDX-License-Identifier: BSD-3-Clause */
/* SWEEP.csv.log: the writer of each event beside its reader. */
#include <model/sweep_log.h>

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>

struct sweep_log_reader {
	struct file_lines *lines;
	json_t *line;
};

/*
 * Largest absolute value of a counter. Counters are negative if the injector was restarted during the attempt; such an
 * attempt is never used.
 */
static const double counter_limit = 1e18;

static const char *const rtt_names[] = {"none", "probe", "ping"};

const char *sweep_log_rtt_name(enum sweep_log_rtt by)
{
	return rtt_names[by];
}

/* Logs of earlier versions do not name the tool: it was ping, if there is a round trip. */
static enum sweep_log_rtt read_rtt_by(struct json_reader *reader, const json_t *line)
{
	bool measured = json_object_get(line, "rtt_us") != NULL;
	const char *name = json_may_string(reader, line, "", "rtt_by", rtt_names[measured ? SWEEP_LOG_RTT_PING : 0]);

	for (size_t i = 0; i < sizeof rtt_names / sizeof *rtt_names; i++)
		if (strcmp(name, rtt_names[i]) == 0)
			return (enum sweep_log_rtt)i;
	json_fail(reader, "", "rtt_by", "'%.20s': expected none, probe or ping", name);
	return SWEEP_LOG_RTT_UNCHECKED;
}

json_t *sweep_log_plan_to_json(const struct sweep_log_plan *plan)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:O}", "event", "plan", "fingerprint", plan->fingerprint,
			 "application", plan->application, "client", plan->client, "server",
			 plan->server ? plan->server : "", "seed", (json_int_t)plan->seed, "file",
			 plan->file ? plan->file : "", "plan", plan->parts);
}

static void read_plan(struct json_reader *reader, const json_t *line, struct sweep_log_plan *plan)
{
	const char *fingerprint = json_need_string(reader, line, "", "fingerprint");
	json_t *parts = json_object_get(line, "plan");

	snprintf(plan->fingerprint, sizeof plan->fingerprint, "%s", fingerprint ? fingerprint : "");
	plan->parts = json_is_object(parts) ? parts : NULL;
	plan->application = json_may_string(reader, line, "", "application", "");
	plan->file = json_may_string(reader, line, "", "file", "");
}

json_t *sweep_log_machine_to_json(const struct sweep_log_machine *machine)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o}", "event", "machine", "started_at", machine->started_at,
			 "version", machine->version, "kernel", machine->kernel, "cpu", machine->cpu, "processors",
			 (json_int_t)machine->processors, "ports", injector_state_ports_to_json(machine->port));
}

static void read_machine(struct json_reader *reader, const json_t *line, struct sweep_log_machine *machine)
{
	const struct {
		const char *key;
		char *text;
		size_t bytes;
	} texts[] = {{"started_at", machine->started_at, sizeof machine->started_at},
		     {"version", machine->version, sizeof machine->version},
		     {"kernel", machine->kernel, sizeof machine->kernel},
		     {"cpu", machine->cpu, sizeof machine->cpu}};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *text = json_may_string(reader, line, "", texts[i].key, "");

		snprintf(texts[i].text, texts[i].bytes, "%s", text ? text : "");
	}
	machine->processors = json_may_integer(reader, line, "", "processors", 0, 100000, 0);
	injector_state_ports_from_json(reader, line, machine->port);
}

static json_t *run_to_json(const struct sweep_log_run *run, const char *event)
{
	return json_pack("{s:s, s:f, s:s, s:I, s:I, s:b, s:s}", "event", event, "delay_us", run->delay_us, "direction",
			 sweep_direction_name(run->direction), "run", (json_int_t)run->run, "attempt",
			 (json_int_t)run->attempt, "disturbed", run->disturbed, "reasons", run->reasons);
}

static void read_run(struct json_reader *reader, const json_t *line, struct sweep_log_run *run)
{
	const char *direction = json_may_string(reader, line, "", "direction", "both");
	const char *reasons = json_string_value(json_object_get(line, "reasons"));
	int which = direction ? sweep_parse_direction(direction) : 0;

	if (which < 0)
		json_fail(reader, "", "direction", "'%.20s': expected both, ab or ba", direction);
	*run = (struct sweep_log_run){
		.delay_us = json_need_number(reader, line, "", "delay_us", 0, 1e9),
		.direction = which < 0 ? SWEEP_BOTH : (enum sweep_direction)which,
		.run = json_may_integer(reader, line, "", "run", 0, INT64_MAX, 0),
		.attempt = json_need_integer(reader, line, "", "attempt", 1, SWEEP_LOG_ATTEMPTS_MAXIMUM),
		.disturbed = json_may_boolean(reader, line, "", "disturbed", false),
	};
	snprintf(run->reasons, sizeof run->reasons, "%s", reasons ? reasons : "");
}

json_t *sweep_log_accepted_to_json(const struct sweep_log_run *run)
{
	return run_to_json(run, "accepted");
}

/* The counters of an interval, each with its name in the log. */
static const struct {
	const char *name;
	size_t offset;
} counters[] = {
#define COUNTER(name, member)                                                                                          \
	{                                                                                                              \
		name, offsetof(struct injector_interval, member)                                                       \
	}
	COUNTER("received", received),   COUNTER("packets", packets),
	COUNTER("dropped", dropped),     COUNTER("ring_full", ring_full),
	COUNTER("too_late", too_late),   COUNTER("nombuf", no_mbuf),
	COUNTER("rx_missed", rx_missed), COUNTER("rx_errors", rx_errors),
	COUNTER("tx_errors", tx_errors), COUNTER("unaccounted", unaccounted),
	COUNTER("disturbed", disturbed), COUNTER("stalls", stalls),
	COUNTER("stall_us", stall_us),   COUNTER("transmit_stall_us", transmit_stall_us),
#undef COUNTER
};

/* The delays of an interval in each direction, each with its name in the log; absent if not known. */
static const struct {
	const char *name;
	size_t offset;
} delays[] = {
	{"requested_us", offsetof(struct injector_interval_delays, requested_us)},
	{"applied_us", offsetof(struct injector_interval_delays, applied_us)},
	{"applied_p99_us", offsetof(struct injector_interval_delays, applied_p99_us)},
	{"late_p99_us", offsetof(struct injector_interval_delays, late_p99_us)},
};

static const char *const direction_keys[INJECTOR_STATE_DIRECTIONS] = {"ab", "ba"};

/* Returns the number at this offset of an interval or of its delays. */
static double *number_of(void *object, size_t offset)
{
	return (double *)(void *)((char *)object + offset);
}

/* Sets the member unless the value is unknown (not finite). */
static void put_known(json_t *object, const char *key, double value)
{
	if (isfinite(value))
		json_object_set_new(object, key, json_real(value));
}

static json_t *injector_to_json(const struct injector_interval *injector)
{
	struct injector_interval copy = *injector;
	json_t *json = json_pack("{s:f}", "lcores", injector->lcores);

	for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
		json_object_set_new(json, counters[i].name, json_real(*number_of(&copy, counters[i].offset)));
	for (size_t d = 0; d < INJECTOR_STATE_DIRECTIONS; d++) {
		json_t *direction = json_object();

		for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++)
			put_known(direction, delays[i].name, *number_of(&copy.delays[d], delays[i].offset));
		json_object_set_new(json, direction_keys[d], direction);
	}
	return json;
}

static double read_counter(struct json_reader *reader, const json_t *injector, const char *name)
{
	return json_may_number(reader, injector, "injector", name, -counter_limit, counter_limit, 0);
}

static void read_injector(struct json_reader *reader, const json_t *line, struct sweep_log_attempt *attempt)
{
	const json_t *injector = json_object_get(line, "injector");

	attempt->has_injector = injector && !json_is_null(injector);
	if (!attempt->has_injector)
		return;
	attempt->injector = (struct injector_interval){
		.elapsed_s = attempt->elapsed_s,
		.lcores = json_may_number(reader, injector, "injector", "lcores", 1, 1024, 1),
	};
	for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
		*number_of(&attempt->injector, counters[i].offset) = read_counter(reader, injector, counters[i].name);
	for (size_t d = 0; d < INJECTOR_STATE_DIRECTIONS; d++) {
		const json_t *direction = json_object_get(injector, direction_keys[d]);

		for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++)
			*number_of(&attempt->injector.delays[d], delays[i].offset) =
				direction ? json_may_number(reader, direction, direction_keys[d], delays[i].name, 0,
							    1e12, NAN)
					  : NAN;
	}
}

json_t *sweep_log_attempt_to_json(const struct sweep_log_attempt *attempt)
{
	json_t *entry = run_to_json(&attempt->run, "attempt"), *metrics = json_object();

	json_object_set_new(entry, "started_at", json_string(attempt->started_at));
	json_object_set_new(entry, "elapsed_s", json_real(attempt->elapsed_s));
	for (size_t i = 0; i < attempt->metric_count; i++)
		json_object_set_new(metrics, attempt->metric_names[i], json_real(attempt->metric_values[i]));
	json_object_set_new(entry, "metrics", metrics);
	json_object_set_new(entry, "rtt_by", json_string(sweep_log_rtt_name(attempt->rtt_by)));
	if (attempt->rtt_unchecked[0])
		json_object_set_new(entry, "rtt_unchecked", json_string(attempt->rtt_unchecked));
	put_known(entry, "rtt_us", attempt->rtt_us);
	put_known(entry, "rtt_expected_us", attempt->rtt_expected_us);
	if (attempt->has_injector)
		json_object_set_new(entry, "injector", injector_to_json(&attempt->injector));
	json_object_set_new(entry, "steal_percent", json_real(attempt->steal_percent));
	json_object_set_new(entry, "busy_percent", json_real(attempt->busy_percent));
	if (isfinite(attempt->processors))
		json_object_set_new(entry, "processors", json_integer((json_int_t)attempt->processors));
	put_known(entry, "processors_used", attempt->processors_used);
	json_object_set_new(entry, "load", json_real(attempt->load));
	return entry;
}

static void read_attempt(struct json_reader *reader, const json_t *line, struct sweep_log_attempt *attempt)
{
	const char *started_at = json_string_value(json_object_get(line, "started_at"));
	const char *unchecked = json_may_string(reader, line, "", "rtt_unchecked", "");

	snprintf(attempt->rtt_unchecked, sizeof attempt->rtt_unchecked, "%s", unchecked);
	attempt->rtt_by = read_rtt_by(reader, line);
	read_run(reader, line, &attempt->run);
	snprintf(attempt->started_at, sizeof attempt->started_at, "%s", started_at ? started_at : "");
	attempt->elapsed_s = json_may_number(reader, line, "", "elapsed_s", 0, 1e9, 0);
	attempt->rtt_us = json_may_number(reader, line, "", "rtt_us", 0, 1e12, NAN);
	attempt->rtt_expected_us = json_may_number(reader, line, "", "rtt_expected_us", 0, 1e12, NAN);
	attempt->steal_percent = json_may_number(reader, line, "", "steal_percent", -1e3, 1e3, 0);
	attempt->busy_percent = json_may_number(reader, line, "", "busy_percent", -1e3, 1e3, 0);
	attempt->load = json_may_number(reader, line, "", "load", 0, 1e9, 0);
	attempt->processors = json_may_number(reader, line, "", "processors", 0, 1e5, NAN);
	attempt->processors_used = json_may_number(reader, line, "", "processors_used", -1, 1e5, NAN);
	read_injector(reader, line, attempt);
}

json_t *sweep_log_level_to_json(const struct sweep_log_level *level)
{
	json_t *entry = json_pack("{s:s, s:f, s:s, s:s, s:I, s:f, s:f, s:b}", "event", "level", "delay_us",
				  level->delay_us, "direction", sweep_direction_name(level->direction), "metric",
				  level->metric, "runs", (json_int_t)level->runs, "mean", level->mean, "deviation",
				  level->deviation, "repeatable", level->repeatable);

	put_known(entry, "standard_error_percent", level->standard_error_percent);
	return entry;
}

static void read_level(struct json_reader *reader, const json_t *line, struct sweep_log_level *level)
{
	const char *direction = json_may_string(reader, line, "", "direction", "both");
	int which = direction ? sweep_parse_direction(direction) : 0;

	if (which < 0)
		json_fail(reader, "", "direction", "'%.20s': expected both, ab or ba", direction);
	*level = (struct sweep_log_level){
		.delay_us = json_need_number(reader, line, "", "delay_us", 0, 1e9),
		.direction = which < 0 ? SWEEP_BOTH : (enum sweep_direction)which,
		.runs = json_need_integer(reader, line, "", "runs", 0, INT64_MAX),
		.mean = json_need_number(reader, line, "", "mean", -1e300, 1e300),
		.deviation = json_need_number(reader, line, "", "deviation", 0, 1e300),
		.standard_error_percent =
			json_may_number(reader, line, "", "standard_error_percent", 0, 1e300, INFINITY),
		.repeatable = json_may_boolean(reader, line, "", "repeatable", false),
	};
}

static void read_event(struct json_reader *reader, const json_t *line, struct sweep_log_event *event)
{
	const char *kind = json_need_string(reader, line, "", "event");

	if (!kind)
		return;
	if (strcmp(kind, "plan") == 0) {
		event->kind = SWEEP_LOG_PLAN;
		read_plan(reader, line, &event->plan);
	} else if (strcmp(kind, "machine") == 0) {
		event->kind = SWEEP_LOG_MACHINE;
		read_machine(reader, line, &event->machine);
	} else if (strcmp(kind, "attempt") == 0) {
		event->kind = SWEEP_LOG_ATTEMPT;
		read_attempt(reader, line, &event->attempt);
	} else if (strcmp(kind, "accepted") == 0) {
		event->kind = SWEEP_LOG_ACCEPTED;
		read_run(reader, line, &event->accepted);
	} else if (strcmp(kind, "level") == 0) {
		event->kind = SWEEP_LOG_LEVEL;
		read_level(reader, line, &event->level);
	}
}

struct sweep_log_reader *sweep_log_open(struct file_lines *lines, struct error *err)
{
	struct sweep_log_reader *reader = lines ? calloc(1, sizeof *reader) : NULL;

	if (reader) {
		reader->lines = lines;
		return reader;
	}
	if (lines)
		error_set(err, ENOMEM, "out of memory");
	file_lines_close(lines);
	return NULL;
}

int sweep_log_next(struct sweep_log_reader *reader, struct sweep_log_event *event, struct error *err)
{
	struct error scratch = {0};
	char *text;
	int status;

	memset(event, 0, sizeof *event);
	while ((status = file_lines_next(reader->lines, &text, err)) > 0) {
		struct json_reader json = {.file = file_lines_name(reader->lines),
					   .line = file_lines_number(reader->lines),
					   .err = err ? err : &scratch};

		json_decref(reader->line);
		/* A line that does not parse was left incomplete by a killed writer. */
		reader->line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		if (!reader->line)
			continue;
		read_event(&json, reader->line, event);
		return json.failed ? -EINVAL : 1;
	}
	return status;
}

void sweep_log_close(struct sweep_log_reader *reader)
{
	if (!reader)
		return;
	json_decref(reader->line);
	file_lines_close(reader->lines);
	free(reader);
}
