/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_RTT_SERIES_PRIV_H
#define MODEL_RTT_SERIES_PRIV_H

#include <model/rtt_series.h>

/* Returns true if the file holds a latency matrix, CSV or live. */
bool rtt_series_is_matrix(const char *path);
/* Reads nomora.mesh_history/1 and appends its values to the series. Returns 0, or -errno with err set. */
int rtt_series_read_points(struct rtt_series *series, const char *name, const char *text, size_t bytes,
			   struct error *err);
/* Adds the series to the set, which then owns its values. Returns 0 or -ENOMEM. */
int rtt_series_add(struct rtt_series_set *set, int kind, const struct rtt_series *series);
/*
 * Adds the levels of a matrix to the distance `kind`. If kind is -1, adds the level of each pair to the distance
 * between the pair's hosts; if the matrix contains no racks, adds all levels to all distances.
 */
int rtt_series_add_matrix(struct rtt_series_set *set, int kind, const char *path, struct error *err);

#endif
