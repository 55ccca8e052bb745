/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The view of a running injector for people and programs: its state ("nomora.inject/1", model/injector_state.h),
 * Prometheus text, the commands of its control socket, a summary line. Control thread.
 *
 * Commands: "stats", "set delay_us=D" (or delay_ab_us=, delay_ba_us=), "metrics", "reset", "stop".
 */
#ifndef INJECTOR_MONITOR_H
#define INJECTOR_MONITOR_H

#include <stdbool.h>

#include <jansson.h>

#include <base/error.h>
#include <dp/port.h>
#include <injector/line/line.h>
#include <model/injector_state.h>

struct injector_monitor;

/* Borrows its arguments until destroy; capture may be NULL. NULL with err set: -ENOMEM. */
struct injector_monitor *injector_monitor_create(struct injector *injector, struct dp_port *port_a,
						 struct dp_port *port_b, struct injector_capture *capture,
						 struct error *err);
void injector_monitor_destroy(struct injector_monitor *monitor); /* NULL is legal */

/*
 * Totals since start or reset, and rates since the last call. Logs full rings, lost links and a failed capture. 0, or
 * -ETIMEDOUT with err set when the injector does not answer.
 */
int injector_monitor_sample(struct injector_monitor *monitor, struct injector_state *state, struct error *err);

/* A control_handler: `context` is the monitor. */
json_t *injector_monitor_request(void *context, const char *line, struct error *err);

/* True once the command "stop" has arrived. */
bool injector_monitor_stopped(const struct injector_monitor *monitor);

/* One line for people; `text` holds 800 bytes or more. */
void injector_monitor_summary(const struct injector_state *state, char *text, size_t bytes);

/* Prometheus text; the caller frees. NULL if out of memory. */
char *injector_monitor_metrics(const struct injector_state *state);

#endif
