/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/line/mode.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <injector/line/line.h>

#include "mode_priv.h"

#define ROW(name, argument, help) {&mode_##name, offsetof(struct injector_mode_settings, name)},
static const struct row {
	const struct injector_mode *mode;
	size_t offset; /* of its specification in the settings */
} rows[MODES] = {INJECTOR_MODES(ROW)};

static const char *specification_of(const struct row *row, const struct injector_mode_settings *settings)
{
	const char *text;

	memcpy(&text, (const char *)settings + row->offset, sizeof text);
	return text;
}

int injector_mode_settings_set(struct injector_mode_settings *settings, const char *name, const char *specification)
{
	for (size_t i = 0; i < MODES; i++) {
		if (strcmp(rows[i].mode->name, name) != 0)
			continue;
		if (specification_of(&rows[i], settings))
			return -EEXIST;
		memcpy((char *)settings + rows[i].offset, &specification, sizeof specification);
		return 0;
	}
	return -EINVAL;
}

bool injector_modes_wanted(const struct injector_mode_settings *settings)
{
	for (size_t i = 0; i < MODES; i++) {
		if (specification_of(&rows[i], settings))
			return true;
	}
	return false;
}

const char *injector_modes_setter(const struct injector_mode_settings *settings)
{
	for (size_t i = 0; i < MODES; i++) {
		if (rows[i].mode->sets_delay && specification_of(&rows[i], settings))
			return rows[i].mode->name;
	}
	return NULL;
}

static int check_overlap(const struct injector_mode_settings *settings, struct error *err)
{
	const struct injector_mode *on[MODES];
	bool reorders = false;
	size_t count = 0;

	for (size_t i = 0; i < MODES; i++)
		if (specification_of(&rows[i], settings))
			on[count++] = rows[i].mode;
	for (size_t i = 0; i < count; i++) {
		reorders = reorders || on[i]->reorders;
		for (size_t j = i + 1; on[i]->group && j < count; j++)
			if (on[j]->group && strcmp(on[i]->group, on[j]->group) == 0)
				return error_set(err, EINVAL,
						 "--%s and --%s overlap: each decides the %s of a packet; choose one",
						 on[i]->name, on[j]->name, on[i]->group);
	}
	if (settings->reorder && !reorders)
		return error_set(err, EINVAL,
				 "--reorder needs a mode whose packets can overtake each other, such as --jitter");
	if (settings->reorder && settings->rate)
		return error_set(
			err, EINVAL,
			"--reorder and --rate overlap: packets go onto a link one after the other; choose one");
	return 0;
}

static int add_mode(struct injector_modes *set, const struct row *row, const struct injector_mode_settings *settings,
		    const struct dp_clock *clock, struct error *err)
{
	struct mode_context context = {
		.settings = settings, .clock = clock, .seed = settings->seed + 0x9e3779b97f4a7c15U * (set->count + 1)};
	void *state = NULL;
	int status = row->mode->create(&context, specification_of(row, settings), &state, err);

	if (status)
		return status;
	set->items[set->count].mode = row->mode;
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
	for (size_t i = 0; !status && i < MODES; i++) {
		if (specification_of(&rows[i], settings))
			status = add_mode(set, &rows[i], settings, clock, err);
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
