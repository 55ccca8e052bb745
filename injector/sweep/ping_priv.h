/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the round trip with ping: an independent check of the injected delay. */
#ifndef SWEEP_PING_PRIV_H
#define SWEEP_PING_PRIV_H

#include <signal.h>
#include <stdint.h>

#include "host_priv.h"

/* Measures the median of `count` pings, µs. Returns 0, or -errno with err set. */
int ping_median(const struct host *host, const char *address, int64_t count, const volatile sig_atomic_t *stop,
		double *median_us, struct error *err);

/*
 * Computes the median of the "time=1.23 ms" in ping's output, µs. Returns 0, -ENOENT if there are none, or -ENOMEM.
 * Pure.
 */
int ping_parse(const char *output, double *median_us);

#endif
