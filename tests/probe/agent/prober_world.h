/* SPDX-License-Identifier: BSD-3-Clause */
/* A prober with simulated peers, a clock set by the test, and no packets. */
#ifndef PROBER_WORLD_H
#define PROBER_WORLD_H

#include "agent_priv.h"

/* The prober's own host, with address 1, and the peers a, b and c, with 2, 3 and 4. */
extern struct peer hosts[4];

/* State of the test: each test runs in its own process. */
extern struct agent_options options;
extern struct neighbours neighbours;
extern struct prober prober;
extern struct prober_probe probe;
extern struct agent_row row;

static const int64_t begin_ns = INT64_C(1795188663000000000);

struct agent_options options_for(uint32_t paths);

/* Creates the prober with `options` and adds the peers. */
void make_with(const struct peer *items, size_t count);

struct stamp at(int64_t ns);

/* Writes the figures of a peer's window that ends at `now` to `row`. */
void take_window(size_t index, int64_t now);

/* Frees the prober, the neighbours and the row. */
void tear_down(void);

#endif
