/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves of jobs: each job that was read has a name. */
#include <stdint.h>
#include <stdlib.h>

#include <model/curve_library.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_lines *lines = file_lines_from_memory("fuzz", (const char *)data, size, NULL);
	struct workload *workload = workload_create();
	struct error err = {0};

	if (job_curves_read(workload, lines, &err) != 0 && (err.code == 0 || err.text[0] == '\0'))
		abort(); /* a refusal says why */
	for (size_t n = 0; n < workload->note_count; n++) {
		if (workload->curves[workload->notes[n].curve][0] == '\0')
			abort();
	}
	workload_destroy(workload);
	file_lines_close(lines);
	return 0;
}
