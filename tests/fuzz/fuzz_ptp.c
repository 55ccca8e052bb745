/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include <probe/ptp/message.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An accepted request survives writing and reading. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ptp_message first, second;
	uint8_t bytes[PTP_MESSAGE_BYTES];

	if (ptp_read(data, size, &first))
		return 0;
	if (first.type != PTP_DELAY_REQUEST && first.type != PTP_PEER_REQUEST)
		return 0;
	if (ptp_read(bytes, ptp_write_request(&first, bytes), &second) || second.sequence != first.sequence ||
	    second.domain != first.domain || !ptp_same_identity(&first.from, &second.from))
		abort();
	return 0;
}
