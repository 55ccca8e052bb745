/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora rtt: round trips of STAMP probes from a capture. */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <base/address.h>
#include <base/array.h>
#include <base/file.h>
#include <base/histogram.h>
#include <base/json.h>
#include <base/log.h>
#include <base/progress.h>
#include <base/search.h>
#include <probe/rtt/capture.h>
#include <model/peers.h>
#include <probe/rtt/stamp.h>

struct rtt_settings {
	const char *peers, *samples;
	int64_t udp_port;
	bool gross, json;
};

static const struct option_row rows[] = {
	OPTION_STRING(struct rtt_settings, peers, "peers", 'p', "FILE", "names for the addresses: 'name address ...'"),
	OPTION_STRING(struct rtt_settings, samples, "samples", 's', "FILE", "every round trip (CSV)"),
	OPTION_INTEGER(struct rtt_settings, udp_port, "udp-port", 0, "PORT", 1, 65535, "UDP port of the reflectors"),
	OPTION_FLAG(struct rtt_settings, gross, "gross", 0, "do not take off the reflector's own time (t3 - t2)"),
	OPTION_FLAG(struct rtt_settings, json, "json", 'j', "print JSON"),
	OPTION_END,
};

static const char teach[] =
	"The capture is of one Ethernet interface on the probes' way, best a switch's mirror port or the\n"
	"prober's own link; the part of the way between the prober and that place is not in the result.\n"
	"\n"
	"  tcpdump -i rack1 -w probes.pcap --time-stamp-precision=nano udp port 862\n"
	"  nomora rtt probes.pcap --peers peers.txt\n"
	"\n"
	"Packets that af_packet sends past the queueing layer are not seen by tcpdump on the sender's own\n"
	"interface: capture on the other end of the link.\n"
	"\n"
	"Exit code 3: the capture has no answered probe.\n";

enum { PROGRESS_EVERY = 4096 }; /* round trips */

/* Asker and answerer. */
struct pair {
	ip_address source, destination;
	struct histogram *rtt; /* ns */
};

struct pairs {
	struct pair *items; /* ascending by source, then destination */
	size_t count, capacity;
	bool gross;
	FILE *samples;
	struct peers peers;
	struct progress *progress;
	uint64_t taken;
	struct error *err;
};

static bool is_before(const struct pair *pair, ip_address source, ip_address destination)
{
	return pair->source < source || (pair->source == source && pair->destination < destination);
}

/* Where the pair is, or where it belongs. */
static size_t pair_place(const struct pairs *pairs, ip_address source, ip_address destination)
{
	size_t at;

	SEARCH_LOWER_BOUND(at, 0, pairs->count, is_before(&pairs->items[at], source, destination));
	return at;
}

/* Adds the pair if it is new. NULL = out of memory. */
static struct pair *find_pair(struct pairs *pairs, ip_address source, ip_address destination)
{
	size_t place = pair_place(pairs, source, destination);
	struct pair *items, *pair, added = {source, destination, NULL};

	if (place < pairs->count && pairs->items[place].source == source &&
	    pairs->items[place].destination == destination)
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

static const char *name_of(const struct pairs *pairs, ip_address address, char *text)
{
	const struct peer *peer = peers_find(&pairs->peers, address);

	address_print(address, text);
	return peer ? peer->name : text;
}

static int take_sample(void *context, const struct capture_sample *sample)
{
	struct pairs *pairs = context;
	struct pair *pair = find_pair(pairs, sample->source, sample->destination);
	struct ns rtt = pairs->gross ? sample->gross : ns_sub(sample->gross, sample->residence);
	char source[ADDRESS_TEXT_BYTES], destination[ADDRESS_TEXT_BYTES];

	if (!pair)
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
			name_of(pairs, sample->source, source), name_of(pairs, sample->destination, destination),
			sample->source_port, sample->sequence, ns_to_us(rtt), ns_to_us(sample->residence));
	return 0;
}

static double us_at(const struct histogram *histogram, double percentile)
{
	return (double)histogram_percentile(histogram, percentile) / 1e3;
}

