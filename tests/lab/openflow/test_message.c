/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <lab/openflow/message.h>

/*
 * Bytes for which `ovs-ofctl ofp-print` prints "OFPT_FLOW_MOD (OF1.3) (xid=0x7): ADD priority=32000,ip,nw_src=10.0.0.1,
 * nw_dst=10.0.0.16 cookie:0x4e4f4d4f52410001 actions=output:7".
 */
static const uint8_t add[] = {
	0x04, 0x0e, 0x00, 0x68, 0x00, 0x00, 0x00, 0x07, 0x4e, 0x4f, 0x4d, 0x4f, 0x52, 0x41, 0x00, 0x01, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7d, 0x00, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x1a, 0x80, 0x00,
	0x0a, 0x02, 0x08, 0x00, 0x80, 0x00, 0x16, 0x04, 0x0a, 0x00, 0x00, 0x01, 0x80, 0x00, 0x18, 0x04, 0x0a, 0x00,
	0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x10, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

Test(message, a_flow_is_written_as_open_vswitch_reads_it)
{
	const struct openflow_flow flow = {.cookie = 0x4e4f4d4f52410001,
					   .priority = 32000,
					   .source = 0x0a000001,
					   .destination = 0x0a000010,
					   .port = 7};
	uint8_t out[OPENFLOW_MESSAGE_BYTES];
	size_t length = openflow_write_add(&flow, 7, out);

	cr_assert_eq(length, sizeof add);
	cr_expect_arr_eq(out, add, sizeof add);
}

Test(message, what_is_written_is_whole)
{
	struct openflow_message message;
	uint8_t out[OPENFLOW_MESSAGE_BYTES];
	size_t length = openflow_write_delete(1, 3, 9, out);

	cr_expect_eq(openflow_parse(out, length, &message), (int)length);
	cr_expect_eq(message.type, OPENFLOW_FLOW_MOD);
	cr_expect_eq(message.transaction, 9);
	for (size_t cut = 0; cut < length; cut++)
		cr_expect_eq(openflow_parse(out, cut, &message), 0, "cut at %zu", cut);
}

Test(message, an_error_is_named)
{
	static const uint8_t full[] = {4, 1, 0, 12, 0, 0, 0, 3, 0, 5, 0, 1},
			     odd[] = {4, 1, 0, 12, 0, 0, 0, 3, 0, 99, 0, 1};
	struct openflow_message message;
	char text[96];

	cr_assert_eq(openflow_parse(full, sizeof full, &message), 12);
	openflow_error_text(&message, text);
	cr_expect_str_eq(text, "flow mod failed: table full");
	cr_assert_eq(openflow_parse(odd, sizeof odd, &message), 12);
	openflow_error_text(&message, text);
	cr_expect_str_eq(text, "error (type 99, code 1)");
}

Test(message, a_wrong_length_is_refused)
{
	static const uint8_t header[] = {4, 0, 0, 7, 0, 0, 0, 0}, error[] = {4, 1, 0, 8, 0, 0, 0, 0},
			     features[] = {4, 6, 0, 31, 0, 0, 0, 0};
	struct openflow_message message;

	cr_expect_eq(openflow_parse(header, sizeof header, &message), -EBADMSG);
	cr_expect_eq(openflow_parse(error, sizeof error, &message), -EBADMSG);
	cr_expect_eq(openflow_parse(features, sizeof features, &message), -EBADMSG);
}

Test(message, an_echo_is_answered_with_its_body)
{
	static const uint8_t request[] = {4, 2, 0, 12, 0, 0, 0, 9, 'p', 'i', 'n', 'g'};
	struct openflow_message message;
	uint8_t out[OPENFLOW_MESSAGE_BYTES];

	cr_assert_eq(openflow_parse(request, sizeof request, &message), 12);
	cr_assert_eq(openflow_write_echo_reply(&message, out), 12);
	cr_expect_eq(out[1], OPENFLOW_ECHO_REPLY);
	cr_expect_arr_eq(out + 4, request + 4, 8);
}

/* A reply with three flows (7.3.5.2): one with another match, `add`, and `add` with another action. */
Test(message, flows_with_our_match_are_read)
{
	enum { HEAD = 16, OTHER = 56, ENTRY = 104, BYTES = HEAD + OTHER + 2 * ENTRY };
	uint8_t bytes[BYTES] = {4, 19, 0, 0, 0, 0, 0, 9, 0, 1};
	uint8_t *other = bytes + HEAD, *ours = other + OTHER, *changed = ours + ENTRY;
	struct openflow_message message;
	struct openflow_flow flow;
	size_t offset = 0;

	bytes[2] = BYTES >> 8;
	bytes[3] = BYTES & 0xff;
	other[1] = OTHER;
	other[49] = 1;
	other[51] = 4;
	ours[1] = ENTRY;
	ours[12] = 0x7d;
	memcpy(ours + 24, add + 8, 8);
	memcpy(ours + 48, add + 48, sizeof add - 48);
	memcpy(changed, ours, ENTRY);
	changed[ENTRY - 15] = 1; /* type of the action */
	cr_assert_eq(openflow_parse(bytes, sizeof bytes, &message), BYTES);
	cr_assert_eq(openflow_next_flow(&message, &offset, &flow), 1);
	cr_expect_eq(flow.cookie, 0x4e4f4d4f52410001);
	cr_expect(flow.priority == 32000 && !flow.arp && flow.source == 0x0a000001 && flow.destination == 0x0a000010);
	cr_expect_eq(flow.port, 7);
	cr_assert_eq(openflow_next_flow(&message, &offset, &flow), 1);
	cr_expect_eq(flow.port, 0);
	cr_expect_eq(openflow_next_flow(&message, &offset, &flow), 0);
	offset = 0;
	changed[1] = ENTRY + 8;
	cr_expect_eq(openflow_next_flow(&message, &offset, &flow), 1);
	cr_expect_eq(openflow_next_flow(&message, &offset, &flow), -EBADMSG);
}
