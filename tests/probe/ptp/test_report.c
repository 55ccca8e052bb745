/* SPDX-License-Identifier: BSD-3-Clause */
/* The text and the JSON of a measurement. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <probe/ptp/measure.h>

/* Round trips of 2000 and 4000 ns; the second sample has nothing else. */
static struct ptp_sample samples[] = {{.round_trip = {2000}, .out = {1500}, .back = {500}, .offset = {-500}},
				      {.round_trip = {4000}, .delay_only = true}};
static struct ptp_sample by_nic[] = {{.round_trip = {1500}, .delay_only = true}};
static struct ptp_result result = {.requests = 9,
				   .unanswered = 7,
				   .unstamped = 5,
				   .outliers = 3,
				   .peer = {{0, 0x1b, 0x19, 0xff, 0xfe, 1, 2, 3}, 1}};

static void check_text(const char *expected, int line)
{
	struct error err = {0};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	cr_assert_eq(ptp_result_print(&result, out, &err), 0);
	fclose(out);
	cr_assert_str_eq(text, expected, "line %d:\n%s", line, text);
	free(text);
}

#define TEXT(expected) check_text(expected, __LINE__)

#define FIGURES                                                                                                        \
	"delay, one way                      1.000        1.000        2.000        2.000\n"                           \
	"our clock - theirs                 -0.500       -0.500       -0.500       -0.500\n"                           \
	"delay to them, both clocks          1.500        1.500        1.500        1.500\n"                           \
	"delay from them, both clocks        0.500        0.500        0.500        0.500\n"
#define NIC_FIGURES                                                                                                    \
	"delay, one way                      0.750        0.750        0.750        0.750\n"                           \
	"our clock - theirs                      -            -            -            -\n"                           \
	"delay to them, both clocks              -            -            -            -\n"                           \
	"delay from them, both clocks            -            -            -            -\n"

Test(ptp_report, the_text_has_what_was_measured)
{
	TEXT("9 requests, 0 samples, 7 without an answer\n");
	result.unsynced = 6;
	TEXT("9 requests, 0 samples, 7 without an answer\n"
	     "no Sync was received for 6 of them: no clock of this domain is master yet\n");
	result.unsynced = 0;
	result.by[PTP_SOFTWARE] = (struct ptp_samples){.items = samples, .count = 2};
	TEXT("9 requests, 2 samples, 7 without an answer\nclock 001b19.fffe.010203-1\n"
	     "                                   min us       p50 us       p99 us       max us\n" FIGURES);
	result.one_step = 1;
	result.has_hardware = true;
	TEXT("9 requests, 2 samples, 7 without an answer\nclock 001b19.fffe.010203-1, one-step\n"
	     "by software                        min us       p50 us       p99 us       max us\n" FIGURES
	     "0 samples by the NIC, 5 without NIC stamps, 3 dropped as outliers\n");
	result.by[PTP_HARDWARE] = (struct ptp_samples){.items = by_nic, .count = 1};
	TEXT("9 requests, 2 samples, 7 without an answer\nclock 001b19.fffe.010203-1, one-step\n"
	     "by software                        min us       p50 us       p99 us       max us\n" FIGURES
	     "1 samples by the NIC, 5 without NIC stamps, 3 dropped as outliers\n"
	     "by the NIC                         min us       p50 us       p99 us       max us\n" NIC_FIGURES);
}

static void check_json(const char *expected)
{
	char path[] = "/tmp/nomora-ptp-XXXXXX", *text;
	struct error err = {0};
	json_t *json;

	close(mkstemp(path));
	cr_assert_eq(ptp_result_write_json(&result, path, &err), 0, "%s", err.text);
	json = json_load_file(path, 0, NULL);
	text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
	unlink(path);
	cr_assert_str_eq(text, expected, "%s", text);
	free(text);
	json_decref(json);
}

#define FOUR(name, value) "\"" name "\":{\"max\":" value ",\"min\":" value ",\"p50\":" value ",\"p99\":" value "}"

Test(ptp_report, the_json_has_the_same)
{
	check_json("{\"back_us\":null,\"clock\":null,\"delay_us\":null,\"hardware\":null,\"offset_us\":null,\"one_"
		   "step\":0,\"out_us\":null,\"requests\":9,\"samples\":0,\"schema\":\"nomora.ptp/"
		   "1\",\"unanswered\":7,\"unsynced\":0}");
	result.by[PTP_SOFTWARE] = (struct ptp_samples){.items = samples, .count = 2};
	result.by[PTP_HARDWARE] = (struct ptp_samples){.items = by_nic, .count = 1};
	result.has_hardware = true;
	result.one_step = 2;
	check_json("{" FOUR(
		"back_us", "0.5") ",\"clock\":\"001b19.fffe.010203-1\","
				  "\"delay_us\":{\"max\":2.0,\"min\":1.0,\"p50\":1.0,\"p99\":2.0},\"hardware\":{"
				  "\"back_us\":null," FOUR(
					  "delay_us",
					  "0.75") ",\"offset_us\":null,\"out_us\":null,\"outliers\":3,\"samples\":1,"
						  "\"unstamped\":5}," FOUR("offset_us", "-0.5") ",\"one_step\":2," FOUR(
							  "out_us",
							  "1.5") ",\"requests\":9,\"samples\":2,\"schema\":"
								 "\"nomora.ptp/1\",\"unanswered\":7,\"unsynced\":0}");
}

/* Of 201 values, the median is the 101st, and one percent, two values, lie above the p99. */
Test(ptp_report, percentiles_of_many_samples)
{
	static struct ptp_sample many[201];
	struct ptp_samples list = {.items = many, .count = 201};
	struct ptp_figures figures;

	for (int i = 0; i < 201; i++)
		many[i].round_trip.v = 2000 * ((i * 50) % 201 + 1);
	cr_assert_eq(ptp_figures(&list, PTP_DELAY, &figures), 0);
	cr_assert(figures.min_us == 1 && figures.p50_us == 101 && figures.p99_us == 199 && figures.max_us == 201,
		  "%g %g %g %g", figures.min_us, figures.p50_us, figures.p99_us, figures.max_us);
}
