/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of the files in a page: it terminates for any input, and no file's name leads out of a folder. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	char *text = calloc(1, size + 1);
	const json_t *file;
	json_t *root;
	size_t i;

	if (!text)
		abort();
	memcpy(text, data, size);
	root = report_bundle_parse("fuzz", text, &err);
	if (!root && !err.text[0])
		abort();
	json_array_foreach (json_object_get(root, "files"), i, file) {
		const char *name = json_string_value(json_object_get(file, "name"));

		if (!name || !name[0] || strchr(name, '/') || name[0] == '.' ||
		    !json_string_value(json_object_get(file, "text")))
			abort();
	}
	json_decref(root);
	free(text);
	return 0;
}
