/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <base/rng.h>
#include "load_priv.h"

static const char stream[] = "VALUE k1 0 5\r\nhello\r\nEND\r\n"
			     "END\r\n"
			     "STORED\r\n"
			     "VALUE k2 7 0\r\n\r\nEND\r\n"
			     "VALUE k3 0 12\r\nEND\r\nSTORED\r\r\nEND\r\n"
			     "NOT_STORED\r\n"
			     "SERVER_ERROR out of memory storing object\r\n"
			     "ERROR\r\n"
			     "CLIENT_ERROR bad data chunk\r\n";

static const struct reply expected[] = {
	{REPLY_HIT, 5},        {REPLY_MISS, 0},  {REPLY_STORED, 0}, {REPLY_HIT, 0},   {REPLY_HIT, 12},
	{REPLY_NOT_STORED, 0}, {REPLY_ERROR, 0}, {REPLY_ERROR, 0},  {REPLY_ERROR, 0},
};

enum { EXPECTED = sizeof expected / sizeof *expected };

/* Feeds one fragment; returns how many replies it completed, checking each against the list. */
static size_t feed(struct reply_parser *parser, const char *bytes, size_t count, size_t next)
{
	size_t found = 0;

	while (count > 0) {
		struct reply reply;
		size_t used;
		int code = reply_parse(parser, bytes, count, &used, &reply);

		cr_assert_geq(code, 0);
		cr_assert_leq(used, count);
		cr_assert_gt(used, 0);
		bytes += used;
		count -= used;
		if (code == 0)
			continue;
		cr_assert_lt(next + found, EXPECTED);
		cr_assert_eq(reply.kind, expected[next + found].kind, "reply %zu", next + found);
		cr_assert_eq(reply.value_bytes, expected[next + found].value_bytes);
		found++;
	}
	return found;
}

Test(reply, whole_stream)
{
	struct reply_parser parser;

	reply_parser_init(&parser);
	cr_assert_eq(feed(&parser, stream, sizeof stream - 1, 0), EXPECTED);
}

Test(reply, cut_in_two_at_every_byte)
{
	for (size_t cut = 0; cut < sizeof stream; cut++) {
		struct reply_parser parser;
		size_t found;

		reply_parser_init(&parser);
		found = feed(&parser, stream, cut, 0);
		cr_assert_eq(found + feed(&parser, stream + cut, sizeof stream - 1 - cut, found), EXPECTED);
	}
}

Test(reply, fragments_of_any_size)
{
	struct rng rng;

	rng_seed(&rng, 5);
	for (int round = 0; round < 2000; round++) {
		struct reply_parser parser;
		size_t at = 0, found = 0;

		reply_parser_init(&parser);
		while (at < sizeof stream - 1) {
			size_t size = 1 + rng_below(&rng, round % 20 + 1);

			if (size > sizeof stream - 1 - at)
				size = sizeof stream - 1 - at;
			found += feed(&parser, stream + at, size, found);
			at += size;
		}
		cr_assert_eq(found, EXPECTED);
	}
}

static const char *const broken[] = {
	"HTTP/1.1 400 Bad Request\r\n",
	"VALUE k\r\n",
	"VALUE k 0 x\r\n",
	"VALUE k 0 -1\r\n",
	"VALUE k 0 99999999999999999999\r\n",
	"VALUE k 0 3\r\nabcdEND\r\n",
	"VALUE k 0 3\r\nabc\n\nEND\r\n",
	"VALUE k 0 3\r\nabc\r\nSTORED\r\n",
	"VALUE k 0 3\r\nabc\r\nVALUE k 0 3\r\n",
	"\r\n",
	"stored\r\n",
};

Test(reply, what_is_no_answer_is_refused_in_any_fragments)
{
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
		for (size_t size = 1; size < 20; size++) {
			struct reply_parser parser;
			int code = 0;

			reply_parser_init(&parser);
			for (size_t at = 0; at < strlen(broken[i]) && code >= 0; at += size) {
				size_t count = strlen(broken[i]) - at, used = 0, taken = 0;
				struct reply reply;

				count = count < size ? count : size;
				while (taken < count && code >= 0) {
					code = reply_parse(&parser, broken[i] + at + taken, count - taken, &used,
							   &reply);
					cr_assert_neq(code, 1, "'%s' was taken for an answer", broken[i]);
					taken += used;
				}
			}
			cr_assert_eq(code, -EPROTO, "'%s' in pieces of %zu", broken[i], size);
		}
}

Test(reply, endless_line_is_refused)
{
	struct reply_parser parser;
	struct reply reply;
	int code = 0;

	reply_parser_init(&parser);
	for (int i = 0; i < REPLY_LINE_BYTES && code == 0; i++) {
		size_t used;

		code = reply_parse(&parser, "x", 1, &used, &reply);
	}
	cr_assert_eq(code, -EPROTO);
}
