/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <model/placement.h>
#include <report/report.h>

#include "report_priv.h"

static char *text;
static size_t bytes;
static char path[] = "/tmp/nomora-report-place-XXXXXX", other[] = "/tmp/nomora-report-other-XXXXXX";

static void make_files(void)
{
	close(mkstemp(path));
	close(mkstemp(other));
}

static void remove_files(void)
{
	unlink(path);
	unlink(other);
}

TestSuite(report_place, .init = make_files, .fini = remove_files);

static const struct placement_task tasks[] = {
	{.job = "web",
	 .task = "root<",
	 .root = true,
	 .state = PLACEMENT_ROOT,
	 .arc = "none",
	 .taken = {.machine = "h1", .rack = "r1", .rtt_us = NAN, .performance = NAN},
	 .next_best = {.rtt_us = NAN, .performance = NAN},
	 .random_performance = NAN},
	{.job = "web",
	 .task = "c1",
	 .state = PLACEMENT_PLACED,
	 .arc = "none",
	 .taken = {.machine = "h2", .rack = "r2", .rtt_us = 31.5, .performance = 0.9, .rtt_origin = "measured"},
	 .next_best = {"h3", "r2", 125, 50.25, 0.8, "rack pair"},
	 .random_performance = 0.85},
	{.job = "web",
	 .task = "c2",
	 .state = PLACEMENT_PLACED,
	 .arc = "none",
	 .taken = {.machine = "h2", .rack = "r2", .rtt_us = 400, .performance = 0.5, .rtt_origin = "default"},
	 .next_best = {.rtt_us = NAN, .performance = NAN},
	 .random_performance = 0.25},
	{.job = "web",
	 .task = "c3",
	 .state = PLACEMENT_WAITING,
	 .arc = "none",
	 .taken = {.rtt_us = NAN, .performance = NAN},
	 .next_best = {.rtt_us = NAN, .performance = NAN},
	 .random_performance = NAN,
	 .why_waiting = "no free slot"},
	{.job = "db",
	 .task = "s",
	 .root = true,
	 .state = PLACEMENT_ROOT,
	 .arc = "none",
	 .taken = {.machine = "h2", .rack = "r2", .rtt_us = NAN, .performance = NAN},
	 .next_best = {.rtt_us = NAN, .performance = NAN},
	 .random_performance = NAN},
};

static void write_placement(const char *to, double mean, size_t count)
{
	static const struct placement_settings settings = {.latency_reference = "added", .latency_stat = "max"};
	static const struct placement_solver solver = {.algorithm = "structured"};
	struct placement_totals totals = {.tasks = 5,
					  .placed = 4,
					  .predicted = 2,
					  .in_root_rack = 1,
					  .mean_performance = mean,
					  .random_mean_performance = 0.55,
					  .worst_performance = 0.5,
					  .application_performance = NAN};
	FILE *file = fopen(to, "w");

	cr_assert(file && placement_print_begin(file, "nomora", &settings));
	for (size_t i = 0; i < count; i++)
		cr_assert(placement_print_task(file, &tasks[i], i == 0));
	cr_assert(placement_print_end(file, &totals, &solver, NULL, NULL) && fclose(file) == 0);
}

static const char *print(const char *random, const struct cluster *cluster, bool summary)
{
	struct error err = {0};
	FILE *out;

	free(text);
	out = open_memstream(&text, &bytes);
	cr_assert_eq(report_placement(out, path, random, cluster, summary, &err), 0, "%s", err.text);
	fclose(out);
	return text;
}

#define N(figure) "<td class=\"n\">" figure "</td>"

Test(report_place, a_task_has_its_machine_and_the_next_best)
{
	write_placement(path, 0.7, 5);
	print(NULL, NULL, false);
	cr_assert(strstr(text,
			 "<p>4 of 5 tasks are placed (★: the root of a job). Mean predicted performance of the 2 tasks "
			 "that communicate with a root: <b>0.700</b>, worst 0.500; 1 of them are in their root's rack. "
			 "Random placement of the same tasks, with the same roots, has an expected mean of "
			 "<b>0.550</b>.</p>\n") == text);
	cr_assert_str_eq(
		strstr(text, "<tr><td>"),
		"<tr><td>web</td><td>root&lt; ★</td><td>h1</td><td>r1</td>" N("–") "<td></td>" N("–")
			N("–") "<td></td></tr>\n"
			       "<tr><td>web</td><td>c1</td><td>h2</td><td>r2</td>" N("31.5") "<td>measured</td>" N(
				       "0.900")
				       N("0.850") "<td>h3 (0.800)</td></tr>\n"
						  "<tr><td>web</td><td>c2</td><td>h2</td><td>r2</td>" N(
							  "400.0") "<td>default</td>" N("0.500")
							  N("0.250") "<td></td></tr>\n"
								     "<tr><td>web</td><td>c3</td><td>waits</td><td></"
								     "td>" N("–") "<td></td>" N("–")
									     N("–") "<td>no free slot</td></tr>\n"
										    "<tr><td>db</td><td>s "
										    "★</td><td>h2</td><td>r2</td>" N(
											    "–") "<td></td>" N("–")
											    N("–") "<td></td></tr>\n"
												   "</table>\n");
}

