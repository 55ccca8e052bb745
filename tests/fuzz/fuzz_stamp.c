/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <probe/rtt/reflector.h>
#include <probe/rtt/tlv.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An accepted reply survives writing and reading. */
static void check_reply(const uint8_t *data, size_t size)
{
	struct stamp_reply first, second;
	uint8_t bytes[STAMP_BYTES];

	if (stamp_read_reply(data, size, &first))
		return;
	stamp_write_reply(&first, bytes);
	if (stamp_read_reply(bytes, sizeof bytes, &second) || first.sent_at.v != second.sent_at.v ||
	    first.received_at.v != second.received_at.v || first.request_sent_at.v != second.request_sent_at.v ||
	    first.request_sequence != second.request_sequence)
		abort();
	(void)stamp_error_to_ns(first.error);
}

/* Any frame may arrive; a request is answered in place, within its own length or that of the base packet. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stamp_key key = {.session = 1, .length = 16};
	struct stamp_keys keys = {.count = 1, .items = &key};
	struct frame frame;
	struct reflector_rules rules = {.source_pps = 10, .total_pps = 10};
	struct reflector *reflector;
	uint8_t *copy = malloc(size + STAMP_AUTHENTICATED_BYTES);
	struct tlv_reading reading;
	struct stamp_error_estimate estimate = {false, STAMP_PTP, 0, 1};
	struct reflector_answer answer;

	frame_read(data, size, size, &frame);
	rules.address = frame.destination_address;
	memcpy(rules.mac, frame.destination_mac, sizeof rules.mac);
	rules.member = (uint16_t)(size % 4);
	if (size % 2)
		rules.keys = &keys;
	reflector = reflector_create(16, &rules);
	check_reply(data, size);
	tlv_read(&key, 1, STAMP_NTP, data, size, &reading);
	if (reflector && copy && frame.kind == FRAME_UDP) {
		memcpy(copy, frame.payload, frame.payload_bytes);
		frame.payload = copy;
		/* No random input has a valid HMAC. */
		if (rules.keys && frame.payload_bytes >= STAMP_AUTHENTICATED_BYTES)
			stamp_sign(&key, copy);
		if (reflector_prepare(reflector, &frame, (struct ns){1}, estimate, copy, &answer) == 0)
			reflector_finish(&answer, (struct ns){2}, copy);
	}
	free(copy);
	reflector_destroy(reflector);
	return 0;
}
