/* SPDX-License-Identifier: BSD-3-Clause */
/* What `nomora mesh` prints: a table, and JSON. */
#ifndef APPS_MESH_PRINT_H
#define APPS_MESH_PRINT_H

#include <stdio.h>

#include <base/error.h>
#include <model/latency_order.h>

/* mesh_table.c: hosts as rows and columns, up to 24 of them; of more, the worst pairs. */
void mesh_print_table(const struct latency_order *order, enum latency_statistic statistic, FILE *out);

/* mesh_json.c: nomora.mesh/1 to the file ("-" = stdout); 0 or -errno with err set. */
int mesh_write_json(const struct latency_order *order, const char *path, struct error *err);

#endif
