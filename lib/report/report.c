/* SPDX-License-Identifier: BSD-3-Clause */
#include <report/report.h>

#include <errno.h>
#include <limits.h>

#include <base/file.h>

#include "report_priv.h"

struct inputs {
	size_t curve_count;
	const struct curve *curves[OPTION_LIST_MAXIMUM]; /* owned */
	struct report_sweep *sweep;
	struct report_again *again;
	struct cluster *cluster;
	bool has_mesh;
	struct latency_group mesh[LATENCY_RELATIONS];
};

static int load_mesh(const char *path, struct inputs *inputs, struct error *err)
{
	struct latency_matrix *matrix = latency_matrix_read(path, NULL, err);

	if (!matrix)
		return error_code(err, EIO);
	inputs->has_mesh = latency_summarise(matrix, inputs->cluster, inputs->mesh) == 0;
	latency_matrix_destroy(matrix);
	return inputs->has_mesh ? 0 : error_set(err, ENOMEM, "%s: out of memory", path);
}

/* Loads the sweep's log, and for --sweep the files that the page will contain. */
static int load_sweep(const struct report_settings *settings, struct inputs *inputs, struct error *err)
{
	char path[PATH_MAX];
	const char *log = settings->sweep_log;

	if (settings->sweep && !log) {
		if (snprintf(path, sizeof path, "%s.log", settings->sweep) >= (int)sizeof path)
			return error_set(err, ENAMETOOLONG, "%s: the name is too long", settings->sweep);
		log = path;
	}
	if (log && !(inputs->sweep = report_sweep_load(log, err)))
		return error_code(err, EINVAL);
	if (settings->sweep && !(inputs->again = report_again_load(settings, log, err)))
		return error_code(err, EINVAL);
	return 0;
}

static int load(const struct report_settings *settings, struct inputs *inputs, struct error *err)
{
	for (size_t i = 0; i < settings->curves.count; i++) {
		inputs->curves[i] = curve_load(settings->curves.items[i], err);
		if (!inputs->curves[i])
			return error_code(err, EIO);
		inputs->curve_count++;
	}
	if (settings->cluster && !(inputs->cluster = cluster_read(settings->cluster, err)))
		return error_code(err, EIO);
	if (load_sweep(settings, inputs, err) != 0)
		return error_code(err, EINVAL);
	return settings->latency ? load_mesh(settings->latency, inputs, err) : 0;
}

static int write_sweep(FILE *out, const struct report_settings *settings, const struct inputs *inputs,
		       struct error *err)
{
	int status = 0;

	if (!inputs->curve_count && !settings->curve_plot && !inputs->sweep)
		return 0;
	fputs("<section><h2>Performance under added latency</h2>\n", out);
	if (settings->curve_plot)
		status = report_picture(out, settings->curve_plot, "normalised performance over added round trip", err);
	else if (inputs->curve_count)
		status = report_curves_chart(out, inputs->curves, inputs->curve_count, err);
	for (size_t i = 0; status == 0 && i < inputs->curve_count; i++)
		report_curve(out, inputs->curves[i], inputs->curve_count > 1);
	if (status == 0 && inputs->sweep)
		report_sweep_details(out, inputs->sweep);
	fputs("</section>\n", out);
	return status;
}

static int write_mesh(FILE *out, const struct report_settings *settings, const struct inputs *inputs, struct error *err)
{
	int status = 0;

	if (!inputs->has_mesh && !settings->mesh_plot && !settings->injector)
		return 0;
	fputs("<section><h2>Round-trip times in the rack</h2>\n", out);
	if (settings->mesh_plot)
		status = report_picture(out, settings->mesh_plot, "round-trip times between all hosts", err);
	if (status == 0 && inputs->has_mesh)
		report_mesh(out, inputs->mesh, inputs->cluster);
	if (status == 0 && settings->injector)
		status = report_injector(out, settings->injector,
					 inputs->has_mesh && inputs->cluster ? inputs->mesh : NULL, err);
	fputs("</section>\n", out);
	return status;
}

static int write_page(FILE *out, const struct report_settings *settings, const struct inputs *inputs, struct error *err)
{
	int status;

	report_begin(out, settings->title);
	if (inputs->sweep)
		report_sweep_verdict(out, inputs->sweep);
	report_cards(out, inputs->curves, inputs->curve_count, inputs->has_mesh ? inputs->mesh : NULL, inputs->cluster);
	status = write_sweep(out, settings, inputs, err);
	if (status == 0)
		status = write_mesh(out, settings, inputs, err);
	if (status == 0 && settings->placement) {
		fputs("<section><h2>Placement</h2>\n", out);
		status = report_placement(out, settings->placement, settings->random, inputs->cluster,
					  settings->summary, err);
		fputs("</section>\n", out);
	}
	if (status == 0 && settings->measured) {
		fputs("<section><h2>Predicted and measured</h2>\n", out);
		status = report_measured(out, settings->measured, err);
		fputs("</section>\n", out);
	}
	if (status == 0 && settings->doctor) {
		fputs("<section><h2>This host</h2>\n", out);
		status = report_doctor(out, settings->doctor, err);
		fputs("</section>\n", out);
	}
	if (status == 0 && settings->steps)
		status = report_steps(out, settings->steps, err);
	if (status == 0 && inputs->again)
		status = report_again_print(out, inputs->again, &settings->curves, err);
	report_end(out);
	return status;
}

bool report_has_input(const struct report_settings *settings)
{
	return settings->curves.count || settings->curve_plot || settings->sweep_log || settings->sweep ||
	       settings->latency || settings->mesh_plot || settings->injector || settings->placement ||
	       settings->measured || settings->doctor || settings->steps;
}

static void free_inputs(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->curve_count; i++)
		curve_destroy((struct curve *)inputs->curves[i]);
	report_sweep_destroy(inputs->sweep);
	report_again_destroy(inputs->again);
	cluster_destroy(inputs->cluster);
}

int report_save(const struct report_settings *settings, const char *path, struct error *err)
{
	struct inputs inputs = {0};
	struct file_writer *writer = NULL;
	int status = load(settings, &inputs, err);

	if (status == 0) {
		writer = file_writer_open(path, err);
		status = writer ? write_page(file_writer_stream(writer), settings, &inputs, err) : error_code(err, EIO);
	}
	if (status == 0)
		status = file_writer_commit(writer, err);
	else
		file_writer_discard(writer);
	free_inputs(&inputs);
	return status;
}
