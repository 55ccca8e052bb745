/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of states and decisions. */
#include <string.h>

#include "live_priv.h"

static const char *const state_names[] = {
	[LIVE_WAITING] = "waiting", [LIVE_DECIDED] = "decided", [LIVE_RUNNING] = "running",
	[LIVE_MOVING] = "moving",   [LIVE_ENDED] = "ended",     [LIVE_FAILED] = "failed"};
static const char *const machine_names[] = {[LIVE_UP] = "up", [LIVE_DRAINING] = "draining", [LIVE_DOWN] = "down"};
static const char *const decision_names[] = {[LIVE_PLACE] = "place", [LIVE_MOVE] = "move", [LIVE_ADVICE] = "advice"};

const char *live_task_state_name(enum live_task_state state)
{
	return state_names[state];
}

const char *live_machine_state_name(enum live_machine_state state)
{
	return machine_names[state];
}

int live_machine_state_find(const char *name)
{
	for (int i = 0; i <= LIVE_DOWN; i++)
		if (strcmp(machine_names[i], name) == 0)
			return i;
	return -1;
}

const char *live_decision_kind_name(enum live_decision_kind kind)
{
	return decision_names[kind];
}
