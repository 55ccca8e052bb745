/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the curve fitter. A `member` is a family with its threshold and shape constants fixed: linear in what is
 * left. A `design` is a member's QR at the levels, good for any response (that is what makes the simulation cheap).
 */
#ifndef FITTING_FIT_PRIV_H
#define FITTING_FIT_PRIV_H

#include <base/rng.h>
#include <fitting/curve/fit.h>

#include "qr_priv.h"

enum {
	COLUMNS_MAXIMUM = FIT_COEFFICIENTS_MAXIMUM,
	KNOTS_MAXIMUM = 5,
	LAW_ROWS = 49, /* differences along the curve that must not be positive, and its end */
};

/* Performance may fall to this but not below, at the end of the stretch that the law covers. */
#define FIT_LEAST 0.001
/* The law holds at least up to here, µs, however short the sweep was. */
#define FIT_LAW_END_US 1000.0

struct member {
	enum fit_family family;
	enum curve_form form;
	double threshold_us;
	double shape[2];
};

/* What is the same for all members of a fit. */
struct problem {
	size_t count; /* levels */
	double *x, *y, *weight, *root_weight;
	double *work;         /* count, of design_solve(): one fit is one thread's */
	double scatter, rows; /* rows: levels + scatter's dof */
	bool baseline_known;  /* 1 before the threshold; else that height is fitted too */
	double end_us;        /* last level */
	double law_end_us;
	size_t knot_count;
	double knots[KNOTS_MAXIMUM];
};

int problem_create(const struct observations *observations, struct problem *problem);
void problem_free(struct problem *problem);

/* Shape constants that are searched: none, s, or s and h. */
size_t family_shapes(enum fit_family family);
/* Number of coefficients. */
size_t member_columns(const struct problem *problem, const struct member *member);
/* Parameters in all: coefficients, and the threshold and shapes that were searched. */
size_t member_parameters(const struct problem *problem, const struct member *member);
/*
 * What x is counted from in the families with shapes: a corner's threshold, or the first level behind a jump. A jump's
 * own place in its gap is not known, and curves that start anew there (log, rational) do so wherever it is.
 */
double member_origin_us(const struct problem *problem, const struct member *member);
/* One row of the design: the curve at x is offset + sum of row[j] * coefficient[j]. Returns the offset. */
double member_row(const struct problem *problem, const struct member *member, double x, double *row);
double member_value(const struct problem *problem, const struct member *member, const double *coefficients, double x);

struct design {
	struct member member;
	size_t columns;
	bool usable;           /* full rank */
	double *q;             /* count x columns, column-major: of the weighted design */
	double *target_offset; /* count: subtracted from the response */
	struct qr_double qr;   /* its arrays are the storage and the six below: a design must not be copied */
	double head[COLUMNS_MAXIMUM], factor[COLUMNS_MAXIMUM], scale[COLUMNS_MAXIMUM], norms[COLUMNS_MAXIMUM];
	double scratch[COLUMNS_MAXIMUM];
	size_t pivot[COLUMNS_MAXIMUM];
	/* coefficients = root c (columns x columns, column-major); filled by design_first_law_row(). */
	double root[COLUMNS_MAXIMUM * COLUMNS_MAXIMUM];
	double *law; /* LAW_ROWS x columns, row-major, in the coordinates Q'y; made when first needed */
	double law_bound[LAW_ROWS];
};

/* Doubles that a design of this problem needs at `storage`. */
size_t design_storage(const struct problem *problem);
void design_make(const struct problem *problem, const struct member *member, struct design *design, double *storage);
/*
 * The law at the curve's start, as a row of length 1 in the coordinates Q'y: row . c must not be above what is
 * returned. For a jump that is the jump itself, for a curve without threshold its height at 0 (no law when the baseline
 * is not known: the row is all 0), for a corner all 0.
 */
double design_first_law_row(const struct problem *problem, struct design *design, double *row);

struct solution {
	double c[COLUMNS_MAXIMUM]; /* Q' of the weighted response */
	double coefficients[COLUMNS_MAXIMUM];
	double rss; /* levels about the curve; infinite when there is none */
	bool constrained;
};

/* Free least squares for the response y (count long); fills c and rss only. */
void design_solve(const struct problem *problem, const struct design *design, const double *y,
		  struct solution *solution);
/* Holds the solution to the law if it breaks it, then fills the coefficients. */
void design_hold_to_law(const struct problem *problem, struct design *design, struct solution *solution);

