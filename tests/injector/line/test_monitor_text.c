/* SPDX-License-Identifier: BSD-3-Clause */
/* Prometheus text of a hand-made state. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <injector/line/monitor.h>

static struct injector_state_direction direction(int64_t undisturbed_p50_ns)
{
	return (struct injector_state_direction){
		.delay_us = 10,
		.delays.lateness = {.p50_ns = 100, .p99_ns = 900, .p99_9_ns = 1000, .mean_ns = 150, .count = 4},
		.undisturbed_lateness =
			{.p50_ns = undisturbed_p50_ns, .p99_ns = 80, .p99_9_ns = 90, .mean_ns = 50, .count = 2},
	};
}

static struct injector_state whole_state(void)
{
	return (struct injector_state){.totals = {.delay_changes = 3, .transmit_stall_us = NAN},
				       .direction = {direction(40), direction(70)},
				       .port = {{.name = "va", .link_up = true}, {.name = "v\"b\\"}}};
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
		cr_assert_eq(count_of(text, *lines), 1, "%s: expected once in\n%s", *lines, text);
}

Test(monitor_text, reports_undisturbed_lateness_links_and_changes_of_the_delay)
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
	struct injector_state state = whole_state();
	char *text = injector_monitor_metrics(&state);

	cr_assert_not_null(text);
	assert_lines(text, lines);
	free(text);
}

Test(monitor_text, reports_a_capture_only_if_there_is_one)
{
	static const char *const lines[] = {
		"# TYPE nomora_injector_capture_written_frames_total counter\n"
		"nomora_injector_capture_written_frames_total 7\n",
		"# TYPE nomora_injector_capture_lost_frames_total counter\nnomora_injector_capture_lost_frames_total "
		"2\n",
		NULL,
	};
	struct injector_state state = whole_state();
	char *without = injector_monitor_metrics(&state), *with;

	state.has_capture = true;
	state.capture_written = 7;
	state.capture_lost = 2;
	with = injector_monitor_metrics(&state);
	assert_lines(with, lines);
	cr_assert_null(strstr(without, "capture"), "%s", without);
	cr_assert_null(strstr(without, "stall_in_transmit"), "a value that is not known is left out: %s", without);
	free(without);
	free(with);
}
