/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/histogram.h>
#include <injector/load/load.h>

static void expect(const char *text, const char *host, const char *port)
{
	char copy[64];
	const char *found_host, *found_port;
	struct error err = {0};

	strcpy(copy, text);
	cr_assert_eq(load_split_server(copy, &found_host, &found_port, &err), 0, "'%s': %s", text, err.text);
	cr_assert_str_eq(found_host, host);
	cr_assert_str_eq(found_port, port);
}

Test(report, a_server_is_a_host_and_perhaps_a_port)
{
	char bad[] = "h1:0";
	const char *host, *port;
	struct error err = {0};

	expect("h1", "h1", "11211");
	expect("10.0.0.1:7000", "10.0.0.1", "7000");
	expect("[fd00::1]:7000", "fd00::1", "7000");
	expect("fd00::1", "fd00::1", "11211");
	char largest[] = "h1:65535", larger[] = "h1:65536", smallest[] = "h1:1";

	cr_assert_eq(load_split_server(bad, &host, &port, &err), -EINVAL);
	cr_assert_str_eq(err.text, "port '0': expected 1 to 65535");
	cr_assert_eq(load_split_server(largest, &host, &port, &err), 0);
	cr_assert_eq(load_split_server(smallest, &host, &port, &err), 0);
	cr_assert_eq(load_split_server(larger, &host, &port, &err), -EINVAL);
	expect("[fd00::1]", "fd00::1", "11211");
}

/* Every field has another value, so that no two can be exchanged. */
static struct load_result some_result(void)
{
	struct load_result result = {
		.measured = {.gets = 2, .sets = 3, .hits = 4, .misses = 5, .stored = 6, .errors = 7},
		.total = {.gets = 12,
			  .sets = 13,
			  .hits = 14,
			  .misses = 15,
			  .stored = 16,
			  .errors = 17,
			  .bytes_in = 18,
			  .bytes_out = 19},
		.elapsed = {2500000000},
		.unanswered = 20,
		.request_rate_per_s = 21.25,
		.offered_rate_per_s = 22.25,
	};
	struct histogram **all[] = {&result.response_ns, &result.get_ns, &result.set_ns, &result.service_ns};

	for (int i = 0; i < 4; i++) {
		*all[i] = histogram_create(100, 60 * NS_PER_S, 3);
		for (int n = 0; n <= i; n++)
			histogram_record(*all[i], (i + 1) * 100000);
	}
	return result;
}

static double number_at(const json_t *root, const char *object, const char *name)
{
	const json_t *value = json_object_get(object ? json_object_get(root, object) : root, name);

	cr_assert(json_is_number(value), "%s.%s", object ? object : "", name);
	return json_number_value(value);
}

Test(report, json_has_every_figure_under_its_name)
{
	struct load_settings settings = {.mode = LOAD_OPEN, .connections = 8, .depth = 9, .keys = 10};
	struct load_result result = some_result();
	json_t *root = load_to_json(&settings, "h1", &result);
	static const char *const counts[] = {"gets", "sets", "hits", "misses", "stored", "errors"},
				 *const latencies[] = {"latency_us", "get_latency_us", "set_latency_us", "service_us"},
				 *const figures[] = {"mean", "min", "p50", "p95", "p99", "p999", "max"};

	cr_expect_str_eq(json_string_value(json_object_get(root, "schema")), "nomora.load/1");
	cr_expect_str_eq(json_string_value(json_object_get(root, "server")), "h1");
	cr_expect_str_eq(json_string_value(json_object_get(root, "mode")), "open");
	cr_expect_eq(number_at(root, NULL, "connections"), 8);
	cr_expect_eq(number_at(root, NULL, "depth"), 9);
	cr_expect_eq(number_at(root, NULL, "keys"), 10);
	cr_expect_eq(number_at(root, NULL, "duration_s"), 2.5);
	cr_expect_eq(number_at(root, NULL, "qps"), 21.25);
	cr_expect_eq(number_at(root, NULL, "offered_qps"), 22.25);
	cr_expect_eq(number_at(root, NULL, "unanswered"), 20);
	cr_expect_eq(number_at(root, NULL, "bytes_in"), 18);
	cr_expect_eq(number_at(root, NULL, "bytes_out"), 19);
	for (int i = 0; i < 6; i++) {
		cr_expect_eq(number_at(root, "measured", counts[i]), 2 + i, "%s", counts[i]);
		cr_expect_eq(number_at(root, "total", counts[i]), 12 + i, "%s", counts[i]);
	}
	for (int i = 0; i < 4; i++) {
		cr_expect_eq(number_at(root, latencies[i], "count"), i + 1);
		cr_expect_float_eq(number_at(root, latencies[i], "deviation"), 0, 0.1 * (i + 1));
		for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
			cr_expect_float_eq(number_at(root, latencies[i], figures[f]), 100 * (i + 1), 0.1 * (i + 1),
					   "%s", figures[f]);
	}
	json_decref(root);
	load_result_free(&result);
}

static char *print(const struct load_settings *settings, const struct load_result *result)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	load_print(settings, "h1", result, out);
	fclose(out);
	return text;
}

Test(report, the_text_tells_an_open_loop_from_a_closed_one)
{
	struct load_settings settings = {.mode = LOAD_OPEN, .connections = 1, .depth = 9, .keys = 10};
	struct load_result result = some_result();
	char *text = print(&settings, &result);

	cr_expect_eq(
		strncmp(text,
			"h1, open loop, 1 connection of depth 9, 10 keys, 2.500 s\n"
			"21 requests/s answered of 22 offered, 20 unanswered; 2 gets (4 hits, 5 misses), 3 sets, 7 "
			"errors\n",
			150),
		0, "%s", text);
	cr_expect_not_null(strstr(text, "\nall                 1     100.0 "), "%s", text);
	cr_expect_not_null(strstr(text, "\nget                 2 "), "%s", text);
	cr_expect_not_null(strstr(text, "\nset                 3 "), "%s", text);
	cr_expect_not_null(strstr(text, "\nservice             4 "), "%s", text);
	free(text);
	settings.mode = LOAD_CLOSED;
	settings.connections = 2;
	histogram_reset(result.set_ns);
	text = print(&settings, &result);
	cr_expect_not_null(strstr(text, "h1, closed loop, 2 connections of depth 9"), "%s", text);
	cr_expect_not_null(strstr(text, "21 requests/s answered; 2 gets"), "%s", text);
	cr_expect_null(strstr(text, "service"), "%s", text);
	cr_expect_null(strstr(text, "\nset "), "no set was measured");
	free(text);
	load_result_free(&result);
}
