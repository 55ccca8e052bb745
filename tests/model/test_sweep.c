/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <model/sweep.h>

#define HEADER "delay_us,direction,run,metric,unit,better,value,started_at\n"
#define HEADER_OURS "delay_us,direction,run,metric,unit,better,value,started_at,disturbed,baseline_rtt_us\n"
#define HEADER_BEGUN "delay_us,direction,ru"

static struct sweep *read_text(const char *text, struct error *err)
{
	*err = (struct error){0};
	return sweep_read(file_lines_from_memory("s.csv", text, strlen(text), err), err);
}

static void make_path(char *path, size_t bytes)
{
	snprintf(path, bytes, "/tmp/nomora-test-sweep-%d.csv", (int)getpid());
	unlink(path);
}

Test(sweep, reads_the_full_form)
{
	struct error err;
	struct sweep *sweep = read_text("# a comment\n" HEADER "0,both,0,qps,1/s,higher,50,2026-11-20T10:00:00Z\n"
					"2.5,ab,3,p99,us,lower,1e2,\n\n10,ba,0,qps,1/s,higher,40.5,\n",
					&err);

	cr_assert(sweep, "%s", err.text);
	cr_assert_not(sweep->plain);
	cr_assert_eq(sweep->count, 3);
	cr_assert_eq(sweep->metric_count, 2);
	cr_assert_str_eq(sweep->metrics[1].name, "p99");
	cr_assert_eq(sweep->metrics[1].better, SWEEP_LOWER);
	cr_assert_eq(sweep->rows[1].direction, SWEEP_AB);
	cr_assert_eq(sweep->rows[1].run, 3);
	cr_assert_eq(sweep->rows[1].value, 100);
	cr_assert_eq(sweep->rows[2].line, 6);
	cr_assert_str_eq(sweep->rows[0].started_at, "2026-11-20T10:00:00Z");
	cr_assert_eq(sweep_find_metric(sweep, "p99"), 1);
	cr_assert_eq(sweep_find_metric(sweep, "p50"), -ENOENT);
	cr_assert(sweep_has_run(sweep, 2.5, SWEEP_AB, 3));
	cr_assert_not(sweep_has_run(sweep, 2.5, SWEEP_BOTH, 3));
	sweep_destroy(sweep);
}

Test(sweep, adds_the_delay_once_or_twice)
{
	struct error err;
	struct sweep *sweep =
		read_text(HEADER "10,both,0,q,1,higher,1,\n10,ab,0,q,1,higher,1,\n10,ba,0,q,1,higher,1,\n", &err);

	cr_assert(sweep, "%s", err.text);
	cr_assert_eq(sweep_row_added_rtt_us(sweep, &sweep->rows[0]), 20);
	cr_assert_eq(sweep_row_added_rtt_us(sweep, &sweep->rows[1]), 10);
	cr_assert_eq(sweep_row_added_rtt_us(sweep, &sweep->rows[2]), 10);
	sweep_destroy(sweep);
}

Test(sweep, takes_columns_in_any_order_and_leaves_others_alone)
{
	struct error err;
	struct sweep *sweep =
		read_text("value,note,delay_us,run,direction,better,unit,metric\n7,x,5,1,both,lower,s,t\n", &err);

	cr_assert(sweep, "%s", err.text);
	cr_assert_eq(sweep->rows[0].value, 7);
	cr_assert_eq(sweep->rows[0].delay_us, 5);
	cr_assert_str_eq(sweep->metrics[0].name, "t");
	sweep_destroy(sweep);
}

static const char *const plain_texts[] = {"10,0.9,0.01,5\n", "RTT us;perf;sd;n\n10;0.9;0.01;5\n",
					  "x\tp\tStd_dev\tN\n10\t0.9\t0.01\t5\n", "  10   0.9 0.01    5 \n"};

