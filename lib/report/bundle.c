/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a sweep within its page, nomora.page/1: writer and reader. */
#include "report_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <base/file.h>
#include <base/json.h>

#define SCHEMA "nomora.page/1"

enum { FILE_BYTES_MAXIMUM = 64 << 20, PAGE_BYTES_MAXIMUM = 512 << 20, FILES_MAXIMUM = 1000, NAME_BYTES = 128 };

static const char begin[] = "<script type=\"application/json\" id=\"nomora-page\">";
static const char end[] = "</script>";

struct report_bundle {
	json_t *root, *files; /* files: borrowed from root */
};

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Names in a page become names in a folder: no part of one may lead out of it, or hide the file. */
static bool is_file_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,=@%+-";

	return name[0] && name[0] != '.' && name[0] != '-' && strlen(name) < NAME_BYTES &&
	       name[strspn(name, letters)] == '\0';
}

static const char *text_of(const json_t *files, const char *name)
{
	const json_t *file;
	size_t i;

	json_array_foreach (files, i, file) {
		const char *other = json_string_value(json_object_get(file, "name"));

		if (other && strcmp(other, name) == 0)
			return json_string_value(json_object_get(file, "text"));
	}
	return NULL;
}

struct report_bundle *report_bundle_create(struct error *err)
{
	struct report_bundle *bundle = calloc(1, sizeof *bundle);
	char made_at[32] = "";
	time_t now = time(NULL);
	struct tm utc;

	if (gmtime_r(&now, &utc))
		strftime(made_at, sizeof made_at, "%Y-%m-%dT%H:%M:%SZ", &utc);
	if (bundle)
		bundle->root = json_pack("{s:s, s:s, s:s, s:[]}", "schema", SCHEMA, "version", NOMORA_VERSION,
					 "made_at", made_at, "files");
	if (!bundle || !bundle->root) {
		free(bundle);
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	bundle->files = json_object_get(bundle->root, "files");
	return bundle;
}

void report_bundle_destroy(struct report_bundle *bundle)
{
	if (bundle)
		json_decref(bundle->root);
	free(bundle);
}

int report_bundle_add(struct report_bundle *bundle, const char *path, const char *text, size_t bytes, struct error *err)
{
	const char *name = name_of(path);
	json_t *string;

	if (!is_file_name(name))
		return error_set(err, EINVAL,
				 "%s: a file in a page has a name of at most %d letters, digits and _.,=@%%+-", path,
				 NAME_BYTES - 1);
	if (text_of(bundle->files, name))
		return error_set(err, EINVAL, "%s: the page already has a file of this name", path);
	if (json_array_size(bundle->files) == FILES_MAXIMUM)
		return error_set(err, E2BIG, "%s: a page has at most %d files", path, FILES_MAXIMUM);
	if (memchr(text, '\0', bytes) || !name_is_utf8(text))
		return error_set(err, EILSEQ, "%s: expected a text in UTF-8, as a page holds no other file", path);
	string = json_stringn(text, bytes);
	if (!string || json_array_append_new(bundle->files, json_pack("{s:s, s:o}", "name", name, "text", string)) != 0)
		return error_set(err, ENOMEM, "out of memory");
	return 0;
}

int report_bundle_add_file(struct report_bundle *bundle, const char *path, struct error *err)
{
	size_t bytes;
	char *text = file_read_all(path, FILE_BYTES_MAXIMUM, &bytes, err);
	int code = text ? report_bundle_add(bundle, path, text, bytes, err) : error_code(err, EIO);

	free(text);
	return code;
}

bool report_bundle_has(const struct report_bundle *bundle, const char *name)
{
	return text_of(bundle->files, name) != NULL;
}

int report_bundle_print(const struct report_bundle *bundle, FILE *out, struct error *err)
{
	char *text = json_dumps(bundle->root, JSON_COMPACT);

	if (!text)
		return error_set(err, ENOMEM, "out of memory");
	fputs(begin, out);
	/* A '<' of JSON is within a string; written so, it cannot end the script. */
	for (const char *c = text; *c; c++)
		if (*c == '<')
			fputs("\\u003c", out);
		else
			fputc(*c, out);
	fprintf(out, "%s\n", end);
	free(text);
	return 0;
}

json_t *report_bundle_parse(const char *name, const char *text, struct error *err)
{
	struct json_reader reader = {.file = name, .err = err};
	const char *from = strstr(text, begin), *to;
	const json_t *files, *file;
	json_t *root;
	size_t i;

	if (!from || !(to = strstr(from, end))) {
		error_set(err, EINVAL, "%s: no files in it; expected a page of nomora report with a sweep (--sweep)",
			  name);
		return NULL;
	}
	from += sizeof begin - 1;
	root = json_read_text(name, 0, from, (size_t)(to - from), err);
	if (!root)
		return NULL;
	json_need_schema(&reader, root, SCHEMA);
	files = json_need_array(&reader, root, "", "files");
	json_array_foreach (files, i, file) {
		const char *member = json_need_string(&reader, file, "files", "name");

		if (member && !is_file_name(member))
			json_fail(&reader, "files", "name",
				  "found '%.80s', expected the name of a file without a folder", member);
		else if (member && !json_is_string(json_object_get(file, "text")))
			json_fail(&reader, "files", "text", "expected a string");
		else if (member && text_of(files, member) != json_string_value(json_object_get(file, "text")))
			json_fail(&reader, "files", "name", "duplicate name '%.80s'", member);
	}
	if (reader.failed) {
		json_decref(root);
		return NULL;
	}
	return root;
}

static int write_file(const char *path, const json_t *text, struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);

	if (!writer)
		return error_code(err, EIO);
	fwrite(json_string_value(text), 1, json_string_length(text), file_writer_stream(writer));
	return file_writer_commit(writer, err);
}

/* Writes all files (or, with `check`, only looks whether one is there already). */
static int write_files(const json_t *files, const char *folder, bool check, FILE *list, struct error *err)
{
	const json_t *file;
	size_t i;
	int code = 0;

	json_array_foreach (files, i, file) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof path, "%s/%s", folder, json_string_value(json_object_get(file, "name"))) >=
		    (int)sizeof path)
			return error_set(err, ENAMETOOLONG, "%s: the name is too long", folder);
		if (check && access(path, F_OK) == 0)
			return error_set(err, EEXIST, "%s: exists already; expected a new or empty folder", path);
		if (!check)
			code = write_file(path, json_object_get(file, "text"), err);
		if (code)
			return code;
		if (!check)
			fprintf(list, "%s\n", path);
	}
	return 0;
}

int report_extract(const char *page, const char *folder, FILE *list, struct error *err)
{
	char *text = file_read_all(page, PAGE_BYTES_MAXIMUM, NULL, err);
	json_t *root = text ? report_bundle_parse(page, text, err) : NULL;
	const json_t *files = json_object_get(root, "files");
	int code = root ? 0 : error_code(err, EINVAL);

	free(text);
	if (!code)
		code = write_files(files, folder, true, list, err);
	if (!code && mkdir(folder, 0777) != 0 && errno != EEXIST)
		code = error_set(err, errno, "cannot make the folder %s: %s", folder, strerror(errno));
	if (!code)
		code = write_files(files, folder, false, list, err);
	json_decref(root);
	return code;
}
