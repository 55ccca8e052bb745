/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/rtt_samples.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/name.h>
#include <base/number.h>

enum { SENT_AT, PEER, SOURCE_PORT, SEQUENCE, RTT, RESIDENCE, OFFSET, DISTURBED, FIELDS, FRACTION_DIGITS = 9 };

static const char head[] = "sent_at,peer,source_port,sequence,rtt_us,residence_us,offset_us,disturbed";
static const char *const field_names[FIELDS] = {"sent_at", "peer",         "source_port", "sequence",
						"rtt_us",  "residence_us", "offset_us",   "disturbed"};
static const int64_t seconds_maximum = INT64_MAX / NS_PER_S - 1;
static const double us_maximum = 4e15; /* the difference of two such times still fits 64-bit ns */

/* A line of the file, split. */
struct sample_line {
	struct file_lines *lines;
	struct error *err;
	char *fields[FIELDS];
};

void rtt_samples_print_head(FILE *out)
{
	fprintf(out, "%s\n", head);
}

void rtt_samples_print(const struct rtt_sample *sample, const char *peer, FILE *out)
{
	fprintf(out, "%" PRId64 ".%09" PRId64 ",%s,%u,%" PRIu32 ",%.3f,%.3f,%.3f,%d\n", sample->sent_at.v / NS_PER_S,
		sample->sent_at.v % NS_PER_S, peer, sample->source_port, sample->sequence, ns_to_us(sample->rtt),
		ns_to_us(sample->residence), ns_to_us(sample->offset), sample->disturbed);
}

static int refuse(const struct sample_line *line, int field, const char *expected)
{
	return error_at(
		line->err,
		(struct error_place){file_lines_name(line->lines), file_lines_number(line->lines), field_names[field]},
		EINVAL, "expected %s, found '%.40s'", expected, line->fields[field]);
}

/* Parses "seconds.nnnnnnnnn" as two integers: a double would lose the last digits. */
static int read_time(const struct sample_line *line, struct ns *time)
{
	char text[32], *point;
	int64_t seconds, fraction;

	snprintf(text, sizeof text, "%s", line->fields[SENT_AT]);
	point = strchr(text, '.');
	if (strlen(line->fields[SENT_AT]) >= sizeof text || !point || strlen(point + 1) != FRACTION_DIGITS ||
	    strspn(point + 1, "0123456789") != FRACTION_DIGITS)
		return refuse(line, SENT_AT, "seconds since the epoch with nine digits after the point");
	*point = '\0';
	if (number_parse_i64(text, &seconds) || number_parse_i64(point + 1, &fraction) || seconds < 0 ||
	    seconds > seconds_maximum)
		return refuse(line, SENT_AT, "seconds since the epoch with nine digits after the point");
	time->v = seconds * NS_PER_S + fraction;
	return 0;
}

static int read_us(const struct sample_line *line, int field, double minimum, struct ns *time)
{
	double us;

	if (number_parse_double(line->fields[field], &us) || us < minimum || us > us_maximum)
		return refuse(line, field, minimum < 0 ? "microseconds" : "microseconds, 0 or more");
	*time = ns_from_us(us);
	return 0;
}

static int read_whole(const struct sample_line *line, int field, int64_t maximum, int64_t *value)
{
	char expected[48];

	snprintf(expected, sizeof expected, "a whole number from 0 to %" PRId64, maximum);
	if (number_parse_i64(line->fields[field], value) || *value < 0 || *value > maximum)
		return refuse(line, field, expected);
	return 0;
}

/* Returns the peer's index, or HASH_TABLE_NONE if there is no sample to this peer. */
static uint32_t find_peer(const struct rtt_samples *samples, const char *name)
{
	HASH_TABLE_EACH (&samples->by_name, hash_text(name), at)
		if (strcmp(samples->peers[hash_table_value(&samples->by_name, at)], name) == 0)
			return hash_table_value(&samples->by_name, at);
	return HASH_TABLE_NONE;
}

