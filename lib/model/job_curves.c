/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/curve_library.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <base/number.h>

enum { COLUMNS_MAXIMUM = 16 };

/* Positions of the two columns, which the header names. */
struct columns {
	size_t count, job, curve;
};

static int bad_line(const struct file_lines *lines, const char *text, struct error *err)
{
	return error_at(err, (struct error_place){file_lines_name(lines), file_lines_number(lines), NULL}, EINVAL, "%s",
			text);
}

static int read_header(struct columns *columns, const struct file_lines *lines, char *line, struct error *err)
{
	char *fields[COLUMNS_MAXIMUM];

	*columns = (struct columns){file_split(line, ',', fields, COLUMNS_MAXIMUM), COLUMNS_MAXIMUM, COLUMNS_MAXIMUM};
	for (size_t f = 0; f < columns->count && f < COLUMNS_MAXIMUM; f++) {
		if (strcmp(fields[f], "job") == 0)
			columns->job = f;
		if (strcmp(fields[f], "curve") == 0)
			columns->curve = f;
	}
	if (columns->job < COLUMNS_MAXIMUM && columns->curve < COLUMNS_MAXIMUM && columns->count <= COLUMNS_MAXIMUM)
		return 0;
	return bad_line(lines, "expected a header with the columns job and curve", err);
}

int job_curves_note(struct workload *workload, uint64_t job, const char *name, const char *curve)
{
	const struct workload_note *note = workload_find_note(workload, job);

	if (note)
		return strcmp(workload->curves[note->curve], curve) == 0 ? 0 : -EEXIST;
	return workload_note_job(workload, job, name, curve);
}

static int read_job(struct workload *workload, const struct columns *columns, const struct file_lines *lines,
		    char *line, struct error *err)
{
	char *fields[COLUMNS_MAXIMUM], name[24];
	int64_t id;
	int code;

	if (file_split(line, ',', fields, COLUMNS_MAXIMUM) != columns->count)
		return bad_line(lines, "expected as many columns as in the header", err);
	if (number_parse_i64(fields[columns->job], &id) != 0 || id < 0)
		return bad_line(lines, "job: expected the number of a job", err);
	if (fields[columns->curve][0] == '\0')
		return bad_line(lines, "curve: expected the name of a curve", err);
	snprintf(name, sizeof name, "%" PRId64, id);
	code = job_curves_note(workload, (uint64_t)id, name, fields[columns->curve]);
	if (code == -EEXIST)
		return bad_line(lines, "job: this job has another curve already", err);
	return code == 0 ? 0 : error_set(err, ENOMEM, "out of memory");
}

int job_curves_read(struct workload *workload, struct file_lines *lines, struct error *err)
{
	struct columns columns = {0};
	int code = 0, more = 0;
	char *line;

	while (code == 0 && (more = file_lines_next(lines, &line, err)) > 0) {
		if (line[0] == '\0' || line[0] == '#')
			continue;
		code = columns.count == 0 ? read_header(&columns, lines, line, err)
					  : read_job(workload, &columns, lines, line, err);
	}
	if (code == 0 && more == 0 && columns.count == 0)
		code = error_set(err, EINVAL, "%s: expected a header with the columns job and curve",
				 file_lines_name(lines));
	return code == 0 ? more : code;
}
