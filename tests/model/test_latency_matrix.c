/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/rng.h>
#include <model/latency_matrix.h>

#define HEADER_2                                                                                                       \
	"src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at,state,paths,paths_covered,disturbed,error_"  \
	"us\n"
#define HEADER "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
#define HEADER_3                                                                                                       \
	"src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at,state,paths,paths_covered,disturbed,error_"  \
	"us,answered_at\n"
#define HEADER_4                                                                                                       \
	"src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at,state,paths,paths_covered,disturbed,error_"  \
	"us,answered_at,peer_stalled,peer_stall_us,hop,next_hop,hop_us,hop_loss\n"

static struct latency_matrix *parse(const char *text, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("m.csv", text, strlen(text), err);
	struct latency_matrix *matrix = latency_matrix_parse(lines, err);

	file_lines_close(lines);
	return matrix;
}

static const struct latency_entry *look_up(const struct latency_matrix *matrix, const char *source,
					   const char *destination)
{
	int64_t from = latency_matrix_find_host(matrix, source);
	int64_t to = latency_matrix_find_host(matrix, destination);

	if (from < 0 || to < 0)
		return NULL;
	return latency_matrix_get(matrix, (uint32_t)from, (uint32_t)to);
}

Test(latency_matrix, reads_rows_and_finds_pairs)
{
	struct error err = {0};
	struct latency_matrix *matrix = parse("# a remark\n" HEADER "h1,h2,23.104,41.5,88,0.25,30,1795188663.25\n"
					      "\nh2,h1,,,,1,0,1795188664\n",
					      &err);
	const struct latency_entry *entry;

	cr_assert_not_null(matrix, "%s", err.text);
	cr_assert_eq(latency_matrix_count(matrix), 2);
	cr_assert_eq(latency_matrix_hosts(matrix), 2);
	entry = look_up(matrix, "h1", "h2");
	cr_assert_not_null(entry);
	cr_assert_float_eq(entry->rtt_p50_us, 23.104, 1e-12);
	cr_assert_float_eq(entry->loss, 0.25, 1e-12);
	cr_assert_eq(entry->samples, 30);
	cr_assert_eq(entry->updated_at.v, INT64_C(1795188663250000000));
	entry = look_up(matrix, "h2", "h1");
	cr_assert(isnan(entry->rtt_p50_us) && isnan(entry->rtt_max_us));
	cr_assert_null(look_up(matrix, "h1", "h1"));
	cr_assert_null(look_up(matrix, "h1", "h3"));
	latency_matrix_destroy(matrix);
}

struct bad_file {
	char text[160];
	char expected[64];
};

static const struct bad_file bad_files[] = {
	{"", "m.csv:1"},
	{"src,dst\n", "m.csv:1: expected the header"},
	{HEADER "a,b,1,2,3,0,1\n", "m.csv:2: expected 8 fields"},
	{HEADER "a,b,1,2,3,0,1,2,3\n", "m.csv:2: expected 8 fields"},
	{HEADER ",b,1,2,3,0,1,2\n", "m.csv:2: src: expected a host name of 1..63 bytes"},
	{HEADER "a,b c,1,2,3,0,1,2\n", "m.csv:2: dst"},
	{HEADER "a\xc3,b,1,2,3,0,1,2\n", "m.csv:2: src"},
	{HEADER "a,b,0x1p3,2,3,0,1,2\n", "m.csv:2: rtt_p50_us"},
	{HEADER "a,b,1,2,inf,0,1,2\n", "m.csv:2: rtt_max_us"},
	{HEADER "a,b,1,1e400,3,0,1,2\n", "m.csv:2: rtt_p99_us"},
	{HEADER "a,b,x,2,3,0,1,2\n", "m.csv:2: rtt_p50_us"},
	{HEADER "a,b,-1,2,3,0,1,2\n", "m.csv:2: rtt_p50_us"},
	{HEADER "a,b,nan,2,3,0,1,2\n", "m.csv:2: rtt_p50_us"},
	{HEADER "a,b,3,2,3,0,1,2\n", "m.csv:2: rtt_p99_us"},
	{HEADER "a,b,1,5,3,0,1,2\n", "m.csv:2: rtt_max_us"},
	{HEADER "a,b,1,2,3,1.5,1,2\n", "m.csv:2: loss"},
	{HEADER "a,b,1,2,3,0,1.5,2\n", "m.csv:2: samples"},
	{HEADER "a,b,1,2,3,0,-1,2\n", "m.csv:2: samples"},
	{HEADER "a,b,1,2,3,1,0,2\n", "m.csv:2: rtt_p50_us"},
	{HEADER "a,b,,2,3,0,4,2\n", "m.csv:2: rtt_p50_us"},
	{HEADER_2 "a,b,1,2,3,0,1,2\n", "m.csv:2: expected 13 fields"},
	{HEADER "a,b,1,2,3,0,1,2,measured,0,0,0,0\n", "m.csv:2: expected 8 fields"},
	{HEADER_2 "a,b,1,2,3,0,1,2,lost,0,0,0,0\n", "m.csv:2: state"},
	{HEADER_2 "a,b,1,2,3,0,1,2,never,0,0,0,0\n", "m.csv:2: state"},
	{HEADER_2 "a,b,,,,1,0,2,measured,0,0,0,0\n", "m.csv:2: state"},
	{HEADER_2 "a,b,1,2,3,0,1,2,measured,70000,0,0,0\n", "m.csv:2: paths"},
	{HEADER_2 "a,b,1,2,3,0,1,2,measured,0,-1,0,0\n", "m.csv:2: paths_covered"},
	{HEADER_2 "a,b,1,2,3,0,1,2,measured,0,0,2,0\n", "m.csv:2: disturbed"},
	{HEADER_2 "a,b,1,2,3,0,1,2,measured,0,0,0,nan\n", "m.csv:2: error_us"},
	{HEADER "a,b,1,2,3,0,1,1e300\n", "m.csv:2: updated_at"},
	{HEADER "a,b,1,2,3,0,1,2\na,b,1,2,3,0,1,3\n", "m.csv:3: dst: duplicate pair a -> b"},
};

