/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares two curves by their 95 % bands. Each curve has a table in steps of 10 us. At each x that is in both tables,
 * the difference of the curves is divided by the combined half-width: the half-widths of the two bands, added in
 * quadrature. The curves agree if the largest quotient is at most the larger of the two curves' simultaneous factors
 * (curve->band_whole_factor). A curve without a band counts as exact. Each curve is relative to its own baseline, so a
 * constant factor between the applications is not a difference. Pure functions.
 */
#ifndef FITTING_AGREEMENT_H
#define FITTING_AGREEMENT_H

#include <model/curve.h>

enum agreement_verdict {
	AGREEMENT_UNKNOWN, /* neither curve has a band */
	AGREEMENT_AGREES,
	AGREEMENT_DIFFERS,
};

struct agreement_point {
	double x_us, first, second;
	double allowed; /* combined half-width; 0 where neither curve is uncertain, as at x = 0 */
};

struct agreement {
	enum agreement_verdict verdict;
	/*
	 * points: number of common x at which at least one band is wider than 0. within: number of those at which the
	 * difference is at most the combined half-width.
	 */
	size_t points, within;
	double worst, worst_at_us; /* greatest difference, in combined half-widths, and its x */
	double allowed;            /* limit for `worst`; if the true curves are equal, 1 comparison in 20 exceeds it */
};

const char *agreement_name(enum agreement_verdict verdict); /* "unknown", "agree", "differ" */

/* Returns the number of points that both tables have. */
size_t agreement_points(const struct curve *first, const struct curve *second);
/* Returns the point number `index`, from 0, of those that both tables have. */
struct agreement_point agreement_at(const struct curve *first, const struct curve *second, size_t index);
void agreement_judge(const struct curve *first, const struct curve *second, struct agreement *agreement);

/*
 * The largest difference of two curves, its x and the curves' values there. Both curves are evaluated by curve_eval(),
 * as schedulers do, at each x of the longer table. rms: root mean square of the differences at all x.
 */
struct agreement_difference {
	double x_us, first, second, difference, rms;
};
struct agreement_difference agreement_difference_of(const struct curve *first, const struct curve *second);

/* Difference of the baselines by Welch's test, in percent of the first baseline; NAN = not known. */
struct agreement_baselines {
	/* noise_percent: 95 % bound of the difference that run-to-run noise alone can cause */
	double percent, noise_percent;
};
struct agreement_baselines agreement_baselines_of(const struct curve *first, const struct curve *second);

#endif
