/* SPDX-License-Identifier: BSD-3-Clause */
#include <predict/calibration/calibration.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/json.h>
#include <base/number.h>
#include <base/process.h>
#include <predict/mpi/mpi.h>

/* of any time in the lines */
static const double shortest_us = 1e-3, longest_us = 1e9;
static const double timeout_s = 600;

double calibration_half_us(const struct loggps *model, uint64_t bytes)
{
	double latencies = bytes > model->eager_bytes ? 3 : 1;

	return (2 * model->overhead_ns + latencies * model->latency_ns + loggps_bytes_ns(model, bytes)) / 1000;
}

/* G: least squares of the relative deviations from the half round trips, without the bytes' part. */
static double fit_gap_ns(const struct calibration *calibration)
{
	double above = 0, below = 0;

	for (size_t i = 0; i < calibration->count; i++) {
		const struct calibration_size *size = &calibration->sizes[i];
		double half_us = size->rtt_us / 2, bytes = (double)size->bytes - 1;
		double rest_us = half_us - calibration_half_us(&calibration->model, size->bytes);

		above += rest_us * bytes / (half_us * half_us);
		below += bytes * bytes / (half_us * half_us);
	}
	return below > 0 ? fmax(above / below * 1000, 0) : 0;
}

static void solve(struct calibration *calibration)
{
	struct loggps *model = &calibration->model;
	double half_us = calibration->sizes[0].rtt_us / 2;

	/* On one host, a send may take longer than half of the message's time. */
	model->overhead_ns = fmin(calibration->send_us, half_us / 2) * 1000;
	model->latency_ns = half_us * 1000 - 2 * model->overhead_ns;
	model->gap_ns = 0;
	model->gap_ns = fit_gap_ns(calibration);
}

static int fail(const char *line, struct error *err)
{
	return error_set(err, EINVAL, "the ping-pong printed '%.60s', expected its name and a value", line);
}

static int parse_us(const char *line, const char *text, double *us, struct error *err)
{
	return number_parse_double(text, us) == 0 && *us >= shortest_us && *us < longest_us ? 0 : fail(line, err);
}

static int parse_bytes(const char *line, const char *text, uint64_t *bytes, struct error *err)
{
	int64_t value;

	if (number_parse_i64(text, &value) != 0 || value < 0 || value > CALIBRATION_BYTES_MOST)
		return fail(line, err);
	*bytes = (uint64_t)value;
	return 0;
}

static int parse_round_trip(char *line, char *values, struct calibration *calibration, struct error *err)
{
	struct calibration_size *size = &calibration->sizes[calibration->count];
	char *us = strchr(values, ' ');

	if (!us || calibration->count == CALIBRATION_SIZES)
		return fail(line, err);
	*us++ = '\0';
	calibration->count++;
	return parse_bytes(line, values, &size->bytes, err) < 0 ? -EINVAL : parse_us(line, us, &size->rtt_us, err);
}

static int parse_line(char *line, struct calibration *calibration, bool *eager, struct error *err)
{
	char *value = strchr(line, ' ');

	if (!value)
		return fail(line, err);
	*value++ = '\0';
	if (strcmp(line, "round-trip") == 0)
		return parse_round_trip(line, value, calibration, err);
	if (strcmp(line, "send") == 0)
		return parse_us(line, value, &calibration->send_us, err);
	if (strcmp(line, "eager") == 0) {
		*eager = true;
		return parse_bytes(line, value, &calibration->model.eager_bytes, err);
	}
	if (strcmp(line, "library") == 0)
		snprintf(calibration->library, sizeof calibration->library, "%s", value);
	else if (strcmp(line, "host") == 0)
		snprintf(calibration->hosts[*calibration->hosts[0] ? 1 : 0], sizeof calibration->hosts[0], "%s", value);
	else
		return fail(line, err);
	return 0;
}

int calibration_parse(char *text, struct calibration *calibration, struct error *err)
{
	bool eager = false;
	int code = 0;

	*calibration = (struct calibration){0};
	for (char *line = text, *next; line && code == 0; line = next) {
		char *mark;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		mark = strstr(line, CALIBRATION_MARK);
		if (mark)
			code = parse_line(mark + strlen(CALIBRATION_MARK), calibration, &eager, err);
	}
	if (code == 0 && (!eager || !calibration->count || calibration->sizes[0].bytes != 1 || !calibration->send_us))
		code = error_set(err, EINVAL, "the ping-pong did not print all its values");
	if (code == 0)
		solve(calibration);
	return code;
}

