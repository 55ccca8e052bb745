/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NIST's nonlinear data sets from both starting points: the number of runs that end at the certified values (every
 * parameter to 6 digits), the median number of digits, and the CPU time. In the same run and on the same files, where
 * installed: SciPy's curve_fit, lmfit's minimize and GSL's gsl_multifit_nlinear. Arguments: folders of .dat files
 * (linear sets in them are skipped). Prints JSON lines.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/ns.h>
#include <base/quantile.h>

#include "nist_peers.h"

enum { RUNS_MAXIMUM = 200, DIGITS_MAXIMUM = 4096 };

/* Results of one solver, updated after each run. */
struct results {
	struct nist_tally tally;
	double digits[DIGITS_MAXIMUM];
	size_t count;
};

static int is_set(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".dat") == 0;
}

static void count_run(const struct nist_set *set, const double *values, struct ns begin, struct results *results)
{
	double least = INFINITY;

	results->tally.seconds += ns_to_s(ns_sub(ns_now_cpu(), begin));
	results->tally.runs++;
	for (size_t j = 0; j < set->parameter_count && results->count < DIGITS_MAXIMUM; j++) {
		double digits = nist_log_relative_error(values[j], set->parameters[j].certified);

		results->digits[results->count++] = digits;
		least = fmin(least, digits);
	}
	results->tally.right += least >= 6;
}

static int run_set(const char *path, struct results *own, struct results *gsl)
{
	struct nist_set set;
	struct error err = {0};

	if (nist_read(path, &set, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	for (size_t start = 0; start < set.start_count && own->tally.runs < RUNS_MAXIMUM; start++) {
		struct ns begin = ns_now_cpu();
		double values[NIST_PARAMETERS_MAXIMUM];
		struct nist_fit fit;

		if (nist_solve(&set, start, 0, &fit, &err) != 0)
			memset(fit.values, 0, sizeof fit.values);
		count_run(&set, fit.values, begin, own);
		begin = ns_now_cpu();
		if (nist_peer_gsl(&set, start, values))
			count_run(&set, values, begin, gsl);
	}
	nist_free(&set);
	return 0;
}

static int run_folder(const char *folder, struct results *own, struct results *gsl)
{
	struct dirent **entries;
	int files = scandir(folder, &entries, is_set, alphasort), code = files > 0 ? 0 : -1;

	for (int k = 0; k < files; k++) {
		char path[4096];

		snprintf(path, sizeof path, "%s/%s", folder, entries[k]->d_name);
		if (code == 0)
			code = run_set(path, own, gsl);
		free(entries[k]);
	}
	if (files >= 0)
		free(entries);
	return code;
}

static void take_median(struct results *results)
{
	quantile_median(results->digits, results->count); /* sorts */
	results->tally.median_digits = results->count ? results->digits[results->count / 2] : 0;
}

static void print_tally(const char *prefix, const struct nist_tally *tally)
{
	if (tally->runs > 0)
		printf(", \"%sruns\": %d, \"%sright\": %d, \"%smedian_digits\": %.2f, \"%sms\": %.1f", prefix,
		       tally->runs, prefix, tally->right, prefix, tally->median_digits, prefix, tally->seconds * 1e3);
}

int main(int argc, char **argv)
{
	static struct results own, gsl;
	struct nist_tally scipy = {0}, lmfit = {0};

	if (argc < 2)
		return 2;
	for (int k = 1; k < argc; k++)
		if (run_folder(argv[k], &own, &gsl) != 0)
			return 2;
	take_median(&own);
	take_median(&gsl);
	nist_peers_python((const char *const *)argv + 1, argc - 1, &scipy, &lmfit);
	printf("{\"benchmark\": \"nist_nonlinear\"");
	print_tally("", &own.tally);
	print_tally("scipy_", &scipy);
	print_tally("lmfit_", &lmfit);
	print_tally("gsl_", &gsl.tally);
	printf("}\n");
	return own.tally.right == own.tally.runs ? 0 : 1;
}
