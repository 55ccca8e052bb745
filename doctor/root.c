/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the host's files below the root folder, and handles sets of CPUs. */
#include "doctor_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cpus.h>
#include <base/number.h>

static bool full_path(const struct doctor *doctor, char *path, const char *format, va_list arguments)
{
	int length = snprintf(path, PATH_MAX, "%s", doctor->root);

	if (length < 0 || length >= PATH_MAX)
		return false;
	return vsnprintf(path + length, (size_t)(PATH_MAX - length), format, arguments) < PATH_MAX - length;
}

static bool read_first_line(const char *path, char *text, size_t bytes)
{
	FILE *file = fopen(path, "re");
	bool read;

	if (!file)
		return false;
	read = fgets(text, (int)bytes, file) != NULL;
	if (!read && !ferror(file)) { /* an empty file is valid, too */
		text[0] = '\0';
		read = true;
	}
	fclose(file);
	if (!read)
		return false;
	for (size_t length = strlen(text); length > 0 && isspace((unsigned char)text[length - 1]); length--)
		text[length - 1] = '\0';
	return true;
}

bool doctor_read(const struct doctor *doctor, char *text, size_t bytes, const char *path, ...)
{
	char whole[PATH_MAX];
	va_list arguments;
	bool fits;

	va_start(arguments, path);
	fits = full_path(doctor, whole, path, arguments);
	va_end(arguments);
	return fits && read_first_line(whole, text, bytes);
}

bool doctor_read_integer(const struct doctor *doctor, int64_t *value, const char *path, ...)
{
	char whole[PATH_MAX], text[64];
	va_list arguments;
	bool fits;

	va_start(arguments, path);
	fits = full_path(doctor, whole, path, arguments);
	va_end(arguments);
	return fits && read_first_line(whole, text, sizeof text) && number_parse_i64(text, value) == 0;
}

enum doctor_answer doctor_ask_integer(struct doctor *doctor, const char *check, const char *note, int64_t *value,
				      const char *path)
{
	if (doctor_read_integer(doctor, value, "%s", path))
		return DOCTOR_READ;
	if (!doctor_exists(doctor, "%s", path))
		return DOCTOR_ABSENT;
	doctor_unclear(doctor, check, note, path);
	return DOCTOR_UNCLEAR;
}

bool doctor_exists(const struct doctor *doctor, const char *path, ...)
{
	char whole[PATH_MAX];
	va_list arguments;
	bool fits;

	va_start(arguments, path);
	fits = full_path(doctor, whole, path, arguments);
	va_end(arguments);
	return fits && faccessat(AT_FDCWD, whole, F_OK, 0) == 0;
}

static FILE *open_path(const struct doctor *doctor, const char *path)
{
	char whole[PATH_MAX];

	if (snprintf(whole, sizeof whole, "%s%s", doctor->root, path) >= (int)sizeof whole)
		return NULL;
	return fopen(whole, "re");
}

bool doctor_lookup(const struct doctor *doctor, const char *path, const char *key, char *value, size_t bytes)
{
	FILE *file = open_path(doctor, path);
	size_t key_length = strlen(key);
	char line[16384];
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof line, file)) {
		const char *rest = line + key_length;

		if (strncmp(line, key, key_length) != 0 ||
		    !(isspace((unsigned char)*rest) || *rest == ':' || *rest == '='))
			continue;
		rest += strspn(rest, " \t:=");
		snprintf(value, bytes, "%.*s", (int)strcspn(rest, "\n"), rest);
		found = true;
	}
	fclose(file);
	return found;
}

bool doctor_link_name(const struct doctor *doctor, char *name, size_t bytes, const char *path, ...)
{
	char whole[PATH_MAX], target[PATH_MAX];
	va_list arguments;
	ssize_t length;
	bool fits;

	va_start(arguments, path);
	fits = full_path(doctor, whole, path, arguments);
	va_end(arguments);
	length = fits ? readlink(whole, target, sizeof target - 1) : -1;
	if (length <= 0)
		return false;
	target[length] = '\0';
	snprintf(name, bytes, "%s", strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
	return true;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int by_version(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

size_t doctor_each(struct doctor *doctor, const char *folder,
		   void (*visit)(struct doctor *doctor, const char *name, void *context), void *context)
{
	char whole[PATH_MAX];
	struct dirent **entries;
	int count;

	if (snprintf(whole, sizeof whole, "%s%s", doctor->root, folder) >= (int)sizeof whole)
		return 0;
	count = scandir(whole, &entries, is_visible, by_version);
	if (count < 0)
		return 0;
	for (int i = 0; i < count; i++) {
		if (visit)
			visit(doctor, entries[i]->d_name, context);
		free(entries[i]);
	}
	free(entries);
	return (size_t)count;
}

bool doctor_parse_cpus(const char *list, cpu_set_t *set)
{
	unsigned int cpus[CPUS_LIMIT];
	int count = cpus_parse(list, cpus, CPUS_LIMIT);

	CPU_ZERO(set);
	for (int i = 0; i < count && i < CPUS_LIMIT; i++)
		CPU_SET(cpus[i], set);
	return count >= 0;
}

bool cpus_are_within(const cpu_set_t *inner, const cpu_set_t *outer)
{
	cpu_set_t both;

	CPU_AND(&both, inner, outer);
	return CPU_EQUAL(&both, inner);
}

bool cpus_meet(const cpu_set_t *a, const cpu_set_t *b)
{
	cpu_set_t both;

	CPU_AND(&both, a, b);
	return CPU_COUNT(&both) > 0;
}

bool doctor_isolated(const struct doctor *doctor, cpu_set_t *set)
{
	char list[1024];

	CPU_ZERO(set);
	return doctor_read(doctor, list, sizeof list, "/sys/devices/system/cpu/isolated") &&
	       doctor_parse_cpus(list, set);
}
