/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rtt_priv.h"

enum { PROBES = 100, SECONDS = 1700000000 };

static const ip_address prober = 1, other = 2, first = 3, second = 4;

/* Samples 0..PROBES-1 to h1; the round trip is 20 us plus the sample's number in ns. */
static void open_samples(struct compare *compare, char *path)
{
	struct error err = {0};
	int descriptor = mkstemp(path);
	FILE *file = fdopen(descriptor, "w");

	cr_assert_not_null(file);
	rtt_samples_print_head(file);
	for (uint32_t i = 0; i < PROBES; i++)
		rtt_samples_print(&(struct rtt_sample){.sent_at = {SECONDS * NS_PER_S + i},
						       .rtt = {20000 + i},
						       .residence = {4000},
						       .sequence = i,
						       .source_port = 5},
				  "h1", file);
	fclose(file);
	cr_assert_eq(compare_open(compare, path, &err), 0, "%s", err.text);
	unlink(path);
}

static void take(struct compare *compare, ip_address source, ip_address destination, uint32_t sequence)
{
	struct capture_sample exchange = {.source = source,
					  .destination = destination,
					  .protocol = CAPTURE_STAMP,
					  .source_port = 5,
					  .sequence = sequence,
					  .sent_at = {SECONDS * NS_PER_S},
					  .gross = {23000},
					  .residence = {4000}};

	cr_assert_eq(compare_take(compare, &exchange, destination == first ? "h1" : "h2"), 0);
}

Test(compare, figures_are_of_the_probes_in_both)
{
	char path[] = "/tmp/nomora-compare-XXXXXX";
	struct compare compare = {0};
	struct compare_figures figures;
	struct error err = {0};

	open_samples(&compare, path);
	for (uint32_t i = PROBES; i-- > 0;)
		take(&compare, prober, first, i);
	take(&compare, prober, first, PROBES);
	take(&compare, prober, second, 0);
	cr_assert_eq(compare_finish(&compare, &err), 0, "%s", err.text);
	figures = compare_pair(&compare, prober, first);
	cr_assert_eq(figures.count, PROBES);
	cr_assert_float_eq(figures.min_us, 1, 1e-9);
	cr_assert_float_eq(figures.p50_us, 1.049, 1e-9);
	cr_assert_float_eq(figures.p99_us, 1.098, 1e-9);
	cr_assert_float_eq(figures.max_us, 1.099, 1e-9);
	cr_assert_eq(compare.all.count, PROBES);
	cr_assert_float_eq(compare.all.p99_us, 1.098, 1e-9);
	cr_assert_eq(compare_pair(&compare, prober, second).count, 0);
	cr_assert_eq(compare_not_captured(&compare), 0);
	compare_free(&compare);
}

Test(compare, of_two_probers_with_equal_numbers_the_one_with_more_in_common_counts)
{
	char path[] = "/tmp/nomora-compare-XXXXXX";
	struct compare compare = {0};
	struct error err = {0};

	open_samples(&compare, path);
	for (uint32_t i = 0; i < PROBES / 2; i++) {
		take(&compare, other, first, i);
		if (i < PROBES / 4)
			take(&compare, prober, first, i);
	}
	cr_assert_eq(compare_finish(&compare, &err), 0, "%s", err.text);
	cr_assert(compare.prober == other);
	cr_assert_eq(compare.all.count, PROBES / 2);
	cr_assert_eq(compare_pair(&compare, other, first).count, PROBES / 2);
	cr_assert_eq(compare_pair(&compare, prober, first).count, 0);
	cr_assert_eq(compare_not_captured(&compare), PROBES / 2);
	compare_free(&compare);
}

Test(compare, nothing_in_common_is_refused)
{
	char path[] = "/tmp/nomora-compare-XXXXXX";
	struct compare compare = {0};
	struct error err = {0};

	open_samples(&compare, path);
	take(&compare, prober, second, 1);
	cr_assert_eq(compare_finish(&compare, &err), -ENODATA);
	compare_free(&compare);
}
