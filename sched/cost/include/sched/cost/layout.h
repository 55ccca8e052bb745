/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A column is a machine's place in a row of costs. The machines of a rack have adjacent columns, so that one pass over
 * a row reads memory sequentially. A rack's first column and its number of columns are multiples of COST_LANES. So the
 * kernels compute the maximum of a rack without masks; the columns without a machine are padding.
 *
 * The layout follows its cluster machine by machine. A machine is added in this order:
 *
 *   machine = cluster_add_machine(cluster, ...)       returns a free number
 *   cost_layout_add(layout, machine)                  gives the machine a column
 *   latency_view_grow(view)                           if the round trips come from a view
 *   placer_grow(placer)                               rows of costs and the network
 *   flownet_machine_added(net, machine, slots)
 *
 * and removed in the opposite order. Its number may then be reused, as may those of an emptied rack or pod:
 *
 *   flownet_machine_removed(net, machine)             the machine's tasks wait to be placed
 *   placer_forget_machine(placer, machine)            fails with -EBUSY if some job's root ended there
 *   latency_view_forget(view, machine)
 *   flownet_latency_changed(net, moved)               the maxima of the racks may have fallen
 *   cost_layout_remove(layout, machine)
 *   cluster_remove_machine(cluster, machine)
 *
 * A machine that is only down keeps its column: call flownet_machine_removed(), and later flownet_machine_added().
 *
 * Adding a machine takes constant time while its rack has a spare column. A full rack gets a quarter more columns, and
 * the columns of the racks after it move: cost_layout_add() is then linear in the columns, and latency_view_grow() in
 * the measured pairs. While a thread changes the layout, no other may use it. At other times, any number of threads may
 * read it.
 */
#ifndef COST_LAYOUT_H
#define COST_LAYOUT_H

#include <stdint.h>

#include <model/cluster.h>

enum { COST_LANES = 16 };
#define COST_NO_MACHINE UINT32_MAX
#define COST_NO_COLUMN UINT32_MAX

struct cost_layout {
	const struct cluster *cluster; /* borrowed */
	uint32_t machine_count;        /* the machines have numbers below this; some numbers have no column */
	uint32_t rack_count;
	uint32_t column_count;   /* padding included; a multiple of COST_LANES */
	uint32_t *rack_first;    /* [rack_count + 1] first column of each rack, column_count at the end */
	uint32_t *rack_machines; /* [rack_count] number of the rack's machines that have a column */
	uint32_t *rack_used;     /* [rack_count] number of columns up to that of the rack's last machine; the rest are
				    padding */
	uint32_t *machine_of_column; /* [column_count] COST_NO_MACHINE = padding, or a machine that left */
	uint32_t *column_of_machine; /* [machine_count] COST_NO_COLUMN = not in the layout */
	uint64_t moves;              /* number of times that columns moved */
	size_t machine_capacity, rack_capacity, column_capacity;
};

/*
 * Creates a layout with a column for each machine of the cluster, which must outlive the layout. Returns NULL with
 * errno ENOMEM if out of memory.
 */
struct cost_layout *cost_layout_create(const struct cluster *cluster);
void cost_layout_destroy(struct cost_layout *layout); /* NULL is legal */

/*
 * Adds a column for a machine of the cluster. Returns 0, -ENOMEM, or -EINVAL if the machine does not exist or has a
 * column already.
 */
int cost_layout_add(struct cost_layout *layout, uint32_t machine);
/* Gives the machine's column back to its rack. */
void cost_layout_remove(struct cost_layout *layout, uint32_t machine);

/* True if some column before that of the rack's last machine has no machine. */
static inline int cost_layout_has_holes(const struct cost_layout *layout, uint32_t rack)
{
	return layout->rack_used[rack] != layout->rack_machines[rack];
}

#endif
