/* SPDX-License-Identifier: BSD-3-Clause */
/* What made a sweep, and how to run it again: the section of the page, and the files in it. */
#include "report_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <base/log.h>
#include <model/sweep_log.h>

static const char folder_variable[] = "NOMORA_PLAN_FOLDER";

struct report_again {
	struct report_bundle *bundle;
	struct sweep_log_machine machine;
	char *plan;               /* text of the sweep's plan; NULL = the log does not have it */
	char sweep[NAME_MAX + 1]; /* names in the page */
	char plan_name[NAME_MAX + 1];
};

static int read_log(struct report_again *again, const char *path, struct error *err)
{
	struct sweep_log_reader *reader = sweep_log_open(file_lines_open(path, err), err);
	struct sweep_log_event event;
	int status;

	if (!reader)
		return error_code(err, EIO);
	while ((status = sweep_log_next(reader, &event, err)) > 0) {
		if (event.kind == SWEEP_LOG_MACHINE)
			again->machine = event.machine;
		if (event.kind != SWEEP_LOG_PLAN || !event.plan.file[0])
			continue;
		free(again->plan);
		again->plan = strdup(event.plan.file);
		if (!again->plan) {
			status = error_set(err, ENOMEM, "out of memory");
			break;
		}
	}
	sweep_log_close(reader);
	return status;
}

/* Warns of files in the plan's folder that its commands use and the page does not have. */
static void warn_of_missing(const struct report_again *again)
{
	const char *found = again->plan ? strstr(again->plan, folder_variable) : NULL;

	for (; found; found = strstr(found, folder_variable)) {
		char name[NAME_MAX + 1];

		found += sizeof folder_variable - 1;
		found += strspn(found, "}\"");
		if (*found != '/')
			continue;
		snprintf(name, sizeof name, "%.*s", (int)strcspn(found + 1, " \t\n\"'/;|&)"), found + 1);
		if (name[0] && !report_bundle_has(again->bundle, name))
			log_warning("the plan uses %s of its folder: add --attach FILE, so that the page has it", name);
	}
}

static int add_files(struct report_again *again, const struct report_settings *settings, const char *log,
		     struct error *err)
{
	const struct option_list *lists[] = {&settings->curves, &settings->attached};
	int code = report_bundle_add_file(again->bundle, settings->sweep, err);

	if (!code)
		code = report_bundle_add_file(again->bundle, log, err);
	if (!code && again->plan)
		code = report_bundle_add(again->bundle, again->plan_name, again->plan, strlen(again->plan), err);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (size_t j = 0; !code && j < lists[i]->count; j++)
			code = report_bundle_add_file(again->bundle, lists[i]->items[j], err);
	return code;
}

static void set_names(struct report_again *again, const char *sweep)
{
	const char *slash = strrchr(sweep, '/'), *name = slash ? slash + 1 : sweep;
	size_t length = strlen(name);

	if (length > 4 && strcmp(name + length - 4, ".csv") == 0)
		length -= 4;
	snprintf(again->sweep, sizeof again->sweep, "%s", name);
	snprintf(again->plan_name, sizeof again->plan_name, "%.*s.plan", (int)length, name);
}

struct report_again *report_again_load(const struct report_settings *settings, const char *log, struct error *err)
{
	struct report_again *again = calloc(1, sizeof *again);
	int code;

	if (!again) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	set_names(again, settings->sweep);
	again->bundle = report_bundle_create(err);
	code = again->bundle ? read_log(again, log, err) : -ENOMEM;
	if (!code)
		code = add_files(again, settings, log, err);
	if (!code) {
		warn_of_missing(again);
		return again;
	}
	report_again_destroy(again);
	return NULL;
}

void report_again_destroy(struct report_again *again)
{
	if (!again)
		return;
	report_bundle_destroy(again->bundle);
	free(again->plan);
	free(again);
}

static void print_row(FILE *out, const char *name, const char *value)
{
	if (!value[0])
		return;
	fprintf(out, "<tr><th>%s</th><td>", name);
	xml_print(out, value);
	fputs("</td></tr>\n", out);
}

static void print_machine(FILE *out, const struct sweep_log_machine *machine)
{
	static const char *const names[INJECTOR_STATE_DIRECTIONS] = {"injector's port A", "injector's port B"};
	char text[INJECTOR_STATE_NAME_BYTES * 2 + 64];

	fputs("<table>\n", out);
	print_row(out, "begun", machine->started_at);
	print_row(out, "nomora", machine->version);
	print_row(out, "kernel", machine->kernel);
	print_row(out, "processor", machine->cpu);
	snprintf(text, sizeof text, "%lld", (long long)machine->processors);
	print_row(out, "processors of the sweep", machine->processors > 0 ? text : "");
	for (size_t i = 0; i < INJECTOR_STATE_DIRECTIONS; i++) {
		const struct injector_state_port *port = &machine->port[i];
		int length = snprintf(text, sizeof text, "%s (%s", port->name, port->driver);

		if (port->speed_Mbps)
			length +=
				snprintf(text + length, sizeof text - (size_t)length, ", %u Mbit/s", port->speed_Mbps);
		snprintf(text + length, sizeof text - (size_t)length, ")");
		print_row(out, names[i], port->name[0] ? text : "");
	}
	fputs("</table>\n", out);
}

int report_again_print(FILE *out, const struct report_again *again, const struct option_list *curves, struct error *err)
{
	fputs("<section><h2>How it was made, and how to repeat it</h2>\n", out);
	print_machine(out, &again->machine);
	fputs(again->plan ? "<p>This page contains the rows, the log and the plan of the sweep. To get them out and "
			    "run the sweep again:"
			  : "<p>This page contains the rows and the log of the sweep, not its plan: an earlier nomora "
			    "wrote the log. To get them out and fit the curve again:",
	      out);
	fputs("</p>\n<pre>nomora report --extract THIS-PAGE.html -o again\ncd again\n", out);
	if (again->plan) {
		fputs("nomora sweep ", out);
		xml_print(out, again->plan_name);
		fputs(" -o new.csv\n", out);
	}
	fputs("nomora fit ", out);
	xml_print(out, again->plan ? "new.csv" : again->sweep);
	fputs(" -o new.json\n", out);
	if (again->plan && curves->count > 0) {
		const char *slash = strrchr(curves->items[0], '/');

		fputs("nomora fit --compare ", out);
		xml_print(out, slash ? slash + 1 : curves->items[0]);
		fputs(" new.json\n", out);
	}
	fputs("</pre>\n", out);
	if (again->plan) {
		fputs("<details><summary>The plan: commands, gates and schedule</summary>\n<pre>", out);
		xml_print(out, again->plan);
		fputs("</pre></details>\n", out);
	}
	fputs("</section>\n", out);
	return report_bundle_print(again->bundle, out, err);
}
