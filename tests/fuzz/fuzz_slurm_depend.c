/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text of dependencies. As long as no job has ended, a job waits unless the text is empty. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "depend.h"

static enum slurm_outcome none_has_ended(const void *context, uint32_t id)
{
	(void)context;
	(void)id;
	return SLURM_NOT_ENDED;
}

static enum slurm_outcome all_succeeded(const void *context, uint32_t id)
{
	(void)context;
	(void)id;
	return SLURM_SUCCEEDED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (slurm_waits(text, none_has_ended, NULL) != (text[0] != '\0'))
		abort();
	slurm_waits(text, all_succeeded, NULL); /* reads on to the end */
	free(text);
	return 0;
}
