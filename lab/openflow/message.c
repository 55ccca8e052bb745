/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/openflow/message.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	FEATURES_BYTES = 32,
	ERROR_BYTES = 12,
	FLOW_MOD_BYTES = 48, /* bytes of a flow mod before the match */
	COMMAND_ADD = 0,
	COMMAND_DELETE = 3,
	ALL_TABLES = 0xff,
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_ARP = 0x0806,
	MULTIPART_BYTES = 8, /* bytes of a multipart message between header and body */
	MULTIPART_FLOWS = 1,
	STATS_BYTES = 48,  /* bytes of a flow's statistics before the match */
	MATCH_BYTES = 32,  /* of put_match() */
	OUTPUT_BYTES = 24, /* of put_output() */
};
#define ANY UINT32_MAX /* OFPP_ANY, OFPG_ANY, OFP_NO_BUFFER */

/* Header of a match field (7.2.3.2): class 0x8000 (basic), number of the field, bytes of its value. */
#define FIELD(number, bytes) (0x80000000U | (uint32_t)(number) << 9 | (bytes))
#define FIELD_ETHERTYPE FIELD(5, 2)
#define FIELD_IPV4_SOURCE FIELD(11, 4)
#define FIELD_IPV4_DESTINATION FIELD(12, 4)
#define FIELD_ARP_SOURCE FIELD(22, 4)
#define FIELD_ARP_DESTINATION FIELD(23, 4)

static uint64_t read_number(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return value;
}

/* Writes a number of `count` bytes, big-endian. Returns the position after it. */
static uint8_t *put(uint8_t *at, uint64_t value, size_t count)
{
	for (size_t i = 0; i < count; i++)
		at[i] = (uint8_t)(value >> 8 * (count - 1 - i));
	return at + count;
}

int openflow_parse(const uint8_t *bytes, size_t count, struct openflow_message *message)
{
	size_t least = OPENFLOW_HEADER_BYTES;

	if (count < OPENFLOW_HEADER_BYTES)
		return 0;
	*message = (struct openflow_message){
		.version = bytes[0],
		.type = bytes[1],
		.length = (uint16_t)read_number(bytes + 2, 2),
		.transaction = (uint32_t)read_number(bytes + 4, 4),
		.body = bytes + OPENFLOW_HEADER_BYTES,
	};
	/* The body of a message of another version may have another form, so it is not parsed. */
	if (message->version == OPENFLOW_VERSION && message->type == OPENFLOW_ERROR)
		least = ERROR_BYTES;
	if (message->version == OPENFLOW_VERSION && message->type == OPENFLOW_FEATURES_REPLY)
		least = FEATURES_BYTES;
	if (message->version == OPENFLOW_VERSION && message->type == OPENFLOW_MULTIPART_REPLY)
		least = OPENFLOW_HEADER_BYTES + MULTIPART_BYTES;
	if (message->length < least)
		return -EBADMSG;
	if (count < message->length)
		return 0;
	if (least == ERROR_BYTES) {
		message->error_type = (uint16_t)read_number(message->body, 2);
		message->error_code = (uint16_t)read_number(message->body + 2, 2);
	}
	if (least == FEATURES_BYTES)
		message->datapath = read_number(message->body, 8);
	return message->length;
}

void openflow_error_text(const struct openflow_message *message, char *text)
{
	static const char *const types[] = {"hello failed",     "bad request",     "bad action",
					    "bad instruction",  "bad match",       "flow mod failed",
					    "group mod failed", "port mod failed", "table mod failed"};
	static const char *const flow_codes[] = {"unknown",     "table full",  "bad table",   "overlap",
						 "not allowed", "bad timeout", "bad command", "bad flags"};
	enum { FLOW_MOD_FAILED = 5, TEXT_BYTES = 96 };
	const char *type = message->error_type < sizeof types / sizeof *types ? types[message->error_type] : "error";

	if (message->error_type == FLOW_MOD_FAILED && message->error_code < sizeof flow_codes / sizeof *flow_codes)
		snprintf(text, TEXT_BYTES, "%s: %s", type, flow_codes[message->error_code]);
	else
		snprintf(text, TEXT_BYTES, "%s (type %u, code %u)", type, message->error_type, message->error_code);
}

static uint8_t *put_header(uint8_t *at, enum openflow_type type, size_t length, uint32_t transaction)
{
	at = put(at, OPENFLOW_VERSION, 1);
	at = put(at, type, 1);
	at = put(at, length, 2);
	return put(at, transaction, 4);
}

size_t openflow_write(enum openflow_type type, uint32_t transaction, uint8_t out[OPENFLOW_MESSAGE_BYTES])
{
	put_header(out, type, OPENFLOW_HEADER_BYTES, transaction);
	return OPENFLOW_HEADER_BYTES;
}

size_t openflow_write_echo_reply(const struct openflow_message *request, uint8_t out[OPENFLOW_MESSAGE_BYTES])
{
	size_t length = request->length < OPENFLOW_MESSAGE_BYTES ? request->length : OPENFLOW_MESSAGE_BYTES;

	put_header(out, OPENFLOW_ECHO_REPLY, length, request->transaction);
	memcpy(out + OPENFLOW_HEADER_BYTES, request->body, length - OPENFLOW_HEADER_BYTES);
	return length;
}

/* Writes the fields of a flow mod between header and match. Returns the position after them. */
static uint8_t *put_flow_mod(uint8_t *at, uint64_t cookie, uint64_t mask, int command, uint16_t priority)
{
	at = put(at, cookie, 8);
	at = put(at, mask, 8);
	at = put(at, command == COMMAND_DELETE ? ALL_TABLES : 0, 1);
	at = put(at, (uint64_t)command, 1);
	at = put(at, 0, 4); /* no timeouts */
	at = put(at, priority, 2);
	at = put(at, ANY, 4); /* no buffered packet */
	at = put(at, ANY, 4);
	at = put(at, ANY, 4);
	return put(at, 0, 4); /* flags, padding */
}

