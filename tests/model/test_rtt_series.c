/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/latency_live.h>
#include <model/rtt_series.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <unistd.h>

static int parse(const char *head, int values, const char *tail, struct rtt_series *series, struct error *err)
{
	char text[8192];
	size_t used = (size_t)snprintf(text, sizeof text, "%s", head);
	struct file_lines *lines;
	int code;

	for (int v = 0; v < values; v++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%d\n", v + 1);
	used += (size_t)snprintf(text + used, sizeof text - used, "%s", tail);
	lines = file_lines_from_memory("test", text, used, err);
	code = rtt_series_parse(series, lines, err);
	file_lines_close(lines);
	return code;
}

Test(rtt_series, one_value_a_second)
{
	struct rtt_series series;
	struct error err = {0};

	cr_assert_eq(parse("# rtt, us\r\n12.5\r\n", 60, "", &series, &err), 0, "%s", err.text);
	cr_assert_eq(series.count, 61);
	cr_assert_float_eq(series.us[0], 12.5, 0);
	cr_assert_float_eq(series.median_us, 30, 0);
	free(series.us);
}

static const struct {
	const char *head, *tail, *text;
	int values;
} bad[] = {
	{"", "", "test: 3 values; expected at least 60", 3},
	{"1\n\n", "", "test:2: '': expected microseconds", 60},
	{"", "nan\n", "test:61: 'nan'", 60},
	{"", "0\n", "test:61: '0'", 60},
	{"", "-1\n", "test:61: '-1'", 60},
	{"", "1,2\n", "test:61: '1,2'", 60},
};

Test(rtt_series, refuses_gaps_and_what_is_no_round_trip)
{
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct rtt_series series;
		struct error err = {0};

		cr_assert_lt(parse(bad[i].head, bad[i].values, bad[i].tail, &series, &err), 0, "%zu", i);
		cr_expect(strstr(err.text, bad[i].text), "%s", err.text);
		cr_expect_null(series.us);
	}
}

static char folder[] = "/tmp/nomora-series-XXXXXX";
static char matrix_path[64], live_path[64], cluster_path[64];

/*
 * Hosts 0 and 1 in one rack, 2 in the same pod, 3 in another pod; the p99 of a -> b is 100 b + 10 a + 1. Some pairs do
 * not answer.
 */
static void write_mesh(void)
{
	struct latency_matrix *matrix = latency_matrix_create();
	FILE *cluster;

	cr_assert_not_null(mkdtemp(folder));
	snprintf(matrix_path, sizeof matrix_path, "%s/mesh", folder);
	snprintf(live_path, sizeof live_path, "%s/live", folder);
	snprintf(cluster_path, sizeof cluster_path, "%s/cluster", folder);
	for (uint32_t host = 0; host < 4; host++)
		cr_assert_eq(latency_matrix_add_host(matrix, (const char *[]){"a", "b", "c", "d"}[host]), host);
	for (uint32_t pair = 0; pair < 16; pair++) {
		uint32_t a = pair / 4, b = pair % 4;
		double us = 100 * b + 10 * a + 1;
		struct latency_entry entry = {a, b, us, us, us, 0, 1, .updated_at = {NS_PER_S}};

		if (a == 3 && b == 2)
			entry = (struct latency_entry){a, b, NAN, NAN, NAN, 1, 0, .updated_at = {NS_PER_S}};
		cr_assert_eq(latency_matrix_set(matrix, &entry), 0);
	}
	cr_assert_eq(latency_matrix_write(matrix, matrix_path, NULL), 0);
	cluster = fopen(cluster_path, "w");
	fputs("{\"schema\": \"nomora.cluster/1\", \"racks\": [{\"name\": \"r\", \"pod\": \"p\"}, {\"name\": \"s\", "
	      "\"pod\": \"p\"}, {\"name\": \"t\", \"pod\": \"q\"}], \"machines\": [{\"name\": \"a\", \"rack\": \"r\", "
	      "\"slots\": 1}, {\"name\": \"b\", \"rack\": \"r\", \"slots\": 1}, {\"name\": \"c\", \"rack\": \"s\", "
	      "\"slots\": 1}, {\"name\": \"d\", \"rack\": \"t\", \"slots\": 1}]}",
	      cluster);
	cr_assert_eq(fclose(cluster), 0);
	cr_assert_eq(latency_live_put(live_path, matrix, cluster_path, NULL), 0);
	latency_matrix_destroy(matrix);
}

static void remove_mesh(void)
{
	unlink(matrix_path);
	unlink(live_path);
	unlink(cluster_path);
	rmdir(folder);
}

static void expect_levels(const struct rtt_series_set *set, int kind, const float *us, size_t count)
{
	cr_assert_eq(set->counts[kind], count, "%d: %zu", kind, set->counts[kind]);
	for (size_t i = 0; i < count; i++) {
		cr_expect_eq(set->items[kind][i].count, 1);
		cr_expect_float_eq(set->items[kind][i].us[0], us[i], 0, "%d %zu: %g", kind, i,
				   (double)set->items[kind][i].us[0]);
	}
}

