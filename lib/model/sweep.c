/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <model/sweep.h>

static const char *const direction_names[] = {"both", "ab", "ba"};
static const char *const better_names[] = {"higher", "lower"};

const char *sweep_direction_name(enum sweep_direction direction)
{
	return direction_names[direction];
}

const char *sweep_better_name(enum sweep_better better)
{
	return better_names[better];
}

int sweep_parse_direction(const char *text)
{
	for (int i = 0; i < 3; i++)
		if (strcmp(text, direction_names[i]) == 0)
			return i;
	return -EINVAL;
}

int sweep_parse_better(const char *text)
{
	for (int i = 0; i < 2; i++)
		if (strcmp(text, better_names[i]) == 0)
			return i;
	return -EINVAL;
}

void sweep_destroy(struct sweep *sweep)
{
	if (!sweep)
		return;
	free(sweep->file);
	free(sweep->rows);
	free(sweep);
}

double sweep_row_added_rtt_us(const struct sweep *sweep, const struct sweep_row *row)
{
	return !sweep->plain && row->direction == SWEEP_BOTH ? 2 * row->delay_us : row->delay_us;
}

int sweep_find_metric(const struct sweep *sweep, const char *name)
{
	for (size_t i = 0; i < sweep->metric_count; i++)
		if (strcmp(sweep->metrics[i].name, name) == 0)
			return (int)i;
	return -ENOENT;
}

bool sweep_has_run(const struct sweep *sweep, double delay_us, enum sweep_direction direction, int64_t run)
{
	for (size_t i = 0; i < sweep->count; i++)
		if (sweep->rows[i].delay_us == delay_us && sweep->rows[i].direction == direction &&
		    sweep->rows[i].run == run)
			return true;
	return false;
}
