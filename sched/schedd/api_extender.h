/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kubernetes' scheduler extender on an address of its own: kube-scheduler sends no token, so that nothing else is
 * served there.
 */
#ifndef SCHED_SCHEDD_API_EXTENDER_H
#define SCHED_SCHEDD_API_EXTENDER_H

#include <stdint.h>

#include <base/error.h>

struct schedd;
struct api_extender;

/* Roots are kept in STATE.roots. NULL with err set. */
struct api_extender *api_extender_create(struct schedd *schedd, const char *address, uint16_t port, const char *state,
					 struct error *err);
void api_extender_destroy(struct api_extender *extender); /* NULL is legal, here and below */

/* As the functions of <serve/serve.h>. Without an extender they return -1, and the port is 0. */
int api_extender_fd(const struct api_extender *extender);
void api_extender_run(struct api_extender *extender);
int api_extender_timeout_ms(struct api_extender *extender);
uint16_t api_extender_port(const struct api_extender *extender);

#endif
