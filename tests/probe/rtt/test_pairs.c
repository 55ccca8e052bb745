/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <probe/rtt/capture.h>
#include <probe/rtt/stamp.h>

Test(pairs, a_captures_pairs_are_sorted_named_and_written)
{
	char peers[] = "/tmp/nomora-pairs-XXXXXX", samples[] = "/tmp/nomora-pairs-XXXXXX";
	struct rtt_pairs_settings settings = {.peers = peers,
					      .samples = samples,
					      .udp_port = STAMP_PORT,
					      .protocols = 1 << CAPTURE_STAMP,
					      .gross = true};
	struct error err = {0};
	struct rtt_pairs *pairs;
	FILE *file;
	json_t *root, *first;
	size_t bytes, lines = 0;
	char *text;

	close(mkstemp(peers));
	close(mkstemp(samples));
	file = fopen(peers, "w");
	cr_assert(file && fputs("h1 10.77.1.101\nh2 10.77.1.102\n", file) >= 0 && fclose(file) == 0);
	pairs = rtt_pairs_read(CAPTURE, &settings, &err);
	cr_assert(pairs, "%s", err.text);
	root = rtt_pairs_to_json(pairs, "probes.pcap");
	first = json_array_get(json_object_get(root, "pairs"), 0);
	cr_assert_str_eq(json_string_value(json_object_get(first, "src")), "h1");
	cr_assert_str_eq(json_string_value(json_object_get(first, "dst")), "h2");
	cr_assert(json_is_false(json_object_get(root, "residence_taken_off")));
	cr_assert_gt(rtt_pairs_counters(pairs)->pairs, 0);
	text = file_read_all(samples, 1 << 20, &bytes, &err);
	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		lines++;
	cr_assert_eq(lines, 1 + rtt_pairs_counters(pairs)->pairs, "a header and a line for each round trip");
	free(text);
	json_decref(root);
	rtt_pairs_destroy(pairs);
	unlink(peers);
	unlink(samples);
	settings.samples = NULL;
	cr_assert_null(rtt_pairs_read(CAPTURE, &settings, &err));
	cr_assert_eq(err.code, ENOENT);
}