Test(report_place, a_summary_has_the_mean_and_the_worst_of_each_job)
{
	write_placement(path, NAN, 5);
	print(NULL, NULL, true);
	cr_assert(strstr(text, "communicate with a root: <b>0.000</b>"), "%s", text);
	cr_assert_str_eq(strstr(text, "<tr><td>"),
			 "<tr><td>web</td>" N("4") N("3") N("1") N("0.700")
				 N("0.500") "</tr>\n"
					    "<tr><td>db</td>" N("1") N("1") N("0") N("–") N("–") "</tr>\n</table>\n");
}

static struct cluster *make_cluster(int racks, int machines)
{
	struct cluster *cluster = cluster_create();

	for (int i = 0; i < machines; i++) {
		char name[16], rack[16];

		snprintf(name, sizeof name, "h%d", i + 1);
		snprintf(rack, sizeof rack, "r%d", i % racks + 1);
		cr_assert_geq(cluster_add_machine(cluster, name, rack, NULL, i == 0 ? 3 : 1, NULL), 0);
	}
	return cluster;
}

#define SLOT(root, colour, title, label)                                                                               \
	"<span class=\"slot used" root "\" style=\"background:" colour "\" title=\"" title "\">" label "</span>"
#define MACHINE "<div class=\"machine\"><span class=\"name\">"

Test(report_place, racks_show_each_task_in_a_slot)
{
	struct cluster *cluster = make_cluster(2, 3);
	const char *racks;

	write_placement(path, 0.7, 5);
	write_placement(other, 0.6, 1);
	print(other, cluster, false);
	racks = strstr(text, "<div class=\"side\">");
	cr_assert_not_null(racks);
	*strstr(racks, "<table>") = '\0';
	cr_assert_str_eq(
		racks,
		"<div class=\"side\"><div><h3>By curve and mesh</h3><div class=\"racks\">\n<div "
		"class=\"rack\"><b>r1</b>\n" MACHINE "h1</span>" SLOT(
			" root", "#0060a8", "web root&lt;",
			"★ web") "<span class=\"slot\"></span><span class=\"slot\"></span></div>\n" MACHINE
				 "h3</span><span class=\"slot\"></span></div>\n</div>\n<div "
				 "class=\"rack\"><b>r2</b>\n" MACHINE
				 "h2</span>" SLOT("", "#0060a8", "web c1", "web") SLOT("", "#0060a8", "web c2", "web")
					 SLOT(" root", "#b0520a", "db s",
					      "★ db") "</div>\n</div>\n</div>\n</div>"
						      "<div><h3>One random draw (mean 0.600)</h3><div "
						      "class=\"racks\">\n<div class=\"rack\"><b>r1</b>\n" MACHINE
						      "h1</span>" SLOT(
							      " root", "#0060a8", "web root&lt;",
							      "★ web") "<span class=\"slot\"></span><span "
								       "class=\"slot\"></span></div>\n" MACHINE
								       "h3</span><span "
								       "class=\"slot\"></span></div>\n</div>\n<div "
								       "class=\"rack\"><b>r2</b>\n" MACHINE
								       "h2</span><span "
								       "class=\"slot\"></span></div>\n</div>\n</"
								       "div>\n</div></div>\n");
	cluster_destroy(cluster);
}

Test(report_place, only_the_first_racks_and_machines_are_drawn)
{
	static const struct {
		int racks, machines, drawn_racks, drawn_machines;
		const char *note;
	} cases[] = {
		{64, 512, 64, 512, NULL},
		{65, 65, 64, 64,
		 "<p class=\"muted\">Only the first 64 racks and 512 machines of 65 and 65 are drawn.</p>"},
		{1, 513, 1, 512,
		 "<p class=\"muted\">Only the first 64 racks and 512 machines of 1 and 513 are drawn.</p>"},
	};

	write_placement(path, 0.7, 5);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct cluster *cluster = make_cluster(cases[i].racks, cases[i].machines);
		int racks = 0, machines = 0;

		print(NULL, cluster, true);
		for (const char *at = text; (at = strstr(at, "class=\"rack\"")); at++)
			racks++;
		for (const char *at = text; (at = strstr(at, "class=\"machine\"")); at++)
			machines++;
		cr_expect_eq(racks, cases[i].drawn_racks);
		cr_expect_eq(machines, cases[i].drawn_machines);
		cr_expect_eq(strstr(text, "Only the first") != NULL, cases[i].note != NULL);
		cr_expect(!cases[i].note || strstr(text, cases[i].note), "%zu", i);
		cluster_destroy(cluster);
	}
}

Test(report_place, is_a_section_of_the_page)
{
	struct report_settings page = {.title = "t", .placement = path};
	struct error err = {0};
	size_t count;
	char *html;

	write_placement(path, 0.7, 5);
	cr_assert_eq(report_save(&page, other, &err), 0, "%s", err.text);
	html = file_read_all(other, 1 << 20, &count, &err);
	cr_assert_not_null(html);
	cr_expect(strstr(html, "<div class=\"cards\"></div>\n<section><h2>Placement</h2>\n<p>4 of 5 tasks are placed"));
	cr_expect(strstr(html, "</table>\n</section>\n<p class=\"muted\">nomora "));
	free(html);
}

Test(report_place, a_placement_that_cannot_be_read_is_refused)
{
	struct error err = {0};

	cr_assert_lt(report_placement(stdout, "/no/such/file", NULL, NULL, false, &err), 0);
	cr_assert(strstr(err.text, "/no/such/file"), "%s", err.text);
	write_placement(path, 0.7, 5);
	cr_assert_lt(report_placement(stdout, path, other, NULL, false, &err), 0);
	cr_assert(strstr(err.text, other), "%s", err.text);
}
