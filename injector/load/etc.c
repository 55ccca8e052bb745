/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/load/etc.h>

#include <math.h>

const struct etc_distribution ETC_KEY_BYTES = {30.7984, 8.20449, 0.078688};
const struct etc_distribution ETC_VALUE_BYTES = {0, 214.476, 0.348238};
const struct etc_distribution ETC_GAP_US = {0, 16.0292, 0.154971};

static double gev_quantile(const struct etc_distribution *distribution, double p)
{
	double reduced = -log(p);

	if (distribution->shape == 0)
		return distribution->location - distribution->scale * log(reduced);
	return distribution->location +
	       distribution->scale / distribution->shape * (pow(reduced, -distribution->shape) - 1);
}

static double gpd_quantile(const struct etc_distribution *distribution, double p)
{
	if (distribution->shape == 0)
		return distribution->location - distribution->scale * log1p(-p);
	return distribution->location +
	       distribution->scale / distribution->shape * expm1(-distribution->shape * log1p(-p));
}

double etc_gpd_mean(const struct etc_distribution *distribution)
{
	return distribution->location + distribution->scale / (1 - distribution->shape);
}

/* Returns a random number in (0, 1). 0 and 1 are excluded, because the quantiles there may be infinite. */
static double open_uniform(struct rng *rng)
{
	return rng_uniform(rng) + 0x1p-54;
}

double etc_gev_draw(const struct etc_distribution *distribution, struct rng *rng)
{
	return gev_quantile(distribution, open_uniform(rng));
}

double etc_gpd_draw(const struct etc_distribution *distribution, struct rng *rng)
{
	return gpd_quantile(distribution, open_uniform(rng));
}

/*
 * h_integral(x) is the integral of t^-skew from t = 1 to x, h_integral_inverse() its inverse function. helper1() and
 * helper2() use log1p() and expm1(), so that skew = 1 is no special case.
 */
static double helper1(double x)
{
	return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x * (0.5 - x / 3);
}

static double helper2(double x)
{
	return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x * 0.5 * (1 + x / 3);
}

static double h_integral(double x, double skew)
{
	double log_x = log(x);

	return helper2((1 - skew) * log_x) * log_x;
}

static double h_integral_inverse(double x, double skew)
{
	double t = fmax(x * (1 - skew), -1);

	return exp(helper1(t) * x);
}

void etc_zipf_init(struct etc_zipf *zipf, uint64_t count, double skew)
{
	zipf->count = (double)count;
	zipf->skew = skew;
	zipf->h_low = h_integral(1.5, skew) - 1;
	zipf->h_high = h_integral(zipf->count + 0.5, skew);
	zipf->shortcut = 2 - h_integral_inverse(h_integral(2.5, skew) - pow(2, -skew), skew);
}

uint64_t etc_zipf_draw(const struct etc_zipf *zipf, struct rng *rng)
{
	for (;;) {
		double u = zipf->h_high + rng_uniform(rng) * (zipf->h_low - zipf->h_high);
		double x = h_integral_inverse(u, zipf->skew);
		double k = fmin(fmax(floor(x + 0.5), 1), zipf->count);

		if (k - x <= zipf->shortcut || u >= h_integral(k + 0.5, zipf->skew) - pow(k, -zipf->skew))
			return (uint64_t)k - 1;
	}
}
