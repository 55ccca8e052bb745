/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_RTT_SERIES_PRIV_H
#define MODEL_RTT_SERIES_PRIV_H

#include <model/rtt_series.h>

/* Does the file hold a latency matrix, CSV or live? */
bool rtt_series_is_matrix(const char *path);
/* The values of nomora.mesh_history/1. 0 or -errno with err set. */
int rtt_series_read_points(struct rtt_series *series, const char *name, const char *text, size_t bytes,
			   struct error *err);
/* The set takes the values. 0 or -ENOMEM. */
int rtt_series_add(struct rtt_series_set *set, int kind, const struct rtt_series *series);
/* Adds a matrix's levels to one distance, or (kind -1) to those that its racks say; to all when it knows none. */
int rtt_series_add_matrix(struct rtt_series_set *set, int kind, const char *path, struct error *err);

#endif
