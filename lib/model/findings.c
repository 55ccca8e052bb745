/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/findings.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>
#include <base/number.h>

#include "files_priv.h"

enum { FILE_BYTES_MAXIMUM = 1 << 26 };

static const char *const level_names[FINDING_LEVELS] = {"ok", "warn", "fail"};
static const char *const purpose_names[] = {[FINDINGS_FOR_LAB] = "lab", [FINDINGS_FOR_NIC] = "nic"};

struct finding *findings_add(struct findings *findings)
{
	struct finding *items = array_grow(findings->items, findings->count, &findings->capacity, sizeof *items);

	if (!items)
		return NULL;
	findings->items = items;
	items[findings->count] = (struct finding){0};
	return &items[findings->count++];
}

size_t findings_count(const struct findings *findings, enum finding_level level)
{
	size_t count = 0;

	for (size_t i = 0; i < findings->count; i++)
		count += findings->items[i].level == level;
	return count;
}

void findings_free(struct findings *findings)
{
	free(findings->items);
	*findings = (struct findings){0};
}

const char *finding_level_name(enum finding_level level)
{
	return level_names[level];
}

static void read_text(struct json_reader *reader, const json_t *object, const char *where, const char *key, char *text,
		      size_t bytes)
{
	const char *found = json_need_string(reader, object, where, key);

	if (reader->failed)
		return;
	if (strlen(found) >= bytes)
		json_fail(reader, where, key, "longer than %zu bytes", bytes - 1);
	else
		strcpy(text, found);
}

static void read_finding(struct json_reader *reader, const json_t *object, const char *where, struct finding *finding)
{
	const char *level = json_need_string(reader, object, where, "level");

	if (reader->failed)
		return;
	while (finding->level < FINDING_LEVELS && strcmp(level_names[finding->level], level) != 0)
		finding->level++;
	if (finding->level == FINDING_LEVELS)
		json_fail(reader, where, "level", "expected ok, warn or fail, found '%.40s'", level);
	read_text(reader, object, where, "check", finding->check, sizeof finding->check);
	read_text(reader, object, where, "found", finding->found, sizeof finding->found);
	read_text(reader, object, where, "note", finding->note, sizeof finding->note);
	if (!json_is_null(json_object_get(object, "fix")))
		read_text(reader, object, where, "fix", finding->fix, sizeof finding->fix);
}

static void read_findings(struct json_reader *reader, const json_t *root, const char *text, struct findings *findings)
{
	struct json_lines lines = json_lines_find(text, "findings");
	const char *purpose;
	const json_t *list;

	json_need_schema(reader, root, "nomora.doctor/1");
	purpose = json_need_string(reader, root, "", "purpose");
	list = json_need_array(reader, root, "", "findings");
	if (reader->failed)
		return;
	if (strcmp(purpose, purpose_names[FINDINGS_FOR_NIC]) == 0)
		findings->purpose = FINDINGS_FOR_NIC;
	else if (strcmp(purpose, purpose_names[FINDINGS_FOR_LAB]) != 0)
		json_fail(reader, "", "purpose", "expected lab or nic, found '%.40s'", purpose);
	for (size_t i = 0; i < json_array_size(list) && !reader->failed; i++) {
		struct finding *finding = findings_add(findings);
		char where[32];

		reader->line = json_lines_next(&lines);
		snprintf(where, sizeof where, "findings[%zu]", i);
		if (finding)
			read_finding(reader, json_array_get(list, i), where, finding);
		else
			json_no_memory(reader);
	}
}

int findings_parse(const char *name, const char *text, size_t bytes, struct findings *findings, struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = name, .err = err ? err : &scratch};
	json_t *root = json_read_text(name, 0, text, bytes, reader.err);

	*findings = (struct findings){0};
	if (root)
		read_findings(&reader, root, text, findings);
	else
		reader.failed = true;
	json_decref(root);
	if (!reader.failed)
		return 0;
	findings_free(findings);
	return error_code(reader.err, EINVAL);
}

int findings_read(const char *path, struct findings *findings, struct error *err)
{
	size_t bytes;
	char *text = file_read_all(path, FILE_BYTES_MAXIMUM, &bytes, err);
	int code;

	*findings = (struct findings){0};
	if (!text)
		return error_code(err, EIO);
	code = findings_parse(strcmp(path, "-") == 0 ? "standard input" : path, text, bytes, findings, err);
	free(text);
	return code;
}

static json_t *finding_to_json(const struct finding *finding)
{
	return json_pack("{s:s,s:s,s:s,s:o,s:s}", "check", finding->check, "level", level_names[finding->level],
			 "found", finding->found, "fix", finding->fix[0] ? json_string(finding->fix) : json_null(),
			 "note", finding->note);
}

int findings_write(const struct findings *findings, const char *path, struct error *err)
{
	size_t failures = findings_count(findings, FINDING_FAIL);
	json_t *root, *list = json_array();
	int code = 0;

	for (size_t i = 0; i < findings->count; i++)
		code |= json_array_append_new(list, finding_to_json(&findings->items[i]));
	root = json_pack("{s:s,s:s,s:b,s:I,s:I,s:I,s:o}", "schema", "nomora.doctor/1", "purpose",
			 purpose_names[findings->purpose], "usable", failures == 0, "ok",
			 (json_int_t)findings_count(findings, FINDING_OK), "warn",
			 (json_int_t)findings_count(findings, FINDING_WARN), "fail", (json_int_t)failures, "findings",
			 list);
	code = code || !root ? error_set(err, ENOMEM, "out of memory") : json_write_file(path, root, err);
	json_decref(root);
	return code;
}

void findings_print(const struct findings *findings, bool brief, FILE *out)
{
	size_t warnings = findings_count(findings, FINDING_WARN), failures = findings_count(findings, FINDING_FAIL);

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];

		if (finding->level == FINDING_OK && brief)
			continue;
		fprintf(out, "%-4s  %-12s %s\n", finding_level_name(finding->level), finding->check, finding->found);
		if (finding->fix[0])
			fprintf(out, "      %-12s fix: %s\n      %-12s see: firmware-notes/%s.md\n", "", finding->fix,
				"", finding->note);
	}
	fprintf(out, "%zu ok, %zu warning%s, %zu failure%s: %s\n", findings_count(findings, FINDING_OK), warnings,
		number_s(warnings), failures, number_s(failures), failures ? "not usable" : "usable");
}
