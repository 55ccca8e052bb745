/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <probe/paths/paths.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[ADDRESS_TEXT_BYTES];
	struct expired expired;

	if (expired_read(data, size, &expired))
		return 0;
	address_print(expired.router, text);
	if (strlen(text) == 0 || strlen(text) >= sizeof text)
		abort();
	return 0;
}
