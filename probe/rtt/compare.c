/* SPDX-License-Identifier: BSD-3-Clause */
#include "rtt_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/quantile.h>

/*
 * A request contains the prober's stamp, but the request's sample has the kernel's, which is slightly later: they may
 * differ by this.
 */
static const struct ns tolerance = {NS_PER_S};

int compare_open(struct compare *compare, const char *path, struct error *err)
{
	compare->path = path;
	return rtt_samples_read(path, &compare->samples, err);
}

void compare_free(struct compare *compare)
{
	rtt_samples_free(&compare->samples);
	free(compare->matches);
}

int compare_take(struct compare *compare, const struct capture_sample *exchange, const char *destination)
{
	const struct rtt_sample *sample;
	struct compare_match *grown;

	if (!compare->path || exchange->protocol != CAPTURE_STAMP)
		return 0;
	sample = rtt_samples_find(&compare->samples, destination, exchange->source_port, exchange->sequence,
				  exchange->sent_at, tolerance);
	if (!sample)
		return 0;
	grown = array_grow(compare->matches, compare->count, &compare->capacity, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	compare->matches = grown;
	grown[compare->count++] = (struct compare_match){
		exchange->source,
		exchange->destination,
		/*
		 * The difference of the gross round trips: the prober may know the residence time more exactly than the
		 * capture, so that net round trips cannot be compared.
		 */
		ns_to_us(ns_sub(ns_add(sample->rtt, sample->residence), exchange->gross)),
	};
	return 0;
}

static int compare_matches(const void *left, const void *right)
{
	const struct compare_match *a = left, *b = right;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->destination != b->destination)
		return a->destination < b->destination ? -1 : 1;
	return (a->added_us > b->added_us) - (a->added_us < b->added_us);
}

/* Keeps only the matches of the source address with the most matches, which is the prober. */
static void keep_prober(struct compare *compare)
{
	size_t best = 0, best_count = 0;

	for (size_t from = 0, to; from < compare->count; from = to) {
		for (to = from + 1; to < compare->count && compare->matches[to].source == compare->matches[from].source;
		     to++)
			;
		if (to - from > best_count) {
			best = from;
			best_count = to - from;
		}
	}
	memmove(compare->matches, compare->matches + best, best_count * sizeof *compare->matches);
	compare->count = best_count;
	compare->prober = compare->matches[0].source;
}

static size_t rank(size_t count, size_t percent)
{
	return (count * percent + 99) / 100 - 1;
}

static int set_all(struct compare *compare)
{
	double *sorted = malloc(compare->count * sizeof *sorted);

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < compare->count; i++)
		sorted[i] = compare->matches[i].added_us;
	quantile_sort(sorted, compare->count);
	compare->all = (struct compare_figures){compare->count, sorted[0], sorted[rank(compare->count, 50)],
						sorted[rank(compare->count, 99)], sorted[compare->count - 1]};
	free(sorted);
	return 0;
}

int compare_finish(struct compare *compare, struct error *err)
{
	if (!compare->path)
		return 0;
	if (!compare->count)
		return error_set(
			err, ENODATA,
			"%s: none of its %zu probes is in the capture; give the samples that the captured prober wrote "
			"in that run, and its --peers file",
			compare->path, compare->samples.count);
	qsort(compare->matches, compare->count, sizeof *compare->matches, compare_matches);
	keep_prober(compare);
	return set_all(compare) ? error_set(err, ENOMEM, "out of memory after %zu probes", compare->count) : 0;
}

uint64_t compare_not_captured(const struct compare *compare)
{
	/*
	 * A capture made by hand may contain several exchanges for one sample, so that there are more matches than
	 * samples.
	 */
	return compare->all.count < compare->samples.count ? compare->samples.count - compare->all.count : 0;
}

struct compare_figures compare_pair(const struct compare *compare, ip_address source, ip_address destination)
{
	const struct compare_match *matches = compare->matches;
	size_t from, to, count;

	if (!compare->count || source != compare->prober)
		return (struct compare_figures){0};
	SEARCH_LOWER_BOUND(from, 0, compare->count, matches[from].destination < destination);
	SEARCH_LOWER_BOUND(to, from, compare->count, matches[to].destination <= destination);
	count = to - from;
	if (!count)
		return (struct compare_figures){0};
	return (struct compare_figures){count, matches[from].added_us, matches[from + rank(count, 50)].added_us,
					matches[from + rank(count, 99)].added_us, matches[to - 1].added_us};
}

json_t *compare_figures_json(const struct compare_figures *figures)
{
	if (!figures->count)
		return json_null();
	return json_pack("{s:I,s:f,s:f,s:f,s:f}", "probes", (json_int_t)figures->count, "min", figures->min_us, "p50",
			 figures->p50_us, "p99", figures->p99_us, "max", figures->max_us);
}
