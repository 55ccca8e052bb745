/* SPDX-License-Identifier: BSD-3-Clause */

#include <criterion/criterion.h>

#include <errno.h>
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
	"{\"t_us\": 2, \"event\": \"job\", \"job\": \"web\", \"curve\": \"c\", \"root\": \"b\", "
	"\"gang\": 2, \"graph\": [[\"a\", \"c\", 1.0], [\"c\", \"b\", 1.0], [\"b\", \"a\", 2.5]]}\n"
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
	struct file_lines *lines = file_lines_from_memory("test", text, strlen(text), err);
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
	struct file_lines *lines = file_lines_from_memory("test", text, strlen(text), NULL);
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

Test(journal, prints_decisions_curves_and_calls_as_it_reads_them)
{
	static const char more[] =
		"{\"t_us\": 0, \"event\": \"curve\", \"curve\": \"c\", \"definition\": {\"a\": 1}}\n"
		"{\"t_us\": 1, \"event\": \"call\", \"call\": {\"b\": [2]}}\n"
		"{\"t_us\": 2, \"event\": \"decision\", \"decision\": \"move\", \"sequence\": 7, \"job\": \"web\", "
		"\"task\": "
		"\"a\", \"from\": \"h1\", \"to\": \"h2\", \"rtt_us\": 0.0, \"performance\": 0.5, \"gain\": -0.25}\n"
		"{\"t_us\": 2, \"event\": \"decision\", \"decision\": \"preempt\", \"sequence\": 8, \"job\": \"web\", "
		"\"task\": \"a\", \"from\": \"h2\"}\n"
		"{\"t_us\": 2, \"event\": \"decision\", \"decision\": \"advice\", \"sequence\": 0, \"job\": \"web\", "
		"\"task\": \"a\", \"to\": \"h1\", \"gain\": 0.5}\n"
		"{\"t_us\": 3, \"event\": \"task\", \"job\": \"web\", \"task\": \"b\", \"state\": \"waiting\", "
		"\"run_us\": -1}\n"
		"{\"t_us\": 3, \"event\": \"task\", \"job\": \"web\", \"task\": \"b\", \"state\": \"failed\"}\n"
		"{\"t_us\": 3, \"event\": \"machine\", \"machine\": \"h1\", \"rack\": \"r1\", \"slots\": 100000, "
		"\"state\": "
		"\"removed\"}\n"
		"{\"t_us\": 9007199254740991, \"event\": \"latency\", \"from\": \"h1\", \"to\": [\"h2\", \"h3\"], "
		"\"rtt_us\": "
		"[0.0, 1000000000.0]}\n";
	char *text = join("{\"schema\": \"nomora.journal/1\", \"origin_s\": 0.0}\n", more), *printed = NULL;
	struct file_lines *lines = file_lines_from_memory("test", text, strlen(text), NULL);
	struct error err = {0};
	struct journal_reader *reader = journal_reader_create(lines, &err);
	struct journal_event event;
	size_t bytes;
	FILE *out = open_memstream(&printed, &bytes);
	int more_lines;

	cr_assert(reader, "%s", err.text);
	cr_assert_eq(err.code, 0);
	cr_assert_null(journal_default_rtt(reader));
	cr_assert(journal_print_header(out, 0, NULL));
	while ((more_lines = journal_next(reader, &event, &err)) > 0)
		cr_assert(journal_print(out, &event));
	cr_assert_eq(more_lines, 0, "%s", err.text);
	fclose(out);
	cr_assert_str_eq(printed, text);
	cr_assert_not(
		journal_print(stdout, &(struct journal_event){.kind = JOURNAL_CURVE, .curve = "c", .definition = "{"}));
	journal_reader_destroy(reader);
	file_lines_close(lines);
	free(printed);
	free(text);
}

