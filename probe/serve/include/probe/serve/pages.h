/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live mesh as web pages. "/" shows what bad pairs have in common, a heat map of the racks, and the worst pairs. If
 * there are many racks, the heat map shows pods, and "/pods?from=A&to=B" the racks of two pods. "/racks?from=A&to=B"
 * lists the pairs between two racks, "/pair?from=A&to=B" shows one pair; both with their history. "/metrics" is
 * OpenMetrics 1.0.0 text. Only reads the matrix, which others may write meanwhile.
 */
#ifndef MESH_PAGES_H
#define MESH_PAGES_H

#include <base/ns.h>
#include <model/latency_live.h>
#include <serve/serve.h>

struct mesh_pages {
	const struct latency_matrix *live;
	enum latency_statistic statistic; /* for colours and ranking */
	struct ns max_age;                /* older pairs are stale; 0 = no limit */
	const char *history;              /* file of mesh_store; NULL = none */
};

/* For serve_create(); the context is a struct mesh_pages. */
extern const struct serve_route mesh_pages_routes[];

#endif
