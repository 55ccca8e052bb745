/* SPDX-License-Identifier: BSD-3-Clause */
/* The preparation of a sweep, on sweeps small enough to compute by hand. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <fitting/observations/observations.h>

#define HEAD "delay_us,direction,run,metric,unit,better,value\n"

static const struct observation_settings plainly;

static int prepare(const char *text, const struct observation_settings *settings, struct observations *out,
		   struct error *err)
{
	struct sweep *sweep = sweep_read(file_lines_from_memory("s.csv", text, strlen(text), err), err);
	int code;

	cr_assert_not_null(sweep, "%s", err->text);
	code = observations_prepare(sweep, settings, out, err);
	sweep_destroy(sweep);
	return code;
}

static struct observations prepared(const char *text, const struct observation_settings *settings)
{
	struct observations out;
	struct error err = {0};

	cr_assert_eq(prepare(text, settings, &out, &err), 0, "%s", err.text);
	return out;
}

static void near(double is, double wanted)
{
	cr_assert(fabs(is - wanted) <= 1e-9 * fmax(1, fabs(wanted)), "%.12g, not %.12g", is, wanted);
}

/*
 * The runs at each delay differ from their mean by 2, 3 and 1; all relative to 102. One variance for all runs: 28 / 3,
 * with 3 degrees of freedom.
 */
Test(observations, levels_have_means_deviations_and_weights)
{
	struct observations out = prepared(HEAD "0,both,0,m,1/s,higher,100\n"
						"100,both,0,m,1/s,higher,80\n"
						"50,both,0,m,1/s,higher,90\n"
						"0,both,1,m,1/s,higher,104\n"
						"50,both,1,m,1/s,higher,96\n"
						"100,both,1,m,1/s,higher,82\n"
						"100,both,2,m,1/s,higher,81\n",
					   &plainly);
	static const double x_us[] = {0, 100, 200}, mean[] = {102, 93, 81}, squares[] = {8, 18, 2},
			    blocks[] = {100, 90, 80, 104, 96, 82};
	static const long runs[] = {2, 2, 3}, lines[] = {2, 4, 3};
	double variance = 28.0 / 4 / (102 * 102);

	cr_expect_str_eq(out.metric.name, "m");
	cr_expect(!out.baseline_known && !out.drift_taken_off && !out.without_outliers);
	near(out.baseline_value, 102);
	near(out.baseline_deviation, sqrt(8));
	cr_expect(isnan(out.baseline_rtt_us));
	cr_expect_eq(out.noise, NOISE_CONSTANT);
	cr_assert_eq(out.count, 3);
	cr_expect_eq(out.runs, 7);
	cr_expect_eq(out.disturbed, 0);
	near(out.scatter_dof, 4);
	near(out.scatter, 4);
	near(out.run_deviation, sqrt(variance));
	for (int i = 0; i < 3; i++) {
		near(out.levels[i].x_us, x_us[i]);
		near(out.levels[i].mean, mean[i] / 102);
		near(out.levels[i].deviation, sqrt(squares[i] / (double)(runs[i] - 1)) / 102);
		near(out.levels[i].weight, (double)runs[i] / variance);
		cr_expect_eq(out.levels[i].runs, runs[i]);
		cr_expect_eq(out.levels[i].outliers, 0);
		cr_expect_eq(out.levels[i].line, lines[i]);
	}
	cr_assert_eq(out.block_count, 2, "run 2 is at one level only");
	for (int i = 0; i < 6; i++)
		near(out.blocks[i], blocks[i] / 102);
	cr_expect_eq(out.outlier_count, 0);
	observations_free(&out);
	cr_expect_null(out.levels);
}

/* Three runs per level: 0.9, 1 and 1.1 times their mean, which halves from level to level. */
Test(observations, noise_may_be_proportional_to_performance)
{
	char text[2048] = HEAD;
	struct observations out;

	for (int level = 0; level < 6; level++)
		for (int run = 0; run < 3; run++)
			snprintf(text + strlen(text), sizeof text - strlen(text), "%d,both,%d,m,1/s,higher,%.6g\n",
				 10 * level, run, 1000 * pow(0.5, level) * (0.9 + 0.1 * run));
	out = prepared(text, &plainly);
	cr_expect_eq(out.noise, NOISE_PROPORTIONAL);
	near(out.scatter_dof, 12);
	near(out.run_deviation, 0.1);
	for (int i = 0; i < 6; i++)
		near(out.levels[i].weight, 3 / pow(0.1 * pow(0.5, i), 2));
	observations_free(&out);
}

