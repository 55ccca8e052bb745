/* SPDX-License-Identifier: BSD-3-Clause */
/* Does what a sanitizer must report: reports.sh. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	char *volatile block = malloc(16);
	const char *kind = argc > 1 ? argv[1] : "";

	if (strcmp(kind, "overflow") == 0)
		argc += INT_MAX;
	if (strcmp(kind, "leak") == 0)
		block = NULL;
	free(block);
	return strcmp(kind, "use-after-free") == 0 ? block[argc] : argc == INT_MIN;
}
