/* SPDX-License-Identifier: BSD-3-Clause */
#include <predict/check/check.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/quantile.h>
#include <fitting/observations/observations.h>

/* Fills the levels above 0. */
static int compare(const struct prediction *prediction, const struct observations *observed, const char *path,
		   struct check *check, struct error *err)
{
	for (size_t i = 0; i < observed->count; i++) {
		const struct observation_level *level = &observed->levels[i];
		double us = level->x_us, predicted;

		if (!(us > 0))
			continue;
		if (us > prediction->settings.longest_us)
			return error_set(err, EINVAL,
					 "%s:%ld: %g us of added round trip, but the prediction ends at %g us: use "
					 "--longest %g",
					 path, level->line, us, prediction->settings.longest_us, us);
		predicted = prediction_performance(prediction, us).median;
		check->levels[check->count++] = (struct check_level){
			.added_rtt_us = us,
			.measured = level->mean,
			.deviation = level->deviation / sqrt((double)level->runs),
			.predicted = predicted,
			.error = predicted / level->mean - 1,
			.runs = level->runs,
		};
	}
	if (check->count == 0)
		return error_set(err, EINVAL, "%s: no delay above 0: nothing to compare", path);
	return 0;
}

static int find_errors(struct check *check, struct error *err)
{
	double *sizes = malloc(check->count * sizeof *sizes);

	if (!sizes)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < check->count; i++) {
		sizes[i] = fabs(check->levels[i].error);
		if (i > 0 && sizes[i] <= check->worst_error)
			continue;
		check->worst_error = sizes[i];
		check->worst_us = check->levels[i].added_rtt_us;
	}
	check->median_error = quantile_median(sizes, check->count);
	free(sizes);
	return 0;
}

int check_make(const struct prediction *prediction, const char *path, struct check *check, struct error *err)
{
	struct observation_settings how = {0};
	struct observations observed = {0};
	struct sweep *sweep = sweep_read(file_lines_open(path, err), err);
	int code = sweep ? observations_prepare(sweep, &how, &observed, err) : error_code(err, EIO);

	*check = (struct check){.metric = observed.metric, .runs = observed.runs, .disturbed = observed.disturbed};
	if (code == 0) {
		check->levels = calloc(observed.count, sizeof *check->levels);
		code = check->levels ? compare(prediction, &observed, path, check, err)
				     : error_set(err, ENOMEM, "out of memory");
	}
	if (code == 0)
		code = find_errors(check, err);
	observations_free(&observed);
	sweep_destroy(sweep);
	return code;
}

void check_free(struct check *check)
{
	free(check->levels);
	*check = (struct check){0};
}

void check_print(const struct check *check, FILE *out)
{
	fprintf(out, "\nMeasured: %s, %ld runs\nadded round trip     measured  predicted    error\n",
		check->metric.name, check->runs);
	for (size_t i = 0; i < check->count; i++) {
		const struct check_level *level = &check->levels[i];

		fprintf(out, "%13.6g us %12.4f %10.4f %+6.1f %%", level->added_rtt_us, level->measured,
			level->predicted, 100 * level->error);
		if (level->deviation > 0)
			fprintf(out, "  (standard error of the measured mean %.1f %%)",
				100 * level->deviation / level->measured);
		fputc('\n', out);
	}
	fprintf(out, "Error: median %.1f %%, worst %.1f %% at %g us\n", 100 * check->median_error,
		100 * check->worst_error, check->worst_us);
	if (check->disturbed)
		fprintf(out, "Warning: %ld of the %ld runs were disturbed. Repeat the sweep on a quiet machine.\n",
			check->disturbed, check->runs);
}

json_t *check_json(const struct check *check)
{
	json_t *levels = json_array();

	for (size_t i = 0; i < check->count; i++) {
		const struct check_level *level = &check->levels[i];

		json_array_append_new(levels, json_pack("{s:f, s:f, s:f, s:f, s:f, s:I}", "added_rtt_us",
							level->added_rtt_us, "measured", level->measured, "deviation",
							level->deviation, "predicted", level->predicted, "error",
							level->error, "runs", (json_int_t)level->runs));
	}
	return json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:o}", "metric", check->metric.name, "runs",
			 (json_int_t)check->runs, "disturbed", (json_int_t)check->disturbed, "median_error",
			 check->median_error, "worst_error", check->worst_error, "worst_us", check->worst_us, "levels",
			 levels);
}
