/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of OpenFlow messages: it respects the lengths, and never reads outside of the given bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lab/openflow/message.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[OPENFLOW_MESSAGE_BYTES];
	struct openflow_message message;
	char text[96];
	int length;

	while ((length = openflow_parse(data, size, &message)) > 0) {
		struct openflow_message again;
		size_t answer;

		if ((size_t)length > size || length != message.length || length < OPENFLOW_HEADER_BYTES)
			abort();
		openflow_error_text(&message, text);
		if (strlen(text) >= sizeof text)
			abort();
		answer = openflow_write_echo_reply(&message, out);
		if (openflow_parse(out, answer, &again) != (int)answer || again.transaction != message.transaction)
			abort();
		if (message.version == OPENFLOW_VERSION && message.type == OPENFLOW_MULTIPART_REPLY) {
			struct openflow_flow flow;
			size_t offset = 0, before = 0;

			while (openflow_next_flow(&message, &offset, &flow) > 0) {
				if (offset <= before || offset > message.length)
					abort();
				before = offset;
			}
		}
		data += length;
		size -= (size_t)length;
	}
	return 0;
}
