/* SPDX-License-Identifier: BSD-3-Clause */
/* The input as a text that ends with a NUL. */
#ifndef FUZZ_TEXT_H
#define FUZZ_TEXT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

#endif
