/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the pages. The functions that write a page read the request and write to `out`; they return the HTTP status,
 * or 0 if out of memory.
 */
#ifndef MESH_PAGES_PRIV_H
#define MESH_PAGES_PRIV_H

#include <stdio.h>

#include <base/name.h>
#include <probe/serve/pages.h>
#include <probe/verdict/patterns.h>

int metrics_write(const struct mesh_pages *pages, const struct serve_call *call, FILE *out);

/* --- html.c --- */

void html_begin(FILE *out, const char *title, bool refresh);
void html_argument(FILE *out, const char *name, const char *value); /* prints name=value of a query, escaped */

/* A table of figures with links. */
struct html_matrix {
	const char *page; /* links go to /page?from=ROW&to=COLUMN */
	uint32_t rows, columns;
	const char *const *row_names, *const *column_names;
	const double *values; /* [rows * columns], row by row; NAN = none */
};
void html_print_matrix(FILE *out, const struct html_matrix *matrix);

/* Prints a list item. Returns 0 or -ENOMEM. */
int html_pattern(FILE *out, const struct latency_matrix *live, const struct pattern *pattern);

/* The racks of a live matrix in groups, one per pod. */
struct grouping {
	uint32_t racks, count;
	const char **names;
	uint32_t *group_of; /* [racks] number of each rack's group */
};

/* Returns 0 or -ENOMEM; call pages_ungroup() in both cases. */
int pages_group_by_pod(const struct latency_matrix *live, struct grouping *grouping);
void pages_ungroup(struct grouping *grouping);
/* Returns the largest figure between two racks; NAN if no pair was measured, or if the last measurement is stale. */
double pages_rack_value(const struct mesh_pages *pages, enum latency_statistic statistic, uint32_t from, uint32_t to);
/*
 * Returns, for each ordered pair of groups, the largest figure between their racks (NAN = none), in an array that the
 * caller must free(); or NULL if out of memory.
 */
double *pages_group_values(const struct mesh_pages *pages, const struct grouping *grouping,
			   enum latency_statistic statistic);

#endif
