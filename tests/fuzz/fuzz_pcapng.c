/* SPDX-License-Identifier: BSD-3-Clause */
/* The injector's capture reader: for any input, packets stay within their block and the reader terminates. */
#include <stdint.h>
#include <stdlib.h>

#include <injector/pcapng/pcapng.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct pcapng_reader *reader = pcapng_open_memory("fuzz", data, size, &err);
	struct pcapng_packet packet;
	volatile uint8_t sum = 0;

	if (!reader)
		return 0;
	while (pcapng_next(reader, &packet, &err) > 0) {
		for (uint32_t i = 0; i < packet.captured; i++)
			sum = (uint8_t)(sum + packet.bytes[i]);
	}
	pcapng_close(reader);
	return 0;
}