Test(journal, begins_with_its_schema)
{
	static const char *const bad[][2] = {
		{"", "test: expected a first line with \"schema\": \"nomora.journal/1\""},
		{"\n \t\n", "test: expected a first line with"},
		{"{\"schema\"", "test: expected a first line with"},
		{"{\"schema\"\n{}\n", "test:1: not valid JSON"},
		{"\n[]\n", "test:2: expected one JSON object a line"},
		{"{\"schema\": \"nomora.journal/2\"}\n", "test:1: schema: found 'nomora.journal/2'"},
		{"{\"schema\": \"nomora.journal/1\", \"origin_s\": \"now\"}\n", "test:1: origin_s: found a string"},
		{"{\"schema\": \"nomora.journal/1\", \"default_rtt_us\": 1}\n",
		 "test:1: default_rtt_us: found a number"},
		{"{\"schema\": \"nomora.journal/1\", \"default_rtt_us\": {\"same_machine\": 1, \"same_rack\": 1, "
		 "\"same_pod\": -1, \"other_pod\": 1}}\n",
		 "test:1: default_rtt_us.same_pod: found -1"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct file_lines *lines = file_lines_from_memory("test", bad[i][0], strlen(bad[i][0]), NULL);
		struct error err = {0};

		cr_assert_null(journal_reader_create(lines, &err), "%s", bad[i][0]);
		cr_expect_eq(strncmp(err.text, bad[i][1], strlen(bad[i][1])), 0, "%s", err.text);
		cr_expect_eq(err.code, EINVAL);
		file_lines_close(lines);
	}
}

Test(journal, becomes_a_workload)
{
	char *text = join(head, events);
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1};
	struct journal_counts counts;
	struct error err = {0};
	struct workload *workload = read_text(text, &counts, &err);
	struct job_graph *graph;

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
	cr_assert_eq(workload->jobs[0].gang, 2);
	graph = workload_graph_of(workload, &workload->jobs[0], &err);
	cr_assert(graph, "%s", err.text);
	cr_assert_eq(graph->edge_count, 1, "c never ran");
	cr_expect_eq(graph->neighbours[0].task, 1);
	cr_expect_float_eq(graph->neighbours[0].weight, 2.5, 1e-12);
	job_graph_destroy(graph);
	cr_assert_eq(workload->task_count, 2, "c never ran");
	cr_assert_eq(workload->left_out.never_ran, 1);
	cr_assert_eq(workload->tasks[0].run_us, 7, "the root comes first");
	cr_assert_eq(workload->tasks[1].run_us, 15, "4 to 9 and 20 to 30");
	cr_assert_eq(workload->latency_count, 3);
	cr_assert(isinf(workload->latencies[1].rtt_us) && isnan(workload->latencies[2].rtt_us));
	workload_destroy(workload);
	free(text);
}

