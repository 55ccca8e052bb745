/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cubic through 50 points with its covariance: linear_fit() and SciPy's curve_fit in the same run where Debian's
 * python3 has it. One JSON line per figure: median over rounds, in microseconds of CPU time, so that other load does
 * not count.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/ns.h>
#include <base/process.h>
#include <base/quantile.h>
#include <base/rng.h>
#include <fitting/linear/linear.h>

enum { POINTS = 50, COLUMNS = 4, ROUNDS = 21, FITS_PER_ROUND = 5000 };

static double x[POINTS], y[POINTS], matrix[POINTS * COLUMNS];

static const char scipy_script[] = "import sys, time, statistics\n"
				   "import numpy as np\n"
				   "from scipy.optimize import curve_fit\n"
				   "x, y = np.loadtxt(sys.argv[1], unpack=True)\n"
				   "def cubic(x, a, b, c, d): return a + x * (b + x * (c + x * d))\n"
				   "for _ in range(50): curve_fit(cubic, x, y)\n"
				   "times = []\n"
				   "for _ in range(21):\n"
				   "    start = time.process_time()\n"
				   "    for _ in range(100): p, covariance = curve_fit(cubic, x, y)\n"
				   "    times.append((time.process_time() - start) / 100)\n"
				   "print('%.6f %.17g' % (statistics.median(times) * 1e6, p[3]))\n";

static void make_points(void)
{
	struct rng rng;

	rng_seed(&rng, 1);
	for (int i = 0; i < POINTS; i++) {
		x[i] = i * 10.0;
		y[i] = 1 - 1.2e-3 * x[i] + 9e-7 * x[i] * x[i] - 4e-10 * pow(x[i], 3) + 0.01 * rng_normal(&rng);
		for (int j = 0; j < COLUMNS; j++)
			matrix[i + j * POINTS] = pow(x[i], j);
	}
}

/* Median time of one fit, us. */
static double measure(struct linear_workspace *workspace, double *last)
{
	struct linear_problem problem = {POINTS, COLUMNS, matrix, 0, y, NULL, true};
	struct linear_result result;
	double times[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		struct ns start = ns_now_cpu();

		for (int k = 0; k < FITS_PER_ROUND; k++) {
			linear_fit(workspace, &problem, &result);
		}
		times[round] = ns_to_us(ns_sub(ns_now_cpu(), start)) / FITS_PER_ROUND;
	}
	*last = result.coefficients[COLUMNS - 1];
	quantile_median(times, ROUNDS); /* sorts */
	return times[ROUNDS / 2];
}

/* 0 when python3 or SciPy is not there. */
static double measure_scipy(double *last)
{
	char path[] = "/tmp/nomora_bench_linear_XXXXXX";
	const char *argv[] = {"/usr/bin/python3", "-c", scipy_script, path, NULL};
	static const char *const environment[] = {"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", NULL};
	struct process_options options = {.argv = argv, .environment = environment, .discard_stderr = true};
	struct process_result result = {0};
	struct error err = {0};
	double us = 0;
	int fd = mkstemp(path);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!file)
		return 0;
	for (int i = 0; i < POINTS; i++)
		fprintf(file, "%.17g %.17g\n", x[i], y[i]);
	fclose(file);
	if (process_run(&options, (struct ns){120 * NS_PER_S}, &result, &err) == 0 && result.exit_code == 0 &&
	    result.output)
		if (sscanf(result.output, "%lf %lf", &us, last) != 2)
			us = 0;
	process_result_free(&result);
	remove(path);
	return us;
}

int main(void)
{
	struct linear_workspace *workspace = linear_workspace_create(POINTS, COLUMNS);
	double last, scipy_last = 0, us, scipy;

	if (!workspace)
		return 1;
	make_points();
	us = measure(workspace, &last);
	scipy = measure_scipy(&scipy_last);
	printf("{\"benchmark\": \"linear_cubic_50_points\", \"us\": %.3f, \"limit_us\": 10", us);
	if (scipy > 0)
		printf(", \"scipy_curve_fit_us\": %.1f, \"ratio\": %.1f, \"difference\": %.1e", scipy, scipy / us,
		       fabs(scipy_last / last - 1));
	printf("}\n");
	linear_workspace_destroy(workspace);
	return us <= 10 ? 0 : 1;
}
