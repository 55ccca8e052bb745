/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora report: shows the files of a run on one self-contained page. */
#include "commands.h"

#include <report/report.h>

struct settings {
	const char *output, *extract;
	struct report_settings page;
};

static const struct option_row rows[] = {
	OPTION_STRING(struct settings, output, "output", 'o', "REPORT.html",
		      "file for the page, or folder for --extract (required)"),
	OPTION_STRING(struct settings, page.title, "title", 't', "TEXT", "title of the page"),
	OPTION_FLAG(struct settings, page.summary, "summary", 0, "show jobs instead of tasks in the placement"),
	OPTION_STRING(struct settings, extract, "extract", 0, "PAGE.html",
		      "write the files that a page with --sweep contains into the folder of -o"),
	OPTION_HEADING("Inputs (at least one)"),
	OPTION_STRING(struct settings, page.steps, "steps", 0, "FILE",
		      "steps of the run, one per line: seconds, command and purpose, separated by tabs"),
	OPTION_LIST(struct settings, page.curves, "curve", 0, "FILE", "curve of nomora fit; repeatable"),
	OPTION_STRING(struct settings, page.curve_plot, "curve-plot", 0, "FILE",
		      "a picture of the curve (SVG or PNG) instead of the page's own"),
	OPTION_STRING(struct settings, page.sweep_log, "sweep-log", 0, "FILE", "SWEEP.csv.log of nomora sweep"),
	OPTION_STRING(
		struct settings, page.sweep, "sweep", 0, "SWEEP.csv",
		"sweep that the page contains, with log, plan and curves, so that the page suffices to repeat it"),
	OPTION_LIST(struct settings, page.attached, "attach", 0, "FILE",
		    "further file for --sweep, such as a script of the plan; repeatable"),
	OPTION_STRING(struct settings, page.latency, "latency", 0, "FILE", "latency matrix of nomora mesh"),
	OPTION_STRING(struct settings, page.mesh_plot, "mesh-plot", 0, "FILE", "picture of the mesh (SVG or PNG)"),
	OPTION_STRING(struct settings, page.injector, "injector", 0, "FILE",
		      "statistics of the injector between the racks (nomora inject-ctl ... stats)"),
	OPTION_STRING(struct settings, page.cluster, "cluster", 0, "FILE", "machines and racks"),
	OPTION_STRING(struct settings, page.placement, "placement", 0, "FILE", "output of nomora place --json"),
	OPTION_STRING(struct settings, page.random, "random", 0, "FILE",
		      "output of nomora place --policy random --json"),
	OPTION_STRING(struct settings, page.measured, "measured", 0, "FILE",
		      "performance of the application in its placements: placement,job,task,predicted,measured (CSV)"),
	OPTION_STRING(struct settings, page.doctor, "doctor", 0, "FILE", "output of nomora doctor --json"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora report",
	.operands = "-o REPORT.html",
	.summary = "Put the files of a run together into one page of HTML.",
	.teach = "Example:\n"
		 "  nomora report --curve memcached.json --sweep-log sweep.csv.log \\\n"
		 "      --latency latency.csv --mesh-plot mesh.svg --cluster cluster.json -o report.html\n"
		 "A page from which the sweep can be repeated, and its files:\n"
		 "  nomora report --sweep sweep.csv --curve memcached.json -o report.html\n"
		 "  nomora report --extract report.html -o again\n",
	.rows = rows,
};

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;

	(void)operands;
	if (!settings->output)
		return command_misused(err, "missing option -o REPORT.html");
	if (settings->extract && report_has_input(&settings->page))
		return command_misused(err, "--extract and the inputs of a page are mutually exclusive");
	if (settings->extract)
		return report_extract(settings->extract, settings->output, stdout, err);
	if (settings->page.attached.count > 0 && !settings->page.sweep)
		return command_misused(err, "--attach needs --sweep");
	if (!report_has_input(&settings->page))
		return command_misused(
			err,
			"no input: expected at least one of --curve, --sweep, --sweep-log, --latency, --placement, "
			"--measured, --doctor, --steps, --injector, --curve-plot, --mesh-plot");
	return report_save(&settings->page, settings->output, err);
}

int command_report(int argc, char **argv)
{
	struct settings settings = {.page.title = "Nomora: report"};

	return command_run(&usage, argc, argv, &settings, run);
}
