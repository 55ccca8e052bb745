/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/json.h>
#include <predict/calibration/calibration.h>

/* The lines of messages that behave as LogGPS with L 7, o 2 us, G 0.5 ns a byte and S 5000 bytes. */
static char *make_lines(void)
{
	static char text[4096];
	int length = snprintf(text, sizeof text,
			      "mpirun says something\n[1,0]<stdout>:" CALIBRATION_MARK
			      "library Open MPI v1\n" CALIBRATION_MARK "host a\n" CALIBRATION_MARK
			      "host b\n" CALIBRATION_MARK "send 2\n" CALIBRATION_MARK "eager 5000\n");

	for (long bytes = 1; bytes <= 1 << 20; bytes *= 4) {
		double half_us = 2 * 2 + (bytes > 5000 ? 3 : 1) * 7 + (double)(bytes - 1) * 0.5e-3;

		length += snprintf(text + length, sizeof text - (size_t)length,
				   CALIBRATION_MARK "round-trip %ld %.9f\n", bytes, 2 * half_us);
	}
	return text;
}

Test(calibration, the_parameters_of_messages_that_behave_so_are_found)
{
	struct calibration found;
	struct error err = {0};

	cr_assert_eq(calibration_parse(make_lines(), &found, &err), 0, "%s", err.text);
	cr_assert_float_eq(found.model.latency_ns, 7000, 1e-3);
	cr_assert_float_eq(found.model.overhead_ns, 2000, 1e-3);
	cr_assert_float_eq(found.model.gap_ns, 0.5, 1e-9);
	cr_assert_eq(found.model.eager_bytes, 5000);
	cr_assert_str_eq(found.library, "Open MPI v1");
	cr_assert_str_eq(found.hosts[0], "a");
	cr_assert_str_eq(found.hosts[1], "b");
	for (size_t i = 0; i < found.count; i++)
		cr_assert_float_eq(2 * calibration_half_us(&found.model, found.sizes[i].bytes), found.sizes[i].rtt_us,
				   1e-6);
}

Test(calibration, a_send_as_long_as_the_message_leaves_no_latency)
{
	char text[] = CALIBRATION_MARK "round-trip 1 6\n" CALIBRATION_MARK "send 5\n" CALIBRATION_MARK "eager 0\n";
	struct calibration found;

	cr_assert_eq(calibration_parse(text, &found, NULL), 0);
	cr_assert_float_eq(found.model.overhead_ns, 1500, 1e-9);
	cr_assert_float_eq(found.model.latency_ns, 0, 1e-9);
	cr_assert_float_eq(found.model.gap_ns, 0, 0);
}

Test(calibration, lines_that_are_wrong_or_missing_are_refused)
{
	static const char *const wrong[] = {"send",     "send x",         "send -1", "round-trip 1", "round-trip 1 nan",
					    "eager -1", "eager 99999999", "other 1"};
	struct calibration found;
	struct error err = {0};
	char *text, *line;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char with[8192];

		snprintf(with, sizeof with, "%s" CALIBRATION_MARK "%s\n", make_lines(), wrong[i]);
		cr_assert_eq(calibration_parse(with, &found, &err), -EINVAL, "%s", wrong[i]);
		cr_assert(strstr(err.text, "the ping-pong printed"), "%s", err.text);
	}
	text = make_lines();
	line = strstr(text, CALIBRATION_MARK "send");
	memset(line, ' ', strlen(CALIBRATION_MARK));
	cr_assert_eq(calibration_parse(text, &found, &err), -EINVAL);
	cr_assert(strstr(err.text, "did not print all"), "%s", err.text);
}

Test(calibration, its_file_is_read_as_it_was_written)
{
	char path[] = "/tmp/calibration-XXXXXX";
	struct calibration found;
	struct loggps model;
	struct error err = {0};
	int file = mkstemp(path);

	cr_assert_geq(file, 0);
	close(file);
	cr_assert_eq(calibration_parse(make_lines(), &found, &err), 0);
	cr_assert_eq(calibration_save(&found, path, &err), 0, "%s", err.text);
	cr_assert_eq(calibration_model(path, json_read_file(path, &err), &model, &err), 0, "%s", err.text);
	cr_assert_float_eq(model.latency_ns, found.model.latency_ns, 1e-6);
	cr_assert_float_eq(model.overhead_ns, found.model.overhead_ns, 1e-6);
	cr_assert_float_eq(model.gap_ns, found.model.gap_ns, 1e-12);
	cr_assert_eq(model.eager_bytes, found.model.eager_bytes);
	cr_assert_null(model.hosts);
	unlink(path);
	cr_assert_lt(calibration_model("m", json_read_text("m", 0, "{\"schema\": \"nomora.curve/1\"}", 28, &err),
				       &model, &err),
		     0);
	cr_assert(strstr(err.text, "nomora.loggps/1"), "%s", err.text);
}
