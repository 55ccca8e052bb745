/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A checkpoint as text, nomora.checkpoint/1: the settings, the rounds and their moves, and a hash of these. The
 * simulation's state is not stored: the resumed run computes it again from the rounds.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <base/hash.h>

#include "simulate_priv.h"

static const char schema[] = "nomora.checkpoint/1";
static const char last_word[] = "hash ";
static const size_t checkpoint_bytes_maximum = (size_t)1 << 33;

static uint64_t add_number(uint64_t hash, int64_t number)
{
	return hash_fnv_bytes(hash, &number, sizeof number);
}

static uint64_t add_places(uint64_t hash, const struct cluster *places)
{
	for (uint32_t m = 0; m < places->machine_count; m++) {
		hash = hash_fnv_bytes(hash, places->machines[m].name, strlen(places->machines[m].name) + 1);
		hash = add_number(hash, places->machines[m].rack);
		hash = add_number(hash, places->racks[places->machines[m].rack].pod);
		hash = add_number(hash, places->machines[m].slots);
	}
	return hash;
}

static uint64_t hash_workload(const struct workload *workload)
{
	uint64_t hash = HASH_FNV_START;

	for (size_t t = 0; t < workload->task_count; t++) {
		const struct workload_task *task = &workload->tasks[t];

		hash = add_number(add_number(hash, task->submit_us), task->run_us);
		hash = add_number(add_number(hash, (int64_t)task->job_id), task->index);
	}
	for (size_t m = 0; m < workload->machine_count; m++)
		hash = add_number(hash, (int64_t)workload->machine_ids[m]);
	for (size_t e = 0; e < workload->machine_event_count; e++) {
		const struct workload_machine_event *event = &workload->machine_events[e];

		hash = add_number(add_number(hash, event->time_us), event->machine);
		hash = add_number(add_number(hash, (int64_t)event->change), event->slots);
		hash = hash_fnv_bytes(hash, &event->cpu, sizeof event->cpu);
	}
	for (size_t n = 0; n < workload->note_count; n++)
		hash = add_number(add_number(hash, (int64_t)workload->notes[n].id), workload->notes[n].curve);
	for (size_t l = 0; l < workload->latency_count; l++) {
		const struct workload_latency *latency = &workload->latencies[l];

		hash = add_number(add_number(add_number(hash, latency->time_us), latency->a), latency->b);
		hash = hash_fnv_bytes(hash, &latency->rtt_us, sizeof latency->rtt_us);
	}
	return workload->places ? add_places(hash, workload->places) : hash;
}

/* Sets *hash to a hash of the curves' names and texts. Returns 0, or -errno with err set. */
static int hash_curves(const struct sim_settings *settings, uint64_t *hash, struct error *err)
{
	*hash = HASH_FNV_START;
	for (uint32_t c = 0; c < settings->curve_count; c++) {
		char *text = curve_to_text(settings->curves[c], err);

		if (!text)
			return error_code(err, ENOMEM);
		*hash = hash_fnv_bytes(*hash, settings->curve_names[c], strlen(settings->curve_names[c]) + 1);
		*hash = hash_fnv_bytes(*hash, text, strlen(text) + 1);
		free(text);
	}
	return 0;
}

static uint64_t hash_series(const struct rtt_series_set *set)
{
	uint64_t hash = HASH_FNV_START;

	for (int d = 0; d < SIM_DISTANCES; d++) {
		for (size_t k = 0; k < set->counts[d]; k++)
			hash = hash_fnv_bytes(add_number(hash, d), set->items[d][k].us,
					      set->items[d][k].count * sizeof set->items[d][k].us[0]);
	}
	return hash;
}

static void set_hash(json_t *object, const char *key, uint64_t hash)
{
	char text[17];

	snprintf(text, sizeof text, "%016" PRIx64, hash);
	json_object_set_new(object, key, json_string(text));
}

/*
 * Returns the settings on which the result depends, and the interval of the checkpoints, as JSON; NULL with err set on
 * failure.
 */
