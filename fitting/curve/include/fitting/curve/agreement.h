/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparison of two curves by their stated 95 % bands. At each x of the 10 us table that both curves have, the
 * difference is measured in half-widths of the two bands, added in quadrature; the whole curves agree if the largest of
 * these is within the wider of their simultaneous bands (curve->band_whole_factor). A curve without a band counts as
 * exact. Curves are relative to their own baselines: a constant factor between the applications is not a difference.
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
	double allowed; /* half-width of the difference's 95 % interval; 0 where both curves are fixed (at 0) */
};

struct agreement {
	enum agreement_verdict verdict;
	size_t points,
		within; /* of the common table: those where the bands have width, and of these the ones that agree */
	double worst, worst_at_us; /* greatest difference, in half-widths */
	double allowed;            /* limit for `worst`; exceeded by one pair in twenty if the true curves are equal */
};

const char *agreement_name(enum agreement_verdict verdict); /* "unknown", "agree", "differ" */

/* Points that both tables have. */
size_t agreement_points(const struct curve *first, const struct curve *second);
struct agreement_point agreement_at(const struct curve *first, const struct curve *second, size_t index);
void agreement_judge(const struct curve *first, const struct curve *second, struct agreement *agreement);

/* Largest difference of two curves, as schedulers read them, over both domains. */
struct agreement_difference {
	double x_us, first, second, difference, rms;
};
struct agreement_difference agreement_difference_of(const struct curve *first, const struct curve *second);

/* Difference of the baselines by Welch's test, in percent of the first; NAN = not known. */
struct agreement_baselines {
	double percent, noise_percent; /* noise: the 95 % limit that run-to-run noise explains */
};
struct agreement_baselines agreement_baselines_of(const struct curve *first, const struct curve *second);

#endif
