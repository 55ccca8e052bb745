/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws a network of switches and hosts with the load of its links. Switches are drawn in rows by their distance from
 * the hosts (Fat-tree, leaf-spine), or on a circle if every switch has hosts (Jellyfish). The function does not change
 * the topology. Different threads may draw different pictures at the same time.
 */
#ifndef FIGURES_TOPOLOGY_H
#define FIGURES_TOPOLOGY_H

#include <base/error.h>
#include <model/topology.h>

/*
 * Draws to the file `path`, .svg or .png, which is written whole or not at all. Link l connects its ends a and b;
 * MBps[2 * l] is its load from a to b, and MBps[2 * l + 1] its load from b to a. Returns 0, or -errno with err set.
 */
int figures_topology_save(const struct topology *topology, const double *MBps, const char *title, const char *path,
			  struct error *err);

#endif
