/* SPDX-License-Identifier: BSD-3-Clause */
#include "depend.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A type of dependency. The flags: the other job's success fulfils it; the other job's failure fulfils it. */
struct kind {
	const char *name;
	bool success, failure;
};

static const struct kind *read_kind(const char **text)
{
	static const struct kind kinds[] = {
		{"afterany:", true, true}, {"afterok:", true, false}, {"afternotok:", false, true}};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		size_t length = strlen(kinds[i].name);

		if (strncmp(*text, kinds[i].name, length) == 0) {
			*text += length;
			return &kinds[i];
		}
	}
	return NULL;
}

/*
 * Reads "TYPE:ID" or "TYPE:ID(STATE)" up to the next comma. Returns the end of the text that was read, or NULL if it
 * has another form.
 */
static const char *read_one(const char *text, const struct kind **kind, uint32_t *id)
{
	unsigned long number;
	char *end;

	*kind = read_kind(&text);
	if (!*kind || !isdigit((unsigned char)*text))
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
		const struct kind *kind;
		uint32_t id;

		text = read_one(text, &kind, &id);
		ended = text ? outcome(context, id) : SLURM_NOT_ENDED;
		if (ended == SLURM_NOT_ENDED || !(ended == SLURM_SUCCEEDED ? kind->success : kind->failure))
			return true;
		text += *text == ',';
	}
	return false;
}