static int find_or_add_peer(struct rtt_samples *samples, const char *name, uint32_t *peer)
{
	char(*grown)[RTT_SAMPLES_PEER_BYTES];

	*peer = find_peer(samples, name);
	if (*peer != HASH_TABLE_NONE)
		return 0;
	grown = array_grow(samples->peers, samples->peer_count, &samples->peer_capacity, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	samples->peers = grown;
	*peer = (uint32_t)samples->peer_count++;
	snprintf(grown[*peer], sizeof grown[*peer], "%s", name);
	return hash_table_insert(&samples->by_name, hash_text(name), *peer);
}

/* Different probes may have the same key, so callers must also compare peer, port and sequence number. */
static uint64_t probe_key(uint32_t peer, uint16_t source_port, uint32_t sequence)
{
	return (uint64_t)peer << 48 ^ (uint64_t)source_port << 32 ^ sequence;
}

static int read_sample(const struct sample_line *line, struct rtt_sample *sample)
{
	int64_t port, sequence, disturbed;
	int code = read_time(line, &sample->sent_at);

	if (!code && !name_is_valid(line->fields[PEER], RTT_SAMPLES_PEER_BYTES))
		code = refuse(line, PEER, "a host's name or address");
	code = code ? code : read_whole(line, SOURCE_PORT, UINT16_MAX, &port);
	code = code ? code : read_whole(line, SEQUENCE, UINT32_MAX, &sequence);
	code = code ? code : read_us(line, RTT, 0, &sample->rtt);
	code = code ? code : read_us(line, RESIDENCE, 0, &sample->residence);
	code = code ? code : read_us(line, OFFSET, -us_maximum, &sample->offset);
	code = code ? code : read_whole(line, DISTURBED, 1, &disturbed);
	if (code)
		return code;
	sample->source_port = (uint16_t)port;
	sample->sequence = (uint32_t)sequence;
	sample->disturbed = disturbed;
	return 0;
}

static int add_sample(const struct sample_line *line, struct rtt_samples *samples)
{
	struct rtt_sample sample = {0}, *grown;
	int code = read_sample(line, &sample);

	if (code)
		return code;
	grown = array_grow(samples->items, samples->count, &samples->capacity, sizeof *grown);
	if (grown)
		samples->items = grown;
	if (!grown || find_or_add_peer(samples, line->fields[PEER], &sample.peer) ||
	    hash_table_insert(&samples->by_probe, probe_key(sample.peer, sample.source_port, sample.sequence),
			      (uint32_t)samples->count))
		return error_set(line->err, ENOMEM, "out of memory after %zu samples", samples->count);
	grown[samples->count++] = sample;
	return 0;
}

static int read_head(struct file_lines *lines, struct error *err)
{
	char *text;
	int more = file_lines_next(lines, &text, err);

	if (more > 0 && strcmp(text, head) == 0)
		return 0;
	return more < 0 ? more
			: error_set(err, EINVAL, "%s:1: expected the samples of nomora probe, whose first line is '%s'",
				    file_lines_name(lines), head);
}

int rtt_samples_parse(struct file_lines *lines, struct rtt_samples *samples, struct error *err)
{
	struct sample_line line = {.lines = lines, .err = err};
	char *text;
	int more = read_head(lines, err);

	*samples = (struct rtt_samples){0};
	while (more == 0 && (more = file_lines_next(lines, &text, err)) > 0) {
		size_t count = file_split(text, ',', line.fields, FIELDS);

		more = count == FIELDS
			       ? add_sample(&line, samples)
			       : error_at(err,
					  (struct error_place){file_lines_name(lines), file_lines_number(lines), NULL},
					  EINVAL, "expected %d fields, found %zu", FIELDS, count);
	}
	if (more == 0 && samples->count == 0)
		more = error_set(err, EINVAL, "%s: the file has no samples", file_lines_name(lines));
	if (more < 0)
		rtt_samples_free(samples);
	return more;
}

int rtt_samples_read(const char *path, struct rtt_samples *samples, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	int code = lines ? rtt_samples_parse(lines, samples, err) : error_code(err, ENOENT);

	file_lines_close(lines);
	return code;
}

void rtt_samples_free(struct rtt_samples *samples)
{
	free(samples->items);
	free(samples->peers);
	hash_table_free(&samples->by_probe);
	hash_table_free(&samples->by_name);
	*samples = (struct rtt_samples){0};
}

const struct rtt_sample *rtt_samples_find(const struct rtt_samples *samples, const char *peer, uint16_t source_port,
					  uint32_t sequence, struct ns sent_at, struct ns tolerance)
{
	const struct rtt_sample *nearest = NULL;
	uint32_t number = find_peer(samples, peer);

	if (number == HASH_TABLE_NONE)
		return NULL;
	HASH_TABLE_EACH (&samples->by_probe, probe_key(number, source_port, sequence), at) {
		const struct rtt_sample *sample = &samples->items[hash_table_value(&samples->by_probe, at)];
		struct ns apart;

		if (sample->peer != number || sample->source_port != source_port || sample->sequence != sequence ||
		    __builtin_sub_overflow(sample->sent_at.v, sent_at.v, &apart.v) || apart.v == INT64_MIN)
			continue;
		apart.v = apart.v < 0 ? -apart.v : apart.v;
		if (apart.v <= tolerance.v) {
			tolerance = apart;
			nearest = sample;
		}
	}
	return nearest;
}
