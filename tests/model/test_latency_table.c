/* SPDX-License-Identifier: BSD-3-Clause */
/* The hosts of a matrix by rack, its two other file formats, and a series of a pair. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <model/latency_table.h>

static char matrix_path[] = "/tmp/nomora-order-XXXXXX", cluster_path[] = "/tmp/nomora-racks-XXXXXX",
	    out_path[] = "/tmp/nomora-export-XXXXXX";

static void write_text(char *path, const char *text)
{
	int fd = mkstemp(path);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void make_files(void)
{
	write_text(
		matrix_path,
		"src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at,state,paths,paths_covered,disturbed,"
		"error_us\nh10,h2,10.5,20,30,0.25,100,1000.5,measured,4,3,0.5,0.25\nh2,h10,11,21,31,0,100,1001,"
		"measured,0,0,0,0\n"
		"h2,z,,,,1,0,1000,unreachable,0,0,0,0\nx,h2,5,6,7,0,9,1000,measured,0,0,0,0\n"
		"h2,x,7,8,9,0,1,1000,measured,0,0,0,0\nx,x,1,1,1,0,1,1,measured,0,0,0,0\n");
	write_text(
		cluster_path,
		"{\"schema\": \"nomora.cluster/1\", \"machines\": [{\"name\": \"h2\", \"rack\": \"r1\", \"slots\": 1}, "
		"{\"name\": \"h10\", \"rack\": \"r1\", \"slots\": 1}]}");
	write_text(out_path, "");
}

static void remove_files(void)
{
	unlink(matrix_path);
	unlink(cluster_path);
	unlink(out_path);
}

TestSuite(latency_table, .init = make_files, .fini = remove_files);

static struct latency_table read_order(bool with_cluster)
{
	struct latency_table order;
	struct error err = {0};

	cr_assert_eq(latency_table_read(&order, matrix_path, with_cluster ? cluster_path : NULL, NULL, &err), 0, "%s",
		     err.text);
	return order;
}

static char *written(void)
{
	struct error err = {0};
	size_t bytes;
	char *text = file_read_all(out_path, 1 << 20, &bytes, &err);

	cr_assert_not_null(text, "%s", err.text);
	return text;
}

#define REST(state, paths, covered) "\"state\": \"" state "\", \"paths\": " paths ", \"paths_covered\": " covered "}"

Test(latency_table, as_json_it_has_hosts_pairs_and_a_summary)
{
	static const char expected[] =
		"{\n"
		"  \"schema\": \"nomora.mesh/1\",\n"
		"  \"hosts\": [\n"
		"    {\"name\": \"h2\", \"rack\": \"r1\"},\n"
		"    {\"name\": \"h10\", \"rack\": \"r1\"},\n"
		"    {\"name\": \"x\", \"rack\": \"(unknown)\"},\n"
		"    {\"name\": \"z\", \"rack\": \"(unknown)\"}\n"
		"  ],\n"
		"  \"pairs\": [\n"
		"    {\"src\": \"h10\", \"dst\": \"h2\", \"samples\": 100, \"rtt_p50_us\": 10.5, \"rtt_p99_us\": 20.0, "
		"\"rtt_max_us\": 30.0, \"loss\": 0.25, \"updated_at\": 1000.5, \"disturbed\": 0.5, \"error_us\": 0.25, "
		"\"answered_at\": 1000.5, \"peer_stalled\": 0.0, \"peer_stall_us\": 0.0, \"hop_us\": null, "
		"\"hop_loss\": null, \"hop\": null, \"next_hop\": null, \"state\": \"measured\", \"paths\": 4, "
		"\"paths_covered\": 3},\n"
		"    {\"src\": \"h2\", \"dst\": \"h10\", \"samples\": 100, \"rtt_p50_us\": 11.0, \"rtt_p99_us\": 21.0, "
		"\"rtt_max_us\": 31.0, \"loss\": 0.0, \"updated_at\": 1001.0, \"disturbed\": 0.0, \"error_us\": 0.0, "
		"\"answered_at\": 1001.0, \"peer_stalled\": 0.0, \"peer_stall_us\": 0.0, \"hop_us\": null, "
		"\"hop_loss\": null, \"hop\": null, \"next_hop\": null, \"state\": \"measured\", \"paths\": 0, "
		"\"paths_covered\": 0},\n"
		"    {\"src\": \"h2\", \"dst\": \"z\", \"samples\": 0, \"rtt_p50_us\": null, \"rtt_p99_us\": null, "
		"\"rtt_max_us\": null, \"loss\": 1.0, \"updated_at\": 1000.0, \"disturbed\": 0.0, \"error_us\": 0.0, "
		"\"answered_at\": null, \"peer_stalled\": 0.0, \"peer_stall_us\": 0.0, \"hop_us\": null, \"hop_loss\": "
		"null, \"hop\": null, \"next_hop\": null, \"state\": \"unreachable\", \"paths\": 0, \"paths_covered\": "
		"0},\n"
		"    {\"src\": \"x\", \"dst\": \"h2\", \"samples\": 9, \"rtt_p50_us\": 5.0, \"rtt_p99_us\": 6.0, "
		"\"rtt_max_us\": 7.0, \"loss\": 0.0, \"updated_at\": 1000.0, \"disturbed\": 0.0, \"error_us\": 0.0, "
		"\"answered_at\": 1000.0, \"peer_stalled\": 0.0, \"peer_stall_us\": 0.0, \"hop_us\": null, "
		"\"hop_loss\": null, \"hop\": null, \"next_hop\": null, \"state\": \"measured\", \"paths\": 0, "
		"\"paths_covered\": 0},\n"
		"    {\"src\": \"h2\", \"dst\": \"x\", \"samples\": 1, \"rtt_p50_us\": 7.0, \"rtt_p99_us\": 8.0, "
		"\"rtt_max_us\": 9.0, \"loss\": 0.0, \"updated_at\": 1000.0, \"disturbed\": 0.0, \"error_us\": 0.0, "
		"\"answered_at\": 1000.0, \"peer_stalled\": 0.0, \"peer_stall_us\": 0.0, \"hop_us\": null, "
		"\"hop_loss\": null, \"hop\": null, \"next_hop\": null, \"state\": \"measured\", \"paths\": 0, "
		"\"paths_covered\": 0},\n"
		"    {\"src\": \"x\", \"dst\": \"x\", \"samples\": 1, \"rtt_p50_us\": 1.0, \"rtt_p99_us\": 1.0, "
		"\"rtt_max_us\": 1.0, \"loss\": 0.0, \"updated_at\": 1.0, \"disturbed\": 0.0, \"error_us\": 0.0, "
		"\"answered_at\": 1.0, \"peer_stalled\": 0.0, \"peer_stall_us\": 0.0, \"hop_us\": null, \"hop_loss\": "
		"null, \"hop\": null, \"next_hop\": null, \"state\": \"measured\", \"paths\": 0, \"paths_covered\": "
		"0}\n"
		"  ],\n"
		"  \"summary\": {\n"
		"    \"same_rack\": {\"pairs\": 2, \"silent\": 0, \"samples\": 200, \"median_p50_us\": 10.75, "
		"\"median_p99_us\": 20.5, \"max_us\": 31.0, \"mean_loss\": 0.125},\n"
		"    \"other_rack\": {\"pairs\": 0, \"silent\": 0, \"samples\": 0, \"median_p50_us\": null, "
		"\"median_p99_us\": null, \"max_us\": null, \"mean_loss\": null},\n"
		"    \"unknown_rack\": {\"pairs\": 3, \"silent\": 1, \"samples\": 10, \"median_p50_us\": 6.0, "
		"\"median_p99_us\": 7.0, \"max_us\": 9.0, \"mean_loss\": 0.3333333333333333}\n"
		"  }\n"
		"}\n";
	struct latency_table order = read_order(true);
	struct error err = {0};
	char *text;

	cr_assert_eq(latency_table_write_json(&order, out_path, &err), 0, "%s", err.text);
	text = written();
	cr_assert_str_eq(text, expected);
	free(text);
	cr_assert_lt(latency_table_write_json(&order, "/no/such/folder/x", &err), 0);
	cr_assert_lt(latency_table_write_table(&order, LATENCY_STATISTIC_P50, "/no/such/folder/x", &err), 0);
	latency_table_free(&order);
}

Test(latency_table, as_a_table_it_is_square)
{
	struct latency_table order = read_order(false);
	struct error err = {0};
	char *text;

	cr_assert_eq(latency_table_write_table(&order, LATENCY_STATISTIC_P50, out_path, &err), 0, "%s", err.text);
	text = written();
	cr_assert_str_eq(text, "src,h2,h10,x,z\nh2,,11,7,\nh10,10.5,,,\nx,5,,1,\nz,,,,\n");
	free(text);
	cr_assert_eq(latency_table_write_table(&order, LATENCY_STATISTIC_LOSS, out_path, &err), 0, "%s", err.text);
	text = written();
	cr_assert_str_eq(text, "src,h2,h10,x,z\nh2,,0,0,1\nh10,0.25,,,\nx,0,,0,\nz,,,,\n");
	free(text);
	cr_assert_str_eq(latency_table_rack(&order, 0), "");
	latency_table_free(&order);
}

Test(latency_table, files_that_cannot_be_read_leave_nothing)
{
	struct latency_table order;
	struct error err = {0};

	cr_assert_eq(latency_table_read(&order, "/no/such/file", NULL, NULL, &err), -ENOENT);
	cr_assert_eq(latency_table_read(&order, matrix_path, "/no/such/file", NULL, &err), -ENOENT);
	cr_assert(!order.matrix && !order.cluster && !order.hosts);
}

Test(latency_series, has_a_line_and_an_object_for_each_point)
{
	struct latency_point points[] = {{.at = {2000 * NS_PER_S + 250 * NS_PER_MS},
					  .rtt_p50_us = 1.25,
					  .rtt_p99_us = 2,
					  .rtt_max_us = 3,
					  .loss = 0.5,
					  .count = 7,
					  .state = LATENCY_STATE_MEASURED},
					 {.at = {2001 * NS_PER_S},
					  .rtt_p50_us = NAN,
					  .rtt_p99_us = NAN,
					  .rtt_max_us = NAN,
					  .loss = 1,
					  .state = LATENCY_STATE_UNREACHABLE}};
	struct latency_series series = {.items = points, .count = 2};
	char *text, *json;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *value;

	latency_series_print(&series, false, out);
	latency_series_print(&series, true, out);
	fclose(out);
	cr_expect_str_eq(text, "at (UTC)                     p50 us     p99 us     max us   loss %      state\n"
			       "1970-01-01 00:33:20.250         1.2        2.0        3.0    50.00 measured\n"
			       "1970-01-01 00:33:21.000           -          -          -   100.00 unreachable\n"
			       "at (UTC)                     p50 us     p99 us     max us    pairs           \n"
			       "1970-01-01 00:33:20.250         1.2        2.0        3.0        7\n"
			       "1970-01-01 00:33:21.000           -          -          -        0\n");
	free(text);
	value = latency_series_to_json(&series, false, "a", "b");
	json = json_dumps(value, 0);
	cr_expect_str_eq(
		json,
		"{\"schema\": \"nomora.mesh_history/1\", \"between\": \"hosts\", \"src\": \"a\", \"dst\": \"b\", "
		"\"points\": "
		"[{\"at\": 2000.25, \"rtt_p50_us\": 1.25, \"rtt_p99_us\": 2.0, \"rtt_max_us\": 3.0, \"samples\": 7, "
		"\"loss\": 0.5, \"state\": \"measured\"}, {\"at\": 2001.0, \"rtt_p50_us\": null, \"rtt_p99_us\": null, "
		"\"rtt_max_us\": null, \"samples\": 0, \"loss\": 1.0, \"state\": \"unreachable\"}]}");
	free(json);
	json_decref(value);
	series.count = 1;
	value = latency_series_to_json(&series, true, "a", "b");
	json = json_dumps(value, 0);
	cr_expect_str_eq(
		json,
		"{\"schema\": \"nomora.mesh_history/1\", \"between\": \"racks\", \"src\": \"a\", \"dst\": \"b\", "
		"\"points\": "
		"[{\"at\": 2000.25, \"rtt_p50_us\": 1.25, \"rtt_p99_us\": 2.0, \"rtt_max_us\": 3.0, \"pairs\": 7}]}");
	free(json);
	json_decref(value);
}