static void print_text(const struct pairs *pairs, const struct capture_counters *counters)
{
	char source[ADDRESS_TEXT_BYTES], destination[ADDRESS_TEXT_BYTES];

	printf("%-16s %-16s %8s %9s %9s %9s %9s\n", "from", "to", "samples", "min us", "p50 us", "p99 us", "max us");
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[i];

		printf("%-16s %-16s %8" PRIu64 " %9.1f %9.1f %9.1f %9.1f\n", name_of(pairs, pair->source, source),
		       name_of(pairs, pair->destination, destination), histogram_count(pair->rtt),
		       (double)histogram_minimum(pair->rtt) / 1e3, us_at(pair->rtt, 50), us_at(pair->rtt, 99),
		       (double)histogram_maximum(pair->rtt) / 1e3);
	}
	printf("\n%" PRIu64 " packets: %" PRIu64 " requests, %" PRIu64 " answers, %" PRIu64 " pairs; %" PRIu64
	       " unanswered, %" PRIu64 " answers without request, %" PRIu64 " broken\n",
	       counters->packets, counters->requests, counters->answers, counters->pairs, counters->unanswered,
	       counters->orphans, counters->broken);
}

static int print_json(const struct pairs *pairs, const struct capture_counters *counters, const char *path,
		      struct error *err)
{
	json_t *list = json_array(), *root;
	char source[ADDRESS_TEXT_BYTES], destination[ADDRESS_TEXT_BYTES];
	int code;

	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[i];

		json_array_append_new(list, json_pack("{s:s,s:s,s:I,s:{s:f,s:f,s:f,s:f,s:f}}", "src",
						      name_of(pairs, pair->source, source), "dst",
						      name_of(pairs, pair->destination, destination), "samples",
						      (json_int_t)histogram_count(pair->rtt), "rtt_us", "min",
						      (double)histogram_minimum(pair->rtt) / 1e3, "p50",
						      us_at(pair->rtt, 50), "p99", us_at(pair->rtt, 99), "max",
						      (double)histogram_maximum(pair->rtt) / 1e3, "mean",
						      histogram_mean(pair->rtt) / 1e3));
	}
	root = json_pack("{s:s,s:s,s:b,s:o,s:{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}}", "schema", "nomora.rtt/1", "file",
			 path, "residence_taken_off", !pairs->gross, "pairs", list, "packets", "captured",
			 (json_int_t)counters->packets, "requests", (json_int_t)counters->requests, "answers",
			 (json_int_t)counters->answers, "paired", (json_int_t)counters->pairs, "repeated",
			 (json_int_t)counters->repeated, "unanswered", (json_int_t)counters->unanswered, "orphans",
			 (json_int_t)counters->orphans, "broken", (json_int_t)counters->broken);
	if (!root)
		return error_set(err, ENOMEM, "out of memory");
	code = json_write_file("-", root, err);
	json_decref(root);
	return code;
}

static int read_capture(const char *path, const struct rtt_settings *settings, struct pairs *pairs,
			struct capture_counters *counters, struct error *err)
{
	struct file_writer *writer = NULL;
	int code = settings->peers ? peers_read(settings->peers, &pairs->peers, err) : 0;

	if (!code && settings->samples) {
		writer = file_writer_open(settings->samples, err);
		if (!writer)
			return error_code(err, ENOMEM);
		pairs->samples = file_writer_stream(writer);
		fputs("captured_at,src,dst,source_port,sequence,rtt_us,residence_us\n", pairs->samples);
	}
	pairs->progress = progress_create(stderr, "reading", 0);
	if (!code)
		code = capture_read(path, (uint16_t)settings->udp_port, take_sample, pairs, counters, err);
	progress_destroy(pairs->progress);
	if (writer && code)
		file_writer_discard(writer);
	else if (writer)
		code = file_writer_commit(writer, err);
	if (!code && counters->repeated)
		log_warning("%" PRIu64 " packets are in the capture twice (several interfaces?): the first one counts",
			    counters->repeated);
	return code;
}

static void free_pairs(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++)
		histogram_destroy(pairs->items[i].rtt);
	free(pairs->items);
	peers_free(&pairs->peers);
}

int command_rtt(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora rtt",
		.operands = "FILE.pcap",
		.summary = "Round trips of STAMP probes from a capture, to check the prober against the wire.",
		.teach = teach,
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct rtt_settings settings = {.udp_port = STAMP_PORT};
	struct option_operands operands;
	struct capture_counters counters = {0};
	struct error err = {0};
	struct pairs pairs = {.err = &err};
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	pairs.gross = settings.gross;
	code = read_capture(operands.items[0], &settings, &pairs, &counters, &err);
	if (!code && settings.json)
		code = print_json(&pairs, &counters, operands.items[0], &err);
	else if (!code)
		print_text(&pairs, &counters);
	free_pairs(&pairs);
	options_free(&operands);
	if (code)
		return command_fail(&err, COMMAND_FAILED);
	return counters.pairs ? COMMAND_OK : COMMAND_NEGATIVE;
}