/* A time: half the performance takes twice as long. A delay in one direction adds half as much as one in both. */
Test(observations, a_time_is_inverted)
{
	struct observations out = prepared(HEAD "0,both,0,t,s,lower,4\n"
						"10,ab,0,t,s,lower,8\n"
						"10,both,0,t,s,lower,16\n",
					   &plainly);

	cr_assert_eq(out.count, 3);
	near(out.levels[1].x_us, 10);
	near(out.levels[1].mean, 0.5);
	near(out.levels[2].x_us, 20);
	near(out.levels[2].mean, 0.25);
	cr_expect_eq(out.noise, NOISE_CONSTANT);
	near(out.scatter_dof, 0);
	near(out.levels[2].weight, 1);
	observations_free(&out);
}

/*
 * The references take 10, 12 and 14 s, usually 12. The run of 15 s is between the first two, when the machine was 1 s
 * faster: 16 s. The run of 20 s is between the last two: 19 s. The first and the last run have one neighbour: 42 s and
 * 28 s.
 */
Test(observations, references_take_the_drift_off)
{
	static const char *const texts[] = {HEAD "200,both,0,t,s,lower,40\n"
						 "0,both,1000000,t,s,lower,10\n"
						 "50,both,0,t,s,lower,15\n"
						 "0,both,1000001,t,s,lower,12\n"
						 "100,both,0,t,s,lower,20\n"
						 "0,both,1000002,t,s,lower,14\n"
						 "150,both,0,t,s,lower,30\n",
					    HEAD "200,both,0,t,1/s,higher,0.025\n"
						 "0,both,1000000,t,1/s,higher,0.1\n"
						 "50,both,0,t,1/s,higher,0.06666666666666667\n"
						 "0,both,1000001,t,1/s,higher,0.08333333333333333\n"
						 "100,both,0,t,1/s,higher,0.05\n"
						 "0,both,1000002,t,1/s,higher,0.07142857142857143\n"
						 "150,both,0,t,1/s,higher,0.03333333333333333\n"};

	for (int rate = 0; rate < 2; rate++) {
		struct observations out = prepared(texts[rate], &plainly);
		double time_at_0 = rate ? 3 / (1.0 / 10 + 1.0 / 12 + 1.0 / 14) : 12;

		cr_expect(out.drift_taken_off);
		near(out.baseline_value, rate ? 1 / time_at_0 : 12);
		cr_assert_eq(out.count, 5);
		near(out.levels[1].mean, time_at_0 / 16);
		near(out.levels[2].mean, time_at_0 / 19);
		near(out.levels[3].mean, time_at_0 / 28);
		near(out.levels[4].mean, time_at_0 / 42);
		/* Those at delay 0: each by its neighbours, whose mean is 12. */
		near(out.levels[0].mean, time_at_0 * (1.0 / 10 + 1.0 / 12 + 1.0 / 14) / 3);
		observations_free(&out);
	}
}

/*
 * The references take 2, 12 and 12 s, usually 26 / 3. Between the last two, the machine was 10 / 3 s slower, but no
 * more than half of a run's 6 s is taken off.
 */
Test(observations, drift_is_at_most_half_of_a_run)
{
	struct observations out = prepared(HEAD "0,both,1000000,t,s,lower,5\n"
						"0,both,1000003,t,s,lower,5\n"
						"0,both,1000001,t,s,lower,12\n"
						"50,both,0,t,s,lower,6\n"
						"0,both,1000002,t,s,lower,12\n"
						"100,both,0,t,s,lower,40\n",
					   &plainly);

	near(out.levels[1].mean, 8.5 / 3);
	observations_free(&out);
}

/*
 * Five levels of four runs at 100 -+ a and 100 -+ b; a and b differ from level to level. At level 2, one run is 140:
 * the eleventh of the twenty distances from the medians is b of this level, 1.5. `divided`: two of the four runs of
 * level 3 are far from the median.
 */
static void outlier_text(char *text, size_t bytes, bool divided)
{
	strcpy(text, HEAD);
	for (int level = 0; level < 5; level++)
		for (int run = 0; run < 4; run++) {
			double distance = 1 + 0.2 * level + (run < 2 ? 0 : 0.1);

			if (level == 2 && run == 3)
				distance = 40;
			if (level == 3 && divided && run >= 2)
				distance = 40;
			snprintf(text + strlen(text), bytes - strlen(text), "%d,both,%d,m,1/s,higher,%g\n", 10 * level,
				 run, run % 2 ? 100 + distance : 100 - distance);
		}
}

