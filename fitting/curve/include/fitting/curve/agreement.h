/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do two curves agree within the deviations that they state? At each x of the 10 us table that both have, the
 * difference is held against the half-widths of the two 95 % bands, added as squares; for the curves as a whole against
 * as many of these as cover both curves everywhere (curve->band_whole_factor). A curve without a band counts as exact.
 * The bands are of curves relative to their own baselines: that both were slower by the same factor is no difference.
 * Pure.
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
	double allowed; /* half-width of the difference's 95 % interval; 0 where both curves are held (at 0) */
};

struct agreement {
	enum agreement_verdict verdict;
	size_t points, within; /* of the common table, where the bands say something; those that agree by themselves */
	double worst, worst_at_us; /* greatest difference, in half-widths */
	double allowed;            /* which it exceeds in one pair of sweeps of twenty, if there is one truth */
};

const char *agreement_name(enum agreement_verdict verdict); /* "unknown", "agree", "differ" */

/* Points that both tables have. */
size_t agreement_points(const struct curve *first, const struct curve *second);
struct agreement_point agreement_at(const struct curve *first, const struct curve *second, size_t index);
void agreement_judge(const struct curve *first, const struct curve *second, struct agreement *agreement);

#endif
