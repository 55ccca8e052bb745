/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `nomora fit --model auto` on a sweep of 500 rows: parsing, preparation, all families with all threshold forms,
 * cross-validation, the shape constraint, 400 simulated sweeps for the band, and the curve's table. For comparison,
 * SciPy (where Debian's python3 has it) does a small part of that in the same run: curve_fit of one cubic at each of
 * the 49 thresholds, without a band. CPU time, so that other load does not count. One JSON line.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/ns.h>
#include <base/process.h>
#include <base/quantile.h>
#include <base/rng.h>
#include <fitting/curve/fit.h>

enum { LEVELS = 50, REPEATS = 10, ROUNDS = 21 };

static const double limit_ms = 50;

static const char scipy_script[] =
	"import sys, time, statistics\n"
	"import numpy as np\n"
	"from scipy.optimize import curve_fit\n"
	"rows = np.genfromtxt(sys.argv[1], delimiter=',', skip_header=1, usecols=(0, 6))\n"
	"x, y = 2 * rows[:, 0], rows[:, 1] / rows[rows[:, 0] == 0, 1].mean()\n"
	"levels = np.unique(x)\n"
	"def cubic(x, a, b, c, d): return a + x * (b + x * (c + x * d))\n"
	"def profile():\n"
	"    best = (np.inf, None)\n"
	"    for low, high in zip(levels[:-5], levels[1:-4]):\n"
	"        behind = x >= (low + high) / 2\n"
	"        p, covariance = curve_fit(cubic, x[behind], y[behind])\n"
	"        rss = ((y[~behind] - 1)**2).sum() + ((y[behind] - cubic(x[behind], *p))**2).sum()\n"
	"        if rss < best[0]: best = (rss, (low + high) / 2)\n"
	"    return best[1]\n"
	"profile()\n"
	"times = []\n"
	"for _ in range(7):\n"
	"    start = time.process_time()\n"
	"    threshold = profile()\n"
	"    times.append(time.process_time() - start)\n"
	"print('%.6f %.6f' % (statistics.median(times) * 1e3, threshold))\n";

/* memcached, NoMora equation 2, with 1 % noise. */
static char *make_sweep(size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);
	struct rng rng;

	if (!out)
		return NULL;
	rng_seed(&rng, 1);
	fputs("delay_us,direction,run,metric,unit,better,value\n", out);
	for (int level = 0; level < LEVELS; level++)
		for (int run = 0; run < REPEATS; run++) {
			double x = level * 10.0;
			double p = x < 40 ? 1 : 1.067 - 3.093e-3 * x + 4.084e-6 * x * x - 1.898e-9 * x * x * x;

			fprintf(out, "%.17g,both,%d,queries,1/s,higher,%.2f\n", x / 2, run,
				52000 * (p + 0.01 * rng_normal(&rng)));
		}
	fclose(out);
	return text;
}

/* Milliseconds of one complete fit; stores its threshold in *threshold_us. */
static double fit_once(const char *text, size_t bytes, double *threshold_us)
{
	struct error err = {0};
	struct observations observations;
	struct fit_settings settings;
	struct fit fit;
	struct ns start = ns_now_cpu();
	struct sweep *sweep = sweep_read(file_lines_from_memory("bench", text, bytes, &err), &err);
	double ms;

	fit_settings_default(&settings);
	if (!sweep || observations_prepare(sweep, &(struct observation_settings){0}, &observations, &err) != 0 ||
	    fit_observations(&observations, &settings, &fit, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	*threshold_us = fit.curve->threshold.at_us;
	fit_free(&fit);
	sweep_destroy(sweep);
	ms = ns_to_us(ns_sub(ns_now_cpu(), start)) / 1e3;
	return ms;
}

/* 0 when python3 or SciPy is not there. */
static double measure_scipy(const char *text, double *threshold_us)
{
	char path[] = "/tmp/nomora_bench_fit_XXXXXX";
	const char *argv[] = {"/usr/bin/python3", "-c", scipy_script, path, NULL};
	static const char *const environment[] = {"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", NULL};
	struct process_options options = {.argv = argv, .environment = environment, .discard_stderr = true};
	struct process_result result = {0};
	struct error err = {0};
	double ms = 0;
	int fd = mkstemp(path);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!file)
		return 0;
	fputs(text, file);
	fclose(file);
	if (process_run(&options, (struct ns){120 * NS_PER_S}, &result, &err) == 0 && result.exit_code == 0 &&
	    result.output && sscanf(result.output, "%lf %lf", &ms, threshold_us) != 2)
		ms = 0;
	process_result_free(&result);
	remove(path);
	return ms;
}

int main(void)
{
	size_t bytes = 0;
	char *text = make_sweep(&bytes);
	double times[ROUNDS], threshold_us = NAN, scipy_threshold_us = NAN, scipy, ms;

	if (!text)
		return 1;
	for (int round = 0; round < ROUNDS; round++)
		times[round] = fit_once(text, bytes, &threshold_us);
	quantile_median(times, ROUNDS); /* sorts */
	ms = times[ROUNDS / 2];
	scipy = measure_scipy(text, &scipy_threshold_us);
	printf("{\"benchmark\": \"fit_auto_500_rows\", \"ms\": %.2f, \"limit_ms\": %g, \"threshold_us\": %g", ms,
	       limit_ms, threshold_us);
	if (scipy > 0)
		printf(", \"scipy_cubic_profile_ms\": %.2f, \"scipy_threshold_us\": %g, \"ratio\": %.1f", scipy,
		       scipy_threshold_us, scipy / ms);
	printf("}\n");
	free(text);
	return ms <= limit_ms ? 0 : 1;
}
