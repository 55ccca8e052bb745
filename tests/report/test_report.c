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

Test(report, each_input_has_its_section)
{
	static const char *const headings[] = {
		"<section><h2>Performance under added latency</h2>", "<section><h2>Round-trip times in the rack</h2>",
		"<section><h2>Predicted and measured</h2>", "<section><h2>This host</h2>", "<section><h2>Steps</h2>"};
	char paths[5][40], *text;
	static const char *const texts[] = {
		"{\"event\":\"attempt\",\"delay_us\":0,\"run\":0,\"attempt\":1,\"disturbed\":false,\"elapsed_s\":1}\n"
		"{\"event\":\"accepted\",\"delay_us\":0,\"run\":0,\"attempt\":1,\"disturbed\":false}\n",
		"src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\nh1,h2,10,12,20,0,100,1\n",
		"placement,job,task,predicted,measured\na<,j,t,1.0,0.9\nb,j,t,0.8,0.8\na<,j,u,0.5,0.5\n",
		"{\"schema\": \"nomora.doctor/1\", \"purpose\": \"lab\", \"findings\": [{\"level\": \"warn\", "
		"\"check\": \"c<\", "
		"\"found\": \"f>\", \"note\": \"n\", \"fix\": \"x&y\"}, {\"level\": \"ok\", \"check\": \"d\", "
		"\"found\": \"g\", "
		"\"note\": \"n\", \"fix\": null}]}",
		"1\ta\tb\n0\tc\td\n"};
	struct report_settings settings = {.title = "t",
					   .sweep_log = paths[0],
					   .latency = paths[1],
					   .measured = paths[2],
					   .doctor = paths[3],
					   .steps = paths[4]};
	struct error err = {0};
	const char *at;
	size_t bytes;

	for (int i = 0; i < 5; i++) {
		int fd;

		snprintf(paths[i], sizeof paths[i], "/tmp/nomora-report-in-XXXXXX");
		fd = mkstemp(paths[i]);
		cr_assert_eq(write(fd, texts[i], strlen(texts[i])), (ssize_t)strlen(texts[i]));
		close(fd);
	}
	cr_assert_eq(report_save(&settings, page, &err), 0, "%s", err.text);
	for (int i = 0; i < 5; i++)
		unlink(paths[i]);
	text = file_read_all(page, 1 << 20, &bytes, &err);
	cr_assert(text, "%s", err.text);
	at = text;
	for (int i = 0; i < 5; i++) {
		const char *next = strstr(at, headings[i]);

		cr_assert(next, "%s", headings[i]);
		cr_expect(i == 0 || strncmp(next - 11, "</section>\n", 11) == 0, "before %s", headings[i]);
		at = next;
	}
	cr_expect(strstr(at, "<td class=\"n\">0</td><td>d</td><td><code>c</code></td></tr>\n</table></section>\n<p "
			     "class=\"muted\">nomora "));
	cr_expect(strstr(text,
			 "<main>\n<p class=\"verdict fail\"><b>Do not publish this curve.</b> 0 of 1 runs disturbed"));
	cr_expect(strstr(text, "<td>all pairs</td>"));
	cr_expect(strstr(
		text,
		"<div class=\"cards\"><div class=\"card\"><b>10.0 µs</b>median round trip over all pairs</div></div>"));
	cr_expect(strstr(text,
			 "<p>The application was run in each placement: 2 of 2 perform as predicted, within 0.1.</p>"));
	cr_expect(strstr(text,
			 "<tr><td>a&lt;</td><td class=\"n\">2</td><td class=\"n\">0.750</td><td class=\"n\">0.700</td>"
			 "<td class=\"n\">-0.050</td><td class=\"n\">0.100</td></tr>"));
	cr_expect(strstr(text, "<p>1 checks are ok; 1 warnings, 0 failures.</p>"));
	cr_expect(strstr(text,
			 "<tr><td class=\"tag "
			 "warn\">warning</td><td>c&lt;</td><td>f&gt;</td><td><code>x&amp;y</code></td></tr>\n"
			 "<tr><td class=\"tag ok\">ok</td><td>d</td><td>g</td><td></td></tr>\n</table>\n</section>"));
	free(text);
}

Test(report, every_file_of_a_section_is_an_input)
{
	struct report_settings all[] = {
		{.curves = {.count = 1}}, {.curve_plot = "x"}, {.sweep_log = "x"}, {.latency = "x"}, {.mesh_plot = "x"},
		{.injector = "x"},        {.placement = "x"},  {.measured = "x"},  {.doctor = "x"},  {.steps = "x"}};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		cr_expect(report_has_input(&all[i]), "%zu", i);
}

Test(report, at_most_sixteen_placements_are_compared)
{
	struct report_settings settings = {.title = "t", .measured = steps};
	struct error err = {0};
	char text[1000] = "placement,job,task,predicted,measured\n";

	for (int i = 0; i < 16; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "p%d,j,t,1,1\n", i);
	write_steps(text);
	cr_assert_eq(report_save(&settings, page, &err), 0, "%s", err.text);
	snprintf(text + strlen(text), sizeof text - strlen(text), "p16,j,t,1,1\n");
	write_steps(text);
	cr_assert_eq(report_save(&settings, page, &err), -EINVAL);
	cr_assert(strstr(err.text, "steps.tsv:18: placement: expected at most 16 placements, of names under 64 bytes"),
		  "%s", err.text);
}
