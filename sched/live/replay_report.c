/* SPDX-License-Identifier: BSD-3-Clause */
/* Replays a journal from its file, and prints the comparison as text or as JSON (nomora.replay/1). */
#include <sched/live/calls.h>

#include <errno.h>

#include <base/json.h>

int live_replay_file(const char *journal, const char *record, struct live_replayed *replayed, struct error *err)
{
	struct file_lines *lines = file_lines_open(journal, err);
	struct file_writer *writer = lines && record ? file_writer_open(record, err) : NULL;
	int code = lines && (writer || !record) ? 0 : error_code(err, EIO);

	if (code == 0)
		code = live_replay(lines, writer ? file_writer_stream(writer) : NULL, replayed, err);
	if (code == 0 && writer)
		code = file_writer_commit(writer, err);
	else
		file_writer_discard(writer);
	file_lines_close(lines);
	return code;
}

bool live_replayed_differs(const struct live_replayed *replayed)
{
	return replayed->unmade > 0 || replayed->decisions != replayed->recorded;
}

json_t *live_replayed_to_json(const struct live_replayed *replayed)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:o, s:o, s:o}}", "schema", "nomora.replay/1",
			 "segments", (json_int_t)replayed->segments, "calls", (json_int_t)replayed->calls, "decisions",
			 (json_int_t)replayed->decisions, "recorded", (json_int_t)replayed->recorded, "different",
			 (json_int_t)replayed->unmade, "left_out", (json_int_t)replayed->left_out, "performance",
			 "jobs", (json_int_t)replayed->jobs, "area", json_number_or_null(replayed->area),
			 "area_worst_task", json_number_or_null(replayed->area_worst), "task_mean",
			 json_number_or_null(replayed->task_mean));
}

void live_replayed_print(const struct live_replayed *replayed, FILE *out)
{
	fprintf(out, "%llu calls, %llu decisions: %llu as recorded, %llu different\n",
		(unsigned long long)replayed->calls, (unsigned long long)replayed->decisions,
		(unsigned long long)(replayed->recorded - replayed->unmade), (unsigned long long)replayed->unmade);
	fprintf(out, "performance of %llu jobs, %%: %.1f, worst task %.1f, mean over tasks %.1f\n",
		(unsigned long long)replayed->jobs, 100 * replayed->area, 100 * replayed->area_worst,
		100 * replayed->task_mean);
	if (replayed->left_out > 0)
		fprintf(out,
			"%llu decisions are not compared: they were made before the first daemon start in the "
			"journal\n",
			(unsigned long long)replayed->left_out);
	fputs(replayed->first, out);
}
