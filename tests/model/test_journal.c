/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/journal_workload.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <model/journal.h>

/* One line of each kind, in file format. */
static const char head[] =
	"{\"schema\": \"nomora.journal/1\", \"origin_s\": 1795188663.25, \"default_rtt_us\": {\"same_machine\": 1.5, "
	"\"same_rack\": 20.0, \"same_pod\": 90.0, \"other_pod\": 300.25}}\n";
static const char events[] =
	"{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"h1\", \"rack\": \"r1\", \"pod\": \"p1\", \"slots\": 4, "
	"\"state\": \"up\"}\n"
	"{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"h2\", \"rack\": \"r2\", \"slots\": 2, \"state\": "
	"\"draining\"}\n"
	"{\"t_us\": 1, \"event\": \"latency\", \"from\": \"h1\", \"to\": [\"h2\", \"h1\", \"h2\"], \"rtt_us\": [2.5, "
	"\"unreachable\", null]}\n"
	"{\"t_us\": 2, \"event\": \"job\", \"job\": \"web\", \"curve\": \"c\", \"root\": \"b\"}\n"
	"{\"t_us\": 2, \"event\": \"task\", \"job\": \"web\", \"task\": \"a\", \"state\": \"waiting\"}\n"
	"{\"t_us\": 2, \"event\": \"task\", \"job\": \"web\", \"task\": \"b\", \"state\": \"waiting\", \"run_us\": 7}\n"
	"{\"t_us\": 2, \"event\": \"task\", \"job\": \"web\", \"task\": \"c\", \"state\": \"waiting\"}\n"
	"{\"t_us\": 3, \"event\": \"decision\", \"decision\": \"place\", \"sequence\": 1, \"job\": \"web\", \"task\": "
	"\"a\", \"to\": \"h1\", \"rtt_us\": 2.5, \"performance\": 0.9}\n"
	"{\"t_us\": 4, \"event\": \"task\", \"job\": \"web\", \"task\": \"a\", \"state\": \"running\", \"machine\": "
	"\"h1\"}\n"
	"{\"t_us\": 9, \"event\": \"task\", \"job\": \"web\", \"task\": \"a\", \"state\": \"waiting\"}\n"
	"{\"t_us\": 20, \"event\": \"task\", \"job\": \"web\", \"task\": \"a\", \"state\": \"running\", \"machine\": "
	"\"h1\"}\n"
	"{\"t_us\": 30, \"event\": \"task\", \"job\": \"web\", \"task\": \"a\", \"state\": \"ended\"}\n"
	"{\"t_us\": 40, \"event\": \"machine\", \"machine\": \"h1\", \"rack\": \"r1\", \"pod\": \"p1\", \"slots\": 4, "
	"\"state\": \"down\"}\n";

static char *join(const char *a, const char *b)
{
	char *text = malloc(strlen(a) + strlen(b) + 1);

	cr_assert(text);
	strcpy(text, a);
	return strcat(text, b);
}

static struct workload *read_text(const char *text, struct journal_counts *counts, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("test", text, strlen(text));
	struct workload *workload = workload_create();
	struct curve_library *library = curve_library_create(NULL);
	int code = journal_read_workload(workload, library, lines, counts, err);

	file_lines_close(lines);
	curve_library_destroy(library);
	if (code == 0)
		return workload;
	workload_destroy(workload);
	return NULL;
}

Test(journal, prints_what_it_reads)
{
	char *text = join(head, events), *printed = NULL;
	struct file_lines *lines = file_lines_from_memory("test", text, strlen(text));
	struct error err = {0};
	struct journal_reader *reader = journal_reader_create(lines, &err);
	struct journal_event event;
	size_t bytes;
	FILE *out = open_memstream(&printed, &bytes);
	int more;

	cr_assert(reader, "%s", err.text);
	cr_assert(journal_print_header(out, 1795188663.25, journal_default_rtt(reader)));
	while ((more = journal_next(reader, &event, &err)) > 0)
		cr_assert(journal_print(out, &event));
	cr_assert_eq(more, 0, "%s", err.text);
	cr_assert_not(journal_is_cut(reader));
	fclose(out);
	cr_assert_str_eq(printed, text);
	journal_reader_destroy(reader);
	file_lines_close(lines);
	free(printed);
	free(text);
}

