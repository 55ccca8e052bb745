/* SPDX-License-Identifier: BSD-3-Clause */
#include "depend.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads "TYPE:ID" or "TYPE:ID(STATE)" up to the next comma and returns its end; NULL: something else. */
static const char *read_one(const char *text, bool *any, uint32_t *id)
{
	static const char afterany[] = "afterany:", afterok[] = "afterok:";
	unsigned long number;
	char *end;

	*any = strncmp(text, afterany, strlen(afterany)) == 0;
	if (!*any && strncmp(text, afterok, strlen(afterok)) != 0)
		return NULL;
	text += *any ? strlen(afterany) : strlen(afterok);
	if (!isdigit((unsigned char)*text))
		return NULL;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno != 0 || number > UINT32_MAX)
		return NULL;
	*id = (uint32_t)number;
	if (*end == '(' && (end = strchr(end, ')')) != NULL)
		end++;
	return end && (*end == ',' || *end == '\0') ? end : NULL;
}

bool slurm_waits(const char *text, enum slurm_outcome (*outcome)(const void *context, uint32_t id), const void *context)
{
	while (text && *text) {
		enum slurm_outcome ended;
		uint32_t id;
		bool any;

		text = read_one(text, &any, &id);
		ended = text ? outcome(context, id) : SLURM_NOT_ENDED;
		if (ended == SLURM_NOT_ENDED || (ended == SLURM_DID_NOT_SUCCEED && !any))
			return true;
		text += *text == ',';
	}
	return false;
}
