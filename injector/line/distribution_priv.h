/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distributions of a delay, as a table of their quantiles. The specification of a distribution is that of --jitter
 * (mode.h).
 */
#ifndef LINE_DISTRIBUTION_PRIV_H
#define LINE_DISTRIBUTION_PRIV_H

#include <base/error.h>

enum { DISTRIBUTION_CELL_BITS = 14, DISTRIBUTION_CELLS = 1 << DISTRIBUTION_CELL_BITS };

/*
 * Fills quantiles_us[i], i = 0 to DISTRIBUTION_CELLS, with the quantile i / DISTRIBUTION_CELLS, us; they ascend.
 * Infinite tails are cut off in the middle of the outer cells, at the 99.997th percentile; all values are cut off at
 * plus or minus INJECTOR_DELAY_MAXIMUM_US. Returns 0, or -errno with err set: -EINVAL (a bad specification), -EBADMSG
 * (a bad file), -ENOENT, -ENOMEM.
 */
int distribution_read(const char *specification, double quantiles_us[DISTRIBUTION_CELLS + 1], struct error *err);

#endif