Test(observations, outliers_are_listed_and_left_out_on_request)
{
	char text[2048];

	for (int without = 0; without < 2; without++)
		for (int divided = 0; divided < 2; divided++) {
			struct observation_settings settings = {.without_outliers = without};
			struct observations out;
			const struct observation_level *level;

			outlier_text(text, sizeof text, divided);
			out = prepared(text, &settings);
			cr_assert_eq(out.outlier_count, 1, "none where half of the runs are far");
			cr_expect_eq(out.outliers[0].line, 13);
			near(out.outliers[0].x_us, 40);
			near(out.outliers[0].value, 140);
			near(out.outliers[0].normalised, 1.4);
			near(out.outliers[0].deviations, 40 / (1.4826 * 1.5));
			level = &out.levels[2];
			cr_expect_eq(level->outliers, 1);
			cr_expect_eq(level->runs, without ? 3 : 4);
			near(level->mean, without ? 298.5 / 300 : 438.5 / 400);
			cr_expect_eq(out.runs, without ? 19 : 20);
			cr_expect_eq(out.without_outliers, without);
			cr_expect_eq(out.block_count, without ? 3 : 4);
			observations_free(&out);
		}
}

/* Rows of the plain form: latency, performance, deviation, number of runs. */
Test(observations, plain_rows_may_stand_for_several_runs)
{
	static const char text[] = "0,1,0.1,3\n10,0.8,0.2,5\n20,0.5,0.1,2\n";
	struct observations out = prepared(text, &plainly);
	double variance = (2 * 0.01 + 4 * 0.04 + 1 * 0.01) / 7;

	cr_expect(out.baseline_known);
	near(out.baseline_value, 1);
	near(out.scatter_dof, 7);
	near(out.levels[1].deviation, 0.2);
	near(out.levels[1].weight, 5 / variance);
	near(out.run_deviation, sqrt(variance));
	cr_expect_eq(out.block_count, 0);
	observations_free(&out);
	out = prepared(text, &(struct observation_settings){.absolute_sigma = true});
	cr_expect_eq(out.noise, NOISE_GIVEN);
	near(out.levels[1].weight, 5 / 0.04);
	near(out.levels[2].weight, 2 / 0.01);
	near(out.scatter, 7);
	near(out.run_deviation, sqrt(0.06 / 3));
	observations_free(&out);
}

Test(observations, deviations_count_if_half_of_the_levels_have_one)
{
	struct observations out = prepared("0,1,0.1\n10,0.8,0.3\n20,0.5\n30,0.4\n", &plainly);

	cr_expect_eq(out.noise, NOISE_GIVEN);
	near(out.levels[0].weight, 1 / 0.01);
	near(out.levels[3].weight, 1 / 0.05);
	observations_free(&out);
	out = prepared("0,1,0.1\n10,0.8\n20,0.5\n30,0.4\n", &plainly);
	cr_expect_eq(out.noise, NOISE_CONSTANT);
	near(out.levels[0].weight, 1);
	cr_expect_eq(out.run_deviation, 0);
	observations_free(&out);
}

Test(observations, disturbed_runs_are_counted_or_left_out)
{
	static const char text[] = "delay_us,direction,run,metric,unit,better,value,disturbed,baseline_rtt_us\n"
				   "0,both,0,m,1/s,higher,100,0,30\n"
				   "0,both,1,m,1/s,higher,110,1,50\n"
				   "10,both,0,m,1/s,higher,90,0,40\n"
				   "20,both,0,m,1/s,higher,80,0,\n";
	struct observations out = prepared(text, &plainly);

	cr_expect_eq(out.disturbed, 1);
	cr_expect_eq(out.runs, 4);
	near(out.baseline_value, 105);
	near(out.baseline_rtt_us, 40);
	observations_free(&out);
	out = prepared(text, &(struct observation_settings){.without_disturbed = true});
	cr_expect_eq(out.disturbed, 0);
	cr_expect_eq(out.runs, 3);
	near(out.baseline_value, 100);
	cr_expect_eq(out.baseline_deviation, 0);
	observations_free(&out);
}