Test(sweep, reads_the_plain_form_with_any_separator)
{
	for (size_t i = 0; i < 4; i++) {
		struct error err;
		struct sweep *sweep = read_text(plain_texts[i], &err);

		cr_assert(sweep, "%zu: %s", i, err.text);
		cr_assert(sweep->plain);
		cr_assert_eq(sweep->count, 1);
		cr_assert_eq(sweep->rows[0].value, 0.9);
		cr_assert_eq(sweep->rows[0].deviation, 0.01);
		cr_assert_eq(sweep->rows[0].runs, 5);
		cr_assert_eq(sweep_row_added_rtt_us(sweep, &sweep->rows[0]), 10);
		sweep_destroy(sweep);
	}
}

/* Bad files, and the message expected for each. */
static const char *const bad[][2] = {
	{"", "no measurements"},
	{"word\n", "expected the header"},
	{"nan,1\n", "s.csv:1: latency_us"},
	{"0,1\n1\n", "s.csv:2: 1 columns"},
	{"0,1,0,0\n", "s.csv:1: runs: 0"},
	{"rtt,run1,run2\n0,1,0.9\n", "s.csv:1: column 3 is 'run2': expected 'deviation'"},
	{"rtt,perf,sd,second\n0,1,0.9,1\n", "s.csv:1: column 4 is 'second': expected 'runs'"},
	{"0,1,-1\n", "s.csv:1: deviation: -1"},
	{"-1,1\n", "s.csv:1: latency_us: -1"},
	{"a,b,c,d,e\n", "s.csv:1: delay_us"},
	{HEADER "0,both,0,q,1,higher,1\n", "s.csv:2: value: the row has fewer"},
	{HEADER "0,both,0,q,1,higher,1,,9\n", "s.csv:2: the row has more"},
	{HEADER "0,up,0,q,1,higher,1,\n", "s.csv:2: direction: 'up'"},
	{HEADER "0,both,-1,q,1,higher,1,\n", "s.csv:2: run: -1"},
	{HEADER "0,both,0.5,q,1,higher,1,\n", "s.csv:2: run: '0.5'"},
	{HEADER "0,both,0,,1,higher,1,\n", "s.csv:2: metric: is empty"},
	{HEADER "0,both,0,q,1,best,1,\n", "s.csv:2: better: 'best'"},
	{HEADER "0,both,0,q,1,higher,,\n", "s.csv:2: value: ''"},
	{HEADER "0,both,0,q\xe9,1,higher,1,\n", "s.csv:2: metric: expected UTF-8"},
	{HEADER_OURS "0,both,0,q,1,higher,1,,yes,\n", "s.csv:2: disturbed: 'yes': expected 0 or 1"},
	{HEADER_OURS "0,both,0,q,1,higher,1,,0,0\n", "s.csv:2: baseline_rtt_us: 0 is not within"},
	{HEADER "9e9,both,0,q,1,higher,1,\n", "s.csv:2: delay_us: 9e9"},
	{HEADER "0,both,0,q,1,higher,1,\n0,both,1,q,s,higher,1,\n", "s.csv:3: unit"},
	{HEADER "0,both,0,q,1,higher,1,\n0,both,1,q,1,lower,1,\n", "s.csv:3: better"},
	{HEADER "0,both,0,q,1,higher,1,\n5,ab,0,q,1,higher,1,\n0,both,0,q,1,higher,2,\n", "s.csv:4: run"},
};

Test(sweep, says_what_is_wrong_and_where)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct error err;
		struct sweep *sweep = read_text(bad[i][0], &err);

		cr_assert_null(sweep, "case %zu was taken", i);
		cr_assert(strstr(err.text, bad[i][1]), "case %zu: '%s' does not say '%s'", i, err.text, bad[i][1]);
	}
}

static struct sweep_record record(double delay_us, int64_t run, double value)
{
	return (struct sweep_record){delay_us, SWEEP_BOTH,   run,   "qps",
				     "1/s",    SWEEP_HIGHER, value, "2026-11-20T10:00:00Z"};
}

