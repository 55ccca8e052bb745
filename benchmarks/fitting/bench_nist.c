/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NIST's nonlinear sets from both starts: how many runs end at the certified values (every parameter to 6 digits), the
 * median of the digits, and the processor time; beside SciPy's curve_fit with its defaults on the same files in the
 * same run. Argument: the folder of the .dat files. JSON lines.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/ns.h>
#include <base/process.h>
#include <fitting/nist.h>

enum { RUNS_MAXIMUM = 200, DIGITS_MAXIMUM = 4096 };

static const char scipy_script[] =
	"import glob, re, statistics, sys, time, warnings\n"
	"import numpy as np\n"
	"from numpy import exp, log, sin, cos, arctan, pi\n"
	"from scipy.optimize import curve_fit\n"
	"warnings.simplefilter('ignore')\n"
	"runs = good = 0\n"
	"digits, seconds = [], 0.0\n"
	"for name in sorted(glob.glob(sys.argv[1] + '/*.dat')):\n"
	"    text = open(name).read()\n"
	"    rows = [[float(v) for v in r] for r in re.findall(r'^ *b\\d+ *= *(\\S+) +(\\S+) +(\\S+) +(\\S+)', text, "
	"re.M)]\n"
	"    body = text[text.index('Model:'):text.lower().index('starting values', text.index('Model:'))]\n"
	"    lines = [l for l in body.split('\\n')[1:] if l.strip() and 'Parameters' not in l and not "
	"l.strip().startswith('pi ')]\n"
	"    left, right = ' '.join(lines).split('=', 1)\n"
	"    right = re.sub(r'\\+\\s*e\\s*$', '', right.strip()).replace('[', '(').replace(']', ')')\n"
	"    table = np.array([[float(v) for v in l.split()] for l in text[text.rindex('Data:'):].split('\\n')[1:] if "
	"l.strip()])\n"
	"    y, xs = table[:, 0], table[:, 1:]\n"
	"    y = np.log(y) if 'log' in left else y\n"
	"    names = ['b%d' % (k + 1) for k in range(len(rows))]\n"
	"    columns = ['x'] if xs.shape[1] == 1 else ['x%d' % (k + 1) for k in range(xs.shape[1])]\n"
	"    model = eval('lambda X, ' + ', '.join(names) + ': (lambda ' + ', '.join(columns) + ': ' + right + "
	"')(*X)')\n"
	"    for start in (0, 1):\n"
	"        runs += 1\n"
	"        found = [float('nan')] * len(rows)\n"
	"        begin = time.process_time()\n"
	"        try: found, _ = curve_fit(model, xs.T, y, [r[start] for r in rows])\n"
	"        except Exception: pass\n"
	"        seconds += time.process_time() - begin\n"
	"        own = [0.0 if f != f else min(15.0, max(0.0, -np.log10(max(abs(f / r[2] - 1), 1e-15)))) for f, r in "
	"zip(found, rows)]\n"
	"        digits += own\n"
	"        good += min(own) >= 6\n"
	"print(runs, good, statistics.median(digits), seconds)\n";

struct tally {
	int runs, good;
	double median, seconds;
};

static struct ns processor_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (struct ns){now.tv_sec * NS_PER_S + now.tv_nsec};
}

static int by_size(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static int is_set(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".dat") == 0;
}

static int run_set(const char *path, struct tally *tally, double *digits, size_t *count)
{
	struct nist_set set;
	struct error err = {0};

	if (nist_read(path, &set, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	for (size_t start = 0; start < set.start_count && tally->runs < RUNS_MAXIMUM; start++) {
		struct ns begin = processor_time();
		double least = INFINITY;
		struct nist_fit fit;
		int code = nist_solve(&set, start, 0, &fit, &err);

		tally->seconds += ns_to_s(ns_sub(processor_time(), begin));
		tally->runs++;
		for (size_t j = 0; code == 0 && j < set.parameter_count && *count < DIGITS_MAXIMUM; j++) {
			digits[(*count)++] = fit.value_digits[j];
			least = fmin(least, fit.value_digits[j]);
		}
		tally->good += code == 0 && least >= 6;
	}
	nist_free(&set);
	return 0;
}

static int run_all(const char *folder, struct tally *tally)
{
	static double digits[DIGITS_MAXIMUM];
	struct dirent **entries;
	int files = scandir(folder, &entries, is_set, alphasort), code = files > 0 ? 0 : -1;
	size_t count = 0;

	for (int k = 0; k < files; k++) {
		char path[4096];

		snprintf(path, sizeof path, "%s/%s", folder, entries[k]->d_name);
		if (code == 0)
			code = run_set(path, tally, digits, &count);
		free(entries[k]);
	}
	if (files >= 0)
		free(entries);
	qsort(digits, count, sizeof digits[0], by_size);
	tally->median = count ? digits[count / 2] : 0;
	return code;
}

static void run_scipy(const char *folder, struct tally *tally)
{
	const char *argv[] = {"/usr/bin/python3", "-c", scipy_script, folder, NULL};
	struct process_options options = {.argv = argv, .discard_stderr = true};
	struct process_result result = {0};
	struct error err = {0};

	if (process_run(&options, (struct ns){300 * NS_PER_S}, &result, &err) == 0 && result.exit_code == 0 &&
	    result.output)
		if (sscanf(result.output, "%d %d %lf %lf", &tally->runs, &tally->good, &tally->median,
			   &tally->seconds) != 4)
			tally->runs = 0;
	process_result_free(&result);
}

int main(int argc, char **argv)
{
	struct tally own = {0}, scipy = {0};

	if (argc != 2 || run_all(argv[1], &own) != 0)
		return 2;
	run_scipy(argv[1], &scipy);
	printf("{\"benchmark\": \"nist_nonlinear\", \"runs\": %d, \"right\": %d, \"median_digits\": %.2f, \"ms\": %.1f",
	       own.runs, own.good, own.median, own.seconds * 1e3);
	if (scipy.runs > 0)
		printf(", \"scipy_runs\": %d, \"scipy_right\": %d, \"scipy_median_digits\": %.2f, \"scipy_ms\": %.1f",
		       scipy.runs, scipy.good, scipy.median, scipy.seconds * 1e3);
	printf("}\n");
	return own.good == own.runs ? 0 : 1;
}
