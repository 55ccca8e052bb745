/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows a running injector to people and programs: its state ("nomora.inject/1", model/injector_state.h), Prometheus
 * text, a summary line, and answers to the commands of its control socket. Call all functions on the control thread.
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

/* Borrows its arguments until it is destroyed; `capture` may be NULL. Returns NULL with err set if out of memory. */
struct injector_monitor *injector_monitor_create(struct injector *injector, struct dp_port *port_a,
						 struct dp_port *port_b, struct injector_capture *capture,
						 struct error *err);
void injector_monitor_destroy(struct injector_monitor *monitor); /* NULL is legal */

/*
 * Fills *state with the totals since start or reset and the rates since the last call. Logs full rings, lost links and
 * a failed capture. Returns 0, or -ETIMEDOUT with err set if the injector does not answer.
 */
int injector_monitor_sample(struct injector_monitor *monitor, struct injector_state *state, struct error *err);

/*
 * Carries out "stats", "set", "metrics", "reset" or "stop". `body` is JSON text, for "set" an object with delay_us, or
 * with delay_ab_us, delay_ba_us or both, or with a rule (mode.h). Returns the answer, which the caller json_decref()s,
 * or NULL with err set.
 */
json_t *injector_monitor_request(struct injector_monitor *monitor, const char *command, const char *body,
				 struct error *err);

/* Returns true once the command "stop" has arrived. */
bool injector_monitor_stopped(const struct injector_monitor *monitor);

/* Writes one line for people to `text`, which should hold 800 bytes or more. */
void injector_monitor_summary(const struct injector_state *state, char *text, size_t bytes);

/* Returns Prometheus text, which the caller frees, or NULL if out of memory. */
char *injector_monitor_metrics(const struct injector_state *state);

#endif
