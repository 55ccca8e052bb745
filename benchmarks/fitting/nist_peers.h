/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other least-squares solvers on NIST's nonlinear sets, each used as in its manual and from the same starting points.
 */
#ifndef NIST_PEERS_H
#define NIST_PEERS_H

#include <stdbool.h>

#include "nist.h"

struct nist_tally {
	int runs, right; /* right: every parameter to 6 digits */
	double median_digits, seconds;
};

/*
 * SciPy's curve_fit and lmfit's minimize in one Python process, if Debian's python3 has them; otherwise runs stays 0.
 */
void nist_peers_python(const char *const *folders, int count, struct nist_tally *scipy, struct nist_tally *lmfit);

/* GSL's gsl_multifit_nlinear with the exact Jacobian; `values` are the set's parameters. False without GSL. */
bool nist_peer_gsl(const struct nist_set *set, size_t start, double *values);

#endif
