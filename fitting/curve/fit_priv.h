/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the curve fitter. Terms:
 *
 *   candidate   a family of curves with one form of threshold (breakpoint), to be fitted
 *   profile     a candidate with its threshold and shape constants fixed: linear in the remaining coefficients
 *   design      a profile's weighted design matrix at the levels and its QR, valid for any response
 *   gap         the interval between two adjacent levels; a jump can be anywhere in it
 *   constraint  the shape constraint: performance does not rise with latency and stays above 0
 *   isotonic    least squares under the shape constraint alone (PAVA), without a formula
 *   block       a replicate block: one run at each level, made in one pass over the levels
 *
 * The comment of an array begins with its length; `count` is the number of levels.
 */
#ifndef CURVE_FIT_PRIV_H
#define CURVE_FIT_PRIV_H

#include <base/rng.h>
#include <fitting/curve/fit.h>

#include "qr_priv.h"

enum {
	COLUMNS_MAXIMUM = FIT_COEFFICIENTS_MAXIMUM,
	KNOTS_MAXIMUM = 5,
	CONSTRAINT_ROWS = 49, /* 1 for the curve's start, 47 for differences between points, 1 for the end */
};

/* The lowest performance that the constraint allows at the end of the constrained range. */
#define FIT_LEAST 0.001
/* The constrained range reaches at least to this round trip, even if the sweep is shorter. */
#define FIT_CONSTRAINT_END_US 1000.0

struct profile {
	enum fit_family family;
	enum curve_form form;
	double threshold_us;
	double shape[2];
};

/* The data of a fit, common to all profiles. */
struct problem {
	size_t count; /* levels */
	double *x, *y, *weight, *root_weight;
	double *work;         /* count doubles, scratch of design_solve() */
	double scatter, rows; /* observations->scatter; number of levels + scatter_dof */
	bool baseline_known;  /* true: the curve is 1 before the threshold; false: its height there is a coefficient */
	double end_us;        /* x of the last level */
	double constraint_end_us;
	size_t knot_count;
	double knots[KNOTS_MAXIMUM]; /* of the spline, as shares of end_us */
};

/* Returns 0, or -1 if out of memory. */
int problem_create(const struct observations *observations, struct problem *problem);
void problem_free(struct problem *problem);

/* Returns the number of searched shape constants: 0, 1 (s) or 2 (s and h). */
size_t family_shapes(enum fit_family family);
/* Returns the number of coefficients. */
size_t profile_columns(const struct problem *problem, const struct profile *profile);
/* Returns the number of parameters: coefficients, threshold and shape constants. */
size_t profile_parameters(const struct problem *problem, const struct profile *profile);
/*
 * Returns the origin of x in the family's formula. In families with shape constants, this is the threshold of a hinge,
 * or the first level after a jump (the data do not determine where between two levels the jump is). Otherwise it is 0.
 */
double profile_origin_us(const struct problem *problem, const struct profile *profile);
/* Fills one row of the design. The curve at x is offset + sum of row[j] * coefficient[j]; returns the offset. */
double profile_row(const struct problem *problem, const struct profile *profile, double x, double *row);
double profile_value(const struct problem *problem, const struct profile *profile, const double *coefficients,
		     double x);

struct design {
	struct profile profile;
	size_t columns;
	bool usable;           /* full rank */
	double *q;             /* count x columns, column-major */
	double *target_offset; /* count: offsets of profile_row(), subtracted from the response before solving */
	struct qr_double qr;   /* points into this struct and its storage: do not copy a design */
	double head[COLUMNS_MAXIMUM], factor[COLUMNS_MAXIMUM], scale[COLUMNS_MAXIMUM], norms[COLUMNS_MAXIMUM];
	double scratch[COLUMNS_MAXIMUM];
	size_t pivot[COLUMNS_MAXIMUM];
	/* coefficients = root c (root: columns x columns, column-major); design_first_constraint() fills root */
	double root[COLUMNS_MAXIMUM * COLUMNS_MAXIMUM];
	double *constraint; /* CONSTRAINT_ROWS x columns, row-major, in c coordinates; NULL until needed */
	double constraint_bound[CONSTRAINT_ROWS];
};

/* Returns the number of doubles of storage that a design of this problem needs. */
size_t design_storage(const struct problem *problem);
void design_make(const struct problem *problem, const struct profile *profile, struct design *design, double *storage);
/*
 * Fills `row` with the constraint at the curve's start, as a unit vector in c coordinates (see struct solution): the
 * constraint is row . c <= the returned bound. A jump must go down; a curve without threshold must not start above a
 * known baseline. If no constraint applies, the row is 0.
 */
double design_first_constraint(const struct problem *problem, struct design *design, double *row);

struct solution {
	double c[COLUMNS_MAXIMUM]; /* Q'y of the weighted response y; the constraints use these coordinates */
	double coefficients[COLUMNS_MAXIMUM];
	double rss; /* weighted sum of squared residuals of the level means; infinite if there is no solution */
	bool constrained;
};

/* Unconstrained least squares for the response y[count]; fills c and rss only. */
void design_solve(const struct problem *problem, const struct design *design, const double *y,
		  struct solution *solution);
/* If the solution violates the constraints, projects it onto them. Then fills the coefficients. */
void design_constrain(const struct problem *problem, struct design *design, struct solution *solution);

/*
 * Least distance programming: moves c to the nearest point with row . c <= bound for every row (Lawson & Hanson 1974,
 * ch. 23, by NNLS). rows: row_count x columns, row-major; row_count up to CONSTRAINT_ROWS, columns up to
 * COLUMNS_MAXIMUM. Returns false if no point satisfies all rows; c is then undefined.
 */
bool project_onto_constraints(const double *rows, const double *bound, size_t row_count, size_t columns, double *c);