static uint8_t *put_match(uint8_t *at, const struct openflow_flow *flow)
{
	enum { LENGTH = 4 + 6 + 8 + 8, PADDING = 6 };

	at = put(at, 1, 2); /* OXM */
	at = put(at, LENGTH, 2);
	at = put(at, FIELD_ETHERTYPE, 4);
	at = put(at, flow->arp ? ETHERTYPE_ARP : ETHERTYPE_IPV4, 2);
	at = put(at, flow->arp ? FIELD_ARP_SOURCE : FIELD_IPV4_SOURCE, 4);
	at = put(at, flow->source, 4);
	at = put(at, flow->arp ? FIELD_ARP_DESTINATION : FIELD_IPV4_DESTINATION, 4);
	at = put(at, flow->destination, 4);
	return put(at, 0, PADDING);
}

/* Writes the instruction to send the packet out of a port. Returns the position after it. */
static uint8_t *put_output(uint8_t *at, uint32_t port)
{
	enum { APPLY_ACTIONS = 4, INSTRUCTION_BYTES = 24, OUTPUT = 0, ACTION_BYTES = 16 };

	at = put(at, APPLY_ACTIONS, 2);
	at = put(at, INSTRUCTION_BYTES, 2);
	at = put(at, 0, 4);
	at = put(at, OUTPUT, 2);
	at = put(at, ACTION_BYTES, 2);
	at = put(at, port, 4);
	return put(at, 0, 8); /* 0 bytes of the packet to the controller, padding */
}

size_t openflow_write_add(const struct openflow_flow *flow, uint32_t transaction, uint8_t out[OPENFLOW_MESSAGE_BYTES])
{
	uint8_t *at = put_flow_mod(out + OPENFLOW_HEADER_BYTES, flow->cookie, 0, COMMAND_ADD, flow->priority);

	at = put_output(put_match(at, flow), flow->port);
	put_header(out, OPENFLOW_FLOW_MOD, (size_t)(at - out), transaction);
	return (size_t)(at - out);
}

size_t openflow_write_delete(uint64_t cookie, uint64_t mask, uint32_t transaction, uint8_t out[OPENFLOW_MESSAGE_BYTES])
{
	uint8_t *at = put_flow_mod(out + OPENFLOW_HEADER_BYTES, cookie, mask, COMMAND_DELETE, 0);

	at = put(at, 1, 2); /* a match without fields */
	at = put(at, 4, 2);
	at = put(at, 0, 4);
	put_header(out, OPENFLOW_FLOW_MOD, (size_t)(at - out), transaction);
	return (size_t)(at - out);
}

size_t openflow_write_flows_request(uint32_t transaction, uint8_t out[OPENFLOW_MESSAGE_BYTES])
{
	uint8_t *at = put(out + OPENFLOW_HEADER_BYTES, MULTIPART_FLOWS, 2);

	at = put(at, 0, 6); /* flags, padding */
	at = put(at, ALL_TABLES, 1);
	at = put(at, 0, 3);
	at = put(at, ANY, 4);
	at = put(at, ANY, 4);
	at = put(at, 0, 4);
	at = put(at, 0, 8); /* any cookie */
	at = put(at, 0, 8);
	at = put(at, 1, 2); /* a match without fields */
	at = put(at, 4, 2);
	at = put(at, 0, 4);
	put_header(out, OPENFLOW_MULTIPART_REQUEST, (size_t)(at - out), transaction);
	return (size_t)(at - out);
}

/* Reads what put_match() and put_output() write. Returns false if the match is a different one. */
static bool read_flow(const uint8_t *stats, size_t length, struct openflow_flow *flow)
{
	const uint8_t *match = stats + STATS_BYTES, *output = match + MATCH_BYTES;
	struct openflow_flow read = {
		.priority = (uint16_t)read_number(stats + 12, 2),
		.cookie = read_number(stats + 24, 8),
	};
	uint8_t again[MATCH_BYTES], send[OUTPUT_BYTES];

	if (stats[2] != 0 || length < STATS_BYTES + MATCH_BYTES)
		return false;
	read.arp = read_number(match + 8, 2) == ETHERTYPE_ARP;
	read.source = (uint32_t)read_number(match + 14, 4);
	read.destination = (uint32_t)read_number(match + 22, 4);
	put_match(again, &read);
	if (memcmp(match, again, MATCH_BYTES) != 0)
		return false;
	if (length == STATS_BYTES + MATCH_BYTES + OUTPUT_BYTES) {
		put_output(send, (uint32_t)read_number(output + 12, 4));
		read.port = memcmp(output, send, 16) == 0 ? (uint32_t)read_number(output + 12, 4) : 0;
	}
	*flow = read;
	return true;
}

int openflow_next_flow(const struct openflow_message *message, size_t *offset, struct openflow_flow *flow)
{
	size_t bytes = message->length - (size_t)OPENFLOW_HEADER_BYTES;

	if (read_number(message->body, 2) != MULTIPART_FLOWS)
		return 0;
	*offset = *offset == 0 ? (size_t)MULTIPART_BYTES : *offset;
	while (*offset < bytes) {
		const uint8_t *stats = message->body + *offset;
		size_t length = bytes - *offset < STATS_BYTES ? 0 : read_number(stats, 2);

		if (length < STATS_BYTES || length > bytes - *offset)
			return -EBADMSG;
		*offset += length;
		if (read_flow(stats, length, flow))
			return 1;
	}
	return 0;
}