Test(latency_matrix, there_is_no_zero_below_zero)
{
	struct error err = {0};
	struct latency_matrix *matrix = parse(HEADER "a,b,-0,-0.0,3,-0,1,2\n", &err);
	const struct latency_entry *entry;

	cr_assert_not_null(matrix, "%s", err.text);
	entry = latency_matrix_at(matrix, 0);
	cr_assert(!signbit(entry->rtt_p50_us) && !signbit(entry->rtt_p99_us) && !signbit(entry->loss));
	latency_matrix_destroy(matrix);
}

Test(latency_matrix, refuses_bad_files_with_their_place)
{
	for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
		struct error err = {0};

		cr_assert_null(parse(bad_files[i].text, &err), "%s", bad_files[i].text);
		cr_assert(strncmp(err.text, bad_files[i].expected, strlen(bad_files[i].expected)) == 0,
			  "'%s' gave '%s', expected '%s'", bad_files[i].text, err.text, bad_files[i].expected);
		cr_assert_gt(err.code, 0);
	}
}

static struct latency_matrix *random_matrix(uint64_t seed, uint32_t hosts, uint32_t pairs)
{
	struct latency_matrix *matrix = latency_matrix_create();
	struct rng rng;
	char name[16];

	rng_seed(&rng, seed);
	for (uint32_t i = 0; i < hosts; i++) {
		snprintf(name, sizeof name, "host%u", i);
		cr_assert_eq(latency_matrix_add_host(matrix, name), i);
	}
	for (uint32_t i = 0; i < pairs; i++) {
		struct latency_entry entry = {.source = (uint32_t)rng_below(&rng, hosts),
					      .destination = (uint32_t)rng_below(&rng, hosts),
					      .samples = rng_below(&rng, 1000),
					      .updated_at = {(int64_t)rng_below(&rng, 2000000000) * NS_PER_MS},
					      .answered_at = {(int64_t)rng_below(&rng, 2000000000) * NS_PER_MS}};

		entry.rtt_p50_us = entry.samples ? (double)rng_below(&rng, 1000000) / 1000 : NAN;
		entry.rtt_p99_us = entry.rtt_p50_us + 1;
		entry.rtt_max_us = entry.rtt_p99_us + 1;
		entry.loss = entry.samples ? rng_uniform(&rng) : 1;
		cr_assert_eq(latency_matrix_set(matrix, &entry), 0);
	}
	return matrix;
}

static void assert_same(const struct latency_matrix *a, const struct latency_matrix *b)
{
	cr_assert_eq(latency_matrix_count(a), latency_matrix_count(b));
	for (size_t i = 0; i < latency_matrix_count(a); i++) {
		const struct latency_entry *x = latency_matrix_at(a, i);
		const struct latency_entry *y =
			look_up(b, latency_matrix_host(a, x->source), latency_matrix_host(a, x->destination));

		cr_assert_not_null(y);
		cr_assert(x->samples == y->samples && x->loss == y->loss && x->updated_at.v == y->updated_at.v);
		cr_assert_eq(x->answered_at.v, y->answered_at.v);
		if (x->samples) {
			cr_assert_float_eq(x->rtt_p50_us, y->rtt_p50_us, 1e-9);
			cr_assert_float_eq(x->rtt_max_us, y->rtt_max_us, 1e-9);
		} else {
			cr_assert(isnan(y->rtt_p50_us));
		}
	}
}

