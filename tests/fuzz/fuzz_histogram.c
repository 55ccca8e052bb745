/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/histogram.h>

/* Every accepted histogram, printed and read back, prints the same text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 64), *first = NULL, *second = NULL;
	struct histogram *histogram, *again;
	struct error err = {0};
	size_t bytes;
	FILE *out;

	if (!text)
		return 0;
	/* Half of the inputs get a valid header, so that the counts are reached. */
	size_t head = size > 0 && data[0] & 1 ? (size_t)sprintf(text, "nomora-histogram/1 1 1000 2 ") : 0;
	memcpy(text + head, data, size);
	text[head + size] = '\0';
	histogram = histogram_read(text, &err);
	if (histogram) {
		out = open_memstream(&first, &bytes);
		histogram_print(histogram, out);
		fclose(out);
		again = histogram_read(first, &err);
		if (!again)
			abort();
		out = open_memstream(&second, &bytes);
		histogram_print(again, out);
		fclose(out);
		if (strcmp(first, second) != 0)
			abort();
		histogram_destroy(again);
	}
	histogram_destroy(histogram);
	free(first);
	free(second);
	free(text);
	return 0;
}
