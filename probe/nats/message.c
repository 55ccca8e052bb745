/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/nats/message.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/address.h>
#include <base/json.h>
#include <base/name.h>

static const char schema[] = "nomora.mesh_row/1";
/* Limits as in the CSV form of the matrix: round trips up to one hour, counts that a double can represent. */
static const double longest_us = 3.6e9;
static const int64_t most_samples = INT64_C(1) << 53;

const char *const mesh_refusal_names[MESH_REFUSALS] = {
	"",        "malformed_subject", "malformed_row", "inconsistent_figures", "from_the_future", "unknown_host",
	"no_space"};

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool mesh_prefix_is_valid(const char *prefix)
{
	char before = '.';

	for (const char *c = prefix; *c; c++) {
		if (*c == '.' ? before == '.' : !is_plain(*c))
			return false;
		before = *c;
	}
	return before != '.' && strlen(prefix) < MESH_PREFIX_BYTES;
}

/* Returns the end of the escaped text. */
static char *escape(const char *name, char *out)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *name; name++) {
		unsigned char byte = (unsigned char)*name;

		if (is_plain(*name)) {
			*out++ = *name;
			continue;
		}
		*out++ = '%';
		*out++ = digits[byte >> 4];
		*out++ = digits[byte & 15];
	}
	*out = '\0';
	return out;
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads a name that ends at `end`. Returns false if it is not valid, or not exactly as escape() writes it. */
static bool unescape(const char *text, const char *end, char name[LATENCY_NAME_BYTES])
{
	char again[3 * LATENCY_NAME_BYTES];
	size_t length = 0, bytes = (size_t)(end - text);

	for (const char *c = text; c < end; length++) {
		if (length == LATENCY_NAME_BYTES - 1)
			return false;
		if (*c != '%') {
			name[length] = *c++;
			continue;
		}
		if (end - c < 3 || digit_of(c[1]) < 0 || digit_of(c[2]) < 0)
			return false;
		name[length] = (char)(digit_of(c[1]) << 4 | digit_of(c[2]));
		c += 3;
	}
	name[length] = '\0';
	if (!name_is_valid(name, LATENCY_NAME_BYTES))
		return false;
	return (size_t)(escape(name, again) - again) == bytes && memcmp(again, text, bytes) == 0;
}

bool mesh_subject_ends(const char *subject, const char *word)
{
	size_t length = strlen(subject), bytes = strlen(word);

	return length > bytes && strcmp(subject + length - bytes, word) == 0;
}

void mesh_subject_of_host(const char *prefix, const char *host, const char *word, char subject[MESH_SUBJECT_BYTES])
{
	size_t length = strlen(prefix);

	memcpy(subject, prefix, length);
	subject[length] = '.';
	strcpy(escape(host, subject + length + 1), word);
}

bool mesh_host_of_subject(const char *prefix, const char *subject, const char *word, char host[LATENCY_NAME_BYTES])
{
	size_t length = strlen(prefix);

	return mesh_subject_ends(subject, word) && strncmp(subject, prefix, length) == 0 && subject[length] == '.' &&
	       unescape(subject + length + 1, subject + strlen(subject) - strlen(word), host);
}

static json_t *hop_json(ip_address hop)
{
	char text[ADDRESS_TEXT_BYTES];

	if (!hop)
		return json_null();
	address_print(hop, text);
	return json_string(text);
}

char *mesh_message_encode(const struct mesh_message *message, const char *prefix, char subject[MESH_SUBJECT_BYTES])
{
	const struct latency_entry *entry = &message->entry;
	size_t length = strlen(prefix);
	json_t *root;
	char *end, *text;

	memcpy(subject, prefix, length);
	subject[length] = '.';
	end = escape(message->source.name, subject + length + 1);
	*end = '.';
	escape(message->destination.name, end + 1);
	root = json_pack(
		"{s:s, s:o, s:o, s:o, s:f, s:I, s:I, s:I, s:I, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:o, s:o, s:f, s:f, "
		"s:s, s:s, s:s, s:s}",
		"schema", schema, "rtt_p50_us", json_number_or_null(entry->rtt_p50_us), "rtt_p99_us",
		json_number_or_null(entry->rtt_p99_us), "rtt_max_us", json_number_or_null(entry->rtt_max_us), "loss",
		entry->loss, "samples", (json_int_t)entry->samples, "updated_at_ns", (json_int_t)entry->updated_at.v,
		"answered_at_ns", (json_int_t)entry->answered_at.v, "sent_at_ns", (json_int_t)message->sent_at.v,
		"state", latency_state_names[entry->state], "paths", (int)entry->paths, "paths_covered",
		(int)entry->paths_covered, "disturbed", (double)entry->disturbed, "error_us", (double)entry->error_us,
		"peer_stalled", (double)entry->peer_stalled, "peer_stall_us", (double)entry->peer_stall_us, "hop",
		hop_json(entry->hop), "next_hop", hop_json(entry->next_hop), "hop_us", (double)entry->hop_us,
		"hop_loss", (double)entry->hop_loss, "src_rack", message->source.rack, "src_pod", message->source.pod,
		"dst_rack", message->destination.rack, "dst_pod", message->destination.pod);
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}