Test(rtt_series, a_live_matrix_has_the_levels_of_each_distance, .init = write_mesh, .fini = remove_mesh)
{
	static const float rack[] = {11, 101}, pod[] = {21, 121, 201, 211}, across[] = {31, 131, 301, 311, 321};
	struct error err = {0};
	struct rtt_series_set *set = rtt_series_read(live_path, &err);

	cr_assert_not_null(set, "%s", err.text);
	cr_expect_not(set->relative);
	expect_levels(set, 0, rack, 2);
	expect_levels(set, 1, pod, 4);
	expect_levels(set, 2, across, 5);
	rtt_series_destroy(set);
}

Test(rtt_series, a_matrix_without_racks_counts_relative_to_its_median, .init = write_mesh, .fini = remove_mesh)
{
	static const float all[] = {11, 21, 31, 101, 121, 131, 201, 211, 301, 311, 321};
	struct error err = {0};
	struct rtt_series_set *set = rtt_series_read(matrix_path, &err);

	cr_assert_not_null(set, "%s", err.text);
	cr_expect(set->relative);
	for (int kind = 0; kind < RTT_SERIES_KINDS; kind++) {
		expect_levels(set, kind, all, 11);
		cr_expect_float_eq(set->items[kind][0].median_us, 131, 0);
	}
	rtt_series_destroy(set);
}

static void write_wide_mesh(void)
{
	FILE *file;

	cr_assert_not_null(mkdtemp(folder));
	snprintf(matrix_path, sizeof matrix_path, "%s/pod.csv", folder);
	file = fopen(matrix_path, "w");
	fputs("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n", file);
	for (int host = 0; host < 420; host++)
		fprintf(file, "a,b%d,%d,%d,%d,0,1,1\n", host, 420 - host, 420 - host, 420 - host);
	cr_assert_eq(fclose(file), 0);
}

Test(rtt_series, many_pairs_are_quantiles, .init = write_wide_mesh, .fini = remove_mesh)
{
	struct error err = {0};
	struct rtt_series_set *set = rtt_series_read(folder, &err);

	cr_assert_not_null(set, "%s", err.text);
	cr_expect_not(set->relative);
	cr_expect_eq(set->counts[0] + set->counts[2], 0);
	cr_assert_eq(set->counts[1], RTT_SERIES_LEVELS);
	for (size_t i = 0; i < RTT_SERIES_LEVELS; i++)
		cr_expect_float_eq(set->items[1][i].us[0], 10 * (float)i + 6, 0);
	rtt_series_destroy(set);
}

Test(rtt_series, a_matrix_in_a_file_of_racks_is_for_racks_alone, .init = write_wide_mesh, .fini = remove_mesh)
{
	struct error err = {0};
	struct rtt_series_set *set;
	char racks[sizeof matrix_path];

	snprintf(racks, sizeof racks, "%s/rack.csv", folder);
	cr_assert_eq(rename(matrix_path, racks), 0);
	snprintf(matrix_path, sizeof matrix_path, "%s", racks);
	set = rtt_series_read(folder, &err);
	cr_assert_not_null(set, "%s", err.text);
	cr_expect_eq(set->counts[0], RTT_SERIES_LEVELS);
	cr_expect_eq(set->counts[1] + set->counts[2], 0);
	rtt_series_destroy(set);
}

static void write_silent_mesh(void)
{
	FILE *file;

	cr_assert_not_null(mkdtemp(folder));
	snprintf(matrix_path, sizeof matrix_path, "%s/mesh", folder);
	file = fopen(matrix_path, "w");
	fputs("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\na,b,,,,1,0,1\n", file);
	cr_assert_eq(fclose(file), 0);
}

Test(rtt_series, refuses_a_matrix_in_which_nothing_answered, .init = write_silent_mesh, .fini = remove_mesh)
{
	struct error err = {0};

	cr_assert_null(rtt_series_read(matrix_path, &err));
	cr_expect(strstr(err.text, "/mesh: no pair was measured"), "%s", err.text);
}

#define POINT(at, us) "{\"at\": " #at ", \"rtt_p99_us\": " #us "}"
#define HISTORY(points) "{\"schema\": \"nomora.mesh_history/1\", \"points\": [" points "]}"

static int parse_history(const char *text, struct rtt_series *series, struct error *err)
{
	return rtt_series_parse_history(series, "h.json", text, strlen(text), err);
}

