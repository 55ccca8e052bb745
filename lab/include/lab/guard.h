/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A guard is a child process that runs an action as soon as its parent ends, even by SIGKILL, unless the parent has
 * released the guard before. The guard has its own session and keeps no terminal open.
 */
#ifndef LAB_GUARD_H
#define LAB_GUARD_H

#include <base/error.h>

struct guard;

/*
 * Starts the guard. It is forked, so its action sees the context as it is at this call. Returns NULL with err set on
 * failure.
 */
struct guard *guard_start(void (*action)(void *context), void *context, struct error *err);
/* Ends the guard without running the action. NULL is legal. */
void guard_release(struct guard *guard);

#endif
