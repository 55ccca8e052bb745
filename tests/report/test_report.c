/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <report/report.h>

static char folder[] = "/tmp/nomora-report-XXXXXX";
static char page[64], steps[64];

static void make_folder(void)
{
	cr_assert(mkdtemp(folder));
	snprintf(page, sizeof page, "%s/page.html", folder);
	snprintf(steps, sizeof steps, "%s/steps.tsv", folder);
}

static void remove_folder(void)
{
	unlink(page);
	unlink(steps);
	rmdir(folder);
}

TestSuite(report, .init = make_folder, .fini = remove_folder);

static void write_steps(const char *text)
{
	FILE *file = fopen(steps, "w");

	cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

Test(report, only_a_file_that_fills_a_section_is_an_input)
{
	struct report_settings settings = {.title = "t", .cluster = "c.json", .random = "r.json", .summary = true};

	cr_assert(!report_has_input(&settings));
	settings.steps = "s.tsv";
	cr_assert(report_has_input(&settings));
}

Test(report, a_page_of_steps_has_them_escaped_and_no_other_section)
{
	struct report_settings settings = {.title = "a < b", .steps = steps};
	struct error err = {0};
	size_t bytes;
	char *text;

	write_steps("2.5\tnomora sweep\tthe \"sweep\"\n");
	cr_assert_eq(report_save(&settings, page, &err), 0, "%s", err.text);
	text = file_read_all(page, 1 << 20, &bytes, &err);
	cr_assert(text, "%s", err.text);
	cr_assert(strstr(text, "<h1>a &lt; b</h1>"));
	cr_assert(strstr(text, "<td class=\"n\">2.5</td><td>the &quot;sweep&quot;</td><td><code>nomora sweep</code>"));
	cr_assert(!strstr(text, "<h2>Placement</h2>") && !strstr(text, "<h2>This host</h2>"));
	cr_assert(strstr(text, "</html>"));
	free(text);
}

Test(report, measured_performance_is_beside_the_predicted)
{
	struct report_settings settings = {.title = "t", .measured = steps};
	struct error err = {0};
	size_t bytes;
	char *text;

	write_steps("placement,job,task,predicted,measured\n"
		    "good,web,c1,1.0,0.9\ngood,web,c2,0.9,0.96\nfar,web,c1,0.1,0.4\n");
	cr_assert_eq(report_save(&settings, page, &err), 0, "%s", err.text);
	text = file_read_all(page, 1 << 20, &bytes, &err);
	cr_assert(text, "%s", err.text);
	cr_assert(strstr(text, "1 of 2 perform as predicted"));
	cr_assert(strstr(text, "<td>good</td><td class=\"n\">2</td><td class=\"n\">0.950</td><td class=\"n\">0.930</td>"
			       "<td class=\"n\">-0.020</td><td class=\"n\">0.100</td>"));
	cr_assert(strstr(text, "<td>far</td><td class=\"n\">1</td><td class=\"n\">0.100</td><td class=\"n\">0.400</td>"
			       "<td class=\"n\">+0.300</td><td class=\"n\">0.300</td>"));
	free(text);
}

Test(report, measured_performance_is_refused_with_its_line)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "steps.tsv:1: expected the line placement,job,task,predicted,measured"},
		{"a,b\n", "steps.tsv:1: expected the line placement,job,task,predicted,measured"},
		{"placement,job,task,predicted,measured\n", "steps.tsv:2: expected a task's line"},
		{"placement,job,task,predicted,measured\np,j,t,1\n", "steps.tsv:2: expected five fields"},
		{"placement,job,task,predicted,measured\np,j,t,1,-1\n", "steps.tsv:2: measured: found '-1'"},
		{"placement,job,task,predicted,measured\np,j,t,nan,1\n", "steps.tsv:2: predicted: found 'nan'"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct report_settings settings = {.title = "t", .measured = steps};
		struct error err = {0};

		write_steps(cases[i].text);
		cr_assert_neq(report_save(&settings, page, &err), 0, "%zu", i);
		cr_assert(strstr(err.text, cases[i].message), "%zu: %s", i, err.text);
		cr_assert_neq(access(page, F_OK), 0);
	}
}

Test(report, a_bad_input_leaves_no_page)
{
	struct report_settings settings = {.title = "t", .steps = steps};
	struct error err = {0};

	write_steps("2.5\tnomora sweep\tthe sweep\nsoon\tnomora fit\tthe fit\n");
	cr_assert_eq(report_save(&settings, page, &err), -EINVAL);
	cr_assert(strstr(err.text, "steps.tsv:2: seconds: found 'soon', expected a number from 0"), "%s", err.text);
	cr_assert_neq(access(page, F_OK), 0);
}
