/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <figures/figures.h>
#include <plot/chart.h>

static struct heatmap drawn;
static char subtitle[200], labels[400];
static double values[16];
static size_t groups[4];

/* Takes the place of the function that draws: keeps a copy of the heat map. */
int heatmap_save(const struct heatmap *heatmap, const char *path, struct error *err)
{
	drawn = *heatmap;
	snprintf(subtitle, sizeof subtitle, "%s", heatmap->subtitle);
	labels[0] = '\0';
	for (size_t i = 0; i < heatmap->rows && i < 4; i++)
		snprintf(labels + strlen(labels), sizeof labels - strlen(labels), "%s ", heatmap->row_labels[i]);
	for (size_t i = 0; i < heatmap->rows * heatmap->columns && i < 16; i++)
		values[i] = heatmap->values[i];
	for (size_t i = 0; i < heatmap->row_group_count && i < 4; i++)
		groups[i] = heatmap->row_groups[i];
	cr_assert_eq(heatmap->row_labels, heatmap->column_labels);
	cr_assert_eq(heatmap->row_groups, heatmap->column_groups);
	cr_assert_eq(heatmap->row_group_count, heatmap->column_group_count);
	return strcmp(path, "a.svg") == 0 ? 0 : error_set(err, EINVAL, "%s", path);
}

static struct latency_table make_order(const char *matrix, const char *cluster)
{
	char paths[2][40] = {"/tmp/nomora-mesh-XXXXXX", "/tmp/nomora-mesh-XXXXXX"};
	struct latency_table order;
	struct error err = {0};

	for (int i = 0; i < 2; i++) {
		const char *text = i == 0 ? matrix : cluster ? cluster : "";
		int fd = mkstemp(paths[i]);

		cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
		close(fd);
	}
	cr_assert_eq(latency_table_read(&order, paths[0], cluster ? paths[1] : NULL, NULL, &err), 0, "%s", err.text);
	unlink(paths[0]);
	unlink(paths[1]);
	return order;
}

#define HEADER "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
static const char small[] = HEADER "h1,h2,10,20,30,0.005,100,1000\nh1,h10,110,120,130,0.01,100,1000\n"
				   "h2,h1,11,21,31,0,100,1000\nh2,h10,,,,1,0,1000\nx,h1,5,6,7,0,9,1000\n";
static const char cluster[] =
	"{\"schema\": \"nomora.cluster/1\", \"machines\": ["
	"{\"name\": \"h10\", \"rack\": \"r1\", \"slots\": 1}, {\"name\": \"h2\", \"rack\": \"r2\", "
	"\"slots\": 1}, {\"name\": \"h1\", \"rack\": \"r2\", \"slots\": 1}]}";

static void check_values(const double *expected, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cr_expect(isnan(expected[i]) ? isnan(values[i]) : fabs(values[i] - expected[i]) < 1e-9, "%zu: %g", i,
			  values[i]);
}

Test(figures_mesh, a_picture_has_the_hosts_by_rack)
{
	static const double p99[] = {NAN, NAN, NAN, NAN, 120, NAN, 20, NAN, NAN, 21, NAN, NAN, NAN, 6, NAN, NAN};
	static const double loss[] = {NAN, NAN, NAN, NAN, 1, NAN, 0.5, NAN, 100, 0, NAN, NAN, NAN, 0, NAN, NAN};
	struct latency_table order = make_order(small, cluster);
	struct error err = {0};

	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_P99, NULL, "a.svg", &err), 0);
	cr_expect_str_eq(drawn.title, "Round-trip times between hosts");
	cr_expect_str_eq(drawn.unit, "RTT p99 (µs)");
	cr_expect_str_eq(drawn.row_title, "from");
	cr_expect_str_eq(drawn.column_title, "to");
	cr_expect_str_eq(subtitle, "4 hosts in 3 racks; hatched or grey: not measured, or no answer");
	cr_expect_str_eq(labels, "h10 h1 h2 x ");
	cr_expect(drawn.logarithmic && drawn.print_values && drawn.maximum == 0 && drawn.minimum == 0);
	cr_expect(drawn.rows == 4 && drawn.columns == 4);
	cr_expect(drawn.row_group_count == 2 && groups[0] == 1 && groups[1] == 3);
	check_values(p99, 16);
	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_LOSS, NULL, "a.svg", &err), 0);
	cr_expect_str_eq(drawn.title, "Probes lost between hosts");
	cr_expect_str_eq(drawn.unit, "loss (% of probes)");
	cr_expect(!drawn.logarithmic && drawn.maximum == 100);
	check_values(loss, 16);
	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_MAX, "mine", "b.svg", &err), -EINVAL);
	cr_expect_str_eq(drawn.title, "mine");
	cr_expect_str_eq(drawn.unit, "largest RTT (µs)");
	latency_table_free(&order);
}

