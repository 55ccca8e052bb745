/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/log.h>

/* Limits of the message about differing plans: bytes of a quoted value, bytes of the whole text. */
enum { SHORT_VALUE_BYTES = 60, DIFFERENCES_BYTES = 600 };

struct journal {
	FILE *out;
	char *path;
	bool failed, is_of_our_plan;
	bool created; /* by this sweep */
};

/* The plan that was written last to a log. */
struct last_plan {
	char fingerprint[32]; /* "" = there is none */
	json_t *parts;        /* the plan's parts (plan.h) as JSON; NULL if the log does not have them */
};

static void read_plan(const char *path, struct last_plan *plan)
{
	struct sweep_log_reader *reader =
		access(path, F_OK) == 0 ? sweep_log_open(file_lines_open(path, NULL), NULL) : NULL;
	struct sweep_log_event event;

	*plan = (struct last_plan){0};
	while (reader) {
		int status = sweep_log_next(reader, &event, NULL);

		if (status == 0 || (status < 0 && status != -EINVAL))
			break;
		if (status < 0 || event.kind != SWEEP_LOG_PLAN)
			continue;
		json_decref(plan->parts);
		snprintf(plan->fingerprint, sizeof plan->fingerprint, "%s", event.plan.fingerprint);
		plan->parts = json_incref(event.plan.parts);
	}
	sweep_log_close(reader);
}

/*
 * Returns the plan's parts (plan.h), which must be the same for all rows of a file, as JSON: {"client": "...",
 * "metric": ["..."]}.
 */
static json_t *parts_json(const struct sweep_plan *plan)
{
	struct sweep_plan_parts parts;
	json_t *object = json_object(), *metrics = json_array();

	sweep_plan_list_parts(plan, &parts);
	for (size_t i = 0; i < parts.count; i++) {
		if (strcmp(parts.items[i].name, "metric") == 0)
			json_array_append_new(metrics, json_string(parts.items[i].text));
		else
			json_object_set_new(object, parts.items[i].name, json_string(parts.items[i].text));
	}
	json_object_set_new(object, "metric", metrics);
	return object;
}

/* Prints `client ("old", here "new")`, or only the name if a value is long. */
static void print_difference(FILE *out, const char *name, const json_t *found, const json_t *ours)
{
	char *before = json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT);
	char *now = json_dumps(ours, JSON_ENCODE_ANY | JSON_COMPACT);

	fputs(name, out);
	if (before && now && strlen(before) <= SHORT_VALUE_BYTES && strlen(now) <= SHORT_VALUE_BYTES)
		fprintf(out, " (%s, here %s)", before, now);
	free(before);
	free(now);
}

/*
 * Writes to `text` the parts in which the plan differs from the log's plan, `found`; "" if the log does not have the
 * parts.
 */
static void print_differences(const json_t *found, const struct sweep_plan *plan, char *text, size_t bytes)
{
	json_t *ours = parts_json(plan);
	FILE *out = fmemopen(text, bytes, "w");
	const char *name;
	json_t *value;
	bool any = false;

	*text = '\0';
	json_object_foreach (ours, name, value) {
		const json_t *other = json_object_get(found, name);

		if (!out || !other || json_equal(other, value))
			continue;
		fputs(any ? ", " : "", out);
		print_difference(out, name, other, value);
		any = true;
	}
	if (out)
		fclose(out);
	text[bytes - 1] = '\0';
	json_decref(ours);
}

/* Ends the line that a killed writer left incomplete. */
static void end_torn_line(FILE *out)
{
	if (fseek(out, -1, SEEK_END) == 0 && fgetc(out) != '\n') {
		fseek(out, 0, SEEK_END);
		fputc('\n', out);
	}
	fseek(out, 0, SEEK_END);
}

/*
 * Sets the error for a file whose rows were made by another plan or by an unknown one, so that they are not comparable
 * with those of our plan.
 */
static int refuse_plan(const struct sweep_plan *plan, const struct last_plan *found, struct error *err)
{
	char differences[DIFFERENCES_BYTES];

	if (!found->fingerprint[0])
		return error_set(err, ENOENT,
				 "%s has rows, but %s.log does not say which plan made them: give another --output, "
				 "or --force to append",
				 plan->output, plan->output);
	print_differences(found->parts, plan, differences, sizeof differences);
	return error_set(err, EEXIST, "%s was made by a plan with %s%s: give another --output, or --force to append",
			 plan->output, *differences ? "another " : "other commands, hosts, metrics or conditions",
			 differences);
}

/* Writes the event and frees it. */
static void write_event(struct journal *journal, json_t *event)
{
	if (!event || json_dumpf(event, journal->out, JSON_COMPACT | JSON_REAL_PRECISION(12)) != 0 ||
	    fputc('\n', journal->out) == EOF || fflush(journal->out) != 0)
		journal->failed = true;
	json_decref(event);
}

static int open_file(const char *path, struct journal **journal, struct error *err)
{
	int code;

	*journal = calloc(1, sizeof **journal);
	if (!*journal || !((*journal)->path = strdup(path))) {
		free(*journal);
		*journal = NULL;
		return error_set(err, ENOMEM, "out of memory");
	}
	(*journal)->created = access(path, F_OK) != 0;
	(*journal)->out = fopen(path, "a+e");
	if ((*journal)->out)
		return 0;
	code = error_set(err, errno, "cannot write %s: %s", path, strerror(errno));
	free((*journal)->path);
	free(*journal);
	*journal = NULL;
	return code;
}

