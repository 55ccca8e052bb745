/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/explain/performance.h>

#include <math.h>

double performance_at(const struct curve *curve, const struct policy_settings *settings, double rtt_us)
{
	if (isinf(rtt_us))
		return 0;
	if (settings->reference == LATENCY_REFERENCE_ADDED)
		rtt_us = curve_added_rtt_us(curve, rtt_us);
	return settings->lookup == COST_LOOKUP_INTERPOLATED ? curve_eval(curve, rtt_us)
							    : curve_eval_nearest(curve, rtt_us);
}

double performance_best(const struct curve *curve, struct placer *placer, const struct latency_view *view,
			const struct cost_layout *layout, uint32_t root, float *rtt_us)
{
	const struct policy_settings *settings = placer_settings(placer);
	double best = performance_at(curve, settings, (double)latency_view_get(view, root, root, NULL));

	if (best >= 1) /* no machine can do better */
		return best;
	latency_view_row(view, root, 0, layout->column_count, rtt_us);
	for (uint32_t c = 0; c < layout->column_count; c++) {
		uint32_t machine = layout->machine_of_column[c];

		if (machine != COST_NO_MACHINE && rtt_us[c] >= 0 && flownet_slots(placer_net(placer), machine) > 0)
			best = fmax(best, performance_at(curve, settings, (double)rtt_us[c]));
	}
	return best;
}

void performance_sum_add(struct performance_sum *sum, double mean, double worst, double best, double best_other,
			 uint64_t intervals)
{
	double times = (double)intervals;

	sum->mean += times * mean;
	sum->worst += times * worst;
	sum->best += times * best;
	sum->best_other += times * best_other;
	sum->intervals += intervals;
}

static double quotient(double value, double best)
{
	return best > 0 ? fmin(value / best, 1) : NAN; /* rounding may make the quotient of equal sums exceed 1 */
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