Test(latency_matrix, all_versions_of_the_header_are_read)
{
	struct error err = {0};
	struct latency_matrix *matrix;
	const struct latency_entry *entry;

	matrix = parse(HEADER "a,b,,,,1,0,7\na,c,1,2,3,0,4,5\n", &err);
	cr_assert_eq(look_up(matrix, "a", "b")->state, LATENCY_STATE_UNREACHABLE);
	cr_assert_eq(look_up(matrix, "a", "c")->state, LATENCY_STATE_MEASURED);
	latency_matrix_destroy(matrix);
	matrix = parse("# nomora.latency/2\n" HEADER_2 "a,b,,,,0,0,0,never,0,0,0,0\n"
		       "a,c,1,2,3,0,4,5,stale,16,12,0.25,0.5\n"
		       "a,d,,,,1,0,5,stale,0,0,0,0\n",
		       &err);
	cr_assert_not_null(matrix, "%s", err.text);
	cr_assert_eq(look_up(matrix, "a", "b")->state, LATENCY_STATE_NEVER);
	cr_assert_eq(look_up(matrix, "a", "d")->state, LATENCY_STATE_UNREACHABLE);
	entry = look_up(matrix, "a", "c");
	cr_assert(entry->state == LATENCY_STATE_MEASURED && entry->paths == 16 && entry->paths_covered == 12);
	cr_assert(entry->disturbed == 0.25F && entry->error_us == 0.5F);
	cr_assert(entry->answered_at.v == 5 * NS_PER_S && look_up(matrix, "a", "d")->answered_at.v == 0);
	latency_matrix_destroy(matrix);
	matrix = parse(HEADER_3 "a,b,,,,1,0,9,unreachable,0,0,0,0,2.5\na,c,,,,1,0,9,unreachable,0,0,0,0,\n", &err);
	cr_assert_not_null(matrix, "%s", err.text);
	entry = look_up(matrix, "a", "b");
	cr_assert(entry->updated_at.v == 9 * NS_PER_S && entry->answered_at.v == 2500 * NS_PER_MS);
	cr_assert_eq(look_up(matrix, "a", "c")->answered_at.v, 0);
	latency_matrix_destroy(matrix);
	matrix = parse(HEADER_4 "a,b,1,2,3,0,4,5,measured,4,4,0,0,5,0.5,299000,10.78.0.5,fd78::3,400,0.25\n", &err);
	cr_assert_not_null(matrix, "%s", err.text);
	entry = look_up(matrix, "a", "b");
	cr_assert(entry->peer_stalled == 0.5F && entry->peer_stall_us == 299000);
	cr_assert(entry->hop == 0x0a4e0005 && entry->next_hop >> 112 == 0xfd78);
	cr_assert(entry->hop_us == 400 && entry->hop_loss == 0.25F);
	latency_matrix_destroy(matrix);
	cr_assert_null(parse(HEADER_4 "a,b,1,2,3,0,4,5,measured,4,4,0,0,5,0.5,9,leaf1,,0,0\n", &err));
	cr_assert_str_eq(err.text, "m.csv:2: hop: expected an IP address, found 'leaf1'");
}

Test(latency_matrix, what_is_written_reads_back_the_same)
{
	char path[] = "/tmp/nomora-matrix-XXXXXX", first[32];
	struct latency_matrix *matrix = random_matrix(7, 200, 5000), *back;
	struct error err = {0};
	FILE *file;

	close(mkstemp(path));
	cr_assert_eq(latency_matrix_write(matrix, path, &err), 0, "%s", err.text);
	file = fopen(path, "r");
	cr_assert(file && fgets(first, sizeof first, file));
	fclose(file);
	cr_assert_str_eq(first, "# nomora.latency/4\n");
	back = latency_matrix_read(path, NULL, &err);
	unlink(path);
	cr_assert_not_null(back, "%s", err.text);
	assert_same(matrix, back);
	latency_matrix_destroy(matrix);
	latency_matrix_destroy(back);
}

