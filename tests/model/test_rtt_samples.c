/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/rtt_samples.h>

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define HEAD "sent_at,peer,source_port,sequence,rtt_us,residence_us,offset_us,disturbed\n"

static int parse(const char *text, struct rtt_samples *samples, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("test", text, strlen(text), err);
	int code = rtt_samples_parse(lines, samples, err);

	file_lines_close(lines);
	return code;
}

Test(rtt_samples, what_is_written_is_read)
{
	const struct rtt_sample written = {.sent_at = {INT64_C(1700000000123456789)},
					   .rtt = {12345},
					   .residence = {2001},
					   .offset = {-7},
					   .sequence = UINT32_MAX,
					   .source_port = UINT16_MAX,
					   .disturbed = true};
	struct rtt_samples samples;
	struct error err = {0};
	char text[512] = {0};
	FILE *out = fmemopen(text, sizeof text, "w");

	rtt_samples_print_head(out);
	rtt_samples_print(&written, "h1", out);
	rtt_samples_print(&written, "h2", out);
	fclose(out);
	cr_assert_eq(parse(text, &samples, &err), 0, "%s", err.text);
	cr_assert_eq(samples.count, 2);
	cr_assert_eq(samples.peer_count, 2);
	cr_assert_eq(samples.items[1].sent_at.v, written.sent_at.v);
	cr_assert_eq(samples.items[1].rtt.v, written.rtt.v);
	cr_assert_eq(samples.items[1].residence.v, written.residence.v);
	cr_assert_eq(samples.items[1].offset.v, written.offset.v);
	cr_assert_eq(samples.items[1].sequence, written.sequence);
	cr_assert_eq(samples.items[1].source_port, written.source_port);
	cr_assert(samples.items[1].disturbed);
	cr_assert_str_eq(samples.peers[samples.items[1].peer], "h2");
	rtt_samples_free(&samples);
}

Test(rtt_samples, a_probe_is_found_by_peer_port_number_and_time)
{
	struct rtt_samples samples;
	struct error err = {0};
	struct ns at = {INT64_C(1700000000) * NS_PER_S}, second = {NS_PER_S};

	cr_assert_eq(parse(HEAD "1700000000.900000000,h1,5,1,3.0,0,0,0\n"
				"1700000000.000000100,h1,5,1,1.0,0,0,0\n"
				"1700000000.000000200,h1,5,1,2.0,0,0,0\n",
			   &samples, &err),
		     0, "%s", err.text);
	cr_assert_eq(rtt_samples_find(&samples, "h1", 5, 1, at, second)->rtt.v, 1000, "the nearest in time");
	cr_assert_null(rtt_samples_find(&samples, "h2", 5, 1, at, second), "another peer");
	cr_assert_null(rtt_samples_find(&samples, "h1", 6, 1, at, second), "another port");
	cr_assert_null(rtt_samples_find(&samples, "h1", 5, 2, at, second), "another number");
	at.v -= 2 * NS_PER_S;
	cr_assert_null(rtt_samples_find(&samples, "h1", 5, 1, at, second), "another time");
	rtt_samples_free(&samples);
}

static const struct {
	const char *text, *says;
} bad[] = {
	{"", "test:1: expected the samples of nomora probe"},
	{"captured_at,src,dst,source_port,sequence,rtt_us,residence_us\n",
	 "test:1: expected the samples of nomora probe"},
	{HEAD, "test: the file has no samples"},
	{HEAD "1700000000.000000000,h1,5,1,3.0,0,0\n", "test:2: expected 8 fields, found 7"},
	{HEAD "1700000000.5,h1,5,1,3.0,0,0,0\n", "test:2: sent_at: expected seconds"},
	{HEAD "9999999999.000000000,h1,5,1,3.0,0,0,0\n", "test:2: sent_at: expected seconds"},
	{HEAD "1700000000.000000000,h 1,5,1,3.0,0,0,0\n", "test:2: peer: expected a host"},
	{HEAD "1700000000.000000000,h1,65536,1,3.0,0,0,0\n",
	 "test:2: source_port: expected a whole number from 0 to 65535"},
	{HEAD "1700000000.000000000,h1,5,-1,3.0,0,0,0\n", "test:2: sequence: expected a whole number"},
	{HEAD "1700000000.000000000,h1,5,1,-3.0,0,0,0\n", "test:2: rtt_us: expected microseconds, 0 or more"},
	{HEAD "1700000000.000000000,h1,5,1,3.0,x,0,0\n", "test:2: residence_us: expected microseconds"},
	{HEAD "1700000000.000000000,h1,5,1,3.0,0,1e300,0\n", "test:2: offset_us: expected microseconds"},
	{HEAD "1700000000.000000000,h1,5,1,3.0,0,0,2\n", "test:2: disturbed: expected a whole number from 0 to 1"},
};

Test(rtt_samples, refusals_name_line_and_field)
{
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct rtt_samples samples;
		struct error err = {0};

		cr_assert_eq(parse(bad[i].text, &samples, &err), -EINVAL, "%zu", i);
		cr_assert_eq(strncmp(err.text, bad[i].says, strlen(bad[i].says)), 0, "%s", err.text);
		cr_assert_null(samples.items);
	}
}