static bool read_subject(const char *prefix, const char *subject, struct mesh_message *message)
{
	size_t length = strlen(prefix);
	const char *first, *dot;

	if (strncmp(subject, prefix, length) != 0 || subject[length] != '.')
		return false;
	first = subject + length + 1;
	dot = strchr(first, '.');
	return dot && unescape(first, dot, message->source.name) &&
	       unescape(dot + 1, dot + strlen(dot), message->destination.name);
}

/* Reads the name of a rack or pod; "" if there is none. */
static void read_name(struct json_reader *reader, const json_t *root, const char *key, char name[LATENCY_NAME_BYTES])
{
	const char *text = json_may_string(reader, root, "", key, "");

	name[0] = '\0';
	if (reader->failed || text[0] == '\0')
		return;
	if (!name_is_valid(text, LATENCY_NAME_BYTES))
		json_fail(reader, "", key, "expected a name of 1 to %d bytes", LATENCY_NAME_BYTES - 1);
	else
		strcpy(name, text);
}

static uint8_t read_state(struct json_reader *reader, const json_t *root)
{
	const char *text = json_need_string(reader, root, "", "state");

	for (uint8_t i = 0; !reader->failed && i <= LATENCY_STATE_NEVER; i++)
		if (strcmp(text, latency_state_names[i]) == 0)
			return i;
	if (!reader->failed)
		json_fail(reader, "", "state", "expected measured, unreachable or never");
	return LATENCY_STATE_NEVER;
}

/* An address; null or missing = none. */
static ip_address read_hop(struct json_reader *reader, const json_t *root, const char *key)
{
	const char *text = json_may_string(reader, root, "", key, "");
	ip_address hop = 0;

	if (!reader->failed && text[0] && address_parse(text, &hop))
		json_fail(reader, "", key, "expected an IP address");
	return hop;
}

static void read_payload(struct json_reader *reader, const json_t *root, struct mesh_message *message)
{
	json_need_schema(reader, root, schema);
	message->entry = (struct latency_entry){
		.rtt_p50_us = json_may_number(reader, root, "", "rtt_p50_us", 0, longest_us, NAN),
		.rtt_p99_us = json_may_number(reader, root, "", "rtt_p99_us", 0, longest_us, NAN),
		.rtt_max_us = json_may_number(reader, root, "", "rtt_max_us", 0, longest_us, NAN),
		.loss = json_need_number(reader, root, "", "loss", 0, 1),
		.samples = (uint64_t)json_need_integer(reader, root, "", "samples", 0, most_samples),
		.updated_at = {json_need_integer(reader, root, "", "updated_at_ns", 0, INT64_MAX)},
		.answered_at = {json_may_integer(reader, root, "", "answered_at_ns", 0, INT64_MAX, 0)},
		.disturbed = (float)json_may_number(reader, root, "", "disturbed", 0, 1, 0),
		.error_us = (float)json_may_number(reader, root, "", "error_us", 0, longest_us, 0),
		.peer_stalled = (float)json_may_number(reader, root, "", "peer_stalled", 0, 1, 0),
		.peer_stall_us = (float)json_may_number(reader, root, "", "peer_stall_us", 0, longest_us, 0),
		.hop = read_hop(reader, root, "hop"),
		.next_hop = read_hop(reader, root, "next_hop"),
		.hop_us = (float)json_may_number(reader, root, "", "hop_us", 0, longest_us, 0),
		.hop_loss = (float)json_may_number(reader, root, "", "hop_loss", 0, 1, 0),
		.paths = (uint16_t)json_may_integer(reader, root, "", "paths", 0, UINT16_MAX, 0),
		.paths_covered = (uint16_t)json_may_integer(reader, root, "", "paths_covered", 0, UINT16_MAX, 0),
		.state = read_state(reader, root),
	};
	message->sent_at.v = json_may_integer(reader, root, "", "sent_at_ns", 0, INT64_MAX, 0);
	read_name(reader, root, "src_rack", message->source.rack);
	read_name(reader, root, "src_pod", message->source.pod);
	read_name(reader, root, "dst_rack", message->destination.rack);
	read_name(reader, root, "dst_pod", message->destination.pod);
}