static json_t *describe(const struct simulate_checkpoint *checkpoint, struct error *err)
{
	const struct simulate *simulate = checkpoint->simulate;
	const struct simulate_policy *policy = &simulate->policies[checkpoint->number];
	json_t *object = simulate_settings_json(simulate);
	uint64_t curves;

	if (!object)
		error_set(err, ENOMEM, "out of memory");
	if (!object || hash_curves(&policy->settings, &curves, err) != 0) {
		json_decref(object);
		return NULL;
	}
	json_object_set_new(object, "policy", json_string(policy->name));
	json_object_set_new(object, "checkpoint", json_integer(simulate->options->checkpoint_s));
	json_object_set_new(object, "interpolate", json_boolean(simulate->options->interpolate));
	json_object_set_new(object, "two_digits", json_boolean(simulate->options->two_digits));
	set_hash(object, "workload", hash_workload(simulate->workload));
	set_hash(object, "curves", curves);
	if (simulate->series)
		set_hash(object, "series", hash_series(simulate->series));
	return object;
}

static void print_history(FILE *out, const struct sim_history *history)
{
	const struct sim_past_move *move = history->moves;

	fprintf(out, "checkpoints %" PRIu64 "\n", history->checkpoints);
	for (size_t r = 0; r < history->round_count; r++) {
		const struct sim_past_round *round = &history->rounds[r];

		fprintf(out, "round %" PRIu64 " %" PRIu64 " %.9f %.9f\n", round->solves, round->scans, round->wall_s,
			round->cpu_s);
		for (uint64_t m = 0; m < round->moves; m++, move++)
			fprintf(out, "%" PRIu32 " %" PRIu32 " %" PRId32 "\n", move->job, move->task, move->to);
	}
}

/* Returns the text of a checkpoint, and its length in *bytes; NULL with err set on failure. */
static char *checkpoint_text(const struct simulate_checkpoint *checkpoint, const struct sim_history *history,
			     size_t *bytes, struct error *err)
{
	json_t *settings = describe(checkpoint, err);
	char *line = settings ? json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS) : NULL, *text = NULL;
	FILE *out = line ? open_memstream(&text, bytes) : NULL;

	if (out) {
		fprintf(out, "%s\n%s\n", schema, line);
		print_history(out, history);
	}
	if (!out || fclose(out) != 0) {
		free(text);
		text = NULL;
		if (settings)
			error_set(err, ENOMEM, "out of memory");
	}
	free(line);
	json_decref(settings);
	return text;
}

static void path_of(const struct simulate_checkpoint *checkpoint, char path[static PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/checkpoint-%zu", checkpoint->folder, checkpoint->number + 1);
}

static int write_checkpoint(void *context, const struct sim_history *history, struct error *err)
{
	const struct simulate_checkpoint *checkpoint = context;
	struct file_writer *writer;
	char path[PATH_MAX];
	size_t bytes;
	char *text = checkpoint_text(checkpoint, history, &bytes, err);

	if (!text)
		return error_code(err, ENOMEM);
	path_of(checkpoint, path);
	writer = file_writer_open(path, err);
	if (writer) {
		fwrite(text, 1, bytes, file_writer_stream(writer));
		fprintf(file_writer_stream(writer), "%s%016" PRIx64 "\n", last_word,
			hash_fnv_bytes(HASH_FNV_START, text, bytes));
	}
	free(text);
	return writer ? file_writer_commit(writer, err) : error_code(err, EIO);
}

/*
 * Returns the number of bytes before the last line, or 0 if the checkpoint is damaged: the last line must be the hash
 * of these bytes.
 */
static size_t checked_bytes(const char *text, size_t bytes)
{
	enum { LAST_BYTES = sizeof last_word - 1 + 16 + 1 };
	char expected[LAST_BYTES + 1];
	size_t before = bytes < LAST_BYTES ? 0 : bytes - LAST_BYTES;

	snprintf(expected, sizeof expected, "%s%016" PRIx64 "\n", last_word,
		 hash_fnv_bytes(HASH_FNV_START, text, before));
	return before > 0 && memcmp(text + before, expected, LAST_BYTES) == 0 ? before : 0;
}

/*
 * Adds a line's round or move to the history. Returns 0; -EINVAL if the line is neither a round nor a move; or -ENOMEM.
 */
static int take_line(struct sim_history *history, const char *line)
{
	struct sim_past_round round = {0};
	struct sim_past_move move;
	int end = 0;

	if (sscanf(line, "round %" SCNu64 " %" SCNu64 " %lf %lf%n", &round.solves, &round.scans, &round.wall_s,
		   &round.cpu_s, &end) == 4 &&
	    line[end] == '\0')
		return sim_history_add_round(history, &round);
	if (history->round_count == 0 ||
	    sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNd32 "%n", &move.job, &move.task, &move.to, &end) != 3 ||
	    line[end] != '\0')
		return -EINVAL;
	history->rounds[history->round_count - 1].moves++;
	return sim_history_add_move(history, &move);
}

