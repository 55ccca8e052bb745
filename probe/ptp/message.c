/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/ptp/message.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* IEEE 1588-2008 tables 18, 26, 30. */
enum {
	VERSION = 2,
	AT_LENGTH = 2,
	AT_DOMAIN = 4,
	AT_FLAGS = 6,
	AT_CORRECTION = 8,
	AT_SOURCE = 20,
	AT_SEQUENCE = 30,
	AT_CONTROL = 32,
	AT_INTERVAL = 33,
	AT_STAMP = 34,
	AT_REQUESTER = 44,
	STAMP_END = 44,
	TWO_STEP_FLAG = 2, /* in the first byte of the flags */
	CONTROL_DELAY_REQUEST = 1,
	CONTROL_OTHER = 5,
	NO_INTERVAL = 0x7f,
};

static uint64_t get(const uint8_t *bytes, int length)
{
	uint64_t value = 0;

	for (int i = 0; i < length; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void put16(uint8_t *out, uint16_t value)
{
	out[0] = (uint8_t)(value >> 8);
	out[1] = (uint8_t)value;
}

static struct ptp_identity get_identity(const uint8_t *bytes)
{
	struct ptp_identity identity;

	memcpy(identity.clock, bytes, PTP_CLOCK_BYTES);
	identity.port = (uint16_t)get(bytes + PTP_CLOCK_BYTES, 2);
	return identity;
}

static bool is_known(uint8_t type)
{
	return type <= PTP_PEER_RESPONSE || (type >= PTP_FOLLOW_UP && type <= PTP_PEER_FOLLOW_UP);
}

static bool is_response(uint8_t type)
{
	return type == PTP_PEER_RESPONSE || type == PTP_DELAY_RESPONSE || type == PTP_PEER_FOLLOW_UP;
}

int ptp_read(const uint8_t *bytes, size_t length, struct ptp_message *message)
{
	const uint64_t seconds_maximum = INT64_MAX / NS_PER_S - 1;
	uint64_t seconds, nanoseconds;
	uint8_t type;

	if (length < STAMP_END || (bytes[1] & 15) != VERSION || get(bytes + AT_LENGTH, 2) > length)
		return -EBADMSG;
	type = bytes[0] & 15;
	seconds = get(bytes + AT_STAMP, 6);
	nanoseconds = get(bytes + AT_STAMP + 6, 4);
	if (!is_known(type) || get(bytes + AT_LENGTH, 2) < (is_response(type) ? PTP_MESSAGE_BYTES : STAMP_END) ||
	    seconds > seconds_maximum || nanoseconds >= NS_PER_S)
		return -EBADMSG;
	*message = (struct ptp_message){
		.type = (enum ptp_type)type,
		.domain = bytes[AT_DOMAIN],
		.two_step = bytes[AT_FLAGS] & TWO_STEP_FLAG,
		.sequence = (uint16_t)get(bytes + AT_SEQUENCE, 2),
		.correction = {(int64_t)get(bytes + AT_CORRECTION, 8) / 65536},
		.from = get_identity(bytes + AT_SOURCE),
		.stamp = {(int64_t)(seconds * NS_PER_S + nanoseconds)},
	};
	if (is_response(type))
		message->to = get_identity(bytes + AT_REQUESTER);
	return 0;
}

size_t ptp_write_request(const struct ptp_message *message, uint8_t *out)
{
	size_t length = message->type == PTP_PEER_REQUEST ? PTP_MESSAGE_BYTES : STAMP_END;

	memset(out, 0, length);
	out[0] = (uint8_t)message->type;
	out[1] = VERSION;
	put16(out + AT_LENGTH, (uint16_t)length);
	out[AT_DOMAIN] = message->domain;
	memcpy(out + AT_SOURCE, message->from.clock, PTP_CLOCK_BYTES);
	put16(out + AT_SOURCE + PTP_CLOCK_BYTES, message->from.port);
	put16(out + AT_SEQUENCE, message->sequence);
	out[AT_CONTROL] = message->type == PTP_PEER_REQUEST ? CONTROL_OTHER : CONTROL_DELAY_REQUEST;
	out[AT_INTERVAL] = NO_INTERVAL;
	return length;
}

const uint8_t *ptp_group_mac(bool peer_delay)
{
	static const uint8_t macs[][PTP_MAC_BYTES] = {{0x01, 0x1b, 0x19, 0, 0, 0}, {0x01, 0x80, 0xc2, 0, 0, 0x0e}};

	return macs[peer_delay];
}

/* IEEE 1588-2008 section 7.5.2.2.2. */
struct ptp_identity ptp_identity_of_mac(const uint8_t *mac)
{
	/* Not port 1, which a ptp4l on this interface uses. */
	return (struct ptp_identity){{mac[0], mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]}, 0x4e4d};
}

void ptp_identity_print(const struct ptp_identity *identity, char text[PTP_IDENTITY_TEXT_BYTES])
{
	const uint8_t *c = identity->clock;

	snprintf(text, PTP_IDENTITY_TEXT_BYTES, "%02x%02x%02x.%02x%02x.%02x%02x%02x-%u", c[0], c[1], c[2], c[3], c[4],
		 c[5], c[6], c[7], identity->port);
}

bool ptp_same_identity(const struct ptp_identity *a, const struct ptp_identity *b)
{
	return a->port == b->port && memcmp(a->clock, b->clock, PTP_CLOCK_BYTES) == 0;
}
