/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <base/json.h>
#include <model/placement.h>

enum { JOBS_SHOWN = 256, RACKS_SHOWN = 64, MACHINES_SHOWN = 512 };

/* Dark enough for white letters; distinguishable by colour-blind readers (after Okabe and Ito). */
static const char *const colours[] = {"#0060a8", "#b0520a", "#00755a", "#8a3f78", "#5b5b5b", "#8c6d00"};

/*
 * Prints the colour of a job. The jobs for which colours[] has no entry get hues that are a golden angle apart, so that
 * no two of a few dozen are alike.
 */
static void print_colour(FILE *out, size_t job)
{
	size_t known = sizeof colours / sizeof colours[0];

	if (job < known)
		fputs(colours[job], out);
	else
		fprintf(out, "hsl(%.0f,%d%%,%d%%)", fmod(137.508 * (double)job, 360), 45 + (int)(job / 12 % 3) * 15,
			28 + (int)(job / 6 % 2) * 9);
}

/* Returns the number of a job, in the order in which the file first names the jobs; adds an unknown job to jobs[]. */
static size_t job_number(const char **jobs, size_t *count, const char *name)
{
	size_t i = 0;

	while (i < *count && strcmp(jobs[i], name) != 0)
		i++;
	if (i == *count && *count < JOBS_SHOWN)
		jobs[(*count)++] = name;
	return i;
}

static void print_slots(FILE *out, const struct placement *placement, const struct cluster_machine *machine,
			const char **jobs, size_t *job_count)
{
	uint32_t used = 0;

	for (size_t i = 0; i < placement->task_count; i++) {
		const struct placement_task *task = &placement->tasks[i];
		size_t job = job_number(jobs, job_count, task->job);

		if (!task->taken.machine || strcmp(task->taken.machine, machine->name) != 0)
			continue;
		fprintf(out, "<span class=\"slot used%s\" style=\"background:", task->root ? " root" : "");
		print_colour(out, job);
		fputs("\" title=\"", out);
		xml_print(out, task->job);
		fputc(' ', out);
		xml_print(out, task->task);
		fputs("\">", out);
		xml_print(out, task->root ? "★ " : "");
		xml_print(out, task->job);
		fputs("</span>", out);
		used++;
	}
	for (; used < machine->slots && used < 64; used++)
		fputs("<span class=\"slot\"></span>", out);
}

/* Prints the racks with their machines and the tasks on them. */
static void print_racks(FILE *out, const struct placement *placement, const struct cluster *cluster)
{
	const char *jobs[JOBS_SHOWN];
	size_t job_count = 0;

	fputs("<div class=\"racks\">\n", out);
	for (uint32_t rack = 0; rack < cluster->rack_count && rack < RACKS_SHOWN; rack++) {
		fputs("<div class=\"rack\"><b>", out);
		xml_print(out, cluster->racks[rack].name);
		fputs("</b>\n", out);
		for (uint32_t m = 0; m < cluster->machine_count && m < MACHINES_SHOWN; m++) {
			if (cluster->machines[m].rack != rack)
				continue;
			fputs("<div class=\"machine\"><span class=\"name\">", out);
			xml_print(out, cluster->machines[m].name);
			fputs("</span>", out);
			print_slots(out, placement, &cluster->machines[m], jobs, &job_count);
			fputs("</div>\n", out);
		}
		fputs("</div>\n", out);
	}
	fputs("</div>\n", out);
	if (cluster->rack_count > RACKS_SHOWN || cluster->machine_count > MACHINES_SHOWN)
		fprintf(out, "<p class=\"muted\">Only the first %d racks and %d machines of %u and %u are drawn.</p>\n",
			RACKS_SHOWN, MACHINES_SHOWN, cluster->rack_count, cluster->machine_count);
}

static void print_number(FILE *out, double value, const char *format)
{
	fputs("<td class=\"n\">", out);
	if (isnan(value))
		fputs("–", out);
	else
		fprintf(out, format, value);
	fputs("</td>", out);
}

static void print_task(FILE *out, const struct placement_task *task)
{
	const struct placement_option *taken = &task->taken, *next = &task->next_best;

	fputs("<tr><td>", out);
	xml_print(out, task->job);
	fputs("</td><td>", out);
	xml_print(out, task->task);
	fputs(task->root ? " ★</td><td>" : "</td><td>", out);
	xml_print(out, taken->machine ? taken->machine : "waits");
	fputs("</td><td>", out);
	xml_print(out, taken->rack ? taken->rack : "");
	fputs("</td>", out);
	print_number(out, taken->rtt_us, "%.1f");
	fputs("<td>", out);
	xml_print(out, taken->rtt_origin ? taken->rtt_origin : "");
	fputs("</td>", out);
	print_number(out, taken->performance, "%.3f");
	print_number(out, task->random_performance, "%.3f");
	fputs("<td>", out);
	if (next->machine) {
		xml_print(out, next->machine);
		fprintf(out, " (%.3f)", next->performance);
	} else {
		xml_print(out, task->why_waiting ? task->why_waiting : "");
	}
	fputs("</td></tr>\n", out);
}

