/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live mesh as web pages: "/" describes what bad pairs have in common, with a heat map of the racks (of the pods,
 * if there are many racks: "/pods?from=A&to=B" has their racks) and the worst pairs, "/racks?from=A&to=B" lists the
 * pairs between two racks, "/pair?from=A&to=B" shows one; both with their history. "/metrics" is OpenMetrics 1.0.0
 * text. Read only: the matrix may be written meanwhile.
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
	const char *history;              /* mesh_store's file; NULL = none */
};

/* For serve_create(); the context is a struct mesh_pages. */
extern const struct serve_route mesh_pages_routes[];

#endif
