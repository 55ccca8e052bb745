/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One candidate made ready to be fitted to any number of simulated responses: its designs are made once, so that a
 * replicate costs some products of Q' with a response.
 */
#ifndef FITTING_SIMULATOR_PRIV_H
#define FITTING_SIMULATOR_PRIV_H

#include "fit_priv.h"

enum {
	DESIGNS_MAXIMUM = 16,
	SEARCHED_MAXIMUM = 3, /* threshold, s, h */
};

/* One candidate, ready to be fitted to any number of responses. */
struct simulator {
	const struct problem *problem;
	const struct fit_candidate *candidate;
	struct noise noise;
	double *fitted; /* count: its curve at the levels, in the data's units */
	double *storage;
	size_t design_count;
	struct design designs[DESIGNS_MAXIMUM];
	/* Families with shapes: the response of threshold and shapes to noise, from the curve's derivatives. */
	size_t searched;
	int kinds[SEARCHED_MAXIMUM]; /* 0 threshold, 1 s, 2 h */
	double *answer;              /* searched x count */
	double *work;                /* several counts, shared */
};

/* -EDOM if the candidate has no usable design. simulator->storage is freed by the caller, whatever is returned. */
int simulator_create(const struct problem *problem, const struct fit_settings *settings,
		     const struct fit_candidate *candidate, struct noise noise, struct simulator *simulator);

/*
 * The candidate refitted to its own curve plus `noise` (count; not in simulator->work). *curve points into the
 * simulator and to *solution; if there is no fit, it is the candidate itself.
 */
void simulator_curve(struct simulator *simulator, const double *noise, struct candidate_curve *curve,
		     struct solution *solution);

#endif
