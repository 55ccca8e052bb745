/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/explain/performance.h>

#include <math.h>

void performance_sum_add(struct performance_sum *sum, double mean, double worst, double best, double best_other)
{
	sum->mean += mean;
	sum->worst += worst;
	sum->best += best;
	sum->best_other += best_other;
	sum->intervals++;
}

static double quotient(double value, double best)
{
	return best > 0 ? fmin(value / best, 1) : NAN; /* equal sums may differ in the last bit */
}

double performance_average(const struct performance_sum *sum)
{
	return quotient(sum->mean, sum->best);
}

double performance_worst(const struct performance_sum *sum)
{
	return quotient(sum->worst, sum->best);
}

double performance_average_other(const struct performance_sum *sum)
{
	return quotient(sum->mean, sum->best_other);
}
