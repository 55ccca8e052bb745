/* SPDX-License-Identifier: BSD-3-Clause */
/* Duplication: some packets are transmitted twice, as the packet itself and as a separate copy. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/rng.h>

#include "mode_priv.h"

struct duplicate {
	struct rng rng;
	uint64_t threshold;
};

static int duplicate_create(const struct mode_context *context, const char *specification, void **state,
			    struct error *err)
{
	struct duplicate *duplicate = calloc(1, sizeof *duplicate);

	*state = duplicate;
	if (!duplicate)
		return error_set(err, ENOMEM, "no memory for --duplicate");
	rng_seed(&duplicate->rng, context->seed);
	if (mode_parse_percent("duplicate", specification, &duplicate->threshold, err) == 0)
		return 0;
	free(duplicate);
	return -EINVAL;
}

static void duplicate_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	struct duplicate *duplicate = state;

	(void)packet;
	(void)now;
	verdict->copies += rng_next(&duplicate->rng) < duplicate->threshold;
}

/*
 * Returns the mean number of packets made of one packet, 1 + P / 100. The mean is enough to size a ring: each of its
 * many packets is duplicated independently, so the share of duplicates is close to P, and the number of slots that
 * messages advise has 10 % to spare.
 */
static double duplicate_multiple(const void *state)
{
	const struct duplicate *duplicate = state;

	return 1 + ldexp((double)duplicate->threshold, -64);
}

const struct injector_mode mode_duplicate = {
	.name = "duplicate",
	.create = duplicate_create,
	.apply = duplicate_apply,
	.destroy = free,
	.multiple = duplicate_multiple,
};