static enum mesh_refusal judge(const struct latency_entry *entry, struct ns now, struct error *err)
{
	bool times = entry->rtt_p50_us <= entry->rtt_p99_us && entry->rtt_p99_us <= entry->rtt_max_us;
	bool none = isnan(entry->rtt_p50_us) && isnan(entry->rtt_p99_us) && isnan(entry->rtt_max_us);

	if ((entry->samples > 0) != (entry->state == LATENCY_STATE_MEASURED)) {
		error_set(err, EINVAL,
			  "state is %s, with %llu samples: a measured pair needs at least one sample, any other pair "
			  "must have none",
			  latency_state_names[entry->state], (unsigned long long)entry->samples);
		return MESH_REFUSAL_FIGURES;
	}
	if (entry->samples > 0 ? !times : !none) {
		error_set(err, EINVAL,
			  "expected rtt_p50_us <= rtt_p99_us <= rtt_max_us; all three must be null if there are no "
			  "samples");
		return MESH_REFUSAL_FIGURES;
	}
	if (entry->updated_at.v - now.v > MESH_FUTURE_S * NS_PER_S) {
		error_set(err, EINVAL, "updated_at_ns is %.0f s in the future; at most %d are allowed",
			  ns_to_s(ns_sub(entry->updated_at, now)), MESH_FUTURE_S);
		return MESH_REFUSAL_FUTURE;
	}
	return MESH_REFUSAL_NONE;
}

/* Moves a time of the publisher's clock to ours. A time of 0 is not known; a result out of range is left as it is. */
static void move(struct ns *time, struct ns sent_at, struct ns now)
{
	int64_t moved;

	if (time->v && !__builtin_add_overflow(time->v - sent_at.v, now.v, &moved))
		time->v = moved > 0 ? moved : 0;
}

static void correct_clock(struct mesh_message *message, struct ns now)
{
	struct ns skew = ns_sub(now, message->sent_at);

	if (!message->sent_at.v || (skew.v <= MESH_SKEW_S * NS_PER_S && skew.v >= -MESH_SKEW_S * NS_PER_S))
		return;
	move(&message->entry.updated_at, message->sent_at, now);
	move(&message->entry.answered_at, message->sent_at, now);
}

enum mesh_refusal mesh_message_decode(const char *prefix, const char *subject, const char *payload, size_t bytes,
				      struct ns now, struct mesh_message *message, struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = "row", .err = err ? err : &scratch};
	json_t *root;

	if (!read_subject(prefix, subject, message)) {
		error_set(err, EINVAL, "expected the subject %s.SRC.DST", prefix);
		return MESH_REFUSAL_SUBJECT;
	}
	root = json_read_text("row", 0, payload, bytes, reader.err);
	if (!root)
		return MESH_REFUSAL_PAYLOAD;
	read_payload(&reader, root, message);
	json_decref(root);
	if (!reader.failed)
		correct_clock(message, now);
	return reader.failed ? MESH_REFUSAL_PAYLOAD : judge(&message->entry, now, err);
}

/* --- status --- */

static const char status_schema[] = "nomora.mesh_status/1", status_word[] = ".%status";

bool mesh_status_is(const char *subject)
{
	return mesh_subject_ends(subject, status_word);
}

char *mesh_status_encode(const char *host, enum latency_host_status status, const char *prefix,
			 char subject[MESH_SUBJECT_BYTES])
{
	json_t *root;
	char *text;

	mesh_subject_of_host(prefix, host, status_word, subject);
	root = json_pack("{s:s, s:s}", "schema", status_schema, "status", latency_host_status_names[status]);
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}

enum mesh_refusal mesh_status_decode(const char *prefix, const char *subject, const char *payload, size_t bytes,
				     char host[LATENCY_NAME_BYTES], enum latency_host_status *status, struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = "status", .err = err ? err : &scratch};
	const char *text;
	json_t *root;
	int found = 0;

	if (!mesh_host_of_subject(prefix, subject, status_word, host)) {
		error_set(err, EINVAL, "expected the subject %s.HOST%s", prefix, status_word);
		return MESH_REFUSAL_SUBJECT;
	}
	root = json_read_text("status", 0, payload, bytes, reader.err);
	if (!root)
		return MESH_REFUSAL_PAYLOAD;
	json_need_schema(&reader, root, status_schema);
	text = json_need_string(&reader, root, "", "status");
	while (!reader.failed && latency_host_status_names[found] &&
	       strcmp(text, latency_host_status_names[found]) != 0)
		found++;
	if (!reader.failed && !latency_host_status_names[found])
		json_fail(&reader, "", "status", "expected active, drained or gone");
	json_decref(root);
	*status = (enum latency_host_status)found;
	return reader.failed ? MESH_REFUSAL_PAYLOAD : MESH_REFUSAL_NONE;
}
