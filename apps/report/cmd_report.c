/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora report: the files of a run on one page that needs no other file. */
#include "commands.h"

#include <errno.h>

#include <base/file.h>

#include "report.h"

struct settings {
	struct option_list curves;
	bool summary;
	const char *title, *output, *steps, *curve_plot, *sweep_log, *latency, *mesh_plot, *cluster;
	const char *injector, *placement, *random, *doctor;
};

static const struct option_row rows[] = {
	OPTION_STRING(struct settings, output, "output", 'o', "REPORT.html", "the page (required)"),
	OPTION_STRING(struct settings, title, "title", 't', "TEXT", "title of the page"),
	OPTION_FLAG(struct settings, summary, "summary", 0, "jobs instead of tasks in the placement"),
	OPTION_HEADING("Inputs (at least one)"),
	OPTION_STRING(struct settings, steps, "steps", 0, "FILE",
		      "lines of seconds, command, purpose, separated by tabs"),
	OPTION_LIST(struct settings, curves, "curve", 0, "FILE", "curve of nomora fit; repeatable"),
	OPTION_STRING(struct settings, curve_plot, "curve-plot", 0, "FILE",
		      "a picture of the curve (SVG or PNG) instead of the page's own"),
	OPTION_STRING(struct settings, sweep_log, "sweep-log", 0, "FILE", "SWEEP.csv.log of nomora sweep"),
	OPTION_STRING(struct settings, latency, "latency", 0, "FILE", "latency matrix of nomora mesh"),
	OPTION_STRING(struct settings, mesh_plot, "mesh-plot", 0, "FILE", "picture of the mesh (SVG or PNG)"),
	OPTION_STRING(struct settings, injector, "injector", 0, "FILE",
		      "statistics of the injector between the racks (nomora inject-ctl ... stats)"),
	OPTION_STRING(struct settings, cluster, "cluster", 0, "FILE", "machines and racks"),
	OPTION_STRING(struct settings, placement, "placement", 0, "FILE", "output of nomora place --json"),
	OPTION_STRING(struct settings, random, "random", 0, "FILE", "output of nomora place --policy random --json"),
	OPTION_STRING(struct settings, doctor, "doctor", 0, "FILE", "output of nomora doctor --json"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora report",
	.operands = "-o REPORT.html",
	.summary = "Combine the files of a run into one self-contained page of HTML.",
	.teach = "Example:\n"
		 "  nomora report --curve memcached.json --sweep-log sweep.csv.log \\\n"
		 "      --latency latency.csv --mesh-plot mesh.svg --cluster cluster.json -o report.html\n",
	.rows = rows,
};

struct inputs {
	size_t curve_count;
	const struct curve *curves[OPTION_LIST_MAXIMUM]; /* owned */
	struct report_sweep *sweep;
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

static int load(const struct settings *settings, struct inputs *inputs, struct error *err)
{
	for (size_t i = 0; i < settings->curves.count; i++) {
		inputs->curves[i] = curve_load(settings->curves.items[i], err);
		if (!inputs->curves[i])
			return error_code(err, EIO);
		inputs->curve_count++;
	}
	if (settings->cluster && !(inputs->cluster = cluster_read(settings->cluster, err)))
		return error_code(err, EIO);
	if (settings->sweep_log && !(inputs->sweep = report_sweep_load(settings->sweep_log, err)))
		return error_code(err, EINVAL);
	return settings->latency ? load_mesh(settings->latency, inputs, err) : 0;
}

static int write_sweep(FILE *out, const struct settings *settings, const struct inputs *inputs, struct error *err)
{
	int status = 0;

	if (!inputs->curve_count && !settings->curve_plot && !settings->sweep_log)
		return 0;
	fputs("<section><h2>Performance under added latency</h2>\n", out);
	if (inputs->sweep)
		report_sweep_verdict(out, inputs->sweep);
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

static int write_mesh(FILE *out, const struct settings *settings, const struct inputs *inputs, struct error *err)
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

static int write_page(FILE *out, const struct settings *settings, const struct inputs *inputs, struct error *err)
{
	int status;

	report_begin(out, settings->title);
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
	if (status == 0 && settings->doctor) {
		fputs("<section><h2>This host</h2>\n", out);
		status = report_doctor(out, settings->doctor, err);
		fputs("</section>\n", out);
	}
	if (status == 0 && settings->steps)
		status = report_steps(out, settings->steps, err);
	report_end(out);
	return status;
}

static bool has_input(const struct settings *settings)
{
	return settings->curves.count || settings->curve_plot || settings->sweep_log || settings->latency ||
	       settings->mesh_plot || settings->injector || settings->placement || settings->doctor || settings->steps;
}

int command_report(int argc, char **argv)
{
	struct settings settings = {.title = "Nomora: report"};
	struct option_operands operands;
	struct inputs inputs = {0};
	struct error err = {0};
	struct file_writer *writer = NULL;
	int code = command_parse(&usage, argc, argv, &settings, &operands), status;

	if (code >= 0)
		return code;
	if (!settings.output) {
		error_set(&err, EINVAL, "missing option -o REPORT.html");
		options_free(&operands);
		return command_fail(&err, COMMAND_USAGE);
	}
	if (!has_input(&settings)) {
		error_set(&err, EINVAL,
			  "no input: expected at least one of --curve, --sweep-log, --latency, --placement, "
			  "--doctor, --steps, --injector, --curve-plot, --mesh-plot");
		options_free(&operands);
		return command_fail(&err, COMMAND_USAGE);
	}
	status = load(&settings, &inputs, &err);
	if (status == 0) {
		writer = file_writer_open(settings.output, &err);
		status = writer ? write_page(file_writer_stream(writer), &settings, &inputs, &err)
				: error_code(&err, EIO);
	}
	if (status == 0)
		status = file_writer_commit(writer, &err);
	else
		file_writer_discard(writer);
	for (size_t i = 0; i < inputs.curve_count; i++)
		curve_destroy((struct curve *)inputs.curves[i]);
	report_sweep_destroy(inputs.sweep);
	cluster_destroy(inputs.cluster);
	options_free(&operands);
	return status == 0 ? COMMAND_OK : command_fail(&err, COMMAND_FAILED);
}
