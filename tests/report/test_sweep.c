/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report_priv.h"

static char *text;
static size_t bytes;
static char path[] = "/tmp/nomora-report-sweep-XXXXXX";

static void make_file(void)
{
	close(mkstemp(path));
}

static void remove_file(void)
{
	unlink(path);
}

TestSuite(report_sweep, .init = make_file, .fini = remove_file);

static void write_file(const char *content)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fputs(content, file) >= 0 && fclose(file) == 0);
}

static struct report_sweep *load(const char *log)
{
	struct error err = {0};
	struct report_sweep *sweep;

	write_file(log);
	sweep = report_sweep_load(path, &err);
	cr_assert_not_null(sweep, "%s", err.text);
	return sweep;
}

static const char *details(const char *log)
{
	struct report_sweep *sweep = load(log);
	FILE *out;

	free(text);
	out = open_memstream(&text, &bytes);
	report_sweep_details(out, sweep);
	fclose(out);
	report_sweep_destroy(sweep);
	return strstr(text, "<th></th></tr>\n") + strlen("<th></th></tr>\n");
}

static const char *verdict(const char *log)
{
	struct report_sweep *sweep = load(log);
	FILE *out;

	free(text);
	out = open_memstream(&text, &bytes);
	report_sweep_verdict(out, sweep);
	fclose(out);
	report_sweep_destroy(sweep);
	return text;
}

#define ATTEMPT(delay, run, attempt, more)                                                                             \
	"{\"event\":\"attempt\",\"delay_us\":" #delay ",\"run\":" #run ",\"attempt\":" #attempt                        \
	",\"disturbed\":false,\"elapsed_s\":2" more "}\n"
#define RTT(measured, expected) ",\"rtt_us\":" #measured ",\"rtt_expected_us\":" #expected
#define ACCEPTED(delay, run, attempt, disturbed)                                                                       \
	"{\"event\":\"accepted\",\"delay_us\":" #delay ",\"run\":" #run ",\"attempt\":" #attempt                       \
	",\"disturbed\":" #disturbed "}\n"

/*
 * Of the second run at 50 us the second attempt counts. The injector stalled for 1 % of 2 s, and for 6 % of 2 s on one
 * of two threads; all seven runs took 14 s.
 */
static const char sample[] = ATTEMPT(
	50, 0, 1,
	RTT(130,
	    120) ",\"processors\":4,\"processors_used\":1,\"injector\":{\"packets\":100,\"dropped\":1,\"disturbed\":10,"
		 "\"stalls\":3,\"stall_us\":20000}") ACCEPTED(50, 0, 1, false)
	ATTEMPT(50, 1, 1,
		RTT(900, 120) ",\"processors\":4,\"processors_used\":4,\"injector\":{\"packets\":9000,\"dropped\":9,"
			      "\"disturbed\":9000,"
			      "\"stalls\":9,\"stall_us\":900000}")
		ATTEMPT(50, 1, 2,
			RTT(220, 120) ",\"processors\":4,\"processors_used\":2,\"injector\":{\"packets\":300,"
				      "\"dropped\":2,\"disturbed\":30,"
				      "\"stalls\":4,\"stall_us\":140000,\"transmit_stall_us\":20000,\"lcores\":2}")
			ACCEPTED(50, 1, 2, false)
				ATTEMPT(50, 2, 1, RTT(141, 121) ",\"processors\":4,\"processors_used\":3")
					ACCEPTED(50, 2, 1, false) ATTEMPT(0, 0, 1, RTT(50, 20)) ACCEPTED(0, 0, 1, true)
						ATTEMPT(10, 0, 1, RTT(74, 40)) ACCEPTED(10, 0, 1, false)
							ATTEMPT(20, 0, 1, RTT(23, 60)) ACCEPTED(20, 0, 1, false)
								ATTEMPT(30, 0, 1, ",\"rtt_us\":90")
									ACCEPTED(30, 0, 1, true);

#define ROW(delay, runs, processors, rest)                                                                             \
	"<tr><td class=\"n\">" #delay "</td><td class=\"n\">" #runs "</td><td class=\"n\">" processors                 \
	"</td><td class=\"n\">- / -</td>" rest
#define ROUND_TRIP(added, rise, off, disturbed)                                                                        \
	"<td class=\"n\">" #added "</td><td class=\"n\">" #rise "</td><td class=\"n\">" #off                           \
	"</td><td class=\"n\">" #disturbed "</td>"
