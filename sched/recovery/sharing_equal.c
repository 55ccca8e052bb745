/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <sched/recovery/sharing.h>

static int rates(const struct fluid *fluid, double *rate)
{
	uint32_t servers = fluid->scenario->server_count;
	uint32_t *out = calloc(2 * (servers + 1u), sizeof *out), *in = out ? out + servers : NULL;

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < fluid->count; i++) {
		out[fluid->flows[i].from]++;
		in[fluid->flows[i].to]++;
	}
	for (uint32_t i = 0; i < fluid->count; i++) {
		const struct fluid_flow *flow = &fluid->flows[i];

		rate[i] = fmin(fluid->egress_MBps[flow->from] / out[flow->from],
			       fluid->ingress_MBps[flow->to] / in[flow->to]);
	}
	free(out);
	return 0;
}

const struct sharing_policy sharing_equal = {"equal", "fixed equal shares of each link per flow", true, rates};
