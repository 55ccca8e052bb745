/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serves Kubernetes' scheduler extender on an address of its own, with a token of its own. Nothing else is served
 * there.
 */
#ifndef SCHED_SCHEDD_API_EXTENDER_H
#define SCHED_SCHEDD_API_EXTENDER_H

#include <stdint.h>

#include <base/error.h>

struct schedd;
struct schedd_options;
struct api_extender;

/*
 * Stores the nodes of the jobs' roots in the file STATE.roots, where STATE is options->state. Returns NULL with err set
 * on failure.
 */
struct api_extender *api_extender_create(struct schedd *schedd, const struct schedd_options *options,
					 struct error *err);
void api_extender_destroy(struct api_extender *extender); /* NULL is legal, here and below */

/* Like serve_fd() etc. of <serve/serve.h>. If `extender` is NULL, they return -1, and api_extender_port() returns 0. */
int api_extender_fd(const struct api_extender *extender);
void api_extender_run(struct api_extender *extender);
int api_extender_timeout_ms(struct api_extender *extender);
uint16_t api_extender_port(const struct api_extender *extender);

#endif
