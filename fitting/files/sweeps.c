/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/files/fit_files.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/log.h>
#include <base/name.h>
#include <figures/figures.h>
#include <model/sweep_log.h>

#include "files_priv.h"

void fit_name_of_file(const char *path, char *name, size_t bytes)
{
	const char *slash = strrchr(path, '/');
	const char *endings[] = {".gz", ".csv"};

	snprintf(name, bytes, "%s", slash ? slash + 1 : path);
	for (size_t i = 0; i < 2; i++) {
		size_t length = strlen(name), ending = strlen(endings[i]);

		if (length > ending && strcmp(name + length - ending, endings[i]) == 0)
			name[length - ending] = '\0';
	}
	if (strcmp(name, "-") == 0 || !*name)
		snprintf(name, bytes, "application");
}

int fit_check_application(const char *name, struct error *err)
{
	json_t *text = name_is_printable(name, "") && name[0] ? json_string(name) : NULL;
	int rc = text ? 0 : error_set(err, EINVAL, "expected UTF-8 without control characters, found '%.200s'", name);

	json_decref(text);
	return rc;
}

/*
 * Reads the plan's application from the sweep's log. Returns false if there is no log beside the sweep, or if the log
 * does not name the application.
 */
static bool name_in_log(const char *path, char *name, size_t bytes)
{
	struct sweep_log_reader *reader = NULL;
	struct sweep_log_event event;
	char log[PATH_MAX];

	if (strlen(path) + sizeof ".log" > sizeof log)
		return false;
	snprintf(log, sizeof log, "%s.log", path);
	reader = sweep_log_open(file_lines_open(log, NULL), NULL);
	name[0] = '\0';
	while (reader && !name[0] && sweep_log_next(reader, &event, NULL) > 0)
		if (event.kind == SWEEP_LOG_PLAN && event.plan.application && strlen(event.plan.application) < bytes)
			strcpy(name, event.plan.application);
	sweep_log_close(reader);
	return name[0] != '\0';
}

/* Fits one model to one sweep. */
static int fit_one(const struct fit_sweeps_settings *settings, const struct sweep *sweep, const char *path, int model,
		   struct fit *fit, struct error *err)
{
	struct fit_settings how = settings->fitting;
	struct observations observations;
	char name[256];
	int rc;

	if (!name_in_log(path, name, sizeof name))
		fit_name_of_file(path, name, sizeof name);
	how.family = model;
	how.application = settings->application ? settings->application : name;
	rc = fit_check_application(how.application, err);
	if (rc != 0)
		return error_prefix(err, "application name, from the file or its log (--application sets another)");
	rc = observations_prepare(sweep, &settings->observing, &observations, err);
	if (rc != 0)
		return rc;
	rc = fit_observations(&observations, &how, fit, err);
	if (rc != 0) {
		error_prefix(err, "%s", path);
		observations_free(&observations);
	}
	return rc;
}

/* Fits each model to one sweep file; increments *done for each successful fit. */
static int fit_file(const struct fit_sweeps_settings *settings, const char *path, struct fit *fits, size_t *done,
		    struct error *err)
{
	struct sweep *sweep = sweep_read(file_lines_open(path, err), err);
	int rc = 0;

	if (!sweep)
		return error_code(err, EIO);
	if (sweep->metric_count > 1 && !settings->observing.metric && !settings->quiet)
		log_info("%s has %zu metrics: fitting '%s'; --metric selects another", path, sweep->metric_count,
			 sweep->metrics[0].name);
	for (size_t i = 0; rc == 0 && i < settings->model_count; i++) {
		rc = fit_one(settings, sweep, path, settings->models[i], &fits[i], err);
		*done += rc == 0;
	}
	sweep_destroy(sweep);
	return rc;
}

/*
 * Saves one curve. settings->output is a folder if several curves are saved (it is made if it is missing) or if a
 * folder of that name exists; otherwise it is a file. In a folder the file has the application's name.
 */
static int save_curve(const struct fit_sweeps_settings *settings, const struct fit *fit, bool several,
		      struct error *err)
{
	char path[PATH_MAX];
	struct stat info;
	int length;

	if (!settings->output)
		return 0;
	if (!several && !(stat(settings->output, &info) == 0 && S_ISDIR(info.st_mode)))
		return curve_save(fit->curve, settings->output, err);
	if (several && mkdir(settings->output, 0777) != 0 && errno != EEXIST)
		return error_set(err, errno, "cannot create the folder %s: %s", settings->output, strerror(errno));
	length = snprintf(path, sizeof path, "%s/%s.json", settings->output, fit->curve->application);
	if (length < 0 || (size_t)length >= sizeof path)
		return error_set(err, ENAMETOOLONG, "%s: the name is too long", settings->output);
	return curve_save(fit->curve, path, err);
}

static int draw(const struct fit_sweeps_settings *settings, const struct fit *fits, size_t count, struct error *err)
{
	const struct curve **curves = calloc(count, sizeof *curves);
	const char **labels = calloc(count, sizeof *labels);
	struct figures_curves figure = {.curves = curves,
					.count = count,
					.labels = labels,
					.one_sweep = settings->model_count == count && count > 1,
					.log_x = settings->plots.log_x,
					.zoom_y = settings->plots.zoom_y};
	int rc = curves && labels ? 0 : error_set(err, ENOMEM, "out of memory");

	for (size_t i = 0; rc == 0 && i < count; i++) {
		curves[i] = fits[i].curve;
		labels[i] = settings->model_count > 1 ? curves[i]->model : curves[i]->application;
	}
	for (size_t i = 0; rc == 0 && i < settings->plots.files.count; i++)
		rc = figures_curves_save(&figure, settings->plots.files.items[i], err);
	free(labels);
	free(curves);
	return rc;
}

int fit_sweeps_run(const struct fit_sweeps_settings *settings, char *const *paths, size_t count,
		   struct fit_sweeps *result, struct error *err)
{
	size_t total = count * settings->model_count;
	int rc;

	*result = (struct fit_sweeps){.fits = calloc(total, sizeof *result->fits)};
	rc = result->fits ? 0 : error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = fit_file(settings, paths[i], &result->fits[result->count], &result->count, err);
	if (rc == 0)
		rc = draw(settings, result->fits, total, err);
	for (size_t i = 0; rc == 0 && i < total; i++)
		rc = save_curve(settings, &result->fits[i], total > 1, err);
	if (rc != 0)
		fit_sweeps_free(result);
	return rc;
}

void fit_sweeps_free(struct fit_sweeps *sweeps)
{
	for (size_t i = 0; i < sweeps->count; i++)
		fit_free(&sweeps->fits[i]);
	free(sweeps->fits);
	*sweeps = (struct fit_sweeps){0};
}

void fit_sweeps_print(const struct fit_sweeps *sweeps, FILE *out)
{
	for (size_t i = 0; i < sweeps->count; i++) {
		if (i > 0)
			fputc('\n', out);
		fit_report(&sweeps->fits[i], out);
	}
}

json_t *fit_sweeps_to_json(const struct fit_sweeps *sweeps)
{
	json_t *fits = json_array();

	for (size_t i = 0; i < sweeps->count; i++) {
		if (json_array_append_new(fits, fit_to_json(&sweeps->fits[i])) != 0) {
			json_decref(fits);
			return NULL;
		}
	}
	return json_pack("{s:s, s:o}", "schema", "nomora.fit/1", "fits", fits);
}
