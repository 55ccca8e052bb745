/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of synthetic meshes: 6 racks of 4 hosts, all pairs measured, 20 us in a rack and 60 us between racks. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <model/latency_live.h>

#include "pages_priv.h"
#include "patterns_priv.h"

enum { HOSTS = 24, PER_RACK = 4, RACKS = HOSTS / PER_RACK };

typedef bool is_bad_fn(uint32_t from, uint32_t to);

static char path[64];
static struct latency_matrix *live;
static struct patterns found;

static void set_up(void)
{
	const struct latency_live_size size = {.hosts = HOSTS, .racks = RACKS, .pairs = HOSTS * HOSTS};
	struct error err = {0};
	char host[16], rack[16];

	snprintf(path, sizeof path, "/tmp/nomora-patterns-%ld", (long)getpid());
	unlink(path);
	live = latency_live_open(path, &size, &err);
	cr_assert_not_null(live, "%s", err.text);
	latency_live_begin(live, &err);
	for (uint32_t i = 0; i < HOSTS; i++) {
		snprintf(host, sizeof host, "h%u", i);
		snprintf(rack, sizeof rack, "r%u", i / PER_RACK);
		cr_assert_eq(latency_live_add_host(live, host, rack, "p"), i);
	}
	latency_live_end(live);
}

static void tear_down(void)
{
	patterns_free(&found);
	latency_matrix_destroy(live);
	unlink(path);
}

TestSuite(patterns, .init = set_up, .fini = tear_down, .timeout = 60);

static struct ns seen_later; /* an unreachable pair was seen this much later than the others */

/* Every third bad pair is unreachable, the next lossy, the third slow. */
static struct latency_entry entry_of(uint32_t from, uint32_t to, bool bad)
{
	struct latency_entry entry = {.source = from, .destination = to, .updated_at = {NS_PER_S}};
	double us = from / PER_RACK == to / PER_RACK ? 20 : 60;

	if (bad && (from + to) % 3 == 0) {
		entry.rtt_p50_us = entry.rtt_p99_us = entry.rtt_max_us = __builtin_nan("");
		entry.loss = 1;
		entry.state = LATENCY_STATE_UNREACHABLE;
		entry.updated_at.v += seen_later.v;
		return entry;
	}
	entry.loss = bad && (from + to) % 3 == 1 ? 0.05 : 0;
	entry.rtt_p50_us = us;
	entry.rtt_p99_us = bad && (from + to) % 3 == 2 ? 10 * us : us + (from + to) % 5;
	entry.rtt_max_us = 20 * us;
	entry.samples = 100;
	return entry;
}

static struct ns max_age; /* 0: no pair is stale */

static void find(is_bad_fn *is_bad)
{
	latency_live_begin(live, NULL);
	for (uint32_t from = 0; from < HOSTS; from++)
		for (uint32_t to = 0; to < HOSTS; to++) {
			struct latency_entry entry = entry_of(from, to, is_bad(from, to));

			if (from != to)
				cr_assert_eq(latency_matrix_set(live, &entry), 0);
		}
	latency_live_end(live);
	cr_assert_eq(patterns_find(live, LATENCY_STATISTIC_P99, (struct ns){2 * NS_PER_S}, max_age, &found), 0);
}

/* Expects exactly one pattern, with the text of the page. */
static void expect(is_bad_fn *is_bad, const char *words)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	find(is_bad);
	cr_assert_eq(found.count, 1, "%zu patterns", found.count);
	cr_assert_eq(found.by_kind[found.items[0].kind], 1);
	html_pattern(out, live, &found.items[0]);
	fclose(out);
	cr_assert_not_null(strstr(text, words), "%s", text);
	cr_assert_eq(found.unexplained, 0, "%llu pairs", (unsigned long long)found.unexplained);
	free(text);
}

static bool none(uint32_t from, uint32_t to)
{
	(void)from;
	(void)to;
	return false;
}

Test(patterns, a_good_mesh_has_none)
{
	find(none);
	cr_assert_eq(found.bad, 0);
	cr_assert_eq(found.count, 0);
}

static bool one_pair(uint32_t from, uint32_t to)
{
	return from == 3 && to == 17;
}

Test(patterns, a_single_pair_is_none)
{
	find(one_pair);
	cr_assert_eq(found.bad, 1);
	cr_assert_eq(found.unexplained, 1);
	cr_assert_eq(found.count, 0);
}

static bool of_host(uint32_t from, uint32_t to)
{
	return from == 9 || to == 9;
}

Test(patterns, a_bad_host)
{
	expect(of_host, "Bad host <b>h9</b> in rack <b>r2</b>: 46 of 46 pairs are bad");
}

static bool from_host(uint32_t from, uint32_t to)
{
	(void)to;
	return from == 9;
}

Test(patterns, a_host_that_fails_as_prober)
{
	expect(from_host,
	       "Bad host <b>h9</b> in rack <b>r2</b>, when it probes others, not when they probe it: 23 of 23");
}

static bool to_host(uint32_t from, uint32_t to)
{
	(void)from;
	return to == 9;
}

Test(patterns, a_host_that_fails_as_target)
{
	expect(to_host,
	       "Bad host <b>h9</b> in rack <b>r2</b>, when others probe it, not when it probes them: 23 of 23");
}

static bool of_rack(uint32_t from, uint32_t to)
{
	return from / PER_RACK == 2 || to / PER_RACK == 2;
}

Test(patterns, a_bad_rack)
{
	expect(of_rack, "Bad rack <b>r2</b>: bad inside and to other racks; with other racks 160 of 160");
}

static bool of_uplink(uint32_t from, uint32_t to)
{
	return (from / PER_RACK == 2) != (to / PER_RACK == 2);
}

Test(patterns, a_bad_uplink)
{
	expect(of_uplink, "Bad uplink of rack <b>r2</b>: good inside; with other racks 160 of 160");
}

static bool on_path(uint32_t from, uint32_t to)
{
	return from / PER_RACK == 2 && to / PER_RACK == 4;
}

Test(patterns, a_bad_path)
{
	expect(on_path, "Bad path from rack <b>r2</b> to rack <b>r4</b>: 16 of 16");
}

static bool unreachable_host(uint32_t from, uint32_t to)
{
	return (from == 8 || to == 8) && (from + to) % 3 == 0;
}

/* Only its unreachable pairs are left to judge its rack by. */
Test(patterns, a_dead_host_among_stale_pairs_is_no_bad_rack)
{
	max_age.v = NS_PER_S / 2;
	seen_later.v = NS_PER_S;
	find(unreachable_host);
	cr_assert_eq(found.count, 1, "%zu patterns", found.count);
	cr_assert_eq(found.items[0].kind, PATTERN_HOST);
	cr_assert_eq(found.items[0].from, 8);
}

Test(patterns, a_drained_host_is_none)
{
	latency_live_begin(live, NULL);
	latency_live_set_status(live, 9, LATENCY_HOST_DRAINED);
	latency_live_end(live);
	find(of_host);
	cr_assert_eq(found.bad, 0);
	cr_assert_eq(found.count, 0);
}
