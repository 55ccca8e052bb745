/* SPDX-License-Identifier: BSD-3-Clause */
/* Step schedule: at second t the delay becomes D. The last step has no end. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <injector/line/line.h>

#include "mode_priv.h"

struct step {
	uint64_t at_cycles; /* start of the step, counted from the first packet */
	uint64_t delay_cycles;
};

struct steps {
	struct mode_clock clock;
	size_t at, count; /* at: index of the current step */
	struct step steps[];
};

static int fill(struct steps *steps, const struct series *series, const struct dp_clock *clock, const char *name,
		struct error *err)
{
	for (size_t i = 0; i < series->rows; i++) {
		double second = series->values[2 * i], delay_us = series->values[2 * i + 1];

		if (!(second >= 0 && second <= 1e6) || (i > 0 && second <= series->values[2 * i - 2]))
			return error_set(err, EINVAL, "%s: step %zu at %g s: expected increasing seconds from 0", name,
					 i + 1, second);
		if (!(delay_us >= 0 && delay_us <= INJECTOR_DELAY_MAXIMUM_US))
			return error_set(err, EINVAL,
					 "%s: step %zu: a delay of %g us is out of range, expected 0 to %g", name,
					 i + 1, delay_us, INJECTOR_DELAY_MAXIMUM_US);
		steps->steps[i].at_cycles = (uint64_t)llround(second * 1e9 / clock->ns_per_cycle);
		steps->steps[i].delay_cycles = (uint64_t)llround(delay_us * 1e3 / clock->ns_per_cycle);
	}
	if (series->values[0] != 0)
		return error_set(err, EINVAL, "%s: the first step must be at second 0", name);
	steps->count = series->rows;
	return 0;
}

/*
 * Returns the name of the text for messages. If the text has no colon, or has a slash, the user may have meant a file.
 */
static const char *name_of_text(const char *specification)
{
	bool path = !strchr(specification, ':') || strchr(specification, '/');

	return path ? "--steps: neither a file nor a schedule such as 0:10,5:20" : "--steps";
}

static int steps_create(const struct mode_context *context, const char *specification, void **state, struct error *err)
{
	bool file = access(specification, F_OK) == 0;
	const char *name = file ? specification : name_of_text(specification);
	struct series series;
	struct steps *steps;
	int status = file ? series_read(specification, 2, ':', &series, err)
			  : series_parse(name, specification, 2, ':', &series, err);

	if (status)
		return file ? mode_blame_file(status, err) : status;
	steps = calloc(1, sizeof *steps + series.rows * sizeof steps->steps[0]);
	status = steps ? fill(steps, &series, context->clock, name, err)
		       : error_set(err, ENOMEM, "no memory for --steps");
	free(series.values);
	if (status) {
		free(steps);
	} else {
		mode_clock_init(&steps->clock, context->settings->start);
		*state = steps;
	}
	return file ? mode_blame_file(status, err) : status;
}

static void steps_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	struct steps *steps = state;
	uint64_t elapsed = mode_elapsed(&steps->clock, now);

	(void)packet;
	while (steps->at + 1 < steps->count && elapsed >= steps->steps[steps->at + 1].at_cycles)
		steps->at++;
	verdict->delay_cycles = steps->steps[steps->at].delay_cycles;
}

static uint64_t steps_longest(const void *state, uint64_t cycles)
{
	const struct steps *steps = state;

	cycles = 0;
	for (size_t i = 0; i < steps->count; i++) {
		if (steps->steps[i].delay_cycles > cycles)
			cycles = steps->steps[i].delay_cycles;
	}
	return cycles;
}

const struct injector_mode mode_steps = {
	.name = "steps",
	.group = "delay",
	.create = steps_create,
	.apply = steps_apply,
	.destroy = free,
	.longest = steps_longest,
	.sets_delay = true,
};
