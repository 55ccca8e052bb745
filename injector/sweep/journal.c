/* SPDX-License-Identifier: BSD-3-Clause */
/* SWEEP.csv.log: one JSON object a line about each plan, attempt, accepted run and, in the end, delay. */
#include "sweeper_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <base/log.h>

/* Of differing plans: what is told of a value, and of all of them. */
enum { SHORT_VALUE_BYTES = 60, DIFFERENCES_BYTES = 600 };

struct journal {
	FILE *out;
	char *path;
	bool failed, is_of_our_plan;
	bool made; /* by us */
};

/* The last plan in the log, NULL if there is none. */
static json_t *read_plan(const char *path)
{
	struct file_lines *lines = access(path, F_OK) == 0 ? file_lines_open(path, NULL) : NULL;
	json_t *last = NULL;
	char *line;

	while (lines && file_lines_next(lines, &line, NULL) > 0) {
		json_t *entry = json_loads(line, 0, NULL);

		if (json_is_string(json_object_get(entry, "fingerprint"))) {
			json_decref(last);
			last = json_incref(entry);
		}
		json_decref(entry);
	}
	file_lines_close(lines);
	return last;
}

/* {"client": "...", "metric": ["..."]}: what must be the same in all rows of a file. */
static json_t *parts_json(const struct plan *plan)
{
	struct plan_parts parts;
	json_t *object = json_object(), *metrics = json_array();

	plan_list_parts(plan, &parts);
	for (size_t i = 0; i < parts.count; i++) {
		if (strcmp(parts.items[i].name, "metric") == 0)
			json_array_append_new(metrics, json_string(parts.items[i].text));
		else
			json_object_set_new(object, parts.items[i].name, json_string(parts.items[i].text));
	}
	json_object_set_new(object, "metric", metrics);
	return object;
}

/* `client ("old", here "new")`, or the name alone where a value is long. */
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

/* Says in what the plan of the log is another one; "" where the log, an older one, does not tell. */
static void print_differences(const json_t *found, const struct plan *plan, char *text, size_t bytes)
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

/* A line that a dying writer left open is closed first. */
static void end_torn_line(FILE *out)
{
	if (fseek(out, -1, SEEK_END) == 0 && fgetc(out) != '\n') {
		fseek(out, 0, SEEK_END);
		fputc('\n', out);
	}
	fseek(out, 0, SEEK_END);
}

/* Rows of another plan, or of who knows which, are none that ours could be compared with. */
static int refuse_plan(const struct plan *plan, const json_t *found, struct error *err)
{
	char differences[DIFFERENCES_BYTES];

	if (!found)
		return error_set(err, ENOENT,
				 "%s has rows, but %s.log does not say which plan made them: give another --output, "
				 "or --force to append",
				 plan->output, plan->output);
	print_differences(json_object_get(found, "plan"), plan, differences, sizeof differences);
	return error_set(err, EEXIST, "%s was made by a plan with %s%s: give another --output, or --force to append",
			 plan->output, *differences ? "another " : "other commands, hosts, metrics or conditions",
			 differences);
}

/* Of the plan's own fingerprint? */
static bool is_of_plan(const json_t *found, const char *fingerprint)
{
	const char *text = json_string_value(json_object_get(found, "fingerprint"));

	return text && strcmp(text, fingerprint) == 0;
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
	(*journal)->made = access(path, F_OK) != 0;
	(*journal)->out = fopen(path, "a+e");
	if ((*journal)->out)
		return 0;
	code = error_set(err, errno, "cannot write %s: %s", path, strerror(errno));
	free((*journal)->path);
	free(*journal);
	*journal = NULL;
	return code;
}

int journal_open(const struct plan *plan, bool has_rows, struct journal **journal, struct error *err)
{
	char path[4096], ours[32];
	json_t *found;
	bool is_ours;
	int code = 0;

	snprintf(path, sizeof path, "%s.log", plan->output);
	snprintf(ours, sizeof ours, "%016" PRIx64, plan_fingerprint(plan));
	found = read_plan(path);
	is_ours = is_of_plan(found, ours);
	if (has_rows && !is_ours && !plan->force)
		code = refuse_plan(plan, found, err);
	json_decref(found);
	if (!code)
		code = open_file(path, journal, err);
	if (code)
		return code;
	(*journal)->is_of_our_plan = is_ours;
	end_torn_line((*journal)->out);
	journal_write(*journal,
		      json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:o}", "event", "plan", "fingerprint", ours, "application",
				plan->application, "client", plan->client, "server", plan->server ? plan->server : "",
				"seed", (json_int_t)plan->seed, "plan", parts_json(plan)));
	return 0;
}

