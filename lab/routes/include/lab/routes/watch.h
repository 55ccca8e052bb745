/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a routed lab's links, as reported by the switches' kernels: a link is up while both of its ends are up
 * and have a carrier. A host's end is not queried: if it is down, the switch's end has no carrier. Root only; one
 * thread.
 */
#ifndef LAB_ROUTES_WATCH_H
#define LAB_ROUTES_WATCH_H

#include <stdbool.h>

#include <base/error.h>
#include <lab/lab.h>

struct watch;

/* Reads the present state of the links. The lab is borrowed. Returns NULL with err set on failure. */
struct watch *watch_open(const struct lab *lab, struct error *err);
void watch_close(struct watch *watch); /* NULL is legal */

/* For poll(): readable when something may have changed. */
int watch_descriptor(const struct watch *watch);

/* Reads the changes that the kernels have reported since the last call. Returns 0, or -errno with err set. */
int watch_update(struct watch *watch, struct error *err);
/* Returns true if a link of the lab was up at the last update. */
bool watch_is_up(const struct watch *watch, int link);

#endif
