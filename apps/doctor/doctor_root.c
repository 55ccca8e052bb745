/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the host's files below the root folder, sets of CPUs, and the list of findings. */
#include "doctor.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/array.h>
#include <base/number.h>

void doctor_add(struct doctor *doctor, const char *check, enum finding_level level, const char *note, const char *fix,
		const char *format, ...)
{
	struct finding *finding;
	va_list arguments;

	finding = array_grow(doctor->findings, doctor->count, &doctor->capacity, sizeof *finding);
	if (!finding) {
		doctor->out_of_memory = true;
		return;
	}
	doctor->findings = finding;
	finding += doctor->count++;
	*finding = (struct finding){.check = check, .level = level, .note = note};
	if (fix && level != FINDING_OK)
		snprintf(finding->fix, sizeof finding->fix, "%s", fix);
	va_start(arguments, format);
	vsnprintf(finding->found, sizeof finding->found, format, arguments);
	va_end(arguments);
}

enum finding_level doctor_serious(const struct doctor *doctor)
{
	return doctor->purpose == DOCTOR_NIC ? FINDING_FAIL : FINDING_WARN;
}

void doctor_unclear(struct doctor *doctor, const char *check, const char *note, const char *path)
{
	char fix[128];

	snprintf(fix, sizeof fix, "cat %.100s", path);
	doctor_add(doctor, check, FINDING_WARN, note, fix, "%s cannot be read or understood: not checked", path);
}

bool doctor_is_live(const struct doctor *doctor)
{
	return doctor->root[0] == '\0';
}

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
	if (!read && !ferror(file)) { /* an empty file is an answer too */
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

FILE *doctor_open(const struct doctor *doctor, const char *path)
{
	char whole[PATH_MAX];

	if (snprintf(whole, sizeof whole, "%s%s", doctor->root, path) >= (int)sizeof whole)
		return NULL;
	return fopen(whole, "re");
}

bool doctor_lookup(const struct doctor *doctor, const char *path, const char *key, char *value, size_t bytes)
{
	FILE *file = doctor_open(doctor, path);
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
		visit(doctor, entries[i]->d_name, context);
		free(entries[i]);
	}
	free(entries);
	return (size_t)count;
}

void cpu_set_add(struct cpu_set_bits *set, unsigned int cpu)
{
	if (cpu >= CPUS_LIMIT || cpu_set_has(set, cpu))
		return;
	set->words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
	set->count++;
}

bool cpu_set_parse(const char *list, struct cpu_set_bits *set)
{
	unsigned int cpus[CPUS_LIMIT];
	int count = cpus_parse(list, cpus, CPUS_LIMIT);

	*set = (struct cpu_set_bits){0};
	for (int i = 0; i < count && i < CPUS_LIMIT; i++)
		cpu_set_add(set, cpus[i]);
	return count >= 0;
}

bool cpu_set_has(const struct cpu_set_bits *set, unsigned int cpu)
{
	return cpu < CPUS_LIMIT && (set->words[cpu / 64] >> (cpu % 64) & 1);
}

bool cpu_set_within(const struct cpu_set_bits *inner, const struct cpu_set_bits *outer)
{
	for (size_t i = 0; i < CPUS_LIMIT / 64; i++)
		if (inner->words[i] & ~outer->words[i])
			return false;
	return true;
}

bool cpu_set_meets(const struct cpu_set_bits *a, const struct cpu_set_bits *b)
{
	for (size_t i = 0; i < CPUS_LIMIT / 64; i++)
		if (a->words[i] & b->words[i])
			return true;
	return false;
}

bool doctor_isolated(const struct doctor *doctor, struct cpu_set_bits *set)
{
	char list[1024];

	*set = (struct cpu_set_bits){0};
	return doctor_read(doctor, list, sizeof list, "/sys/devices/system/cpu/isolated") && cpu_set_parse(list, set);
}
