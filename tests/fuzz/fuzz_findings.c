/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include <model/findings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct findings findings;
	struct error err = {0};

	if (findings_parse("fuzz", (const char *)data, size, &findings, &err) == 0) {
		size_t count = 0;

		for (int level = 0; level < FINDING_LEVELS; level++)
			count += findings_count(&findings, (enum finding_level)level);
		if (count != findings.count)
			abort();
	} else if (err.code <= 0 || findings.items) {
		abort();
	}
	findings_free(&findings);
	return 0;
}
