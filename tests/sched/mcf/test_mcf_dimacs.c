/* SPDX-License-Identifier: BSD-3-Clause */
/* The DIMACS reader: the accepted variants, and bad files, refused with line, field and what was expected. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <unistd.h>
#include <zlib.h>

#include <sched/mcf/dimacs.h>

#include "mcf_world.h"

#define GOOD "c two ways\np min 3 2\nn 1 4\nn 3 -4\na 1 2 0 4 2\na 2 3 1 5 -7\n"

static int parse(const char *text, struct mcf_network *network, struct error *err)
{
	return mcf_dimacs_parse("net", text, strlen(text), network, err);
}

Test(mcf_dimacs, reads_what_is_there)
{
	static const char *const forms[] = {
		GOOD, "  c\n p min 3 2\n\tn 1 4\n n 3 -4\n  a 1 2 0 4 2\n\ta 2 3 1 5 -7\n",
		"p min 3 2\r\nn 1 4\r\nn 3 -4\r\na 1 2 0 4 2\r\na 2 3 1 5 -7\r\n",
		"\n\np\tmin  3 2 \na 1 2  0 4 2\t\na 2 3 1 5 -7\nn 3 -4\nc\nn 1 4", /* nodes after arcs, no final
										       newline */
	};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct mcf_network network;
		struct error err = {0};

		cr_assert_eq(parse(forms[i], &network, &err), 0, "form %zu: %s", i, err.text);
		cr_assert_eq(network.problem.node_count, 3);
		cr_assert_eq(network.problem.arc_count, 2);
		cr_assert_eq(network.tail[1], 1);
		cr_assert_eq(network.head[1], 2);
		cr_assert_eq(network.lower[1], 1);
		cr_assert_eq(network.lower[0], 0);
		cr_assert_eq(network.capacity[0], 4);
		cr_assert_eq(network.cost[1], -7);
		cr_assert_eq(network.supply[0], 4);
		mcf_network_free(&network);
	}
}

struct bad {
	char text[160];
	char place[32];
	char why[64];
};

static const struct bad bads[] = {
	{"", "net:", "ends without a p line"},
	{"p min 2 2\na 1 2 0 1 1\n", "net:2", "ends after 1 arcs of the 2"},
	{"p min 2 1\na 1 2 0 1 1\na 1 2 0 1 1\n", "net:3", "one arc more than the 1"},
	{"p min 2 1\na 1 3 0 1 1\n", "net:2: HEAD", "found 3, expected 1..2"},
	{"p min 2 1\na 0 2 0 1 1\n", "net:2: TAIL", "found 0, expected 1..2"},
	{"p min 2 1\na 1 2 0 -1 1\n", "net:2: CAPACITY", "found -1, expected 0..2147483647"},
	{"p min 2 1\na 1 2 0 2147483648 1\n", "net:2: CAPACITY", "found 2147483648"},
	{"p min 2 1\na 1 2 -1 1 1\n", "net:2: LOWER", "found -1"},
	{"p min 2 1\na 1 2 3 2 1\n", "net:2: LOWER", "lower bound 3 is over the capacity 2"},
	{"p min 2 1\na 1 2 3 2 9\n", "net:2: LOWER", "lower bound 3 is over the capacity 2"},
	{"p min 2 1\na 1 2 0 1 99999999999999999999\n", "net:2: COST", "expected -"},
	{"p min 2 1\na 1 2 0 1 999999999999999999\n", "net:2: COST", "found 999999999999999999, expected -"},
	{"p min 2 1\na 1 2 0 1 1.5\n", "net:2: COST", "found '1.5', expected an integer"},
	{"p min 2 1\na 1 2 0 1\n", "net:2: COST", "the line ends here"},
	{"p min 2 1\na 1 2 0 1 1 9\n", "net:2", "found '9' behind the last field"},
	{"p min 2 1\nn 1 1\nn 1 1\na 1 2 0 1 1\n", "net:3: NODE", "a second n line for node 1"},
	{"p min 2 1\nn 3 1\na 1 2 0 1 1\n", "net:2: NODE", "found 3, expected 1..2"},
	{"p min 2 1\nn 1 1\na 1 2 0 1 1\n", "net:3: SUPPLY", "the supplies sum to 1, expected 0"},
	{"p min 4 1\nn 1 2305843009213693952\nn 2 2305843009213693952\nn 3 -2305843009213693952\nn 4 "
	 "-2305843009213693952\na 1 2 0 1 1\n",
	 "net:6: SUPPLY", "expected 2^62 at most"},
	{"p min 2 1\nn 1 x\na 1 2 0 1 1\n", "net:2: SUPPLY", "found 'x'"},
	{"p max 2 1\na 1 2 0 1 1\n", "net:1: p", "expected 'p min NODES ARCS'"},
	{"p min 2 1\np min 2 1\n", "net:2", "a second p line"},
	{"a 1 2 0 1 1\n", "net:1", "an a line before the p line"},
	{"n 1 1\n", "net:1", "an n line before the p line"},
	{"p min 2 1\nq 1\n", "net:2", "starts with 'q', expected c, p, n or a"},
	{"p min 99999999999 1\n", "net:1: NODES", "found 99999999999"},
	{"p min 2 -1\n", "net:1: ARCS", "found -1"},
};

