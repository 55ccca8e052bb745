/* SPDX-License-Identifier: BSD-3-Clause */
/* SWIM's MapReduce workloads as dataflow jobs. */
#include <model/dataflow.h>

#include <errno.h>
#include <math.h>

#include <base/file.h>
#include <base/name.h>
#include <base/number.h>

enum { FIELDS = 6 };
static const char *const fields[FIELDS] = {"job_id",          "submit_time_s", "gap_s",
					   "map_input_bytes", "shuffle_bytes", "reduce_output_bytes"};

static uint32_t parts(double MB, const struct dataflow_trace_options *options)
{
	double count = ceil(MB / options->split_MB);

	return count < 1 ? 1 : count > options->tasks ? options->tasks : (uint32_t)count;
}

static bool add_job(struct dataflow *dataflow, const char *name, const double number[FIELDS],
		    const struct dataflow_trace_options *options)
{
	double input_MB = number[3] / 1e6, shuffle_MB = number[4] / 1e6;
	struct dataflow_job *job = dataflow_add_job(dataflow, name, number[1]);
	uint32_t mappers = parts(input_MB, options);

	if (!job || dataflow_add_component(job, "map", mappers) < 0 ||
	    dataflow_add_component(job, "reduce", parts(shuffle_MB, options)) < 0 ||
	    !dataflow_add_edge(job, 0, 1, DATAFLOW_SHUFFLE) || dataflow_place_nowhere(job) < 0)
		return false;
	job->components[0].MB = shuffle_MB / mappers;
	return true;
}

static int read_line(struct dataflow *dataflow, struct file_lines *lines, char *line,
		     const struct dataflow_trace_options *options, struct error *err)
{
	char *words[FIELDS + 1];
	double number[FIELDS] = {0};
	struct error_place place = {file_lines_name(lines), file_lines_number(lines), NULL};
	size_t count = file_split(line, '\t', words, FIELDS + 1);

	if (count != FIELDS)
		return error_at(err, place, EINVAL,
				"%zu fields, expected %d separated by tabs: job_id, submit_time_s, "
				"gap_s, map_input_bytes, shuffle_bytes, reduce_output_bytes",
				count, FIELDS);
	for (int f = 1; f < FIELDS; f++) {
		place.field = fields[f];
		if (number_parse_double(words[f], &number[f]) != 0 || number[f] < 0 || number[f] > 1e18)
			return error_at(err, place, EINVAL, "found '%.40s', expected a number from 0 to 1e18",
					words[f]);
	}
	place.field = fields[0];
	if (!name_is_valid(words[0], DATAFLOW_NAME_BYTES))
		return error_at(err, place, EINVAL, "bad name; expected one word of at most %d bytes",
				DATAFLOW_NAME_BYTES - 1);
	if (number[4] == 0)
		return 0;
	return add_job(dataflow, words[0], number, options) ? 0 : error_set(err, ENOMEM, "out of memory");
}

static int read_lines(struct dataflow *dataflow, struct file_lines *lines, const struct dataflow_trace_options *options,
		      struct error *err)
{
	uint32_t before = dataflow->job_count;
	char *line;
	int code = 0;

	while (code == 0 && (options->jobs == 0 || dataflow->job_count - before < options->jobs)) {
		int more = file_lines_next(lines, &line, err);

		if (more <= 0)
			return more < 0 ? more : 0;
		if (line[0])
			code = read_line(dataflow, lines, line, options, err);
	}
	return code;
}

int dataflow_read_swim(struct dataflow *dataflow, const char *path, const struct dataflow_trace_options *options,
		       struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	int code = lines ? read_lines(dataflow, lines, options, err) : error_code(err, EIO);

	file_lines_close(lines);
	return code;
}

int dataflow_parse_swim(struct dataflow *dataflow, const char *name, const char *text, size_t bytes,
			const struct dataflow_trace_options *options, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory(name, text, bytes, err);
	int code = lines ? read_lines(dataflow, lines, options, err) : -ENOMEM;

	file_lines_close(lines);
	return code;
}