int journal_open(const struct sweep_plan *plan, bool has_rows, struct journal **journal, struct error *err)
{
	char path[4096];
	struct last_plan found;
	struct sweep_log_plan ours = {.application = plan->application,
				      .client = plan->client,
				      .server = plan->server,
				      .seed = plan->seed,
				      .file = plan->text};
	bool is_ours;
	int code = 0;

	snprintf(path, sizeof path, "%s.log", plan->output);
	snprintf(ours.fingerprint, sizeof ours.fingerprint, "%016" PRIx64, sweep_plan_fingerprint(plan));
	read_plan(path, &found);
	is_ours = strcmp(found.fingerprint, ours.fingerprint) == 0;
	if (has_rows && !is_ours && !plan->force)
		code = refuse_plan(plan, &found, err);
	json_decref(found.parts);
	if (!code)
		code = open_file(path, journal, err);
	if (code)
		return code;
	(*journal)->is_of_our_plan = is_ours;
	end_torn_line((*journal)->out);
	ours.parts = parts_json(plan);
	write_event(*journal, sweep_log_plan_to_json(&ours));
	json_decref(ours.parts);
	return 0;
}

bool journal_is_of_our_plan(const struct journal *journal)
{
	return journal->is_of_our_plan;
}

/* Returns the mean number of processors in use during the attempt, of those that this process may use. */
static double processors_used(const struct sweep_attempt *attempt)
{
	const struct machine_state *before = &attempt->machine_before, *after = &attempt->machine_after;
	double ticks = after->our_ticks - before->our_ticks;
	double free_ticks = after->our_free_ticks - before->our_free_ticks;

	return ticks > 0 ? after->our_processors * (1 - free_ticks / ticks) : 0;
}

static struct sweep_log_run run_entry(const struct sweeper *sweeper, const struct sweep_attempt *attempt)
{
	struct sweep_log_run run = {.delay_us = attempt->run.delay_us,
				    .direction = (enum sweep_direction)sweeper->plan->direction,
				    .run = attempt->run.run,
				    .attempt = attempt->number,
				    .disturbed = attempt->reasons[0] != '\0'};

	memcpy(run.reasons, attempt->reasons, sizeof run.reasons);
	return run;
}

struct sweep_log_attempt journal_attempt_entry(const struct sweeper *sweeper, const struct sweep_attempt *attempt)
{
	const char *unchecked = rtt_unchecked_reason(sweeper->plan);
	struct sweep_log_attempt entry = {
		.run = run_entry(sweeper, attempt),
		.elapsed_s = attempt->elapsed_s,
		.metric_count = attempt->measured ? sweeper->metric_count : 0,
		.rtt_by = attempt->rtt_by,
		.rtt_us = attempt->rtt_by ? attempt->rtt_us : NAN,
		.rtt_expected_us = attempt->rtt_by ? attempt->rtt_expected_us : NAN,
		.has_injector = attempt->has_after,
		.injector = attempt_injector(attempt),
		.steal_percent = machine_steal_percent(&attempt->machine_before, &attempt->machine_after),
		.busy_percent = attempt->busy_percent,
		.load = attempt->machine_before.load,
		.processors = attempt->machine_after.our_processors,
		.processors_used = processors_used(attempt),
	};

	snprintf(entry.rtt_unchecked, sizeof entry.rtt_unchecked, "%s", unchecked ? unchecked : "");
	memcpy(entry.started_at, attempt->started_at, sizeof entry.started_at);
	for (size_t i = 0; i < entry.metric_count; i++) {
		entry.metric_names[i] = sweeper->metrics[i].name;
		entry.metric_values[i] = attempt->values[i];
	}
	return entry;
}

void journal_attempt(const struct sweeper *sweeper, const struct sweep_attempt *attempt)
{
	struct sweep_log_attempt entry = journal_attempt_entry(sweeper, attempt);

	write_event(sweeper->journal, sweep_log_attempt_to_json(&entry));
}

void journal_machine(struct journal *journal, const char *control)
{
	struct sweep_log_machine machine;

	machine_describe(control, &machine);
	write_event(journal, sweep_log_machine_to_json(&machine));
}

void journal_accept(const struct sweeper *sweeper, const struct sweep_attempt *attempt)
{
	struct sweep_log_run run = run_entry(sweeper, attempt);

	write_event(sweeper->journal, sweep_log_accepted_to_json(&run));
}

void journal_level(const struct sweeper *sweeper, const struct sweep_log_level *level)
{
	write_event(sweeper->journal, sweep_log_level_to_json(level));
}

void journal_close(struct journal *journal)
{
	if (!journal)
		return;
	if (fclose(journal->out) != 0 || journal->failed)
		log_warning("the sweep's log could not be written completely; the rows of the sweep are not affected");
	free(journal->path);
	free(journal);
}

void journal_discard(struct journal *journal)
{
	if (journal && journal->created)
		unlink(journal->path);
	journal_close(journal);
}