#define OK "<td class=\"tag ok\">as injected</td></tr>\n"
#define OFF "<td class=\"tag fail\">off</td></tr>\n"

/* Accepted are 15 % of the added round trip, 2 D, and 30 us. */
Test(report_sweep, a_row_for_each_delay_compares_ping_with_the_injected_delay)
{
	cr_assert_str_eq(
		details(sample),
		ROW(0, 1, "", ROUND_TRIP(0, 30, +30, 1) "<td class=\"tag warn\">as injected, but disturbed</td></tr>\n")
			ROW(10, 1, "", ROUND_TRIP(20, 54, +34, 0) OFF) ROW(20, 1, "", ROUND_TRIP(40, 3, -37, 0) OFF)
				ROW(30, 1, "",
				    "<td></td><td></td><td></td><td class=\"n\">1</td><td class=\"muted\">not "
				    "checked</td></tr>\n")
					ROW(50, 3, "2.00 of 4",
					    ROUND_TRIP(100, 120, +20, 0)
						    OK) "</table>\n<p>The injector passed 400 packets and dropped 3. "
							"It stalled 7 times, 0.57&nbsp;% of the time "
							"on average of its 2 threads (none of them over 1.00&nbsp;%), "
							"not counting its own transmit calls. "
							"1 attempts failed a check and were "
							"repeated.</p>\n");
	cr_assert(strstr(details(ATTEMPT(20, 0, 1, RTT(24, 60)) ACCEPTED(20, 0, 1, false)), OK), "%s", text);
	cr_assert(strstr(details(ATTEMPT(50, 0, 1, RTT(165, 120)) ACCEPTED(50, 0, 1, false)), OK), "%s", text);
}

/* Means of the runs' means, and the greatest of their percentiles; a run without packets does not count. */
Test(report_sweep, a_row_has_the_delay_that_the_injector_applied_and_why_no_round_trip_was_measured)
{
	cr_assert(strstr(details(ATTEMPT(
				 50, 0, 1,
				 ",\"rtt_unchecked\":\"a<b\",\"injector\":{\"packets\":1,\"ab\":{\"applied_us\":50.25,"
				 "\"applied_p99_us\":60},\"ba\":{}}") ACCEPTED(50, 0, 1, false)
					 ATTEMPT(50, 1, 1,
						 ",\"rtt_unchecked\":\"a<b\",\"injector\":{\"packets\":1,\"ab\":{"
						 "\"applied_us\":50.75,\"applied_p99_us\":51},\"ba\":{\"applied_us\":7,"
						 "\"applied_p99_us\":8}}") ACCEPTED(50, 1, 1, false)),
			 "<td class=\"n\">50.5 (60) / 7 (8)</td><td></td><td></td><td></td><td class=\"n\">0</td><td "
			 "class=\"muted\">not checked: a&lt;b</td></tr>\n"),
		  "%s", text);
}

Test(report_sweep, an_attempt_without_an_accepted_run_and_a_time_of_0_change_nothing)
{
	cr_assert(strstr(details("{\"event\":\"accepted\",\"delay_us\":5,\"run\":0,\"attempt\":1,\"disturbed\":false}"
				 "\n" ATTEMPT(6, 0, 1, RTT(20, 20))),
			 ROW(5, 1, "", "<td></td><td></td><td></td><td class=\"n\">0</td>")),
		  "%s", text);
	cr_assert(strstr(text,
			 "passed 0 packets and dropped 0. It stalled 0 times, 0.00&nbsp;% of the time, not counting "
			 "its own transmit calls. 0 attempts"),
		  "%s", text);
}

/* The verdict is green or red, and counts runs, packets and delays: no packets that a stall may have delayed are green.
 */