static int take_lines(struct file_lines *lines, struct sim_history *history, char **settings, struct error *err)
{
	const char *expected = schema;
	char *line;
	int more, code = 0, end = 0;

	while (code == 0 && (more = file_lines_next(lines, &line, err)) != 0) {
		long number = file_lines_number(lines);

		if (more < 0)
			return more;
		if (number == 1) {
			code = strcmp(line, schema) == 0 ? 0 : -EINVAL;
		} else if (number == 2) {
			expected = "settings";
			*settings = strdup(line);
			code = *settings ? 0 : -ENOMEM;
		} else if (number == 3) {
			expected = "checkpoints N";
			code = sscanf(line, "checkpoints %" SCNu64 "%n", &history->checkpoints, &end) == 1 &&
					       line[end] == '\0'
				       ? 0
				       : -EINVAL;
		} else {
			expected = "a line of a round or of a move";
			code = take_line(history, line);
		}
	}
	if (code == -ENOMEM)
		return error_set(err, ENOMEM, "out of memory");
	if (code != 0 || !*settings || history->checkpoints == 0)
		return error_set(err, EINVAL, "%s:%ld: expected %s", file_lines_name(lines), file_lines_number(lines),
				 expected);
	return 0;
}

int simulate_read_checkpoint(const char *name, const char *text, size_t bytes, struct sim_history *history,
			     char **settings, struct error *err)
{
	size_t checked = checked_bytes(text, bytes);
	struct file_lines *lines = checked > 0 ? file_lines_from_memory(name, text, checked) : NULL;
	int code;

	*history = (struct sim_history){0};
	*settings = NULL;
	if (checked == 0)
		return error_set(err, EINVAL,
				 "%s: the checkpoint is damaged: the hash in its last line is missing or wrong", name);
	code = lines ? take_lines(lines, history, settings, err) : error_set(err, ENOMEM, "out of memory");
	file_lines_close(lines);
	if (code != 0) {
		sim_history_free(history);
		free(*settings);
		*settings = NULL;
	}
	return code;
}

static int refuse_key(const char *name, const char *key, const json_t *theirs, const json_t *ours, struct error *err)
{
	char *there = theirs ? json_dumps(theirs, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	char *here = ours ? json_dumps(ours, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	int code = error_set(err, EINVAL, "%s: made with other settings: %s is %s in the checkpoint, %s in this run",
			     name, key, there ? there : "absent", here ? here : "absent");

	free(there);
	free(here);
	return code;
}

static int compare_settings(const struct simulate_checkpoint *checkpoint, const char *name, const char *text,
			    struct error *err)
{
	json_t *ours = describe(checkpoint, err), *theirs = json_loads(text, 0, NULL);
	const char *key;
	json_t *value;
	int code = ours ? 0 : error_code(err, ENOMEM);

	/* Compares the printed values, since a real that prints as an integer is read as an integer. */
	json_object_foreach (ours, key, value) {
		char *here = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
		const json_t *other = json_object_get(theirs, key);
		char *there = other ? json_dumps(other, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS) : NULL;

		if (code == 0 && (!here || !there || strcmp(here, there) != 0))
			code = refuse_key(name, key, other, value, err);
		free(here);
		free(there);
	}
	if (code == 0 && json_object_size(ours) != json_object_size(theirs))
		code = error_set(err, EINVAL,
				 "%s: made with other settings: it has settings that this run does not have", name);
	json_decref(ours);
	json_decref(theirs);
	return code;
}

static int resume(struct simulate_checkpoint *checkpoint, struct error *err)
{
	char path[PATH_MAX], *text, *settings;
	size_t bytes;
	int code;

	path_of(checkpoint, path);
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return 0; /* the interrupted run did not reach its first checkpoint */
	text = file_read_all(path, checkpoint_bytes_maximum, &bytes, err);
	if (!text)
		return error_code(err, EIO);
	code = simulate_read_checkpoint(path, text, bytes, &checkpoint->history, &settings, err);
	free(text);
	if (code != 0)
		return code;
	code = compare_settings(checkpoint, path, settings, err);
	free(settings);
	return code;
}

int simulate_checkpoint_begin(struct simulate_checkpoint *checkpoint, struct sim_watch *watch, struct error *err)
{
	watch->history = &checkpoint->history;
	watch->checkpoint = write_checkpoint;
	watch->checkpoint_context = checkpoint;
	return checkpoint->simulate->options->resume ? resume(checkpoint, err) : 0;
}
