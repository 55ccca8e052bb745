/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include <model/latency_matrix.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every accepted matrix can be set and merged again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct file_lines *lines = file_lines_from_memory("fuzz", (const char *)data, size, &err);
	struct latency_matrix *matrix = lines ? latency_matrix_parse(lines, &err) : NULL;
	struct latency_matrix *copy = latency_matrix_create();

	if (matrix && copy) {
		if (latency_matrix_merge(copy, matrix, LATENCY_MERGE_REFUSE, &err) ||
		    latency_matrix_count(copy) != latency_matrix_count(matrix))
			abort();
		for (size_t i = 0; i < latency_matrix_count(matrix); i++)
			if (latency_matrix_set(matrix, latency_matrix_at(matrix, i)))
				abort();
	} else if (copy && err.code <= 0) {
		abort(); /* refused without a word */
	}
	latency_matrix_destroy(copy);
	latency_matrix_destroy(matrix);
	file_lines_close(lines);
	return 0;
}
