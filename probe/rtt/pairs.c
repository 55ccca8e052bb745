/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/capture.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <base/address.h>
#include <base/array.h>
#include <base/file.h>
#include <base/histogram.h>
#include <model/peers.h>

#include "rtt_priv.h"

enum { PROGRESS_EVERY = 4096 }; /* after this number of round trips */

/* source: the sender of requests; destination: the host that answers. */
struct pair {
	ip_address source, destination;
	enum capture_protocol protocol;
	struct ptp_identity source_clock, destination_clock; /* of PTP over Ethernet, which has no addresses */
	struct histogram *rtt;                               /* ns */
};

struct rtt_pairs {
	struct pair *items; /* sorted, see order() */
	size_t count, capacity;
	bool gross;
	FILE *samples; /* NULL = not requested */
	struct peers peers;
	struct compare compare;
	struct capture_counters counters;
	struct progress *progress;
	uint64_t taken;
	struct error *err; /* only while the capture is read */
};

/*
 * Returns a negative number if the pair is before the sample's in the list, 0 if it is the same, else a positive one.
 */
static int order(const struct pair *pair, const struct capture_sample *sample)
{
	int order;

	if (pair->source != sample->source)
		return pair->source < sample->source ? -1 : 1;
	if (pair->destination != sample->destination)
		return pair->destination < sample->destination ? -1 : 1;
	if (pair->protocol != sample->protocol)
		return pair->protocol < sample->protocol ? -1 : 1;
	order = memcmp(&pair->source_clock, &sample->source_clock, sizeof pair->source_clock);
	return order ? order
		     : memcmp(&pair->destination_clock, &sample->destination_clock, sizeof pair->destination_clock);
}

/* Adds the pair if it is new. Returns NULL if out of memory. */
static struct pair *find_pair(struct rtt_pairs *pairs, const struct capture_sample *sample)
{
	struct pair *items, *pair,
		added = {.source = sample->source,
			 .destination = sample->destination,
			 .protocol = sample->protocol,
			 .source_clock = sample->source_clock,
			 .destination_clock = sample->destination_clock};
	size_t place;

	SEARCH_LOWER_BOUND(place, 0, pairs->count, order(&pairs->items[place], sample) < 0);
	if (place < pairs->count && order(&pairs->items[place], sample) == 0)
		return &pairs->items[place];
	items = array_grow(pairs->items, pairs->count, &pairs->capacity, sizeof *items);
	if (!items)
		return NULL;
	pairs->items = items;
	added.rtt = histogram_create(1, INT64_C(60) * NS_PER_S, 3);
	if (!added.rtt)
		return NULL;
	pair = &items[place];
	memmove(pair + 1, pair, (pairs->count++ - place) * sizeof *pair);
	*pair = added;
	return pair;
}

static const char *name_of(const struct rtt_pairs *pairs, ip_address address, char *text)
{
	const struct peer *peer = peers_find(&pairs->peers, address);

	address_print(address, text);
	return peer ? peer->name : text;
}

/* PTP over Ethernet has no addresses: the clock's identity is used instead. */
static const char *host_name(const struct rtt_pairs *pairs, ip_address address, const struct ptp_identity *clock,
			     char *text)
{
	_Static_assert((int)PTP_IDENTITY_TEXT_BYTES <= (int)ADDRESS_TEXT_BYTES, "either fits");
	if (address)
		return name_of(pairs, address, text);
	ptp_identity_print(clock, text);
	return text;
}

static int take_sample(void *context, const struct capture_sample *sample)
{
	struct rtt_pairs *pairs = context;
	struct pair *pair = find_pair(pairs, sample);
	struct ns rtt = pairs->gross ? sample->gross : ns_sub(sample->gross, sample->residence);
	char source[ADDRESS_TEXT_BYTES], destination[ADDRESS_TEXT_BYTES];

	if (!pair || compare_take(&pairs->compare, sample, name_of(pairs, sample->destination, destination)))
		return error_set(pairs->err, ENOMEM, "out of memory after %zu pairs of hosts", pairs->count);
	histogram_record(pair->rtt, rtt.v);
	if (++pairs->taken % PROGRESS_EVERY == 0) {
		char note[48];

		snprintf(note, sizeof note, "%" PRIu64 " round trips", pairs->taken);
		progress_update(pairs->progress, 0, note);
	}
	if (pairs->samples)
		fprintf(pairs->samples, "%" PRId64 ".%09" PRId64 ",%s,%s,%u,%" PRIu32 ",%.3f,%.3f\n",
			sample->requested_at.v / NS_PER_S, sample->requested_at.v % NS_PER_S,
			host_name(pairs, sample->source, &sample->source_clock, source),
			host_name(pairs, sample->destination, &sample->destination_clock, destination),
			sample->source_port, sample->sequence, ns_to_us(rtt), ns_to_us(sample->residence));
	return 0;
}

