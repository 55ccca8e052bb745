/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursty loss by a Markov chain of two states (Gilbert 1960, Elliott 1963). The chain makes one step per packet: from
 * good to bad with probability P, from bad to good with probability R. Then the packet is lost with the probability of
 * the current state. The mean share of packets in the bad state is P / (P + R).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/rng.h>

#include "mode_priv.h"

struct gilbert {
	struct rng rng;
	uint64_t to_bad, to_good, loss_in_bad, loss_in_good;
	bool bad;
};

static int parse(struct gilbert *gilbert, char *text, struct error *err)
{
	char *fields[5];
	uint64_t *values[] = {&gilbert->to_bad, &gilbert->to_good, &gilbert->loss_in_bad, &gilbert->loss_in_good};
	size_t count = file_split(text, ',', fields, 5);

	if (count < 2 || count > 4)
		return error_set(
			err, EINVAL,
			"--gilbert: expected P,R[,LB[,LG]] in percent: good to bad, bad to good, loss in bad (100), "
			"loss in good (0)");
	gilbert->loss_in_bad = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		if (mode_parse_percent("gilbert", fields[i], values[i], err))
			return -EINVAL;
	}
	return 0;
}

static int gilbert_create(const struct mode_context *context, const char *specification, void **state,
			  struct error *err)
{
	struct gilbert *gilbert = calloc(1, sizeof *gilbert);
	char *text = strdup(specification);
	int status;

	if (!gilbert || !text) {
		free(gilbert);
		free(text);
		return error_set(err, ENOMEM, "no memory for --gilbert");
	}
	rng_seed(&gilbert->rng, context->seed);
	status = parse(gilbert, text, err);
	free(text);
	if (status)
		free(gilbert);
	else
		*state = gilbert;
	return status;
}

static void gilbert_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	struct gilbert *gilbert = state;

	(void)packet;
	(void)now;
	if (rng_next(&gilbert->rng) < (gilbert->bad ? gilbert->to_good : gilbert->to_bad))
		gilbert->bad = !gilbert->bad;
	verdict->lost = rng_next(&gilbert->rng) < (gilbert->bad ? gilbert->loss_in_bad : gilbert->loss_in_good);
}

const struct injector_mode mode_gilbert = {
	.name = "gilbert",
	.group = "loss",
	.create = gilbert_create,
	.apply = gilbert_apply,
	.destroy = free,
	.thins = true,
};
