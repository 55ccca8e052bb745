/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/curve_library.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

struct entry {
	char *name;
	struct curve *curve;
};

struct curve_library {
	char *folder;
	struct entry *entries;
	size_t count, capacity;
};

struct curve_library *curve_library_create(const char *folder)
{
	struct curve_library *library = calloc(1, sizeof *library);

	if (!library || !(library->folder = strdup(folder))) {
		free(library);
		return NULL;
	}
	return library;
}

void curve_library_destroy(struct curve_library *library)
{
	if (!library)
		return;
	for (size_t i = 0; i < library->count; i++) {
		free(library->entries[i].name);
		curve_destroy(library->entries[i].curve);
	}
	free(library->entries);
	free(library->folder);
	free(library);
}

static int64_t add(struct curve_library *library, const char *name, struct error *err)
{
	struct entry *larger =
		array_grow(library->entries, library->count, &library->capacity, sizeof *library->entries);
	struct entry entry = {0};
	char path[4096];

	if (!larger)
		return error_set(err, ENOMEM, "out of memory");
	library->entries = larger;
	if (snprintf(path, sizeof path, "%s/%s.json", library->folder, name) >= (int)sizeof path)
		return error_set(err, ENAMETOOLONG, "the path of curve '%s' is too long", name);
	entry.curve = curve_load(path, err);
	if (!entry.curve)
		return -(err && err->code ? err->code : ENOENT);
	entry.name = strdup(name);
	if (!entry.name) {
		curve_destroy(entry.curve);
		return error_set(err, ENOMEM, "out of memory");
	}
	library->entries[library->count] = entry;
	return (int64_t)library->count++;
}

int64_t curve_library_find(struct curve_library *library, const char *name, struct error *err)
{
	for (size_t i = 0; i < library->count; i++) {
		if (strcmp(library->entries[i].name, name) == 0)
			return (int64_t)i;
	}
	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/'))
		return error_set(err, EINVAL, "'%s' is not a curve name; expected NAME for %s/NAME.json", name,
				 library->folder);
	return add(library, name, err);
}

size_t curve_library_count(const struct curve_library *library)
{
	return library->count;
}

const struct curve *curve_library_at(const struct curve_library *library, size_t number)
{
	return library->entries[number].curve;
}

const char *curve_library_name(const struct curve_library *library, size_t number)
{
	return library->entries[number].name;
}
