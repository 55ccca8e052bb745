/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Columns: the order in which a row of costs lists the machines, so that one pass over it is one stream. Machines of
 * a rack lie side by side; each rack starts at a multiple of COST_LANES and is padded to one, so that a rack's
 * maximum needs no masks. Built from a cluster; must be built again when the cluster grows. Read-only, any thread.
 */
#ifndef COST_LAYOUT_H
#define COST_LAYOUT_H

#include <stdint.h>

#include <model/cluster.h>

enum { COST_LANES = 16, COST_NO_MACHINE = UINT32_MAX };

struct cost_layout {
	const struct cluster *cluster; /* borrowed */
	uint32_t rack_count;
	uint32_t column_count;       /* padding included; a multiple of COST_LANES */
	uint32_t *rack_first;        /* [rack_count + 1] first column of each rack, column_count at the end */
	uint32_t *machine_of_column; /* [column_count] COST_NO_MACHINE = padding */
	uint32_t *column_of_machine; /* [cluster->machine_count] */
};

/* NULL with errno ENOMEM. The cluster must outlive the layout. */
struct cost_layout *cost_layout_create(const struct cluster *cluster);
void cost_layout_destroy(struct cost_layout *layout); /* NULL is legal */

#endif