Test(sweep_writer, appends_what_is_read_back)
{
	struct error err = {0};
	char path[64];
	struct sweep_writer *writer;
	struct sweep_record two[2] = {record(0.1, 0, 1.0 / 3), record(2.5, 1, 1e-17)};
	struct sweep *sweep;

	two[1].disturbed = true;
	two[1].baseline_rtt_us = 7.25;
	make_path(path, sizeof path);
	writer = sweep_writer_open(path, &err);
	cr_assert(writer, "%s", err.text);
	cr_assert_eq(sweep_writer_append(writer, two, 2, &err), 0, "%s", err.text);
	cr_assert_null(sweep_writer_open(path, &err), "a second writer got in");
	cr_assert_eq(err.code, EWOULDBLOCK);
	sweep_writer_close(writer);

	writer = sweep_writer_open(path, &err);
	cr_assert(writer, "%s", err.text);
	two[0].run = 7;
	cr_assert_eq(sweep_writer_append(writer, two, 1, &err), 0);
	sweep_writer_close(writer);

	sweep = sweep_read(file_lines_open(path, &err), &err);
	cr_assert(sweep, "%s", err.text);
	cr_assert_eq(sweep->count, 3);
	cr_assert(!sweep->rows[0].disturbed && sweep->rows[1].disturbed);
	cr_assert(isnan(sweep->rows[0].baseline_rtt_us));
	cr_assert_eq(sweep->rows[1].baseline_rtt_us, 7.25);
	cr_assert_eq(sweep->rows[0].value, 1.0 / 3, "values survive to the last bit");
	cr_assert_eq(sweep->rows[1].value, 1e-17);
	cr_assert_eq(sweep->rows[2].run, 7);
	sweep_destroy(sweep);
	unlink(path);
}

/* Reads a file with this text after a writer has appended a run to it. The caller destroys the result. */
static struct sweep *continue_text(const char *text)
{
	struct error err = {0};
	char path[64];
	struct sweep_record one = record(5, 1, 2);
	struct sweep_writer *writer;
	struct sweep *sweep;
	FILE *file;

	make_path(path, sizeof path);
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	writer = sweep_writer_open(path, &err);
	cr_assert(writer, "%s", err.text);
	cr_assert_eq(sweep_writer_append(writer, &one, 1, &err), 0);
	sweep_writer_close(writer);
	sweep = sweep_read(file_lines_open(path, &err), &err);
	cr_assert(sweep, "%s", err.text);
	unlink(path);
	return sweep;
}

Test(sweep_writer, cuts_off_the_line_that_a_dead_writer_left)
{
	struct sweep *sweep = continue_text(HEADER_OURS "0,both,0,qps,1/s,higher,1,,0,\n5,both,0,qps,1/s,hig");

	cr_assert_eq(sweep->count, 2);
	cr_assert_eq(sweep->rows[1].run, 1);
	sweep_destroy(sweep);
}

#define ROW(delay, run, metric) #delay ",both," #run "," metric ",1/s,higher,1,,0,\n"

/* A file, the number of rows of its last run that are cut off if a run has metrics a, b and c, and the rows left. */
static const struct {
	char text[320];
	int cut;
	size_t left;
} endings[] = {
	{HEADER_OURS ROW(0, 0, "a") ROW(0, 0, "b") ROW(0, 0, "c") ROW(5, 0, "a") ROW(5, 0, "b"), 2, 3},
	{HEADER_OURS ROW(0, 0, "a") ROW(0, 0, "b") ROW(0, 0, "c") "# a comment\n\n" ROW(0, 1, "a"), 1, 3},
	{HEADER_OURS ROW(0, 0, "a"), 1, 0},
	{HEADER_OURS ROW(0, 0, "a") ROW(0, 0, "b") ROW(0, 0, "c"), 0, 3},
	{HEADER_OURS ROW(0, 0, "a") ROW(0, 0, "b") ROW(5, 0, "a") ROW(5, 0, "b") ROW(5, 0, "c"), 0,
	 5},                                                                             /* edited by hand */
	{HEADER_OURS ROW(0, 0, "a") ROW(0, 0, "b") ROW(0, 0, "c") ROW(5, 0, "b"), 0, 4}, /* no such write */
	{HEADER_OURS ROW(0, 0, "a") ROW(0, 0, "b") ROW(0, 0, "c") ROW(5, 0, "d"), 0, 4},
};

