/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include <model/findings.h>

#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct findings findings;
	struct error err = {0};
	char *text = fuzz_text(data, size);
	int code = findings_parse("fuzz", text, size, &findings, &err);

	free(text);
	if (code == 0) {
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
