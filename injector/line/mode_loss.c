/* SPDX-License-Identifier: BSD-3-Clause */
/* Bernoulli loss: drops each packet independently. */
#include <errno.h>
#include <stdlib.h>

#include <base/rng.h>

#include "mode_priv.h"

struct loss {
	struct rng rng;
	uint64_t threshold;
};

static int loss_create(const struct mode_context *context, const char *specification, void **state, struct error *err)
{
	struct loss *loss = calloc(1, sizeof *loss);

	*state = loss;
	if (!loss)
		return error_set(err, ENOMEM, "no memory for --loss");
	rng_seed(&loss->rng, context->seed);
	if (mode_parse_percent("loss", specification, &loss->threshold, err) == 0)
		return 0;
	free(loss);
	return -EINVAL;
}

static void loss_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	struct loss *loss = state;

	(void)packet;
	(void)now;
	verdict->lost = rng_next(&loss->rng) < loss->threshold;
}

const struct injector_mode mode_loss = {
	.name = "loss",
	.group = "loss",
	.create = loss_create,
	.apply = loss_apply,
	.destroy = free,
	.thins = true,
};
