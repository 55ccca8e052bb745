/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of a cluster, which are made or only forecast. Each is a line of text:
 *
 *   drain|up|down|fail [machine|rack|pod] NAME...
 *                      drain: gets no new tasks; up: gets tasks again; down, fail: its tasks wait again
 *   add N machines like NAME                 same rack and slots; named NAME.1, NAME.2, ...
 *   curve NAME := OTHER                      jobs of curve NAME use the curve OTHER
 *   cancel JOB
 *
 * live_settle() forecasts the decisions that follow. It changes the live state: call it in a forked process, on its
 * copy.
 */
#ifndef SCHED_LIVE_CHANGE_H
#define SCHED_LIVE_CHANGE_H

#include <sched/live/live.h>

enum live_change_kind { LIVE_CHANGE_STATE, LIVE_CHANGE_ADD, LIVE_CHANGE_CURVE, LIVE_CHANGE_CANCEL };
enum live_change_scope { LIVE_SCOPE_MACHINE, LIVE_SCOPE_RACK, LIVE_SCOPE_POD };

enum { LIVE_CHANGE_NAME_BYTES = 256, LIVE_CHANGE_NAMES_BYTES = 4096, LIVE_CHANGE_MACHINES_MAXIMUM = 100000 };

struct live_change {
	enum live_change_kind kind;
	enum live_change_scope scope;       /* of STATE */
	enum live_machine_state state;      /* of STATE */
	uint32_t count;                     /* of ADD */
	char name[LIVE_CHANGE_NAMES_BYTES]; /* of STATE: one or more, with a blank between them */
	char other[LIVE_CHANGE_NAME_BYTES]; /* of CURVE */
};

/* 0 or -EINVAL with err set. */
int live_change_parse(const char *text, struct live_change *change, struct error *err);

/*
 * Makes the change; calls touched(), unless it is NULL, with the number of each machine that was added or whose state
 * was set. 0, or -errno with err set; -ENOENT: a name is unknown, and nothing has changed.
 */
int live_change_apply(struct live *live, const struct live_change *change,
		      void (*touched)(void *context, uint32_t machine), void *context, struct error *err);

/*
 * Calls live_step() from now_s on and reports each decided task as started at once, until no further decision follows
 * or within_s seconds have passed. *end_s: the time of the last decision; now_s if there is none. 0 or -errno with err
 * set.
 */
int live_settle(struct live *live, double now_s, double within_s, double *end_s, struct error *err);

#endif
