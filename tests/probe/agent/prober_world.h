/* SPDX-License-Identifier: BSD-3-Clause */
/* A prober with made-up peers, a clock that shows what the test says, and no packets. */
#ifndef PROBER_WORLD_H
#define PROBER_WORLD_H

#include "prober_priv.h"

/* Ourselves, with address 1, and the peers a, b and c, with 2, 3 and 4. */
extern struct peer hosts[4];

/* State of the test: each runs in a process of its own. */
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

/* Puts the figures of a peer's window that ends at `now` into `row`. */
void take_window(size_t index, int64_t now);

/* Frees the prober, the neighbours and the row. */
void tear_down(void);

#endif
