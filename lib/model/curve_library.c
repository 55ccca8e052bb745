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
	char *folder; /* NULL = none */
	struct entry *entries;
	size_t count, capacity;
};

struct curve_library *curve_library_create(const char *folder)
{
	struct curve_library *library = calloc(1, sizeof *library);

	if (!library || (folder && !(library->folder = strdup(folder)))) {
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

/* Takes ownership of the curve. */
static int64_t add(struct curve_library *library, const char *name, struct curve *curve, struct error *err)
{
	struct entry *larger =
		array_grow(library->entries, library->count, &library->capacity, sizeof *library->entries);
	char *copy = strdup(name);

	if (larger)
		library->entries = larger;
	if (!larger || !copy) {
		free(copy);
		curve_destroy(curve);
		return error_set(err, ENOMEM, "out of memory");
	}
	larger[library->count].name = copy;
	larger[library->count].curve = curve;
	return (int64_t)library->count++;
}

static int64_t load(struct curve_library *library, const char *name, struct error *err)
{
	struct curve *curve;
	char path[4096];

	if (!library->folder)
		return error_set(err, ENOENT, "unknown curve '%s': no folder of curves was given", name);
	if (snprintf(path, sizeof path, "%s/%s.json", library->folder, name) >= (int)sizeof path)
		return error_set(err, ENAMETOOLONG, "the path of curve '%s' is too long", name);
	curve = curve_load(path, err);
	return curve ? add(library, name, curve, err) : error_code(err, ENOENT);
}

static int64_t find(const struct curve_library *library, const char *name)
{
	for (size_t i = 0; i < library->count; i++) {
		if (strcmp(library->entries[i].name, name) == 0)
			return (int64_t)i;
	}
	return -ENOENT;
}

int64_t curve_library_find(struct curve_library *library, const char *name, struct error *err)
{
	int64_t number = find(library, name);

	if (number >= 0)
		return number;
	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/'))
		return error_set(err, EINVAL, "'%s' is not a curve name; expected NAME for %s/NAME.json", name,
				 library->folder ? library->folder : "DIR");
	return load(library, name, err);
}

int curve_library_define(struct curve_library *library, const char *name, const char *text, struct error *err)
{
	struct curve *curve = curve_from_memory(name, text, strlen(text), err);
	int64_t number = find(library, name);

	if (!curve)
		return error_code(err, EINVAL);
	if (number < 0) {
		number = add(library, name, curve, err);
		return number < 0 ? (int)number : 0;
	}
	curve_destroy(library->entries[number].curve);
	library->entries[number].curve = curve;
	return 0;
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
