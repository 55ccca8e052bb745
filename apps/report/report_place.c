/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>

enum { JOBS_SHOWN = 16, RACKS_SHOWN = 64, MACHINES_SHOWN = 512 };

/* Dark enough for white letters, told apart by the colour-blind (after Okabe and Ito). */
static const char *const colours[] = {"#0060a8", "#b0520a", "#00755a", "#8a3f78", "#5b5b5b", "#8c6d00"};

/* Number of a job in the order in which the file names them. */
static size_t job_number(const char **jobs, size_t *count, const char *name)
{
	size_t i = 0;

	while (i < *count && strcmp(jobs[i], name) != 0)
		i++;
	if (i == *count && *count < JOBS_SHOWN)
		jobs[(*count)++] = name;
	return i;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void print_slots(FILE *out, const json_t *tasks, const struct cluster_machine *machine, const char **jobs,
			size_t *job_count)
{
	const json_t *task;
	uint32_t used = 0;
	size_t i;

	json_array_foreach (tasks, i, task) {
		size_t job = job_number(jobs, job_count, text_of(task, "job"));

		if (strcmp(text_of(task, "machine"), machine->name) != 0)
			continue;
		fprintf(out, "<span class=\"slot used%s\" style=\"background:%s\" title=\"",
			json_is_true(json_object_get(task, "root")) ? " root" : "",
			colours[job % (sizeof colours / sizeof colours[0])]);
		report_text(out, text_of(task, "job"));
		fputc(' ', out);
		report_text(out, text_of(task, "task"));
		fputs("\">", out);
		report_text(out, json_is_true(json_object_get(task, "root")) ? "★ " : "");
		report_text(out, text_of(task, "job"));
		fputs("</span>", out);
		used++;
	}
	for (; used < machine->slots && used < 64; used++)
		fputs("<span class=\"slot\"></span>", out);
}

/* The racks with their machines and who sits where. */
static void print_racks(FILE *out, const json_t *tasks, const struct cluster *cluster)
{
	const char *jobs[JOBS_SHOWN];
	size_t job_count = 0;

	fputs("<div class=\"racks\">\n", out);
	for (uint32_t rack = 0; rack < cluster->rack_count && rack < RACKS_SHOWN; rack++) {
		fputs("<div class=\"rack\"><b>", out);
		report_text(out, cluster->racks[rack].name);
		fputs("</b>\n", out);
		for (uint32_t m = 0; m < cluster->machine_count && m < MACHINES_SHOWN; m++) {
			if (cluster->machines[m].rack != rack)
				continue;
			fputs("<div class=\"machine\"><span class=\"name\">", out);
			report_text(out, cluster->machines[m].name);
			fputs("</span>", out);
			print_slots(out, tasks, &cluster->machines[m], jobs, &job_count);
			fputs("</div>\n", out);
		}
		fputs("</div>\n", out);
	}
	fputs("</div>\n", out);
	if (cluster->rack_count > RACKS_SHOWN || cluster->machine_count > MACHINES_SHOWN)
		fprintf(out, "<p class=\"muted\">Drawn are the first %d racks and %d machines of %u and %u.</p>\n",
			RACKS_SHOWN, MACHINES_SHOWN, cluster->rack_count, cluster->machine_count);
}

static void print_number(FILE *out, const json_t *value, const char *format)
{
	fputs("<td class=\"n\">", out);
	if (json_is_number(value))
		fprintf(out, format, json_number_value(value));
	else
		fputs("–", out);
	fputs("</td>", out);
}

static void print_tasks(FILE *out, const json_t *tasks)
{
	const json_t *task;
	size_t i;

	fputs("<table><tr><th>job</th><th>task</th><th>machine</th><th>rack</th><th class=\"n\">round trip to root, "
	      "µs</th>"
	      "<th>from</th><th class=\"n\">predicted performance</th><th class=\"n\">random would give</th>"
	      "<th>next best</th></tr>\n",
	      out);
	json_array_foreach (tasks, i, task) {
		const json_t *next = json_object_get(task, "next_best");

		fputs("<tr><td>", out);
		report_text(out, text_of(task, "job"));
		fputs("</td><td>", out);
		report_text(out, text_of(task, "task"));
		fputs(json_is_true(json_object_get(task, "root")) ? " ★</td><td>" : "</td><td>", out);
		report_text(out, text_of(task, "machine")[0] ? text_of(task, "machine") : "waits");
		fputs("</td><td>", out);
		report_text(out, text_of(task, "rack"));
		fputs("</td>", out);
		print_number(out, json_object_get(task, "rtt_us"), "%.1f");
		fputs("<td>", out);
		report_text(out, text_of(task, "rtt_origin"));
		fputs("</td>", out);
		print_number(out, json_object_get(task, "performance"), "%.3f");
		print_number(out, json_object_get(task, "random_performance"), "%.3f");
		fputs("<td>", out);
		if (json_is_object(next)) {
			report_text(out, text_of(next, "machine"));
			fprintf(out, " (%.3f)", json_number_value(json_object_get(next, "performance")));
		} else {
			report_text(out, text_of(task, "why_waiting"));
		}
		fputs("</td></tr>\n", out);
	}
	fputs("</table>\n", out);
}

static json_t *read_placement(const char *path, const json_t **tasks, const json_t **totals, struct error *err)
{
	json_t *root = json_read_file(path, err);
	struct json_reader reader = {path, 0, err, false};

	if (!root)
		return NULL;
	json_need_schema(&reader, root, "nomora.place/1");
	*tasks = json_need_array(&reader, root, "", "tasks");
	*totals = json_need_object(&reader, root, "", "totals");
	if (!reader.failed)
		return root;
	json_decref(root);
	return NULL;
}

static double total(const json_t *totals, const char *key)
{
	return json_number_value(json_object_get(totals, key));
}

/* Over the tasks that have a root to talk to. */
static double mean_performance(const json_t *tasks)
{
	const json_t *task;
	double sum = 0;
	size_t i, count = 0;

	json_array_foreach (tasks, i, task) {
		const json_t *performance = json_object_get(task, "performance");

		if (json_is_number(performance)) {
			sum += json_number_value(performance);
			count++;
		}
	}
	return count ? sum / (double)count : 0;
}

int report_placement(FILE *out, const char *path, const char *random_path, const struct cluster *cluster,
		     struct error *err)
{
	const json_t *tasks, *totals, *random_tasks = NULL, *unused;
	json_t *root = read_placement(path, &tasks, &totals, err), *random_root = NULL;

	if (!root)
		return err ? -err->code : -EINVAL;
	if (random_path) {
		random_root = read_placement(random_path, &random_tasks, &unused, err);
		if (!random_root) {
			json_decref(root);
			return err ? -err->code : -EINVAL;
		}
	}
	fprintf(out,
		"<p>%.0f of %.0f tasks placed beside their roots (★). Mean predicted performance of the %.0f that have "
		"a "
		"root to talk to: <b>%.3f</b>, worst %.3f; %.0f sit in their root's rack. Random placement of the same "
		"tasks, the roots being where they are, is expected to give <b>%.3f</b>.</p>\n",
		total(totals, "placed"), total(totals, "tasks"), total(totals, "predicted"),
		total(totals, "mean_performance"), total(totals, "worst_performance"), total(totals, "in_root_rack"),
		total(totals, "random_mean_performance"));
	if (cluster) {
		fputs("<div class=\"side\"><div><h3>By curve and mesh</h3>", out);
		print_racks(out, tasks, cluster);
		fputs("</div>", out);
		if (random_root) {
			fprintf(out, "<div><h3>One random draw (mean %.3f)</h3>", mean_performance(random_tasks));
			print_racks(out, random_tasks, cluster);
			fputs("</div>", out);
		}
		fputs("</div>\n", out);
	}
	print_tasks(out, tasks);
	json_decref(random_root);
	json_decref(root);
	return 0;
}
