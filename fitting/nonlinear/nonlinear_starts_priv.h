/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FITTING_NONLINEAR_STARTS_PRIV_H
#define FITTING_NONLINEAR_STARTS_PRIV_H

#include <base/rng.h>

#include "nonlinear_priv.h"

/*
 * Sets `values` to further start number `start` (from 1), which is made from the start `given`. Both are free vectors.
 * Overwrites the region's scratch.
 */
void nonlinear_further_start(struct trust_region *region, struct rng *rng, int start, const double *given,
			     double *values);

#endif