static double us_at(const struct histogram *histogram, double percentile)
{
	return (double)histogram_percentile(histogram, percentile) / 1e3;
}

/* Returns the number of the prober's exchanges in the capture that have no sample. */
static uint64_t count_unsampled(const struct rtt_pairs *pairs)
{
	uint64_t count = 0;

	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[i];

		if (pair->protocol == CAPTURE_STAMP && pair->source == pairs->compare.prober)
			count += histogram_count(pair->rtt);
	}
	return count - pairs->compare.all.count;
}

static struct compare_figures figures_of(const struct rtt_pairs *pairs, const struct pair *pair)
{
	if (pair->protocol != CAPTURE_STAMP)
		return (struct compare_figures){0};
	return compare_pair(&pairs->compare, pair->source, pair->destination);
}

static void print_figures(const char *source, const char *destination, const struct compare_figures *figures, FILE *out)
{
	fprintf(out, "%-24s %-24s %-5s %8" PRIu64 " %9.1f %9.1f %9.1f %9.1f\n", source, destination, "", figures->count,
		figures->min_us, figures->p50_us, figures->p99_us, figures->max_us);
}

static void print_compare(const struct rtt_pairs *pairs, FILE *out)
{
	const struct compare *compare = &pairs->compare;
	char source[ADDRESS_TEXT_BYTES], destination[ADDRESS_TEXT_BYTES];

	fprintf(out, "\ndelay that the prober adds to the captured round trips:\n");
	for (size_t i = 0; i < pairs->count; i++) {
		struct compare_figures figures = figures_of(pairs, &pairs->items[i]);

		if (figures.count)
			print_figures(name_of(pairs, pairs->items[i].source, source),
				      name_of(pairs, pairs->items[i].destination, destination), &figures, out);
	}
	print_figures(name_of(pairs, compare->prober, source), "all", &compare->all, out);
	fprintf(out,
		"%" PRIu64 " samples are not in the capture, %" PRIu64
		" exchanges of the capture are not in the samples\n",
		compare_not_captured(compare), count_unsampled(pairs));
}

void rtt_pairs_print(const struct rtt_pairs *pairs, FILE *out)
{
	const struct capture_counters *counters = &pairs->counters;
	char source[ADDRESS_TEXT_BYTES], destination[ADDRESS_TEXT_BYTES];

	fprintf(out, "%-24s %-24s %-5s %8s %9s %9s %9s %9s\n", "from", "to", "by", "samples", "min us", "p50 us",
		"p99 us", "max us");
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[i];

		fprintf(out, "%-24s %-24s %-5s %8" PRIu64 " %9.1f %9.1f %9.1f %9.1f\n",
			host_name(pairs, pair->source, &pair->source_clock, source),
			host_name(pairs, pair->destination, &pair->destination_clock, destination),
			capture_protocol_names[pair->protocol], histogram_count(pair->rtt),
			(double)histogram_minimum(pair->rtt) / 1e3, us_at(pair->rtt, 50), us_at(pair->rtt, 99),
			(double)histogram_maximum(pair->rtt) / 1e3);
	}
	fprintf(out,
		"\n%" PRIu64 " packets: %" PRIu64 " requests, %" PRIu64 " answers, %" PRIu64 " pairs; %" PRIu64
		" unanswered, %" PRIu64 " answers without request, %" PRIu64 " broken\n",
		counters->packets, counters->requests, counters->answers, counters->pairs, counters->unanswered,
		counters->orphans, counters->broken);
	if (pairs->compare.path)
		print_compare(pairs, out);
}