bool journal_is_of_our_plan(const struct journal *journal)
{
	return journal->is_of_our_plan;
}

void journal_write(struct journal *journal, json_t *entry)
{
	if (!entry || json_dumpf(entry, journal->out, JSON_COMPACT | JSON_REAL_PRECISION(12)) != 0 ||
	    fputc('\n', journal->out) == EOF || fflush(journal->out) != 0)
		journal->failed = true;
	json_decref(entry);
}

static json_t *run_entry(const struct sweeper *sweeper, const struct attempt *attempt, const char *event)
{
	const char *direction = sweep_direction_name((enum sweep_direction)sweeper->plan->direction);

	return json_pack("{s:s,s:f,s:s,s:I,s:i,s:b,s:s}", "event", event, "delay_us", attempt->run.delay_us,
			 "direction", direction, "run", (json_int_t)attempt->run.run, "attempt", attempt->number,
			 "disturbed", attempt->reasons[0] != '\0', "reasons", attempt->reasons);
}

json_t *journal_accept(const struct sweeper *sweeper, const struct attempt *attempt)
{
	return run_entry(sweeper, attempt, "accepted");
}

json_t *journal_level(const struct sweeper *sweeper, const struct level *level)
{
	double error_percent = level_error_percent(level);
	json_t *entry =
		json_pack("{s:s,s:f,s:s,s:s,s:I,s:f,s:f,s:b}", "event", "level", "delay_us", level->delay_us,
			  "direction", sweep_direction_name((enum sweep_direction)sweeper->plan->direction), "metric",
			  sweeper->metrics[0].name, "runs", (json_int_t)level->runs, "mean", level->mean, "deviation",
			  level->deviation, "repeatable", level_is_repeatable(sweeper->plan, level));

	if (isfinite(error_percent))
		json_object_set_new(entry, "standard_error_percent", json_real(error_percent));
	return entry;
}

/* How many of the processors that are ours were at work during it, on average. */
static double processors_used(const struct attempt *attempt)
{
	const struct host_state *before = &attempt->host_before, *after = &attempt->host_after;
	double ticks = after->our_ticks - before->our_ticks,
	       free_ticks = after->our_free_ticks - before->our_free_ticks;

	return ticks > 0 ? after->our_processors * (1 - free_ticks / ticks) : 0;
}

json_t *journal_attempt(const struct sweeper *sweeper, const struct attempt *attempt)
{
	const struct injector_state *before = &attempt->before, *after = &attempt->after;
	double ticks = attempt->host_after.total_ticks - attempt->host_before.total_ticks;
	double steal = attempt->host_after.steal_ticks - attempt->host_before.steal_ticks;
	json_t *values = json_object();
	json_t *entry = run_entry(sweeper, attempt, "attempt");

	json_object_set_new(entry, "started_at", json_string(attempt->started_at));
	json_object_set_new(entry, "elapsed_s", json_real(attempt->elapsed_s));
	for (size_t i = 0; attempt->measured && i < sweeper->metric_count; i++)
		json_object_set_new(values, sweeper->metrics[i].name, json_real(attempt->values[i]));
	json_object_set_new(entry, "metrics", values);
	if (attempt->has_rtt) {
		json_object_set_new(entry, "rtt_us", json_real(attempt->rtt_us));
		json_object_set_new(entry, "rtt_expected_us", json_real(attempt->rtt_expected_us));
	}
	if (after->lcores > 0) /* it was asked: a client that is stopped has none who comes to that */
		json_object_set_new(
			entry, "injector",
			json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "packets", after->packets - before->packets,
				  "dropped", after->dropped - before->dropped, "disturbed",
				  after->disturbed - before->disturbed, "stalls", after->stalls - before->stalls,
				  "stall_us", after->stall_us - before->stall_us, "transmit_stall_us",
				  after->transmit_stall_us - before->transmit_stall_us, "lcores", after->lcores));
	json_object_set_new(entry, "steal_percent", json_real(ticks > 0 ? 100 * steal / ticks : 0));
	json_object_set_new(entry, "busy_percent", json_real(attempt->busy_percent));
	json_object_set_new(entry, "processors", json_integer(attempt->host_after.our_processors));
	json_object_set_new(entry, "processors_used", json_real(processors_used(attempt)));
	json_object_set_new(entry, "load", json_real(attempt->host_before.load));
	return entry;
}

void journal_close(struct journal *journal)
{
	if (!journal)
		return;
	if (fclose(journal->out) != 0 || journal->failed)
		log_warning("the sweep's log could not be written whole; its rows are not touched by that");
	free(journal->path);
	free(journal);
}

void journal_discard(struct journal *journal)
{
	if (journal && journal->made)
		unlink(journal->path);
	journal_close(journal);
}