Test(mcf_dimacs, refuses_what_is_wrong_and_says_where)
{
	for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
		struct mcf_network network;
		struct error err = {0};
		int code = parse(bads[i].text, &network, &err);

		cr_expect_eq(code, -EINVAL, "%s: is taken (%d)", bads[i].text, code);
		cr_expect_eq(strncmp(err.text, bads[i].place, strlen(bads[i].place)), 0, "'%s' is not at %s", err.text,
			     bads[i].place);
		cr_expect_not_null(strstr(err.text, bads[i].why), "'%s' lacks '%s'", err.text, bads[i].why);
		cr_expect_null(network.tail, "something is left");
	}
}

Test(mcf_dimacs, a_byte_order_mark_and_crlf_are_no_trouble)
{
	struct mcf_network network;
	struct error err = {0};

	cr_assert_eq(parse("\xef\xbb\xbfp min 2 1\r\nn 1 1\r\nn 2 -1\r\na 1 2 0 1 7\r\n", &network, &err), 0, "%s",
		     err.text);
	cr_assert_eq(network.cost[0], 7);
	mcf_network_free(&network);
	cr_assert_lt(parse("p min 2 1\n\xef\xbb\xbfn 1 1\n", &network, &err), 0);
}

/* A truncated file is refused, unless only the last newline is missing. */
Test(mcf_dimacs, refuses_a_file_cut_anywhere)
{
	const char *text = GOOD;

	for (size_t bytes = 0; bytes + 2 < strlen(text); bytes++) {
		struct mcf_network network;
		struct error err = {0};

		cr_expect_lt(mcf_dimacs_parse("net", text, bytes, &network, &err), 0, "%zu bytes", bytes);
	}
}

static void write_file(const char *path, const struct mcf_problem *problem, const char *mode)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	gzFile file = gzopen(path, mode);

	cr_assert_eq(mcf_dimacs_write(problem, "one\ntwo", out), 0);
	fclose(out);
	cr_assert_eq(gzwrite(file, text, (unsigned)bytes), (int)bytes);
	cr_assert_eq(gzclose(file), Z_OK);
	free(text);
}

static void expect_same(const struct mcf_problem *a, const struct mcf_problem *b)
{
	cr_assert_eq(a->node_count, b->node_count);
	cr_assert_eq(a->arc_count, b->arc_count);
	for (int32_t v = 0; v < a->node_count; v++)
		cr_assert_eq(a->supply[v], b->supply[v]);
	for (int32_t i = 0; i < a->arc_count; i++) {
		cr_assert_eq(a->tail[i], b->tail[i]);
		cr_assert_eq(a->head[i], b->head[i]);
		cr_assert_eq(a->lower[i], b->lower ? b->lower[i] : 0);
		cr_assert_eq(a->capacity[i], b->capacity[i]);
		cr_assert_eq(a->cost[i], b->cost[i]);
	}
}

Test(mcf_dimacs, written_files_read_back_plain_and_gzip)
{
	static const char *const modes[] = {"wbT", "wb6"};
	char path[] = "/tmp/test_mcf_dimacs_XXXXXX";
	struct world world;
	struct rng rng;

	close(mkstemp(path));
	rng_seed(&rng, 3);
	for (int32_t number = 0; number < 60; number++) {
		struct mcf_network network;
		struct error err = {0};

		world_random(&world, &rng, number);
		write_file(path, world_problem(&world), modes[number % 2]);
		cr_assert_eq(mcf_dimacs_read(path, &network, &err), 0, "%s", err.text);
		expect_same(&world.problem, &network.problem);
		mcf_network_free(&network);
	}
	remove(path);
}

Test(mcf_dimacs, files_larger_than_a_chunk_and_cut_gzip)
{
	char path[] = "/tmp/test_mcf_dimacs_XXXXXX";
	enum { ARCS = 40000 };
	int32_t *ends = malloc(ARCS * sizeof *ends), *capacity = malloc(ARCS * sizeof *capacity);
	int64_t *cost = malloc(ARCS * sizeof *cost), supply[8] = {0};
	struct mcf_problem problem = {8, ARCS, ends, ends, NULL, capacity, cost, supply};
	struct mcf_network network;
	struct error err = {0};
	long bytes;
	FILE *file;

	for (int32_t a = 0; a < ARCS; a++) {
		ends[a] = a % 8;
		capacity[a] = a * 31;
		cost[a] = a * INT64_C(1000003) - 7;
	}
	close(mkstemp(path));
	write_file(path, &problem, "wb1");
	cr_assert_eq(mcf_dimacs_read(path, &network, &err), 0, "%s", err.text);
	cr_assert_eq(network.problem.arc_count, ARCS);
	cr_assert_eq(memcmp(network.cost, cost, ARCS * sizeof *cost), 0);
	mcf_network_free(&network);
	file = fopen(path, "r+b");
	fseek(file, 0, SEEK_END);
	bytes = ftell(file);
	cr_assert_eq(ftruncate(fileno(file), bytes / 2), 0);
	fclose(file);
	cr_assert_lt(mcf_dimacs_read(path, &network, &err), 0);
	cr_expect_not_null(strstr(err.text, path), "%s", err.text);
	cr_assert_eq(mcf_dimacs_read("/nowhere/at/all", &network, &err), -ENOENT);
	remove(path);
	free(ends);
	free(capacity);
	free(cost);
}
