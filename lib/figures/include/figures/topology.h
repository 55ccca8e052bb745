/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network of switches and hosts with the load of its links. Switches are drawn in rows by their distance from the
 * hosts (Fat-tree, leaf-spine), or, where hosts hang on all of them, on a circle (Jellyfish). Read only; one thread.
 */
#ifndef FIGURES_TOPOLOGY_H
#define FIGURES_TOPOLOGY_H

#include <base/error.h>
#include <model/topology.h>

/*
 * MBps[2 * link_count]: load of link l from its end a at 2 l, from its end b at 2 l + 1. To `path`, .svg or .png, whole
 * or not at all. 0 or -errno with err set.
 */
int figures_topology_save(const struct topology *topology, const double *MBps, const char *title, const char *path,
			  struct error *err);

#endif
