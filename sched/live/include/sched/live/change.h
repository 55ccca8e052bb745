/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of a cluster as a line of text, for real or for a forecast:
 *
 *   drain|up|down [machine|rack|pod] NAME    no new tasks, tasks again, lost
 *   add N machines like NAME                 same rack and slots; named NAME.1, NAME.2, ...
 *   curve NAME := OTHER                      jobs of one curve get another's
 *   cancel JOB
 *
 * and the forecast of the decisions that follow, which needs a copy of the live state: a forked process.
 */
#ifndef SCHED_LIVE_CHANGE_H
#define SCHED_LIVE_CHANGE_H

#include <sched/live/live.h>

enum live_change_kind { LIVE_CHANGE_STATE, LIVE_CHANGE_ADD, LIVE_CHANGE_CURVE, LIVE_CHANGE_CANCEL };
enum live_change_scope { LIVE_SCOPE_MACHINE, LIVE_SCOPE_RACK, LIVE_SCOPE_POD };

enum { LIVE_CHANGE_NAME_BYTES = 256, LIVE_CHANGE_MACHINES_MAXIMUM = 100000 };

struct live_change {
	enum live_change_kind kind;
	enum live_change_scope scope;  /* of STATE */
	enum live_machine_state state; /* of STATE */
	uint32_t count;                /* of ADD */
	char name[LIVE_CHANGE_NAME_BYTES];
	char other[LIVE_CHANGE_NAME_BYTES]; /* of CURVE */
};

/* 0 or -EINVAL with err set. */
int live_change_parse(const char *text, struct live_change *change, struct error *err);

/*
 * Makes the change; touched(), unless NULL, is called for each machine concerned. 0, or -errno with err set: an unknown
 * name, then nothing has changed.
 */
int live_change_apply(struct live *live, const struct live_change *change,
		      void (*touched)(void *context, uint32_t machine), void *context, struct error *err);

/*
 * Steps from now_s on and counts each decision as carried out at once, until nothing is left to do or within_s have
 * passed. *end_s: the time at the end. 0 or -errno with err set.
 */
int live_settle(struct live *live, double now_s, double within_s, double *end_s, struct error *err);

#endif
