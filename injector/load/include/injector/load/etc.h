/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workload of Facebook's ETC pool as distributions: Atikoglu, Xu, Frachtenberg, Jiang, Paleczny, "Workload Analysis
 * of a Large-Scale Key-Value Store", SIGMETRICS 2012, section 5. Key sizes follow a generalised extreme value
 * distribution; value sizes and gaps between requests follow generalised Pareto distributions; about one request in
 * thirty is an update. Functions are pure, apart from the caller's random number generator.
 */
#ifndef LOAD_ETC_H
#define LOAD_ETC_H

#include <base/rng.h>

/* Shape > 0 means a heavy tail; the sign convention is the paper's (k of MATLAB's gevinv and gpinv). */
struct etc_distribution {
	double location, scale, shape;
};

extern const struct etc_distribution ETC_KEY_BYTES;   /* generalised extreme value */
extern const struct etc_distribution ETC_VALUE_BYTES; /* generalised Pareto */
extern const struct etc_distribution ETC_GAP_US;      /* generalised Pareto, µs between requests of the whole pool */

#define ETC_UPDATE_SHARE 0.03

/* Mean of a generalised Pareto distribution with shape < 1. */
double etc_gpd_mean(const struct etc_distribution *distribution);

/* Draw one value, by inversion. */
double etc_gev_draw(const struct etc_distribution *distribution, struct rng *rng);
double etc_gpd_draw(const struct etc_distribution *distribution, struct rng *rng);

/*
 * Draws ranks 0..count-1 with probability proportional to 1 / (rank + 1)^skew, skew > 0, by rejection-inversion
 * (Hörmann & Derflinger 1996), which needs constant memory and about one random number per rank. H(x) is the integral
 * of x^-skew from 1 to x.
 */
struct etc_zipf {
	double count, skew;
	double h_low, h_high; /* H(1.5) - 1 and H(count + 0.5) */
	double shortcut;      /* a draw that was rounded up by at most this is accepted without evaluating H */
};

void etc_zipf_init(struct etc_zipf *zipf, uint64_t count, double skew);
uint64_t etc_zipf_draw(const struct etc_zipf *zipf, struct rng *rng);

#endif