Test(figures_mesh, without_a_cluster_there_are_no_racks_and_without_pairs_no_picture)
{
	struct latency_table order = make_order(HEADER "h1,h2,10,20,30,0.005,100,1000\n", NULL);
	struct error err = {0};

	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_LOSS, NULL, "a.svg", &err), 0);
	cr_expect_str_eq(subtitle, "2 hosts; hatched or grey: not measured, or no answer");
	cr_expect(drawn.row_group_count == 0 && drawn.maximum == 1, "%g", drawn.maximum);
	latency_table_free(&order);
	order = make_order(HEADER, NULL);
	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_P50, NULL, "a.svg", &err), -EINVAL);
	cr_expect_str_eq(err.text, "there are no pairs to draw");
	latency_table_free(&order);
}

/* `count` hosts, half of them in each of two racks; each has a round trip to the next. */
static struct latency_table make_large(int count, bool racks)
{
	char *matrix, *machines;
	size_t bytes[2];
	FILE *pairs = open_memstream(&matrix, &bytes[0]), *list = open_memstream(&machines, &bytes[1]);
	struct latency_table order;

	fputs(HEADER, pairs);
	fputs("{\"schema\": \"nomora.cluster/1\", \"machines\": [", list);
	for (int i = 0; i < count; i++) {
		fprintf(pairs, "h%d,h%d,%d,%d,%d,%g,100,1000\n", i, (i + 1) % count, i + 1, i + 2, i + 3,
			i % 10 ? 0 : 0.5);
		fprintf(list, "%s{\"name\": \"h%d\", \"rack\": \"r%d\", \"slots\": 1}", i ? ", " : "", i,
			i < count / 2);
	}
	fputs("]}", list);
	fclose(pairs);
	fclose(list);
	order = make_order(matrix, racks ? machines : NULL);
	free(matrix);
	free(machines);
	return order;
}

Test(figures_mesh, more_than_three_hundred_hosts_are_drawn_by_rack)
{
	struct latency_table order = make_large(302, true);
	struct error err = {0};

	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_P50, NULL, "a.svg", &err), 0);
	cr_expect_str_eq(subtitle,
			 "302 hosts in 2 racks; the largest value of each pair of racks; hatched or grey: not "
			 "measured, or no answer");
	cr_expect_str_eq(labels, "r1 r0 ");
	cr_expect_str_eq(drawn.row_title, "from rack");
	cr_expect_str_eq(drawn.column_title, "to rack");
	cr_expect(drawn.rows == 2 && drawn.columns == 2 && drawn.row_group_count == 0 && drawn.print_values);
	check_values((const double[]){150, 151, 302, 301}, 4);
	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_LOSS, NULL, "a.svg", &err), 0);
	check_values((const double[]){50, 50, 0, 50}, 4);
	latency_table_free(&order);
	order = make_large(300, true);
	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_P50, NULL, "a.svg", &err), 0);
	cr_expect(drawn.rows == 300 && !drawn.print_values);
	latency_table_free(&order);
	order = make_large(302, false);
	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_P50, NULL, "a.svg", &err), 0);
	cr_expect_eq(drawn.rows, 302, "without racks there is nothing to fold by");
	latency_table_free(&order);
	order = make_large(24, true);
	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_P50, NULL, "a.svg", &err), 0);
	cr_expect(drawn.print_values);
	latency_table_free(&order);
	order = make_large(25, true);
	cr_assert_eq(figures_mesh_save(&order, LATENCY_STATISTIC_P50, NULL, "a.svg", &err), 0);
	cr_expect_not(drawn.print_values);
	latency_table_free(&order);
}

