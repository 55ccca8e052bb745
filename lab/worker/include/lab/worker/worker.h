/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One task of a dataflow job as a process: receives tuples from TCP connections, spends CPU time on each, and sends
 * tuples on. Queues are bounded: while a tuple would not fit into every output, no input is read, and TCP slows down
 * the senders. If outputs are full, the inputs take turns, so that each input gets the same share of the outputs'
 * capacity. One thread.
 *
 * A source emits until it has sent its volume or `stop` is set; then it closes its outputs. Every other task ends when
 * all its inputs have ended and its queues are empty. So the tasks of a job end in the order of the data flow, without
 * losing a tuple.
 */
#ifndef LAB_WORKER_WORKER_H
#define LAB_WORKER_WORKER_H

#include <signal.h>

#include <base/error.h>
#include <model/worker.h>

/*
 * Called once a second and at the end (`done`). If it returns a value other than 0, the worker ends and worker_run()
 * returns this value.
 */
typedef int (*worker_reporter)(void *context, const struct worker_report *report);

/*
 * Returns 0 when every tuple has been passed on, or the reporter's value if it is not 0. On errors, returns -errno with
 * err set: -ETIMEDOUT if not all connections were made within 30 s, or if the queues were not empty 30 s after `stop`.
 */
int worker_run(const struct worker_plan *plan, const volatile sig_atomic_t *stop, worker_reporter reporter,
	       void *context, struct error *err);

#endif
