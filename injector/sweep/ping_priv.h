/* SPDX-License-Identifier: BSD-3-Clause */
/* The round trip as ping sees it: an independent check of the injected delay. */
#ifndef SWEEP_PING_PRIV_H
#define SWEEP_PING_PRIV_H

#include <signal.h>
#include <stdint.h>

#include "host_priv.h"

/* Median of `count` pings, µs. 0 or -errno with err set. */
int ping_median(const struct host *host, const char *address, int64_t count, const volatile sig_atomic_t *stop,
		double *median_us, struct error *err);

/* Median of the "time=1.23 ms" in ping's output, in µs; -ENOENT if there are none. Pure. */
int ping_parse(const char *output, double *median_us);

#endif