/* A window's p99 is the value of the seconds since the window before it; the first window is one second. */
Test(rtt_series, a_history_has_the_value_of_each_window)
{
	struct rtt_series series;
	struct error err = {0};

	cr_assert_eq(parse_history(HISTORY(POINT(100.9, 5) "," POINT(110.2, 6) "," POINT(120, null) "," POINT(
					   130, 7) "," POINT(130.5, 9) "," POINT(180, 8)),
				   &series, &err),
		     0, "%s", err.text);
	cr_assert_eq(series.count, 81);
	for (size_t i = 0; i < 81; i++)
		cr_expect_eq(series.us[i], i < 1 ? 5 : i < 11 ? 6 : i < 31 ? 7 : 8, "%zu", i);
	cr_expect_eq(series.median_us, 8);
	free(series.us);
	cr_assert_eq(parse_history(HISTORY(POINT(0, 0.001) "," POINT(3600, 1000000000)), &series, &err), 0, "%s",
		     err.text);
	cr_expect_eq(series.count, 3601);
	free(series.us);
}

Test(rtt_series, a_bad_history_is_refused)
{
	static const char *const cases[][2] = {
		{"{}", "h.json: schema: missing"},
		{"{", "h.json:1: not valid JSON"},
		{"{\"schema\": \"nomora.mesh_history/1\"}", "h.json: points: missing"},
		{HISTORY(POINT(5, 1) "," POINT(4, 1)), "h.json: points[1].at: time goes backwards"},
		{HISTORY(POINT(0, 1) "," POINT(3601, 1)), "h.json: points[1].at: 3601 s after the previous point"},
		{HISTORY(POINT(0, 1) "," POINT(58, 1)), "h.json: 59 values; expected at least 60"},
		{HISTORY(POINT(-1, 1)), "h.json: points[0].at: found -1"},
		{HISTORY(POINT(0, 0)), "h.json: points[0].rtt_p99_us: found 0"},
		{HISTORY("5"), "h.json: points[0]: expected an object"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rtt_series series;
		struct error err = {0};

		cr_expect_lt(parse_history(cases[i][0], &series, &err), 0, "%s", cases[i][0]);
		cr_expect(strstr(err.text, cases[i][1]) == err.text, "%s", err.text);
		cr_expect(!series.us && series.count == 0);
	}
}

static void write_series(const char *name, const char *text, int values)
{
	char path[128];
	FILE *out;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	out = fopen(path, "w");
	cr_assert_not_null(out);
	fputs(text, out);
	for (int v = 0; v < values; v++)
		fprintf(out, "%d\n", v + 1);
	cr_assert_eq(fclose(out), 0);
}

static void make_folder(void)
{
	cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[80];

	snprintf(command, sizeof command, "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}

Test(rtt_series, a_folder_has_a_file_for_each_series, .init = make_folder, .fini = remove_folder)
{
	struct error err = {0};
	struct rtt_series_set *set;
	char path[100];

	cr_assert_null(rtt_series_read(folder, &err));
	cr_expect(strstr(err.text, ": expected files rack*, pod* or across* with one value per second"), "%s",
		  err.text);
	cr_assert_null(rtt_series_read("/no/such/folder", &err));
	cr_expect_eq(err.code, ENOENT);
	write_series("other", "no number\n", 0);
	write_series("rack-b", "5\n", 60);
	write_series("rack-a", "4\n", 60);
	write_series("across.json", HISTORY(POINT(0, 1) "," POINT(70, 3)), 0);
	set = rtt_series_read(folder, &err);
	cr_assert_not_null(set, "%s", err.text);
	cr_expect_not(set->relative);
	cr_expect(set->counts[0] == 2 && set->counts[1] == 0 && set->counts[2] == 1);
	cr_expect_eq(set->items[0][0].us[0], 4, "in the order of their names");
	cr_expect_eq(set->items[0][1].us[0], 5);
	cr_expect_eq(set->items[2][0].count, 71);
	rtt_series_destroy(set);
	snprintf(path, sizeof path, "%s/rack-b", folder);
	set = rtt_series_read(path, &err);
	cr_assert_not_null(set, "%s", err.text);
	cr_expect(set->relative, "a single file is for all distances");
	for (int kind = 0; kind < RTT_SERIES_KINDS; kind++) {
		cr_assert_eq(set->counts[kind], 1);
		cr_expect_eq(set->items[kind][0].count, 61);
		cr_expect_eq(set->items[kind][0].median_us, 30);
	}
	rtt_series_destroy(set);
	write_series("pod-c", "0\n", 60);
	cr_assert_null(rtt_series_read(folder, &err));
	cr_expect(strstr(err.text, "/pod-c:1: '0': expected microseconds"), "%s", err.text);
	rtt_series_destroy(NULL);
}

Test(rtt_series, values_and_lengths_have_bounds)
{
	struct rtt_series series;
	struct error err = {0};

	cr_assert_eq(parse("0.001\n1000000000\n", 58, "", &series, &err), 0, "%s", err.text);
	cr_expect_eq(series.count, 60);
	cr_expect_eq(series.median_us, 30);
	free(series.us);
	cr_expect_lt(parse("0.0009\n", 60, "", &series, &err), 0);
	cr_expect_lt(parse("1000000001\n", 60, "", &series, &err), 0);
	cr_expect_lt(parse("", 59, "", &series, &err), 0);
}
