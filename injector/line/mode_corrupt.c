/* SPDX-License-Identifier: BSD-3-Clause */
/* Corruption: flips one random bit of some packets. */
#include <errno.h>
#include <stdlib.h>

#include <base/rng.h>

#include "mode_priv.h"

struct corrupt {
	struct rng rng;
	uint64_t threshold;
};

static int corrupt_create(const struct mode_context *context, const char *specification, void **state,
			  struct error *err)
{
	struct corrupt *corrupt = calloc(1, sizeof *corrupt);

	*state = corrupt;
	if (!corrupt)
		return error_set(err, ENOMEM, "no memory for --corrupt");
	rng_seed(&corrupt->rng, context->seed);
	if (mode_parse_percent("corrupt", specification, &corrupt->threshold, err) == 0)
		return 0;
	free(corrupt);
	return -EINVAL;
}

static void corrupt_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	struct corrupt *corrupt = state;

	(void)packet;
	(void)now;
	if (rng_next(&corrupt->rng) >= corrupt->threshold)
		return;
	verdict->corrupt = true;
	verdict->random = rng_next(&corrupt->rng);
}

const struct injector_mode mode_corrupt = {
	.name = "corrupt",
	.create = corrupt_create,
	.apply = corrupt_apply,
	.destroy = free,
};