/*
 * search_candidate() finds the best constrained profile of a family and form. It returns 1, 0 if there are too few
 * levels, or -ENOMEM. cross_validation is the leave-one-out RMS error over the levels: for each level that is left
 * out, threshold and shape constants are searched again, on the grid.
 */
struct best_profile {
	struct profile profile;
	struct solution solution;
	double cross_validation;
	double evidence; /* result of form_evidence() */
};
int search_candidate(const struct problem *problem, enum fit_family family, enum curve_form form,
		     double forced_threshold_us, struct best_profile *best);

/*
 * Isotonic regression (PAVA) as knots: the first and last level of each pool. The arrays are in the caller's storage.
 */
struct isotonic {
	size_t count;
	double *x, *y, *slopes;
};
/* storage: 5 * problem->count doubles; it must outlive *isotonic. */
void isotonic_fit(const struct problem *problem, const double *y, struct isotonic *isotonic, double *storage);
double isotonic_value(const struct isotonic *isotonic, double x);
/*
 * Returns the leave-one-out RMS error of isotonic regression, comparable to best_profile.cross_validation. storage: 8 *
 * problem->count doubles.
 */
double isotonic_cross_validate(const struct problem *problem, double *storage);

/* A candidate's curve, not yet normalised. */
struct candidate_curve {
	const struct problem *problem;
	struct profile profile;
	const double *coefficients;
	struct isotonic isotonic; /* FIT_MONOTONE */
};
double candidate_curve_value(const struct candidate_curve *curve, double x);
/* Returns the height of the baseline, by which the curve is divided. */
double candidate_curve_baseline(const struct candidate_curve *curve);
/* Fills p with the performance at `count` ascending points x; p never rises, not even in the last bit. */
void candidate_curve_fill(const struct candidate_curve *curve, const double *x, size_t count, double *p);
struct profile candidate_profile(const struct fit_candidate *candidate);

/*
 * form_evidence() returns the log marginal likelihood of a family and form, integrated around its best profile. It
 * lacks a constant that is the same for all candidates of a problem. storage: design_storage() doubles.
 * form_probabilities() computes fit->form_probability from the candidates' evidence.
 */
double form_evidence(const struct problem *problem, const struct profile *best, bool threshold_forced, double *storage);
void form_probabilities(struct fit *fit);

enum choice_grounds {
	CHOSEN_BY_AICC,
	CHOSEN_BY_SIMPLICITY,
	CHOSEN_BY_THE_PAPERS,
	CHOSEN_BY_CROSS_VALIDATION,
};
/* Returns the index of the candidate to choose. fit->candidates must be sorted by AICc and not empty. */
size_t choose_pick(const struct fit *fit, enum choice_grounds *grounds);

/* Fills fit->candidates and their weights: the chosen one first, the others by AICc. */
int choose_candidates(const struct problem *problem, const struct fit_settings *settings, struct fit *fit,
		      struct error *err);

/* Returns the normal deviate with the same tail probability as the F value (Paulson 1942). */
double fit_f_to_normal(double f, double dof_above, double dof_below);

/* A level mean has the standard deviation scale / root_weight; dof: degrees of freedom of this estimate. */
struct noise {
	double scale, dof;
};
/* Returns the noise about the chosen candidate; sets fit->overdispersion and fit->dof. */
struct noise fit_noise(const struct problem *problem, const struct fit_settings *settings, struct fit *fit);

/*
 * Increases the noise if replicate blocks differ by more than run-to-run noise explains (drift during the sweep, which
 * shifts all levels of a block together); sets fit->block_dispersion. Returns 0 or -ENOMEM.
 */
int blocks_widen_noise(const struct problem *problem, const struct fit_settings *settings, struct fit *fit,
		       struct noise *noise);

struct band {
	const double *centre; /* the fitted curve at the points x */
	double *low, *high;
	double whole_factor; /* factor for a simultaneous band: see curve->band_whole_factor */
};

/*
 * Parametric bootstrap: simulates sweeps from the candidates in proportion to their weights and refits each. Fills the
 * 95 % band at the points x and the interval of the chosen candidate's threshold. Returns 0, -EDOM if no candidate can
 * be simulated, or -ENOMEM.
 */
int simulate_band(const struct problem *problem, const struct fit_settings *settings, const struct fit *fit,
		  struct noise noise, const double *x, size_t count, struct band *band,
		  struct curve_threshold *threshold);

/* Fills fit->decision. Returns 0 or -ENOMEM. */
int advise_measurements(const struct problem *problem, struct noise noise, struct fit *fit);

/* Builds fit->curve from the chosen candidate. */
int build_curve(const struct problem *problem, const struct fit_settings *settings, struct fit *fit, struct error *err);
/*
 * If the 95 % band still contains 1 at the end of the domain, no effect of latency was found: replaces the curve by p =
 * 1 and sets fit->flat. Returns 0 or -ENOMEM.
 */
int flat_replace(const struct fit_settings *settings, struct fit *fit, struct curve *curve);

/* Returns the normalised curve as text, which the caller frees, or NULL if out of memory. */
char *equation_text(const struct problem *problem, const struct fit_candidate *candidate, const struct curve *curve);

/*
 * One candidate, prepared for fits to any number of simulated responses: its designs are made once, so that a replicate
 * costs only a few products of Q' with a response.
 */

enum {
	DESIGNS_MAXIMUM = 16,
	CONSTANTS_MAXIMUM = 3, /* threshold, s, h */
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
	int kinds[CONSTANTS_MAXIMUM]; /* 0 threshold, 1 s, 2 h */
	double *answer;               /* searched x count: the derivatives; see make_answer() in simulator.c */
	double *work;                 /* 13 x count; simulator_curve() uses the first 9 x count */
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