/* The last line of a text, which is changed, that has words: mpirun frames its messages. */
static const char *last_words(char *text)
{
	char *line = text;

	for (size_t length = strlen(text); length > 0; length = (size_t)(line - text)) {
		text[length] = '\0';
		while (length > 0 && strchr("\n -", text[length - 1]))
			text[--length] = '\0';
		line = strrchr(text, '\n');
		if (!line || strlen(line) > 1)
			return line ? line + 1 : text;
	}
	return text;
}

static int run_words(const char *const *words, struct calibration *calibration, struct error *err)
{
	struct process_options options = {.argv = words};
	struct process_result result = {0};
	int code = process_run(&options, ns_from_us(timeout_s * 1e6), &result, err);

	if (code == 0 && result.timed_out)
		code = error_set(err, ETIMEDOUT, "%s: not finished after %g s", words[0], timeout_s);
	else if (code == 0 && result.exit_code != 0)
		code = error_set(err, ECHILD, "%s: exit status %d: %s", words[0], result.exit_code,
				 last_words(result.output));
	if (code == 0)
		code = calibration_parse(result.output, calibration, err);
	process_result_free(&result);
	return code;
}

int calibration_run(char *const *launcher, struct calibration *calibration, struct error *err)
{
	char path[PATH_MAX];
	const char **words;
	size_t count = 0;
	int code = mpi_find("calibration", "_pingpong", launcher, path, err);

	if (code < 0)
		return code;
	while (launcher[count])
		count++;
	words = calloc(count + 2, sizeof *words);
	if (!words)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		words[i] = launcher[i];
	words[count] = path;
	code = run_words(words, calibration, err);
	free(words);
	return code;
}

void calibration_print(const struct calibration *calibration, FILE *out)
{
	const struct loggps *model = &calibration->model;
	double worst = 0;
	uint64_t at = 1;

	for (size_t i = 0; i < calibration->count; i++) {
		const struct calibration_size *size = &calibration->sizes[i];
		double share = calibration_half_us(model, size->bytes) / (size->rtt_us / 2) - 1;

		if (fabs(share) <= fabs(worst))
			continue;
		worst = share;
		at = size->bytes;
	}
	fprintf(out,
		"%s between %s and %s\nLogGPS: L %.4g us, o %.4g us, G %.4g ns a byte, rendezvous above %llu bytes\n"
		"The model's round trips of 1 to %llu bytes deviate by at most %+.0f %%, at %llu bytes\n",
		calibration->library, calibration->hosts[0], calibration->hosts[1], model->latency_ns / 1000,
		model->overhead_ns / 1000, model->gap_ns, (unsigned long long)model->eager_bytes,
		(unsigned long long)calibration->sizes[calibration->count - 1].bytes, 100 * worst,
		(unsigned long long)at);
}

static json_t *round_trips_json(const struct calibration *calibration)
{
	json_t *array = json_array();

	for (size_t i = 0; i < calibration->count; i++)
		json_array_append_new(array, json_pack("{s:I, s:f}", "bytes", (json_int_t)calibration->sizes[i].bytes,
						       "us", calibration->sizes[i].rtt_us));
	return array;
}

int calibration_save(const struct calibration *calibration, const char *path, struct error *err)
{
	const struct loggps *model = &calibration->model;

	return json_write_file_new(
		path,
		json_pack("{s:s, s:f, s:f, s:f, s:I, s:o, s:[o, o], s:f, s:o}", "schema", "nomora.loggps/1",
			  "latency_us", model->latency_ns / 1000, "overhead_us", model->overhead_ns / 1000, "gap_ns",
			  model->gap_ns, "eager_bytes", (json_int_t)model->eager_bytes, "library",
			  json_message(calibration->library), "hosts", json_message(calibration->hosts[0]),
			  json_message(calibration->hosts[1]), "send_us", calibration->send_us, "round_trips",
			  round_trips_json(calibration)),
		err);
}

int calibration_model(const char *name, json_t *root, struct loggps *model, struct error *err)
{
	static const char *const known[] = {"schema",  "latency_us", "overhead_us", "gap_ns",      "eager_bytes",
					    "library", "hosts",      "send_us",     "round_trips", NULL};
	struct json_reader reader = {.file = name, .err = err};

	*model = (struct loggps){0};
	if (!root)
		return error_code(err, EINVAL);
	json_need_schema(&reader, root, "nomora.loggps/1");
	json_need_known(&reader, root, "", known);
	model->latency_ns = 1000 * json_need_number(&reader, root, "", "latency_us", 0, 1e6);
	model->overhead_ns = 1000 * json_need_number(&reader, root, "", "overhead_us", 0, 1e6);
	model->gap_ns = json_need_number(&reader, root, "", "gap_ns", 0, 1e6);
	model->eager_bytes = (uint64_t)json_need_integer(&reader, root, "", "eager_bytes", 0, (int64_t)1e15);
	json_decref(root);
	return reader.failed ? error_code(err, EINVAL) : 0;
}