static json_t *compare_to_json(const struct rtt_pairs *pairs)
{
	const struct compare *compare = &pairs->compare;
	char prober[ADDRESS_TEXT_BYTES];

	if (!compare->path)
		return json_null();
	return json_pack("{s:s,s:s,s:o,s:I,s:I}", "samples_file", compare->path, "prober",
			 name_of(pairs, compare->prober, prober), "added_us", compare_figures_json(&compare->all),
			 "not_captured", (json_int_t)compare_not_captured(compare), "not_sampled",
			 (json_int_t)count_unsampled(pairs));
}

json_t *rtt_pairs_to_json(const struct rtt_pairs *pairs, const char *path)
{
	const struct capture_counters *counters = &pairs->counters;
	json_t *list = json_array();
	char source[ADDRESS_TEXT_BYTES], destination[ADDRESS_TEXT_BYTES];

	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[i];
		struct compare_figures added = figures_of(pairs, pair);

		json_array_append_new(
			list, json_pack("{s:s,s:s,s:s,s:I,s:{s:f,s:f,s:f,s:f,s:f},s:o}", "src",
					host_name(pairs, pair->source, &pair->source_clock, source), "dst",
					host_name(pairs, pair->destination, &pair->destination_clock, destination),
					"protocol", capture_protocol_names[pair->protocol], "samples",
					(json_int_t)histogram_count(pair->rtt), "rtt_us", "min",
					(double)histogram_minimum(pair->rtt) / 1e3, "p50", us_at(pair->rtt, 50), "p99",
					us_at(pair->rtt, 99), "max", (double)histogram_maximum(pair->rtt) / 1e3, "mean",
					histogram_mean(pair->rtt) / 1e3, "added_us", compare_figures_json(&added)));
	}
	return json_pack("{s:s,s:s,s:b,s:o,s:o,s:{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}}", "schema", "nomora.rtt/1", "file",
			 path, "residence_taken_off", !pairs->gross, "pairs", list, "compare", compare_to_json(pairs),
			 "packets", "captured", (json_int_t)counters->packets, "requests",
			 (json_int_t)counters->requests, "answers", (json_int_t)counters->answers, "paired",
			 (json_int_t)counters->pairs, "repeated", (json_int_t)counters->repeated, "unanswered",
			 (json_int_t)counters->unanswered, "orphans", (json_int_t)counters->orphans, "broken",
			 (json_int_t)counters->broken);
}

static int read_capture(const char *path, const struct rtt_pairs_settings *settings, struct rtt_pairs *pairs,
			struct error *err)
{
	struct file_writer *writer = NULL;
	int code = settings->peers ? peers_read(settings->peers, &pairs->peers, err) : 0;

	if (!code && settings->compare)
		code = compare_open(&pairs->compare, settings->compare, err);
	if (!code && settings->samples) {
		writer = file_writer_open(settings->samples, err);
		if (!writer)
			return error_code(err, ENOMEM);
		pairs->samples = file_writer_stream(writer);
		fputs("captured_at,src,dst,source_port,sequence,rtt_us,residence_us\n", pairs->samples);
	}
	if (!code)
		code = capture_read(packets_open(path, err), settings->udp_port, settings->protocols, take_sample,
				    pairs, &pairs->counters, err);
	if (!code)
		code = compare_finish(&pairs->compare, err);
	pairs->samples = NULL;
	if (writer && code)
		file_writer_discard(writer);
	else if (writer)
		code = file_writer_commit(writer, err);
	return code;
}

struct rtt_pairs *rtt_pairs_read(const char *path, const struct rtt_pairs_settings *settings, struct error *err)
{
	struct rtt_pairs *pairs = calloc(1, sizeof *pairs);

	if (!pairs) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	pairs->gross = settings->gross;
	pairs->progress = settings->progress;
	pairs->err = err;
	if (read_capture(path, settings, pairs, err) != 0) {
		rtt_pairs_destroy(pairs);
		return NULL;
	}
	pairs->err = NULL;
	return pairs;
}

void rtt_pairs_destroy(struct rtt_pairs *pairs)
{
	if (!pairs)
		return;
	for (size_t i = 0; i < pairs->count; i++)
		histogram_destroy(pairs->items[i].rtt);
	free(pairs->items);
	peers_free(&pairs->peers);
	compare_free(&pairs->compare);
	free(pairs);
}

const struct capture_counters *rtt_pairs_counters(const struct rtt_pairs *pairs)
{
	return &pairs->counters;
}
