/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weighted linear least squares: minimises sum of weight_i * (response_i - sum of matrix_ij * coefficient_j)^2.
 *
 * Householder QR with column scaling and column pivoting (Businger & Golub 1965), a rank check, and iterative
 * refinement of the augmented system [I A; A' 0] with residuals in long double (Björck 1967). Normal equations are
 * never formed: they square the condition number.
 *
 * A workspace serves any number of fits without allocation, so that a bootstrap can call linear_fit() hundreds of
 * thousands of times. One workspace per thread. A result's pointers point into its workspace and are valid until the
 * next fit.
 *
 * The comment of an array begins with its length: `rows`, `columns` or `columns x columns`.
 */
#ifndef FITTING_LINEAR_H
#define FITTING_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

struct linear_workspace;

/*
 * Later fits may have at most rows_maximum rows and columns_maximum columns. Returns NULL with errno EINVAL or ENOMEM
 * on failure.
 */
struct linear_workspace *linear_workspace_create(size_t rows_maximum, size_t columns_maximum);
void linear_workspace_destroy(struct linear_workspace *workspace); /* NULL is legal */

struct linear_problem {
	size_t rows, columns;
	const double *matrix;   /* column-major: element (i, j) is matrix[i + j * stride] */
	size_t stride;          /* elements from one column of `matrix` to the next; at least rows; 0 = rows */
	const double *response; /* rows */
	const double *weights;  /* rows: >= 0; a row of weight 0 is ignored; NULL = all 1 */
	/* true: a combination of the columns is constant; R^2 is then relative to the mean response, else to 0 */
	bool has_intercept;
};

enum linear_status {
	LINEAR_OK,
	LINEAR_RANK_DEFICIENT, /* columns that depend on others have coefficient 0 and an infinite standard error */
	LINEAR_TOO_FEW_ROWS,   /* or the problem is too large for the workspace; only status and rows_used are set */
	LINEAR_NOT_FINITE,     /* the input has NaN, infinity or a negative weight, or the computation overflowed */
};

struct linear_result {
	enum linear_status status;
	size_t rows_used; /* rows of positive weight */
	size_t columns;
	size_t rank;
	double dof;                        /* rows_used - rank */
	const double *coefficients;        /* columns */
	const double *covariance_absolute; /* columns x columns: (A'WA)^-1; correct if the weights are 1/variance */
	const double *covariance_scaled;   /* columns x columns: (A'WA)^-1 chi2/dof; infinite if dof is 0 */
	const double *standard_errors;     /* columns: root of covariance_scaled's diagonal */
	const double *residuals;           /* rows: response - fit, not weighted; also of rows with weight 0 */
	double chi2;                       /* weighted sum of squared residuals */
	double r_squared;                  /* NaN when the response does not vary */
	double condition; /* estimate for the matrix with columns of length 1: |R_11| / |R_rank,rank| */
	/*
	 * With n = rows_used, and k = rank + 1 because the variance is estimated, too:
	 *   AICc = n log(chi2/n) + 2k + 2k(k+1)/(n-k-1), infinite if n <= k+1
	 *   BIC  = n log(chi2/n) + k log n
	 * Both are -infinity for an exact fit. They lack the constant n (1 + log 2 pi), so compare only models of the
	 * same rows and weights.
	 */
	double aicc, bic;
};

/* Returns result->status. */
enum linear_status linear_fit(struct linear_workspace *workspace, const struct linear_problem *problem,
			      struct linear_result *result);

/*
 * Return AICc and BIC by the formulas in struct linear_result, for models that are not linear. n is `rows`; k is
 * `parameters` + 1, because the variance is estimated, too.
 */
double fitting_aicc(double chi2, size_t rows, size_t parameters);
double fitting_bic(double chi2, size_t rows, size_t parameters);

#endif
