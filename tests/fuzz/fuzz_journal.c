/* SPDX-License-Identifier: BSD-3-Clause */
/* A journal: each accepted event survives printing and reading; the workload is consistent. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <model/journal.h>

static void print_and_read(const struct journal_event *event, const struct cluster_default_rtt *default_rtt)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct journal_event again;
	struct journal_reader *reader;
	struct file_lines *lines;
	struct error err = {0};

	if (!journal_print_header(out, 1, default_rtt) || !journal_print(out, event) || fclose(out) != 0)
		abort();
	lines = file_lines_from_memory("again", text, bytes, &err);
	reader = journal_reader_create(lines, &err);
	if (!reader || journal_next(reader, &again, &err) != 1)
		abort();
	if (again.kind != event->kind || again.time_us != event->time_us || again.pair_count != event->pair_count)
		abort();
	if (event->job && strcmp(again.job, event->job) != 0)
		abort();
	journal_reader_destroy(reader);
	file_lines_close(lines);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_lines *lines = file_lines_from_memory("fuzz", (const char *)data, size, NULL);
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};
	struct workload *workload = workload_create();
	struct curve_library *library = curve_library_create(NULL);
	struct journal_counts counts;
	struct journal_event event;
	struct error err = {0};
	struct journal_reader *reader = journal_reader_create(lines, &err);
	int more = 0;

	while (reader && (more = journal_next(reader, &event, &err)) > 0)
		print_and_read(&event, journal_default_rtt(reader));
	if ((!reader || more < 0) && (err.code == 0 || err.text[0] == '\0'))
		abort(); /* a refusal says why */
	journal_reader_destroy(reader);
	file_lines_close(lines);
	err = (struct error){0};
	lines = file_lines_from_memory("fuzz", (const char *)data, size, &err);
	if (journal_read_workload(workload, library, lines, &counts, &err) == 0) {
		if (workload_finish(workload, &all) != 0)
			abort();
		for (size_t t = 0; t < workload->task_count; t++) {
			if (workload->tasks[t].submit_us < 0 || workload->tasks[t].run_us < WORKLOAD_TO_THE_END)
				abort();
		}
	} else if (err.code == 0 || err.text[0] == '\0') {
		abort();
	}
	file_lines_close(lines);
	workload_destroy(workload);
	curve_library_destroy(library);
	return 0;
}
