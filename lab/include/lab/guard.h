/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A child that runs an action as soon as its parent ends, however it ends (SIGKILL included), unless it was released
 * before. It has its own session and keeps no terminal open.
 */
#ifndef LAB_GUARD_H
#define LAB_GUARD_H

#include <base/error.h>

struct guard;

/* Starts the child, which has a copy of the context as it is now (fork). Returns NULL with err set on failure. */
struct guard *guard_start(void (*action)(void *context), void *context, struct error *err);
/* Ends the child without the action; NULL is legal. */
void guard_release(struct guard *guard);

#endif