Test(sweep_writer, cuts_off_the_run_that_a_dead_writer_left_without_all_its_metrics)
{
	static const char names[][2] = {"a", "b", "c"};
	const char *const metrics[] = {names[0], names[1], names[2]};

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		struct error err = {0};
		struct sweep_record one = record(5, 7, 2);
		char path[64];
		FILE *file;
		struct sweep_writer *writer;
		struct sweep *sweep;

		make_path(path, sizeof path);
		file = fopen(path, "w");
		fputs(endings[i].text, file);
		fclose(file);
		writer = sweep_writer_open(path, &err);
		cr_assert(writer, "%s", err.text);
		cr_assert_eq(sweep_writer_cut_torn_run(writer, metrics, 3, &err), endings[i].cut, "%zu: %s", i,
			     err.text);
		cr_assert_eq(sweep_writer_append(writer, &one, 1, &err), 0);
		sweep_writer_close(writer);
		sweep = sweep_read(file_lines_open(path, &err), &err);
		cr_assert(sweep, "%zu: %s", i, err.text);
		cr_assert_eq(sweep->count, endings[i].left + 1, "%zu", i);
		cr_assert_eq(sweep->rows[sweep->count - 1].run, 7);
		sweep_destroy(sweep);
		unlink(path);
	}
}

Test(sweep_writer, refuses_what_is_no_row_and_writes_none_of_it)
{
	struct error err = {0};
	char path[64];
	struct sweep_record two[2] = {record(0, 0, 1), record(5, 0, 1)};
	struct sweep_writer *writer;
	struct sweep *sweep;

	make_path(path, sizeof path);
	writer = sweep_writer_open(path, &err);
	cr_assert(writer);
	two[1].metric = "a,b";
	cr_assert_eq(sweep_writer_append(writer, two, 2, &err), -EINVAL);
	two[1].metric = "";
	cr_assert_eq(sweep_writer_append(writer, two, 2, &err), -EINVAL);
	two[1] = record(5, 0, 0.0 / 0.0);
	cr_assert_eq(sweep_writer_append(writer, two, 2, &err), -EINVAL);
	two[1] = record(5, 0, 1);
	two[1].unit = "s\"";
	cr_assert_eq(sweep_writer_append(writer, two, 2, &err), -EINVAL);
	cr_assert(strstr(err.text, "unit 's\"': expected 1 to 63 bytes without comma, quote or line end"), "%s",
		  err.text);
	two[1].unit = "a-unit-whose-name-has-sixty-four-bytes-which-is-one-more-than-63";
	cr_assert_eq(sweep_writer_append(writer, two, 2, &err), -EINVAL);
	two[1] = record(5, 0, 1);
	two[1].started_at = "1,5";
	cr_assert_eq(sweep_writer_append(writer, two, 2, &err), -EINVAL);
	cr_assert_str_eq(err.text, "started_at '1,5': expected an ISO 8601 stamp");
	for (int i = 0; i < 3; i++) {
		two[1] = record(i == 0 ? -1 : i == 1 ? 2 * SWEEP_DELAY_MAXIMUM_US : 5, i == 2 ? -1 : 0, 1);
		cr_assert_eq(sweep_writer_append(writer, two, 2, &err), -EINVAL);
		cr_assert(strstr(err.text, " is out of range"), "%s", err.text);
	}
	sweep_writer_close(writer);
	sweep = sweep_read(file_lines_open(path, &err), &err);
	cr_assert_null(sweep);
	cr_assert(strstr(err.text, "no measurements"));
	unlink(path);
}

