/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by linear.c and workspace.c. */
#ifndef FITTING_LINEAR_PRIV_H
#define FITTING_LINEAR_PRIV_H

#include <fitting/linear/linear.h>

#include "qr_priv.h"

/* The struct and its arrays are one block of memory; every array is sized for the maxima. */
struct linear_workspace {
	size_t rows_maximum, columns_maximum;
	struct qr_double qr;
	double *root_weights;      /* rows */
	double *target;            /* rows: weighted response, then Q'b */
	double *orthogonal;        /* rows: the weighted residuals, which refinement corrects */
	double *correction;        /* columns */
	double *root;              /* columns x columns */
	long double *precise_rows; /* rows */
	long double *solution;     /* columns */
	/* a result's pointers point to these */
	double *coefficients, *covariance_absolute, *covariance_scaled, *standard_errors, *residuals;
};

#endif
