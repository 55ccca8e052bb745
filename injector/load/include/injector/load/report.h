/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports the result of a load as text and as JSON. `server` is the name as the user gave it. */
#ifndef LOAD_REPORT_H
#define LOAD_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <injector/load/load.h>

extern const char *const load_mode_names[]; /* by enum load_mode, NULL at the end */

/*
 * Splits "HOST", "HOST:PORT" or "[IPv6]:PORT". *host and *port point into `text`, which is modified; the default port
 * is 11211. Returns 0, or -EINVAL with err set.
 */
int load_split_server(char *text, const char **host, const char **port, struct error *err);

void load_print(const struct load_settings *settings, const char *server, const struct load_result *result, FILE *out);
/* If no request was answered in the measured time, logs a warning with the likely cause and returns true. */
bool load_explain_nothing(const struct load_settings *settings, const struct load_result *result);
/* Returns JSON (nomora.load/1), or NULL if out of memory. */
json_t *load_to_json(const struct load_settings *settings, const char *server, const struct load_result *result);

#endif
