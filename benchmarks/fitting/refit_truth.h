/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves from which refit_study draws its data: the paper's four, and random ones that were not used for tuning. */
#ifndef REFIT_TRUTH_H
#define REFIT_TRUTH_H

#include <base/rng.h>
#include <model/curve.h>
#include <model/sweep.h>

enum truth_shape { TRUTH_CUBIC, TRUTH_LINE, TRUTH_EXPONENTIAL, TRUTH_RATIONAL, TRUTH_LOG, TRUTH_SHAPES };

struct truth {
	enum curve_form form;
	enum truth_shape shape;
	double threshold_us; /* 0 without threshold */
	double jump;         /* fall at the threshold */
	double fall;         /* further fall over the next 1000 us */
	double scale_us;
	double b[4]; /* TRUTH_CUBIC: from the threshold on, in x */
};

enum { PAPERS_CURVES = 4 };
extern const struct truth papers_truths[PAPERS_CURVES]; /* NoMora, equations 2 to 5 */
extern const char *const papers_names[PAPERS_CURVES];

/*
 * A random curve of the given form: threshold 15 to 400 us, jump 0.3 to 10 %, fall 5 to 85 % over 1000 us, each
 * log-uniform. Beyond the threshold it is a line, an exponential, a rational function or a logarithm.
 */
struct truth truth_random(enum curve_form form, struct rng *rng);

double truth_at(const struct truth *truth, double x_us);

/*
 * Draws a sweep with `runs` runs at each level, with normal noise. raw: the values are not normalised, and the sweep
 * has its own baseline. Ends the program if there is no memory.
 */
struct sweep *truth_draw(const struct truth *truth, const double *levels_us, int levels, int runs, double noise,
			 bool raw, struct rng *rng);

#endif