Test(journal, becomes_a_workload)
{
	char *text = join(head, events);
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1};
	struct journal_counts counts;
	struct error err = {0};
	struct workload *workload = read_text(text, &counts, &err);

	cr_assert(workload, "%s", err.text);
	cr_assert_eq(workload_finish(workload, &all), 0);
	cr_assert_eq(counts.events, 13);
	cr_assert_eq(counts.decisions, 1);
	cr_assert_eq(workload->machine_count, 2);
	cr_assert_eq(workload->machine_event_count, 3);
	cr_assert_eq(workload->machine_events[0].slots, 4);
	cr_assert_eq(workload->machine_events[1].change, WORKLOAD_MACHINE_REMOVED, "a draining machine takes no task");
	cr_assert_eq(workload->machine_events[2].change, WORKLOAD_MACHINE_REMOVED);
	cr_assert_eq(workload->job_count, 1);
	cr_assert_str_eq(workload->notes[workload->jobs[0].note].name, "web");
	cr_assert_eq(workload->task_count, 2, "c never ran");
	cr_assert_eq(workload->left_out.never_ran, 1);
	cr_assert_eq(workload->tasks[0].run_us, 7, "the root comes first");
	cr_assert_eq(workload->tasks[1].run_us, 15, "4 to 9 and 20 to 30");
	cr_assert_eq(workload->latency_count, 3);
	cr_assert(isinf(workload->latencies[1].rtt_us) && isnan(workload->latencies[2].rtt_us));
	workload_destroy(workload);
	free(text);
}

Test(journal, a_name_may_be_used_again)
{
	char *again =
		join("", "{\"t_us\": 50, \"event\": \"job\", \"job\": \"web\", \"curve\": \"c\", \"root\": \"a\"}\n"
			 "{\"t_us\": 50, \"event\": \"task\", \"job\": \"web\", \"task\": \"a\", \"state\": "
			 "\"running\", \"machine\": \"h2\"}\n");
	char *first = join(head, events), *text = join(first, again);
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};
	struct journal_counts counts;
	struct error err = {0};
	struct workload *workload = read_text(text, &counts, &err);

	cr_assert(workload, "%s", err.text);
	cr_assert_eq(workload_finish(workload, &all), 0);
	cr_assert_eq(workload->job_count, 2);
	cr_assert_eq(workload->jobs[1].task_count, 1);
	cr_assert_eq(workload->tasks[2].run_us, WORKLOAD_TO_THE_END);
	workload_destroy(workload);
	free(again);
	free(first);
	free(text);
}

static const struct {
	const char *name, *lines, *text;
} bad[] = {
	{"no event", "{\"t_us\": 0}\n{}\n", "test:2: event"},
	{"time goes back",
	 "{\"t_us\": 5, \"event\": \"job\", \"job\": \"j\", \"curve\": \"c\", \"root\": \"r\"}\n"
	 "{\"t_us\": 4, \"event\": \"job\", \"job\": \"k\", \"curve\": \"c\", \"root\": \"r\"}\n",
	 "test:3: t_us: 4 is earlier than 5"},
	{"unknown event", "{\"t_us\": 0, \"event\": \"x\"}\n", "'x' is not one of machine, curve"},
	{"task of no job",
	 "{\"t_us\": 0, \"event\": \"task\", \"job\": \"j\", \"task\": \"t\", \"state\": \"waiting\"}\n",
	 "test:2: job: unknown job 'j'"},
	{"running nowhere",
	 "{\"t_us\": 0, \"event\": \"task\", \"job\": \"j\", \"task\": \"t\", \"state\": \"running\"}\n",
	 "test:2: machine: missing"},
	{"unknown machine", "{\"t_us\": 0, \"event\": \"latency\", \"from\": \"h\", \"to\": [], \"rtt_us\": []}\n",
	 "test:2: from: unknown machine 'h'"},
	{"lengths", "{\"t_us\": 0, \"event\": \"latency\", \"from\": \"h\", \"to\": [\"a\"], \"rtt_us\": []}\n",
	 "test:2: rtt_us: 0 values; expected one for each of the 1"},
	{"no number", "{\"t_us\": 0, \"event\": \"latency\", \"from\": \"h\", \"to\": [\"a\"], \"rtt_us\": [true]}\n",
	 "test:2: rtt_us: entry 0"},
	{"damaged", "{\"t_us\": 0,\n{}\n", "test:2: not valid JSON"},
	{"nothing", "", "nothing to simulate"},
};

Test(journal, refuses_bad_lines)
{
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char *text = join(head, bad[i].lines);
		struct journal_counts counts;
		struct error err = {0};

		cr_assert_null(read_text(text, &counts, &err), "%s", bad[i].name);
		cr_expect(strstr(err.text, bad[i].text), "%s: %s", bad[i].name, err.text);
		free(text);
	}
}

Test(journal, leaves_out_a_cut_last_line)
{
	char *whole = join(head, events);
	struct journal_counts counts;
	struct error err = {0};
	struct workload *workload;

	whole[strlen(whole) - 9] = '\0';
	workload = read_text(whole, &counts, &err);
	cr_assert(workload, "%s", err.text);
	cr_assert(counts.is_cut);
	cr_assert_eq(counts.events, 12);
	workload_destroy(workload);
	free(whole);
}
