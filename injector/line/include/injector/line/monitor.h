/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What people and programs see of a running injector: the JSON of `nomora.inject/1`, Prometheus text, the commands of
 * its control socket, a last line of summary. Control thread.
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

struct injector_monitor;

/* Borrows everything given until destroy; capture may be NULL. */
struct injector_monitor *injector_monitor_create(struct injector *injector, struct dp_port *port_a,
						 struct dp_port *port_b, struct injector_capture *capture,
						 struct error *err);
void injector_monitor_destroy(struct injector_monitor *monitor); /* NULL is legal */

/* Totals since start or reset, and rates since the call before. New object; NULL with err set. */
json_t *injector_monitor_sample(struct injector_monitor *monitor, struct error *err);

/* A control_handler: `context` is the monitor. */
json_t *injector_monitor_request(void *context, const char *line, struct error *err);

/* "stop" was asked for. */
bool injector_monitor_stopped(const struct injector_monitor *monitor);

/* One line for a person, from a sample; `text` holds 512 bytes or more. */
void injector_monitor_summary(const json_t *sample, char *text, size_t bytes);

/* Prometheus text from a sample; the caller frees. NULL if out of memory. */
char *injector_monitor_metrics(const json_t *sample);

#endif
