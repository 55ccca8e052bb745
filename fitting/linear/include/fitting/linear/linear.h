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
 * The comment of an array begins with its length, in `rows` and `columns`.
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
	size_t stride;          /* at least rows; 0 = rows */
	const double *response; /* rows */
	const double *weights;  /* rows, >= 0, 1/deviation^2 for absolute errors; 0 leaves a row out. NULL = all 1 */
	/* true if a combination of the columns is constant: R^2 is then about the mean, else about 0 (like NIST) */
	bool has_intercept;
};

enum linear_status {
	LINEAR_OK,
	LINEAR_RANK_DEFICIENT, /* a basic solution: dependent columns have coefficient 0 and an infinite error */
	LINEAR_TOO_FEW_ROWS,   /* too few rows, or too large for the workspace: only status and rows_used are set */
	LINEAR_NOT_FINITE,     /* the input has NaN, infinity or a negative weight, or the computation overflowed */
};

struct linear_result {
	enum linear_status status;
	size_t rows_used; /* rows of positive weight */
	size_t columns;
	size_t rank;
	double dof;                        /* rows_used - rank */
	const double *coefficients;        /* columns */
	const double *covariance_absolute; /* columns x columns: (A'WA)^-1, where the weights count as 1/variance */
	const double *covariance_scaled;   /* the same times chi2/dof (SciPy's default); infinite when dof is 0 */
	const double *standard_errors;     /* columns: root of covariance_scaled's diagonal */
	const double *residuals;           /* rows: response - fit, not weighted; also of rows with weight 0 */
	double chi2;                       /* weighted sum of squared residuals: NIST's RSS when weights are 1 */
	double r_squared;                  /* NaN when the response does not vary */
	double condition;                  /* estimate from the scaled R: |R_11| / |R_rank,rank| */
	/*
	 * Gaussian log-likelihood with the variance estimated, up to the constant n (1 + log 2 pi), k = rank + 1:
	 * AIC = n log(chi2/n) + 2k, AICc = AIC + 2k(k+1)/(n-k-1) (infinite when n <= k+1), BIC with k log n.
	 * Comparable between models of the same rows and weights. -infinity for an exact fit.
	 */
	double aicc, bic;
};

/* Returns result->status. */
enum linear_status linear_fit(struct linear_workspace *workspace, const struct linear_problem *problem,
			      struct linear_result *result);

/*
 * Input of linear_fit_extended(), which is linear_fit() in long double, for data whose decimals do not fit a double.
 * The matrix has stride = rows; all weights are 1.
 */
struct linear_extended_problem {
	size_t rows, columns;
	const long double *matrix;
	const long double *response;
	bool has_intercept;
};
enum linear_status linear_fit_extended(struct linear_workspace *workspace,
				       const struct linear_extended_problem *problem, struct linear_result *result);

/*
 * Fits a polynomial of `degree` in x (columns = degree + 1, coefficients of 1, x, x^2, ...). The fit is in long double
 * in the centred and scaled variable (x - middle)/half-range, and expanded afterwards: so high degrees far from 0
 * (NIST's Filip) keep their digits, which a fit on rounded powers of x loses.
 */
enum linear_status linear_fit_polynomial(struct linear_workspace *workspace, const long double *x,
					 const long double *response, size_t rows, size_t degree,
					 struct linear_result *result);

/* Returns a sentence for messages. */
const char *linear_status_text(enum linear_status status);

/* Return AICc and BIC as above, for models that are not linear: n = rows, k = parameters + 1 (for the variance). */
double fitting_aicc(double chi2, size_t rows, size_t parameters);
double fitting_bic(double chi2, size_t rows, size_t parameters);

#endif