/*
 * Least distance programming: moves c the least so that every row . c <= bound (Lawson & Hanson 1974, ch. 23, by
 * NNLS). Returns false when the rows contradict each other.
 */
bool project_onto_law(const double *rows, const double *bound, size_t row_count, size_t columns, double *c);

/*
 * Best lawful member of a family and form; false when the levels do not suffice (or memory). cross_validation is the
 * RMS error of levels left out one at a time, the threshold and shapes searched anew (on the grid) without each.
 */
struct found {
	struct member member;
	struct solution solution;
	double cross_validation;
	double evidence; /* form_evidence() */
};
bool search_member(const struct problem *problem, enum fit_family family, enum curve_form form,
		   double forced_threshold_us, struct found *found);

/* The pooled-adjacent-violators curve: knots at the pools' centres. Arrays are in one block that `x` begins. */
struct pooled {
	size_t count;
	double *x, *y, *slopes;
};
/* storage: 5 * problem->count doubles. */
void pooled_fit(const struct problem *problem, const double *y, struct pooled *pooled, double *storage);
double pooled_value(const struct pooled *pooled, double x);
/* As found->cross_validation. */
double pooled_cross_validate(const struct problem *problem, double *storage);

/* A candidate's curve, before it is divided by its own height at 0. */
struct candidate_curve {
	const struct problem *problem;
	struct member member;
	const double *coefficients;
	struct pooled pooled; /* FIT_MONOTONE */
};
double candidate_curve_value(const struct candidate_curve *curve, double x);
/* Height of the baseline: what the curve is divided by. */
double candidate_curve_baseline(const struct candidate_curve *curve);
/* Performance at `count` points x, rising; law-abiding to the last bit. */
void candidate_curve_fill(const struct candidate_curve *curve, const double *x, size_t count, double *p);
struct member candidate_member(const struct fit_candidate *candidate);

/*
 * Log marginal likelihood of a family and form, up to a constant of the problem, around its best member; storage as
 * design_storage() says. And what the candidates' evidence says of the forms, to fit->form_probability.
 */
double form_evidence(const struct problem *problem, const struct member *best, bool threshold_forced, double *storage);
void form_probabilities(struct fit *fit);

enum choice_grounds {
	CHOSEN_BY_AICC,
	CHOSEN_BY_SIMPLICITY,
	CHOSEN_BY_THE_PAPERS,
	CHOSEN_BY_CROSS_VALIDATION,
};
/* Place of the candidate to take, of fit->candidates in rising AICc (at least one), by fit->form_probability as well.
 */
size_t choose_pick(const struct fit *fit, enum choice_grounds *grounds);

/* Fills fit->candidates, in order, with their weights. */
int choose_candidates(const struct problem *problem, const struct fit_settings *settings, struct fit *fit,
		      struct error *err);

/* Quantile of the normal distribution that an F value lies at (Paulson 1942). */
double fit_f_to_normal(double f, double dof_above, double dof_below);

/* Noise of a level's mean is scale / root_weight; dof of the estimate. */
struct noise {
	double scale, dof;
};
struct noise fit_noise(const struct problem *problem, const struct fit_settings *settings, struct fit *fit);

/*
 * Widens the noise by what complete passes differ more than their single runs explain: drift while the sweep lasted,
 * which falls on all levels of a pass alike. fit->pass_dispersion says by how much. 0 or -ENOMEM.
 */
int passes_widen(const struct problem *problem, const struct fit_settings *settings, struct fit *fit,
		 struct noise *noise);

struct band {
	const double *centre; /* the curve */
	double *low, *high;
	double whole_factor; /* as curve->band_whole_factor */
};

/*
 * Simulates sweeps from the candidates, each as often as its weight says, fits each anew, and fills the band (95 %)
 * at the points x; the chosen candidate's threshold's interval goes to *threshold.
 */
int simulate_band(const struct problem *problem, const struct fit_settings *settings, const struct fit *fit,
		  struct noise noise, const double *x, size_t count, struct band *band,
		  struct curve_threshold *threshold);

/* Fills fit->decision; 0 or -ENOMEM. */
int advise_measurements(const struct problem *problem, struct noise noise, struct fit *fit);

/* Makes fit->curve from the chosen candidate. */
int build_curve(const struct problem *problem, const struct fit_settings *settings, struct fit *fit, struct error *err);
/* Text of the normalised curve; the caller frees, NULL if out of memory. */
char *equation_text(const struct problem *problem, const struct fit_candidate *candidate, const struct curve *curve);

#endif
