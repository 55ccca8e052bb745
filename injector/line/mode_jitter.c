/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jitter on top of the delay. The quantile function of the distribution is tabulated once (16384 cells, linear in
 * between), so that a packet costs one random number and one multiplication. The tail ends at the middle of the last
 * cell, the 99.997th percentile; no jitter exceeds 10 ms.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/number.h>
#include <base/quantile.h>
#include <base/rng.h>
#include <injector/line/line.h>

#include "mode_priv.h"

enum { CELL_BITS = 14, CELLS = 1 << CELL_BITS };

struct jitter {
	struct rng rng;
	bool reorder;
	int64_t quantile_cycles[CELLS + 1];
};

enum distribution { UNIFORM, NORMAL, PARETO, DISTRIBUTIONS };

/* Returns the p-quantile of the added delay, us. Pareto is shifted to start at 0 (Lomax), with scale S and shape A. */
static double quantile_us(enum distribution distribution, double scale_us, double shape, double p)
{
	switch (distribution) {
	case UNIFORM:
		return scale_us * p;
	case NORMAL:
		return scale_us * quantile_normal(p);
	case PARETO:
		return scale_us * (pow(1 - p, -1 / shape) - 1);
	case DISTRIBUTIONS:
		break;
	}
	return 0;
}

static int parse(const char *specification, enum distribution *distribution, double *scale_us, double *shape,
		 struct error *err)
{
	static const char *const names[] = {"uniform:", "normal:", "pareto:"};
	char text[128], *fields[3];
	size_t count = 0, kind = 0;

	while (kind < DISTRIBUTIONS && strncmp(specification, names[kind], strlen(names[kind])) != 0)
		kind++;
	if (kind < DISTRIBUTIONS && strlen(specification) < sizeof text) {
		strcpy(text, specification + strlen(names[kind]));
		count = file_split(text, ',', fields, 3);
	}
	*distribution = (enum distribution)kind;
	*shape = 0;
	if (kind == DISTRIBUTIONS || count != (kind == PARETO ? 2U : 1U) ||
	    number_parse_double(fields[0], scale_us) != 0 ||
	    !(*scale_us >= 0 && *scale_us <= INJECTOR_DELAY_MAXIMUM_US) ||
	    (kind == PARETO && (number_parse_double(fields[1], shape) != 0 || !(*shape > 1 && *shape <= 100))))
		return error_set(err, EINVAL,
				 "--jitter: \"%s\": expected uniform:W, normal:S or pareto:S,A with 0 to %g us and "
				 "shape 1 < A <= 100",
				 specification, INJECTOR_DELAY_MAXIMUM_US);
	return 0;
}

static int jitter_create(const struct mode_context *context, const char *specification, void **state, struct error *err)
{
	enum distribution distribution;
	double scale_us, shape;
	struct jitter *jitter;
	int status = parse(specification, &distribution, &scale_us, &shape, err);

	if (status)
		return status;
	jitter = calloc(1, sizeof *jitter);
	if (!jitter)
		return error_set(err, ENOMEM, "no memory for --jitter");
	rng_seed(&jitter->rng, context->seed);
	jitter->reorder = context->settings->reorder;
	for (int i = 0; i <= CELLS; i++) {
		double p = fmin(fmax((double)i / CELLS, 0.5 / CELLS), 1 - 0.5 / CELLS);
		double us = fmin(quantile_us(distribution, scale_us, shape, p), INJECTOR_DELAY_MAXIMUM_US);

		jitter->quantile_cycles[i] = llround(us * 1e3 / context->clock->ns_per_cycle);
	}
	*state = jitter;
	return 0;
}

static void jitter_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	struct jitter *jitter = state;
	uint64_t random = rng_next(&jitter->rng);
	uint32_t cell = (uint32_t)(random >> (64 - CELL_BITS));
	int64_t fraction = (int64_t)(random & 0xffff);
	int64_t low = jitter->quantile_cycles[cell];
	int64_t delay =
		(int64_t)verdict->delay_cycles + low + (((jitter->quantile_cycles[cell + 1] - low) * fraction) >> 16);

	(void)packet;
	(void)now;
	verdict->delay_cycles = delay > 0 ? (uint64_t)delay : 0;
	verdict->overtake = jitter->reorder;
}

static uint64_t jitter_longest(const void *state, uint64_t cycles)
{
	const struct jitter *jitter = state;

	return cycles + (uint64_t)jitter->quantile_cycles[CELLS];
}

const struct injector_mode mode_jitter = {
	.name = "jitter",
	.reorders = true,
	.group = "delay",
	.create = jitter_create,
	.apply = jitter_apply,
	.destroy = free,
	.longest = jitter_longest,
};