Test(sweep_writer, writes_units_of_one_letter)
{
	struct error err = {0};
	char path[64];
	struct sweep_record one = record(5, 0, 1);
	struct sweep_writer *writer;

	make_path(path, sizeof path);
	writer = sweep_writer_open(path, &err);
	cr_assert(writer, "%s", err.text);
	one.unit = "s";
	cr_expect_eq(sweep_writer_append(writer, &one, 1, &err), 0, "%s", err.text);
	one.unit = "";
	cr_expect_eq(sweep_writer_append(writer, &one, 1, &err), -EINVAL);
	sweep_writer_close(writer);
	unlink(path);
}

Test(sweep_writer, leaves_a_file_that_is_no_sweep_alone)
{
	/* Also if the last line is not terminated, as a killed writer might leave it. */
	static const char texts[][120] = {"something of somebody\n", HEADER, "x", HEADER_BEGUN "y", "one,two\nthree"};

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct error err = {0};
		char path[64], found[120] = "";
		FILE *file;

		make_path(path, sizeof path);
		file = fopen(path, "w");
		fputs(texts[i], file);
		fclose(file);
		cr_assert_null(sweep_writer_open(path, &err));
		cr_assert(strstr(err.text, "not a sweep"));
		file = fopen(path, "r");
		cr_assert_gt(fread(found, 1, sizeof found - 1, file), 0);
		fclose(file);
		cr_assert_str_eq(found, texts[i]);
		unlink(path);
	}
}

Test(sweep_writer, discards_what_it_made_and_nothing_else)
{
	struct error err = {0};
	struct sweep_record one = record(5, 1, 2);
	struct sweep_writer *writer;
	char path[64];

	make_path(path, sizeof path);
	sweep_writer_discard(NULL);
	writer = sweep_writer_open(path, &err);
	cr_assert(writer, "%s", err.text);
	sweep_writer_discard(writer);
	cr_assert_neq(access(path, F_OK), 0, "a file without rows");
	sweep_writer_close(sweep_writer_open(path, &err));
	sweep_writer_discard(sweep_writer_open(path, &err));
	cr_assert_eq(access(path, F_OK), 0, "it was there before");
	unlink(path);
	writer = sweep_writer_open(path, &err);
	cr_assert_eq(sweep_writer_append(writer, &one, 1, &err), 0);
	sweep_writer_discard(writer);
	cr_assert_eq(access(path, F_OK), 0, "it has rows");
	unlink(path);
}

Test(sweep_writer, takes_up_a_header_that_a_dead_writer_left_unfinished)
{
	struct sweep *sweep = continue_text(HEADER_BEGUN);

	cr_assert_eq(sweep->count, 1);
	sweep_destroy(sweep);
}

Test(sweep_writer, fields_may_be_as_long_as_their_limit)
{
	struct sweep_record one = record(SWEEP_DELAY_MAXIMUM_US, 0, 1);
	struct error err = {0};
	struct sweep_writer *writer;
	struct sweep *sweep;
	char path[64];

	one.metric = "a-metric-whose-name-has-sixty-three-bytes-and-that-is-the-limit";
	cr_assert_eq(strlen(one.metric), 63);
	make_path(path, sizeof path);
	writer = sweep_writer_open(path, &err);
	cr_assert_eq(sweep_writer_append(writer, &one, 1, &err), 0, "%s", err.text);
	sweep_writer_close(writer);
	sweep = sweep_read(file_lines_open(path, &err), &err);
	cr_assert_not_null(sweep, "%s", err.text);
	cr_expect_str_eq(sweep->metrics[0].name, one.metric);
	cr_expect_eq(sweep->rows[0].delay_us, SWEEP_DELAY_MAXIMUM_US);
	sweep_destroy(sweep);
	unlink(path);
}
