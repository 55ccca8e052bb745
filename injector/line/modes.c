/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/line/mode.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <injector/line/line.h>

#include "mode_priv.h"

/* In the order in which they are applied to a packet; the filter is the first. */
static const struct injector_mode *const modes[] = {
	&mode_only,   &mode_loss, &mode_gilbert, &mode_duplicate, &mode_steps, &mode_jitter,
	&mode_replay, &mode_rate, NULL,
};

static const char *specification_of(const struct injector_mode *mode, const struct injector_mode_settings *settings)
{
	const char *text;

	memcpy(&text, (const char *)settings + mode->offset, sizeof text);
	return text;
}

bool injector_modes_wanted(const struct injector_mode_settings *settings)
{
	for (size_t i = 0; modes[i]; i++) {
		if (specification_of(modes[i], settings))
			return true;
	}
	return false;
}

static int check_overlap(const struct injector_mode_settings *settings, struct error *err)
{
	for (size_t i = 0; modes[i]; i++) {
		if (!specification_of(modes[i], settings) || !modes[i]->group)
			continue;
		for (size_t j = i + 1; modes[j]; j++) {
			if (!specification_of(modes[j], settings) || !modes[j]->group ||
			    strcmp(modes[i]->group, modes[j]->group) != 0)
				continue;
			return error_set(err, EINVAL,
					 "--%s and --%s overlap: each decides the %s of a packet; choose one",
					 modes[i]->name, modes[j]->name, modes[i]->group);
		}
	}
	if (settings->reorder && !settings->jitter && !settings->replay)
		return error_set(err, EINVAL, "--reorder needs --jitter or --replay: a fixed delay never reorders");
	if (settings->reorder && settings->rate)
		return error_set(
			err, EINVAL,
			"--reorder and --rate overlap: packets go onto a link one after the other; choose one");
	return 0;
}

static int add_mode(struct injector_modes *set, const struct injector_mode *mode,
		    const struct injector_mode_settings *settings, const struct dp_clock *clock, struct error *err)
{
	struct mode_context context = {
		.settings = settings, .clock = clock, .seed = settings->seed + 0x9e3779b97f4a7c15U * (set->count + 1)};
	void *state = NULL;
	int status = mode->create(&context, specification_of(mode, settings), &state, err);

	if (status)
		return status;
	set->items[set->count].mode = mode;
	set->items[set->count++].state = state;
	return 0;
}

struct injector_modes *injector_modes_create(const struct injector_mode_settings *settings,
					     const struct dp_clock *clock, struct error *err)
{
	struct injector_modes *set = calloc(1, sizeof *set);
	int status = 0;

	if (!set) {
		error_set(err, ENOMEM, "no memory for the modes");
		return NULL;
	}
	status = check_overlap(settings, err);
	for (size_t i = 0; !status && modes[i]; i++) {
		if (specification_of(modes[i], settings))
			status = add_mode(set, modes[i], settings, clock, err);
	}
	if (!status)
		return set;
	injector_modes_destroy(set);
	errno = -status;
	return NULL;
}

void injector_modes_destroy(struct injector_modes *set)
{
	if (!set)
		return;
	for (unsigned int i = 0; i < set->count; i++)
		set->items[i].mode->destroy(set->items[i].state);
	free(set);
}

const char *modes_delay_setter(const struct injector_modes *set)
{
	for (unsigned int i = 0; set && i < set->count; i++) {
		if (set->items[i].mode->sets_delay)
			return set->items[i].mode->name;
	}
	return NULL;
}

uint64_t modes_longest(const struct injector_modes *set, uint64_t cycles)
{
	for (unsigned int i = 0; set && i < set->count; i++) {
		if (set->items[i].mode->longest)
			cycles = set->items[i].mode->longest(set->items[i].state, cycles);
	}
	return cycles;
}

double modes_multiple(const struct injector_modes *set)
{
	double multiple = 1;

	for (unsigned int i = 0; set && i < set->count; i++) {
		if (set->items[i].mode->multiple)
			multiple *= set->items[i].mode->multiple(set->items[i].state);
	}
	return multiple;
}

double modes_limit_pps(const struct injector_modes *set)
{
	double limit_pps = INFINITY;

	for (unsigned int i = 0; set && i < set->count; i++) {
		if (set->items[i].mode->thins)
			return INFINITY;
		if (set->items[i].mode->limit_pps)
			limit_pps = fmin(limit_pps, set->items[i].mode->limit_pps(set->items[i].state));
	}
	return limit_pps;
}