Test(report_sweep, the_verdict_counts_runs_and_packets)
{
#define QUIET(disturbed)                                                                                               \
	ATTEMPT(0, 0, 1,                                                                                               \
		",\"injector\":{\"packets\":1000,\"dropped\":0,\"disturbed\":" #disturbed                              \
		",\"stalls\":9,\"stall_us\":9}")                                                                       \
	ACCEPTED(0, 0, 1, false)
#define PACKETS ",\"injector\":{\"packets\":9,\"dropped\":0,\"disturbed\":0,\"stalls\":0,\"stall_us\":0}"
	static const char *const quiet[][2] = {
		{ATTEMPT(0, 0, 1, RTT(20, 20)) ACCEPTED(0, 0, 1, false),
		 "<p class=\"verdict fail\"><b>Do not publish this curve.</b> 0 of 1 runs disturbed; a stall may have "
		 "delayed 0 of 0 packets (0.00&nbsp;%); the round trip rose as injected at 1 of 1 delays. No packet"},
		{QUIET(10), "<p class=\"verdict ok\"><b>Measured as planned.</b> 0 of 1 runs disturbed; a stall may "
			    "have delayed 10 "
			    "of 1000 packets (1.00&nbsp;%); no round trip checked the delays. </p>\n"},
		{QUIET(11),
		 "<p class=\"verdict fail\"><b>Do not publish this curve.</b> 0 of 1 runs disturbed; a stall may have "
		 "delayed 11 of 1000 packets (1.10&nbsp;%); no round trip checked the delays. Means"},
		{QUIET(971),
		 "<p class=\"verdict fail\"><b>Do not publish this curve.</b> 0 of 1 runs disturbed; a stall "
		 "may have delayed 971 of 1000 packets (97.10&nbsp;%); no round trip checked the delays. The curve "
		 "may show"},
		{ATTEMPT(50, 0, 1, RTT(120, 120) PACKETS) ACCEPTED(50, 0, 1, true),
		 "<p class=\"verdict fail\"><b>Do not publish this curve.</b> 1 of 1 runs disturbed; a stall may have "
		 "delayed 0 of 9 packets (0.00&nbsp;%); the round trip rose as injected at 1 of 1 delays. Runs failed"},
		{ATTEMPT(50, 0, 1, RTT(120, 120) PACKETS) ACCEPTED(50, 0, 1, false) ATTEMPT(90, 0, 1, RTT(900, 200))
			 ACCEPTED(90, 0, 1, false),
		 "<p class=\"verdict fail\"><b>Do not publish this curve.</b> 0 of 2 runs disturbed; a stall may have "
		 "delayed 0 of 9 packets (0.00&nbsp;%); the round trip rose as injected at 1 of 2 delays. The round"},
		{ATTEMPT(50, 0, 1, RTT(120, 120) PACKETS) ACCEPTED(50, 0, 1, false),
		 "<p class=\"verdict ok\"><b>Measured as planned.</b> 0 of 1 runs disturbed; a stall may have delayed "
		 "0 of "
		 "9 packets (0.00&nbsp;%); the round trip rose as injected at 1 of 1 delays. </p>\n"},
	};

	cr_assert_eq(strstr(verdict(sample),
			    "<p class=\"verdict fail\"><b>Do not publish this curve.</b> 2 of 7 runs "
			    "disturbed; a stall may have delayed 40 of 400 packets (10.00&nbsp;%); the "
			    "round trip rose as injected at 2 of 4 delays. Runs failed a check"),
		     text, "%s", text);
	for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
		cr_assert_eq(strstr(verdict(quiet[i][0]), quiet[i][1]), text, "%s", text);
}

/* Delay in one direction is added once to a round trip. */
Test(report_sweep, a_delay_in_one_direction)
{
	cr_assert(strstr(details("{\"event\":\"attempt\",\"delay_us\":400,\"direction\":\"ab\",\"run\":0,\"attempt\":1,"
				 "\"disturbed\":false,\"elapsed_s\":2" RTT(
					 521, 420) "}\n"
						   "{\"event\":\"accepted\",\"delay_us\":400,\"direction\":\"ab\","
						   "\"run\":0,\"attempt\":1,"
						   "\"disturbed\":false}\n"),
			 ROUND_TRIP(400, 501, +101, 0) OFF),
		  "%s", text);
}

Test(report_sweep, a_log_without_an_accepted_run_is_refused)
{
	struct error err = {0};

	write_file(ATTEMPT(0, 0, 1, ""));
	cr_assert_null(report_sweep_load(path, &err));
	cr_assert_eq(err.code, EINVAL);
	cr_assert(strstr(err.text, ": no accepted run in it; expected the .log file"), "%s", err.text);
	cr_assert_null(report_sweep_load("/no/such/file", &err));
	cr_assert_eq(err.code, ENOENT);
	report_sweep_destroy(NULL);
}

