/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modes that decide about each packet alone, with the same probability:
 * - loss drops it
 * - duplicate transmits it twice, as the packet itself and as a separate copy
 * - corrupt flips one random bit of it
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/rng.h>

#include "mode_priv.h"

struct coin {
	struct rng rng;
	uint64_t threshold;
};

static int create(const char *name, const struct mode_context *context, const char *specification, void **state,
		  struct error *err)
{
	struct coin *coin = calloc(1, sizeof *coin);

	*state = coin;
	if (!coin)
		return error_set(err, ENOMEM, "no memory for --%s", name);
	rng_seed(&coin->rng, context->seed);
	if (mode_parse_percent(name, specification, &coin->threshold, err) == 0)
		return 0;
	free(coin);
	return -EINVAL;
}

static bool is_chosen(struct coin *coin)
{
	return rng_next(&coin->rng) < coin->threshold;
}

static int loss_create(const struct mode_context *context, const char *specification, void **state, struct error *err)
{
	return create("loss", context, specification, state, err);
}

static void loss_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	(void)packet;
	(void)now;
	verdict->lost = is_chosen(state);
}

const struct injector_mode mode_loss = {
	.name = "loss",
	.group = "loss",
	.create = loss_create,
	.apply = loss_apply,
	.destroy = free,
	.thins = true,
};

static int duplicate_create(const struct mode_context *context, const char *specification, void **state,
			    struct error *err)
{
	return create("duplicate", context, specification, state, err);
}

static void duplicate_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	(void)packet;
	(void)now;
	verdict->copies += is_chosen(state);
}

/*
 * Returns the mean number of packets made of one packet, 1 + P / 100. The mean is enough to size a ring: each of its
 * many packets is duplicated independently, so the share of duplicates is close to P, and the number of slots that
 * messages advise has 10 % to spare.
 */
static double duplicate_multiple(const void *state)
{
	const struct coin *coin = state;

	return 1 + ldexp((double)coin->threshold, -64);
}

const struct injector_mode mode_duplicate = {
	.name = "duplicate",
	.create = duplicate_create,
	.apply = duplicate_apply,
	.destroy = free,
	.multiple = duplicate_multiple,
};

static int corrupt_create(const struct mode_context *context, const char *specification, void **state,
			  struct error *err)
{
	return create("corrupt", context, specification, state, err);
}

static void corrupt_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	struct coin *coin = state;

	(void)packet;
	(void)now;
	if (!is_chosen(coin))
		return;
	verdict->corrupt = true;
	verdict->random = rng_next(&coin->rng);
}

const struct injector_mode mode_corrupt = {
	.name = "corrupt",
	.create = corrupt_create,
	.apply = corrupt_apply,
	.destroy = free,
};