static void print_tasks(FILE *out, const struct placement *placement)
{
	fputs("<table><tr><th>job</th><th>task</th><th>machine</th><th>rack</th><th class=\"n\">round trip to root, "
	      "µs</th>"
	      "<th>from</th><th class=\"n\">predicted performance</th><th class=\"n\">random would give</th>"
	      "<th>next best</th></tr>\n",
	      out);
	for (size_t i = 0; i < placement->task_count; i++)
		print_task(out, &placement->tasks[i]);
	fputs("</table>\n", out);
}

/* Prints the line of one job, whose `count` tasks begin at `first`. */
static void print_job(FILE *out, const struct placement_task *first, size_t count)
{
	double sum = 0, worst = INFINITY;
	size_t placed = 0, predicted = 0;

	for (size_t i = 0; i < count; i++) {
		placed += first[i].taken.machine != NULL;
		if (first[i].root || isnan(first[i].taken.performance))
			continue;
		predicted++;
		sum += first[i].taken.performance;
		worst = fmin(worst, first[i].taken.performance);
	}
	fputs("<tr><td>", out);
	xml_print(out, first->job);
	fprintf(out, "</td><td class=\"n\">%zu</td><td class=\"n\">%zu</td><td class=\"n\">%zu</td>", count, placed,
		count - placed);
	print_number(out, predicted ? sum / (double)predicted : (double)NAN, "%.3f");
	print_number(out, predicted ? worst : (double)NAN, "%.3f");
	fputs("</tr>\n", out);
}

static void print_jobs(FILE *out, const struct placement *placement)
{
	size_t end;

	fputs("<table><tr><th>job</th><th class=\"n\">tasks</th><th class=\"n\">placed</th><th class=\"n\">waiting</th>"
	      "<th class=\"n\">mean predicted performance</th><th class=\"n\">worst</th></tr>\n",
	      out);
	for (size_t first = 0; first < placement->task_count; first = end) {
		for (end = first + 1; end < placement->task_count; end++)
			if (strcmp(placement->tasks[end].job, placement->tasks[first].job) != 0)
				break;
		print_job(out, &placement->tasks[first], end - first);
	}
	fputs("</table>\n", out);
}

static double zero_if_none(double value)
{
	return isnan(value) ? 0 : value;
}

int report_placement(FILE *out, const char *path, const char *random_path, const struct cluster *cluster, bool summary,
		     struct error *err)
{
	struct placement *placement = placement_from_json(path, json_read_file(path, err), err), *random = NULL;
	const struct placement_totals *totals;

	if (placement && random_path)
		random = placement_from_json(random_path, json_read_file(random_path, err), err);
	if (!placement || (random_path && !random)) {
		placement_destroy(placement);
		return error_code(err, EINVAL);
	}
	totals = &placement->totals;
	fprintf(out,
		"<p>%" PRId64 " of %" PRId64
		" tasks are placed (★: the root of a job). Mean predicted performance of the "
		"%" PRId64 " tasks that communicate with a root: <b>%.3f</b>, worst %.3f; %" PRId64
		" of them are in their root's rack. Random placement of the same tasks, with the same roots, has an "
		"expected "
		"mean of <b>%.3f</b>.</p>\n",
		totals->placed, totals->tasks, totals->predicted, zero_if_none(totals->mean_performance),
		zero_if_none(totals->worst_performance), totals->in_root_rack,
		zero_if_none(totals->random_mean_performance));
	if (cluster) {
		fputs("<div class=\"side\"><div><h3>By curve and mesh</h3>", out);
		print_racks(out, placement, cluster);
		fputs("</div>", out);
		if (random) {
			fprintf(out, "<div><h3>One random draw (mean %.3f)</h3>",
				zero_if_none(random->totals.mean_performance));
			print_racks(out, random, cluster);
			fputs("</div>", out);
		}
		fputs("</div>\n", out);
	}
	if (summary)
		print_jobs(out, placement);
	else
		print_tasks(out, placement);
	placement_destroy(random);
	placement_destroy(placement);
	return 0;
}