Test(latency_matrix, merges_by_name_and_rule)
{
	struct error err = {0};
	struct latency_matrix *a = parse(HEADER "x,y,1,2,3,0,10,100\nx,z,1,2,3,0,10,100\n", &err);
	struct latency_matrix *b = parse(HEADER "y,x,5,6,7,0,10,100\nx,y,2,3,4,0.5,20,90\n", &err);
	struct latency_matrix *all = latency_matrix_create();

	cr_assert(a && b && all);
	cr_assert_eq(latency_matrix_merge(all, a, LATENCY_MERGE_REFUSE, &err), 0);
	cr_assert_eq(latency_matrix_merge(all, b, LATENCY_MERGE_REFUSE, &err), -EEXIST);
	cr_assert(strstr(err.text, "x -> y"));
	cr_assert_eq(latency_matrix_merge(all, b, LATENCY_MERGE_FRESHEST, &err), 0);
	cr_assert_eq(look_up(all, "x", "y")->rtt_p50_us, 1, "the older one must not win");
	cr_assert_eq(look_up(all, "y", "x")->rtt_p50_us, 5);
	cr_assert_eq(latency_matrix_merge(all, b, LATENCY_MERGE_WORST, &err), 0);
	cr_assert_eq(look_up(all, "x", "y")->rtt_p50_us, 2);
	cr_assert_eq(look_up(all, "x", "y")->loss, 0.5);
	cr_assert_eq(look_up(all, "x", "y")->samples, 30);
	cr_assert_eq(latency_matrix_count(all), 3);
	latency_matrix_destroy(a);
	latency_matrix_destroy(b);
	latency_matrix_destroy(all);
}

Test(latency_matrix, set_refuses_what_a_file_could_not_hold)
{
	struct latency_matrix *matrix = random_matrix(1, 2, 1);
	struct latency_entry entry = {
		.destination = 2, .rtt_p50_us = 1, .rtt_p99_us = 1, .rtt_max_us = 1, .samples = 1};

	cr_assert_eq(latency_matrix_set(matrix, &entry), -EINVAL);
	entry.destination = 1;
	cr_assert_eq(latency_matrix_set(matrix, &entry), 0);
	entry.rtt_p99_us = 0.5;
	cr_assert_eq(latency_matrix_set(matrix, &entry), -EINVAL);
	entry.rtt_p99_us = 2;
	cr_assert_eq(latency_matrix_set(matrix, &entry), -EINVAL, "the 99th percentile is over the maximum");
	entry.rtt_p99_us = NAN;
	cr_assert_eq(latency_matrix_set(matrix, &entry), -EINVAL);
	cr_assert_eq(latency_matrix_add_host(matrix, "a,b"), -EINVAL);
	cr_assert_eq(latency_matrix_add_host(matrix, ""), -EINVAL);
	latency_matrix_destroy(matrix);
}

Test(latency_matrix, an_entry_is_stale_if_it_is_too_old_or_too_far_ahead)
{
	static const struct {
		enum latency_state state;
		int64_t updated_s, max_age_s;
		enum latency_state seen;
	} cases[] = {
		{LATENCY_STATE_MEASURED, 990, 10, LATENCY_STATE_MEASURED},
		{LATENCY_STATE_MEASURED, 989, 10, LATENCY_STATE_STALE},
		{LATENCY_STATE_UNREACHABLE, 989, 10, LATENCY_STATE_STALE},
		{LATENCY_STATE_UNREACHABLE, 995, 10, LATENCY_STATE_UNREACHABLE},
		{LATENCY_STATE_NEVER, 0, 10, LATENCY_STATE_NEVER},
		{LATENCY_STATE_MEASURED, 0, 0, LATENCY_STATE_MEASURED},
		{LATENCY_STATE_MEASURED, 1060, 10, LATENCY_STATE_MEASURED},
		{LATENCY_STATE_MEASURED, 1061, 10, LATENCY_STATE_STALE},
		{LATENCY_STATE_MEASURED, 1100, 100, LATENCY_STATE_MEASURED},
		{LATENCY_STATE_MEASURED, 1101, 100, LATENCY_STATE_STALE},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct latency_entry entry = {.state = cases[i].state, .updated_at = {cases[i].updated_s * NS_PER_S}};

		cr_expect_eq(latency_entry_state(&entry, (struct ns){1000 * NS_PER_S},
						 (struct ns){cases[i].max_age_s * NS_PER_S}),
			     cases[i].seen, "%zu", i);
	}
}

Test(latency_matrix, each_statistic_is_its_field)
{
	const struct latency_entry entry = {.rtt_p50_us = 1, .rtt_p99_us = 2, .rtt_max_us = 3, .loss = 0.25};

	cr_expect_eq(latency_entry_value(&entry, LATENCY_STATISTIC_P50), 1);
	cr_expect_eq(latency_entry_value(&entry, LATENCY_STATISTIC_P99), 2);
	cr_expect_eq(latency_entry_value(&entry, LATENCY_STATISTIC_MAX), 3);
	cr_expect_eq(latency_entry_value(&entry, LATENCY_STATISTIC_LOSS), 0.25);
}
