/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network small enough to check by hand: two racks of two machines. The curve: p = 1 up to 14 us, 0.95 (cost 105) at
 * 20, 0.925 (108) at 30, 0.8 (125) at 40, 0.5 (200) from 50 us on.
 */
#ifndef TABLE_WORLD_H
#define TABLE_WORLD_H

#include <criterion/criterion.h>

#include <sched/flownet/network.h>

#include "place_world.h"

extern struct test_world world;
extern struct policy_settings settings;
extern struct flownet_network network;
extern struct flownet_round last;

void table_setup(void);
void table_teardown(void);
void solve(void);
int32_t find_node(enum flownet_node_kind kind, uint32_t number, uint32_t task);
void expect_arc(uint32_t task, enum flownet_node_kind kind, uint32_t number, int64_t cost);
int count_arcs(uint32_t task);
void build(void);
void job_with_root_on_0(uint32_t tasks);

#endif
