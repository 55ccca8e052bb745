/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/recovery/sharing.h>

static int rates(const struct fluid *fluid, double *rate)
{
	for (uint32_t i = 0; i < fluid->count; i++)
		rate[i] = fluid->flows[i].active ? fluid->flows[i].share_MBps : 0;
	return 0;
}

const struct sharing_policy sharing_performance = {
	"performance", "eq. 19: the flows of an application end together, after a time set by its weight", true, rates};
