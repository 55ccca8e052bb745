/* SPDX-License-Identifier: BSD-3-Clause */
/* What Prometheus is told, from a sample made by hand. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <injector/line/monitor.h>

static json_t *direction_sample(double undisturbed_p50_ns)
{
	return json_pack("{s:f, s:{s:i, s:i, s:i, s:f, s:i}, s:{s:f, s:i, s:i, s:f, s:i}}", "delay_us", 10.0,
			 "lateness_ns", "p50", 100, "p99", 900, "p99_9", 1000, "mean", 150.0, "count", 4,
			 "undisturbed_lateness_ns", "p50", undisturbed_p50_ns, "p99", 80, "p99_9", 90, "mean", 50.0,
			 "count", 2);
}

/* The caller frees. */
static json_t *whole_sample(void)
{
	return json_pack("{s:i, s:n, s:o, s:o, s:[{s:s, s:b}, {s:s, s:b}]}", "delay_changes", 3, "stall_us_in_transmit",
			 "ab", direction_sample(40), "ba", direction_sample(70), "ports", "name", "va", "link_up", 1,
			 "name", "v\"b\\", "link_up", 0);
}

static unsigned int count_of(const char *text, const char *part)
{
	unsigned int count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static void assert_lines(const char *text, const char *const *lines)
{
	for (; *lines; lines++)
		cr_assert_eq(count_of(text, *lines), 1, "%s is once in\n%s", *lines, text);
}

Test(monitor_text, tells_undisturbed_lateness_links_and_changes_of_the_delay)
{
	static const char *const lines[] = {
		"# HELP nomora_injector_undisturbed_lateness_seconds ",
		"# TYPE nomora_injector_undisturbed_lateness_seconds summary\n",
		"\nnomora_injector_undisturbed_lateness_seconds{direction=\"ab\",quantile=\"0.5\"} 4e-08\n",
		"\nnomora_injector_undisturbed_lateness_seconds{direction=\"ba\",quantile=\"0.5\"} 7e-08\n",
		"\nnomora_injector_undisturbed_lateness_seconds_sum{direction=\"ba\"} 1e-07\n",
		"\nnomora_injector_undisturbed_lateness_seconds_count{direction=\"ba\"} 2\n",
		"\nnomora_injector_lateness_seconds{direction=\"ab\",quantile=\"0.99\"} 9e-07\n",
		"# TYPE nomora_injector_link_up gauge\n",
		"\nnomora_injector_link_up{port=\"a\",name=\"va\"} 1\n",
		"\nnomora_injector_link_up{port=\"b\",name=\"v\\\"b\\\\\"} 0\n",
		"# TYPE nomora_injector_delay_changes_total counter\nnomora_injector_delay_changes_total 3\n",
		NULL,
	};
	json_t *sample = whole_sample();
	char *text = injector_monitor_metrics(sample);

	cr_assert_not_null(text);
	assert_lines(text, lines);
	free(text);
	json_decref(sample);
}

Test(monitor_text, tells_of_a_capture_where_there_is_one)
{
	static const char *const lines[] = {
		"# TYPE nomora_injector_capture_written_frames_total counter\n"
		"nomora_injector_capture_written_frames_total 7\n",
		"# TYPE nomora_injector_capture_lost_frames_total counter\nnomora_injector_capture_lost_frames_total "
		"2\n",
		NULL,
	};
	json_t *sample = whole_sample();
	char *without = injector_monitor_metrics(sample), *with;

	json_object_set_new(sample, "capture", json_pack("{s:i, s:i}", "written", 7, "lost", 2));
	with = injector_monitor_metrics(sample);
	assert_lines(with, lines);
	cr_assert_null(strstr(without, "capture"), "%s", without);
	cr_assert_null(strstr(without, "stall_in_transmit"), "what is null is not told: %s", without);
	free(without);
	free(with);
	json_decref(sample);
}