/* The root has the index 0, a task whose name is a number N has N + 1, and the others count up from 1. */
Test(journal, tasks_have_indices_by_their_names)
{
	static const char lines[] =
		"{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"h1\", \"rack\": \"r1\", \"slots\": 0, \"state\": "
		"\"up\"}\n"
		"{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"h1\", \"rack\": \"r1\", \"slots\": 1, \"state\": "
		"\"up\"}\n"
		"{\"t_us\": 1, \"event\": \"job\", \"job\": \"70\", \"curve\": \"c\", \"root\": \"r\"}\n"
		"{\"t_us\": 2, \"event\": \"task\", \"job\": \"70\", \"task\": \"x\", \"state\": \"running\", "
		"\"machine\": \"h1\"}\n"
		"{\"t_us\": 3, \"event\": \"task\", \"job\": \"70\", \"task\": \"8\", \"state\": \"running\", "
		"\"machine\": \"h1\"}\n"
		"{\"t_us\": 4, \"event\": \"task\", \"job\": \"70\", \"task\": \"r\", \"state\": \"waiting\", "
		"\"run_us\": -1}\n"
		"{\"t_us\": 5, \"event\": \"task\", \"job\": \"70\", \"task\": \"y\", \"state\": \"waiting\", "
		"\"run_us\": 0}\n"
		"{\"t_us\": 6, \"event\": \"task\", \"job\": \"70\", \"task\": \"x\", \"state\": \"failed\"}\n"
		"{\"t_us\": 7, \"event\": \"call\", \"call\": {}}\n";
	static const struct {
		uint32_t index;
		int64_t submit_us, run_us;
	} tasks[] = {{0, 4, WORKLOAD_TO_THE_END}, {1, 2, 4}, {2, 5, 0}, {9, 3, WORKLOAD_TO_THE_END}};
	char *text = join(head, lines);
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1};
	struct journal_counts counts;
	struct error err = {0};
	struct workload *workload = read_text(text, &counts, &err);

	cr_assert(workload, "%s", err.text);
	cr_assert_eq(workload_finish(workload, &all), 0);
	cr_expect(counts.events == 9 && counts.decisions == 0);
	cr_expect(workload->has_default_rtt && workload->places->default_rtt.same_pod_us == 90);
	cr_expect_eq(workload->machine_events[0].change, WORKLOAD_MACHINE_REMOVED, "a machine without slots");
	cr_expect_eq(workload->machine_events[1].change, WORKLOAD_MACHINE_ADDED);
	cr_expect_eq(workload->machine_events[1].slots, 1);
	cr_assert_eq(workload->task_count, 4);
	cr_expect_eq(workload->jobs[0].id, 70);
	for (size_t t = 0; t < 4; t++) {
		cr_expect_eq(workload->tasks[t].index, tasks[t].index);
		cr_expect_eq(workload->tasks[t].submit_us, tasks[t].submit_us);
		cr_expect_eq(workload->tasks[t].run_us, tasks[t].run_us, "%zu", t);
	}
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
	{"negative round trip",
	 "{\"t_us\": 0, \"event\": \"latency\", \"from\": \"h\", \"to\": [\"a\"], \"rtt_us\": [-1]}\n",
	 "test:2: rtt_us: entry 0"},
	{"long round trip",
	 "{\"t_us\": 0, \"event\": \"latency\", \"from\": \"h\", \"to\": [\"a\", \"b\"], \"rtt_us\": [1, "
	 "1000000001]}\n",
	 "test:2: rtt_us: entry 1"},
	{"other word for unreachable",
	 "{\"t_us\": 0, \"event\": \"latency\", \"from\": \"h\", \"to\": [\"a\"], \"rtt_us\": [\"far\"]}\n",
	 "test:2: rtt_us: entry 0"},
	{"empty name", "{\"t_us\": 0, \"event\": \"latency\", \"from\": \"h\", \"to\": [\"\"], \"rtt_us\": [1]}\n",
	 "test:2: to: entry 0: expected the name of a machine"},
	{"no name", "{\"t_us\": 0, \"event\": \"latency\", \"from\": \"h\", \"to\": [5], \"rtt_us\": [1]}\n",
	 "test:2: to: entry 0"},
	{"name with a tab",
	 "{\"t_us\": 0, \"event\": \"job\", \"job\": \"a\\tb\", \"curve\": \"c\", \"root\": \"r\"}\n",
	 "test:2: job: expected a name without control characters"},
	{"slots",
	 "{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"h\", \"rack\": \"r\", \"slots\": 100001, \"state\": "
	 "\"up\"}\n",
	 "test:2: slots: found 100001"},
	{"run time",
	 "{\"t_us\": 0, \"event\": \"task\", \"job\": \"j\", \"task\": \"t\", \"state\": \"waiting\", \"run_us\": "
	 "-2}\n",
	 "test:2: run_us: found -2"},
	{"unknown machine at the other end",
	 "{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"h\", \"rack\": \"r\", \"slots\": 1, \"state\": \"up\"}\n"
	 "{\"t_us\": 0, \"event\": \"latency\", \"from\": \"h\", \"to\": [\"a\"], \"rtt_us\": [1]}\n",
	 "test:3: to: unknown machine 'a'"},
	{"another rack",
	 "{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"h\", \"rack\": \"r\", \"slots\": 1, \"state\": \"up\"}\n"
	 "{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"h\", \"rack\": \"s\", \"slots\": 1, \"state\": "
	 "\"up\"}\n",
	 "test:3: rack: machine 'h' was in another rack before"},
	{"another pod",
	 "{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"h\", \"rack\": \"r\", \"pod\": \"p\", \"slots\": 1, "
	 "\"state\": \"up\"}\n"
	 "{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"i\", \"rack\": \"r\", \"pod\": \"q\", \"slots\": 1, "
	 "\"state\": \"up\"}\n",
	 "test:3: rack 'r' is in pod 'p' and in pod 'q'"},
	{"bad curve", "{\"t_us\": 0, \"event\": \"curve\", \"curve\": \"c\", \"definition\": {}}\n",
	 "test:2: c: schema: missing"},
	{"no definition", "{\"t_us\": 0, \"event\": \"curve\", \"curve\": \"c\"}\n", "test:2: definition: missing"},
	{"nothing that runs",
	 "{\"t_us\": 0, \"event\": \"machine\", \"machine\": \"h\", \"rack\": \"r\", \"slots\": 1, \"state\": "
	 "\"up\"}\n",
	 "test: nothing to simulate: 0 tasks, 1 machines"},
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