static char *text;

static const char *print(const struct latency_table *order, enum latency_statistic statistic)
{
	struct error err = {0};
	size_t bytes;
	FILE *out;

	free(text);
	out = open_memstream(&text, &bytes);
	cr_assert_eq(figures_mesh_print(order, statistic, out, &err), 0, "%s", err.text);
	fclose(out);
	return text;
}

Test(figures_mesh, a_table_has_a_line_for_each_host_and_one_for_each_relation)
{
	struct latency_table order = make_order(small, cluster);

	cr_assert_str_eq(
		print(&order, LATENCY_STATISTIC_P50),
		"RTT p50 (µs), from row to column\n"
		"                h10       h1       h2        x\n"
		"r1\n"
		"  h10             -        -        -        -\n"
		"r2\n"
		"  h1          110.0        -     10.0        -\n"
		"  h2              -     11.0        -        -\n"
		"(unknown)\n"
		"  x               -      5.0        -        -\n"
		"\n"
		"same rack         2 pairs: p50 10.5 us, p99 20.5 us (medians), worst 31.0 us, loss 0.25 %\n"
		"other racks       2 pairs: p50 110.0 us, p99 120.0 us (medians), worst 130.0 us, loss 50.5 %, 1 pair "
		"without an answer\n"
		"rack unknown      1 pairs: p50 5.0 us, p99 6.0 us (medians), worst 7.0 us, loss 0 %\n");
	latency_table_free(&order);
	order = make_order(HEADER "h1,a-long-name-of-a-host-of-30-bytes,,,,1,0,1000\nh1,h2,,,,1,0,1000\n", NULL);
	cr_assert_str_eq(print(&order, LATENCY_STATISTIC_LOSS),
			 "loss (share of probes), from row to column\n"
			 "                           a-long-name-of-a-host-of                       h1                 "
			 "      h2\n"
			 "  a-long-name-of-a-host-of                        -                        -                 "
			 "       -\n"
			 "  h1                                         1.0000                        -                 "
			 "  1.0000\n"
			 "  h2                                              -                        -                 "
			 "       -\n"
			 "\n"
			 "all               2 pairs: loss 100 %, 2 pairs without an answer\n");
	latency_table_free(&order);
	order = make_order(HEADER, NULL);
	cr_assert_str_eq(print(&order, LATENCY_STATISTIC_P50), "no pairs\n");
	latency_table_free(&order);
}

Test(figures_mesh, of_more_than_24_hosts_only_the_worst_pairs_are_printed)
{
	struct latency_table order = make_large(24, true);

	cr_assert(strstr(print(&order, LATENCY_STATISTIC_P50), "RTT p50 (µs), from row to column\n") == text);
	latency_table_free(&order);
	order = make_large(25, false);
	print(&order, LATENCY_STATISTIC_P99);
	cr_assert(strstr(text,
			 "25 hosts; the worst pairs by p99 ('nomora mesh draw' shows all pairs, 'nomora mesh export' "
			 "prints them):\n\n"
			 "from                     to                           p50 us     p99 us     max us   loss %\n"
			 "h24                      h0                             25.0       26.0       27.0     0.00\n"
			 "h23                      h24                            24.0       25.0       26.0     "
			 "0.00\n") == text,
		  "%s", text);
	cr_assert(
		strstr(text,
		       "\n\nall              25 pairs: p50 13.0 us, p99 14.0 us (medians), worst 27.0 us, loss 6 %\n"),
		"%s", text);
	latency_table_free(&order);
}