/* Prints the section of an injector with these members; the racks' medians are within_us and between_us. */
static const char *injector(const char *members, double within_us, double between_us)
{
	struct latency_group groups[LATENCY_RELATIONS] = {
		[LATENCY_SAME_RACK] = {.pairs = 2, .silent = within_us < 0 ? 2 : 1, .p50_us = within_us},
		[LATENCY_OTHER_RACK] = {.pairs = 2, .silent = between_us < 0 ? 2 : 1, .p50_us = between_us}};
	struct error err = {0};
	char json[600];
	FILE *out;

	snprintf(json, sizeof json, "{\"schema\": \"nomora.inject/1\", \"uptime_s\": 10, %s}", members);
	write_file(json);
	free(text);
	out = open_memstream(&text, &bytes);
	cr_assert_eq(report_injector(out, path, groups, &err), 0, "%s", err.text);
	fclose(out);
	return text;
}

#define DELAYS(ab, ba) "\"delay_ab_us\": " #ab ", \"delay_ba_us\": " #ba
#define LATE(p50, p99) ", \"lateness_p50_ns\": " #p50 ", \"lateness_p99_ns\": " #p99

Test(report_sweep, an_injectors_counters_are_those_of_both_directions)
{
	cr_assert_str_eq(
		injector(DELAYS(100, 300) ", \"tx_ab\": 30, \"tx_ba\": 10, \"ring_full\": 1, \"nombuf\": 2, "
					  "\"stall_us_total\": 500000, \"disturbed\": 4" LATE(1500, 2500),
			 10, 410),
		"<p>An injector held every packet between the racks for 100&nbsp;µs one way and 300&nbsp;µs the other: "
		"expect "
		"400&nbsp;µs more round trip than within a rack. It passed 40 packets and dropped 3; it stalled "
		"5.00&nbsp;% "
		"of the time, not counting its own transmit calls, and 10.0&nbsp;% of the packets may have been "
		"delayed by a "
		"stall.</p>\n<p>Half of the packets left within 1.5&nbsp;µs of when they were due, 99&nbsp;% within "
		"2.5&nbsp;µs.</p>\n");
	injector(DELAYS(100, 300), 10, 410);
	cr_assert(strstr(text, "It passed 0 packets") && !strstr(text, "Half of the packets"), "%s", text);
}

/* The limit is a tenth of the smaller delay, but at least 1 us; the tolerance of 400 us is 90 us. */
Test(report_sweep, late_packets_and_a_mesh_that_is_off_are_told)
{
	static const struct {
		const char *members;
		double within_us, between_us;
		const char *told; /* "": nothing */
	} cases[] = {
		{DELAYS(100, 300) LATE(10000, 10000), 10, 500, ""},
		{DELAYS(100, 300) LATE(10001, 20000), 10, 410, "That is too late"},
		{DELAYS(300, 100) LATE(10001, 20000), 10, 999, "That is too late"},
		{DELAYS(5, 5) LATE(1000, 1000), 10, 20, ""},
		{DELAYS(5, 5) LATE(1000, 1001), 10, 20, "their p99 and worst show"},
		{DELAYS(5, 5) LATE(1001, 1001), 10, 20, "That is too late"},
		{DELAYS(100, 300) LATE(0, 10001), 10, 500, "their p99 and worst show"},
		{DELAYS(100, 300) LATE(0, 10001), 10, 501, "off by +91&nbsp;µs: packets waited elsewhere"},
		{DELAYS(100, 300) LATE(0, 0), 10, 320, ""},
		{DELAYS(100, 300) LATE(0, 0), 10, 319, "off by -91&nbsp;µs: this injector had another delay"},
		{DELAYS(100, 300) LATE(0, 0), -1, 900, ""},
		{DELAYS(100, 300) LATE(0, 0), 900, -1, ""},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char members[300];

		snprintf(members, sizeof members, "%s, \"tx_ab\": 1", cases[i].members);
		injector(members, cases[i].within_us, cases[i].between_us);
		if (cases[i].told[0])
			cr_expect(strstr(text, cases[i].told), "case %zu: %s", i, text);
		cr_expect_eq(strstr(text, "class=\"tag") != NULL, cases[i].told[0] != '\0', "case %zu: %s", i, text);
	}
}

Test(report_sweep, an_injector_without_a_fixed_delay_is_refused)
{
	struct error err = {0};

	write_file("{\"schema\": \"nomora.inject/1\", \"uptime_s\": 10, \"delay_set_by\": \"jitter\"}");
	cr_assert_eq(report_injector(stdout, path, NULL, &err), -EINVAL);
	cr_assert(strstr(err.text, ": delay_set_by: the delay was set by --jitter; expected a fixed delay"), "%s",
		  err.text);
}
