/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hosts of a latency matrix in an order for people: by rack, then by name in version order (h2 before h10). A
 * host's place is its position in this order, from 0.
 */
#ifndef MODEL_LATENCY_ORDER_H
#define MODEL_LATENCY_ORDER_H

#include <stdint.h>

#include <base/error.h>
#include <base/progress.h>
#include <model/cluster.h>
#include <model/latency_matrix.h>

struct latency_order {
	struct latency_matrix *matrix;
	struct cluster *cluster; /* NULL = not given: all hosts are in one rack, "" */
	uint32_t count;
	uint32_t *hosts; /* by place: the host's index in the matrix */
	int64_t *racks;  /* by place: the host's rack, -1 = the host is not in the cluster */
};

/* Reads both files (cluster_path and bar may be NULL). 0 or -errno with err set. */
int latency_order_read(struct latency_order *order, const char *matrix_path, const char *cluster_path,
		       struct progress *bar, struct error *err);
void latency_order_free(struct latency_order *order);

const char *latency_order_name(const struct latency_order *order, uint32_t place);
const char *latency_order_rack(const struct latency_order *order, uint32_t place);
/*
 * Returns the statistic of the pair from the host at place `row` to the host at place `column`; NAN if the pair was not
 * measured or has no answer.
 */
double latency_order_value(const struct latency_order *order, uint32_t row, uint32_t column,
			   enum latency_statistic statistic);

/* Writes nomora.mesh/1 to a file ("-" = stdout): every pair, and a summary. Returns 0, or -errno with err set. */
int latency_order_write_json(const struct latency_order *order, const char *path, struct error *err);
/*
 * Writes a square CSV: the first line and the first column are names, cells of pairs that were not measured are empty.
 */
int latency_order_write_table(const struct latency_order *order, enum latency_statistic statistic, const char *path,
			      struct error *err);

#endif
