/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon's answer, in two parts: where it is cut changes nothing, and its body is within it. */
#include "exchange.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define law(holds) ((holds) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns what exchange_read() says after the last part. */
static int read_parts(struct exchange_answer *answer, const uint8_t *data, size_t size, size_t cut)
{
	int code;

	answer->bytes = calloc(size + 1, 1);
	memcpy(answer->bytes, data, cut);
	answer->count = cut;
	code = exchange_read(answer, false);
	if (code != 0)
		return code;
	memcpy(answer->bytes + cut, data + cut, size - cut);
	answer->count = size;
	return exchange_read(answer, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exchange_answer whole = {0}, parts = {0};
	int code = read_parts(&whole, data, size, size),
	    of_parts = read_parts(&parts, data, size, size ? data[size - 1] % size : 0);

	if (code == 1) {
		law(whole.status >= 100 && whole.status <= 999 && whole.body <= whole.count && whole.count <= size);
		law(of_parts == 1 && parts.status == whole.status && parts.body == whole.body &&
		    parts.count == whole.count);
	}
	free(whole.bytes);
	free(parts.bytes);
	return 0;
}
