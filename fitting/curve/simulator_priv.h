/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One candidate, prepared for fits to any number of simulated responses: its designs are made once, so that a replicate
 * costs only a few products of Q' with a response.
 */
#ifndef FITTING_SIMULATOR_PRIV_H
#define FITTING_SIMULATOR_PRIV_H

#include "fit_priv.h"

enum {
	DESIGNS_MAXIMUM = 16,
	SEARCHED_MAXIMUM = 3, /* threshold, s, h */
};

struct simulator {
	const struct problem *problem;
	const struct fit_candidate *candidate;
	struct noise noise;
	double *fitted; /* count: the candidate's curve at the levels, in the data's units */
	double *storage;
	size_t design_count;
	struct design designs[DESIGNS_MAXIMUM];
	/*
	 * For families with shape constants: number of searched constants (threshold, s, h). A replicate does not
	 * search them again. It changes them by one linearised step: a regression of the noise on the curve's
	 * derivatives by these constants.
	 */
	size_t searched;
	int kinds[SEARCHED_MAXIMUM]; /* 0 threshold, 1 s, 2 h */
	double *answer;              /* searched x count: the derivatives; see make_answer() in simulator.c */
	double *work;                /* 13 x count; simulator_curve() uses the first 9 x count */
};

/*
 * Returns 0, -ENOMEM, or -EDOM if the candidate has no usable design. The caller frees simulator->storage in every
 * case.
 */
int simulator_create(const struct problem *problem, const struct fit_settings *settings,
		     const struct fit_candidate *candidate, struct noise noise, struct simulator *simulator);

/*
 * Refits the candidate to its own curve plus `noise` (count values; not in the first 9 x count of simulator->work).
 * *curve points into the simulator and to *solution. If no fit is at least as good
 * as the candidate itself, *curve is the candidate: a failed optimisation is no sample.
 */
void simulator_curve(struct simulator *simulator, const double *noise, struct candidate_curve *curve,
		     struct solution *solution);

#endif
