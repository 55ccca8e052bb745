/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by linear.c (double), extended.c (long double) and workspace.c. */
#ifndef FITTING_LINEAR_PRIV_H
#define FITTING_LINEAR_PRIV_H

#include <fitting/linear/linear.h>

#include "qr_priv.h"

/* The struct and its arrays are one block of memory; every array is sized for the maxima. */
struct linear_workspace {
	size_t rows_maximum, columns_maximum;
	struct qr_double qr;
	struct qr_extended qr_extended;
	double *root_weights;         /* rows */
	double *target;               /* rows: weighted response, then Q'b */
	double *orthogonal;           /* rows: the weighted residuals, which refinement corrects */
	double *correction;           /* columns */
	double *root;                 /* columns x columns */
	long double *precise_rows;    /* rows */
	long double *precise_rows2;   /* rows */
	long double *solution;        /* columns */
	long double *precise_columns; /* columns */
	long double *precise_root;    /* columns x columns */
	long double *expansion;       /* columns x columns; see expand_powers() */
	/* a result's pointers point to these */
	double *coefficients, *covariance_absolute, *covariance_scaled, *standard_errors, *residuals;
};

/* chi2 and the sums that R^2 needs, computed from unweighted residuals in long double. */
struct linear_sums {
	long double chi2, about_zero, about_mean;
};

/* Computes the result from solution, precise_rows (residuals), sums and covariance_absolute. */
void linear_finish(struct linear_workspace *workspace, size_t rows, size_t columns, bool has_intercept,
		   const struct linear_sums *sums, struct linear_result *result);

#endif
