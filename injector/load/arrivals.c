/* SPDX-License-Identifier: BSD-3-Clause */
/* The open loop's schedule: requests are due whether or not earlier ones were answered. */
#include "load_priv.h"

/* Scales the gaps so that their mean gives the requested rate; the shape of their distribution does not change. */
void arrivals_begin(struct arrivals *arrivals, const struct load_settings *settings, int64_t first_ns)
{
	double pool_mean_us = etc_gpd_mean(&ETC_GAP_US);
	double mean_ns = settings->rate_per_s > 0 ? 1e9 / settings->rate_per_s : pool_mean_us * 1e3;

	*arrivals = (struct arrivals){.gap = settings->gap, .next_ns = (double)first_ns};
	arrivals->scale_ns = settings->gap == LOAD_GAP_ETC ? mean_ns / pool_mean_us : mean_ns;
	rng_seed(&arrivals->rng, settings->seed + 1);
}

void arrivals_next(struct arrivals *arrivals)
{
	switch (arrivals->gap) {
	case LOAD_GAP_ETC:
		arrivals->next_ns += arrivals->scale_ns * etc_gpd_draw(&ETC_GAP_US, &arrivals->rng);
		break;
	case LOAD_GAP_EXPONENTIAL:
		arrivals->next_ns += arrivals->scale_ns * rng_exponential(&arrivals->rng);
		break;
	case LOAD_GAP_FIXED:
		arrivals->next_ns += arrivals->scale_ns;
		break;
	}
}
