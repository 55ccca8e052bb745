/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares two curves by their stated 95 % bands. At each x of the 10 us table that both curves have, the difference is
 * divided by the combined half-width (those of the two bands, added in quadrature). The curves as a whole agree if the
 * largest quotient is at most the larger of the two curves' simultaneous factors (curve->band_whole_factor). A curve
 * without a band counts as exact. Curves are relative to their own baselines: a constant factor between the
 * applications is not a difference. Pure functions.
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
	double allowed; /* half-width of the difference's 95 % interval; 0 where neither curve is uncertain (as at 0) */
};

struct agreement {
	enum agreement_verdict verdict;
	/* points: number of points of the common table where a band is wider than 0; within: those where the curves
	 * agree */
	size_t points, within;
	double worst, worst_at_us; /* greatest difference, in combined half-widths */
	double allowed;            /* limit for `worst`; one pair in twenty exceeds it if the true curves are equal */
};

const char *agreement_name(enum agreement_verdict verdict); /* "unknown", "agree", "differ" */

/* Returns the number of points that both tables have. */
size_t agreement_points(const struct curve *first, const struct curve *second);
struct agreement_point agreement_at(const struct curve *first, const struct curve *second, size_t index);
void agreement_judge(const struct curve *first, const struct curve *second, struct agreement *agreement);

/*
 * The largest difference of two curves and where it is, over the longer of their tables; a curve is evaluated beyond
 * its domain as schedulers do (curve_eval()). rms: root mean square of the differences at all points.
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
