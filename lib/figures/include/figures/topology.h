/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network of switches and hosts with the load of its links. Switches are drawn in rows by their distance from the
 * hosts (Fat-tree, leaf-spine), or on a circle if every switch has hosts (Jellyfish). Read only; one thread.
 */
#ifndef FIGURES_TOPOLOGY_H
#define FIGURES_TOPOLOGY_H

#include <base/error.h>
#include <model/topology.h>

/*
 * Draws to `path`, .svg or .png, whole or not at all. MBps[2 * link_count] has the load of link l: in the direction
 * from its end a at 2 l, from its end b at 2 l + 1. 0 or -errno with err set.
 */
int figures_topology_save(const struct topology *topology, const double *MBps, const char *title, const char *path,
			  struct error *err);

#endif