static const struct {
	const char *text, *message;
} bad[] = {
	{"0,1\n10,0.9\n", "s.csv:2: latency_us: found 2 delays, expected at least 3 different delays"},
	{HEAD "5,both,0,m,1/s,higher,1\n10,both,0,m,1/s,higher,2\n15,both,0,m,1/s,higher,3\n",
	 "s.csv:2: delay_us: no row at delay 0"},
	{HEAD "0,both,0,m,1/s,higher,0\n10,both,0,m,1/s,higher,2\n15,both,0,m,1/s,higher,3\n",
	 "s.csv:2: value: the baseline at delay 0 must be above 0"},
	{HEAD "0,both,0,m,s,lower,1\n10,both,0,m,s,lower,0\n15,both,0,m,s,lower,3\n",
	 "s.csv:3: value: a time must be above 0"},
	{HEAD "0,both,0,m,s,lower,1\n10,both,0,m,s,lower,-1\n15,both,0,m,s,lower,3\n",
	 "s.csv:3: value: a performance must not be negative"},
	{HEAD "0,both,0,m,s,lower,7\n10,both,0,m,s,lower,7\n15,both,0,m,s,lower,7\n",
	 "s.csv:4: value: every value is 7"},
	{HEAD "0,both,0,m,1/s,higher,1\n10,both,0,m,1/s,higher,0.5\n15,both,0,m,1/s,higher,3.1\n",
	 "s.csv:4: value: 3.1 times the baseline at 30 us: expected at most 3; is 'better' right?"},
	{HEAD "0,both,0,m,1/s,higher,1\n10,both,0,m,1/s,higher,0.5\n15,both,0,m,1/s,higher,2e6\n",
	 "s.csv:4: value: 2e+06 times the baseline: expected at most 1e+06 times"},
	{HEAD "0,both,0,m,1/s,higher,1\n10,both,0,m,1/s,higher,0.5\n15,both,0,m,1/s,higher,0.4\n"
	      "0,both,0,n,s,lower,1\n20,both,0,n,s,lower,2\n",
	 "s.csv:6: metric: 'm' has no row at delay 20 us, where 'n' has one"},
	{"0,100\n10,90\n20,80\n", "s.csv:1: performance: expected performance relative to the baseline, about 1 at the "
				  "smallest x (0 us), found 100: "
				  "percent?"},
	{"0,0.4\n10,0.3\n20,0.2\n", "about 1 at the smallest x (0 us), found 0.4"},
	{"0,1\n10,0.9\n20,3.5\n", "s.csv:3: performance: 3.5 times the baseline at 20 us: expected at most 3; are the "
				  "columns swapped?"},
	{"0,1,0.1\n10,0.9,1e-13\n20,0.8,0.1\n",
	 "s.csv:2: deviation: found 1e-13, expected 0 (not known) or at least 1e-12"},
	{"0,1,0.1\n10,0.9,2e6\n20,0.8,0.1\n", "s.csv:2: deviation: 2e+06 times the baseline"},
};

Test(observations, too_many_delays_are_refused)
{
	enum { DELAYS = 2001 };
	struct observations out;
	struct error err = {0};
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);

	for (int i = 0; i < DELAYS; i++)
		fprintf(file, "%d,%g\n", i, 1 - i / 4000.0);
	fclose(file);
	cr_expect_eq(prepare(text, &plainly, &out, &err), -EINVAL);
	cr_expect_str_eq(err.text,
			 "s.csv:2001: latency_us: found 2001 different delays, expected at most 2000: round them");
	*strrchr(text, '\n') = '\0';
	*strrchr(text, '\n') = '\0';
	cr_expect_eq(prepare(text, &plainly, &out, &err), 0, "%s", err.text);
	observations_free(&out);
	free(text);
}

Test(observations, what_is_no_performance_is_refused_with_its_place)
{
	struct observation_settings unknown = {.metric = "x"}, undisturbed = {.without_disturbed = true};
	struct observations out;
	struct error err = {0};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_expect_eq(prepare(bad[i].text, &plainly, &out, &err), -EINVAL, "row %zu", i);
		cr_expect_not_null(strstr(err.text, bad[i].message), "row %zu: %s", i, err.text);
		cr_expect_null(out.levels);
	}
	cr_expect_eq(prepare(bad[8].text, &unknown, &out, &err), -EINVAL);
	cr_expect_not_null(strstr(err.text, "unknown metric 'x'; known: m, n"), "%s", err.text);
	cr_expect_eq(prepare("delay_us,direction,run,metric,unit,better,value,disturbed\n0,both,0,m,s,lower,1,1\n",
			     &undisturbed, &out, &err),
		     -EINVAL);
	cr_expect_not_null(strstr(err.text, "every run is disturbed"), "%s", err.text);
	/* On the limits. */
	out = prepared("0,0.5\n10,1\n20,3\n", &plainly);
	observations_free(&out);
	out = prepared("0,2\n10,1\n20,0\n", &plainly);
	observations_free(&out);
}
