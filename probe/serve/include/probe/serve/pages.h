/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live mesh as web pages. "/" shows what bad pairs have in common, a heat map of the racks, and the worst pairs. If
 * there are many racks, the heat map shows pods, and "/pods?from=A&to=B" the racks of two pods. "/racks?from=A&to=B"
 * lists the pairs between two racks, "/pair?from=A&to=B" shows one pair; both with their history. "/metrics" is
 * OpenMetrics 1.0.0 text. Only reads the matrix, which others may write meanwhile.
 */
#ifndef MESH_PAGES_H
#define MESH_PAGES_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/latency_live.h>
#include <model/latency_matrix.h>
#include <probe/store/store.h>
#include <serve/serve.h>

struct mesh_pages {
	const struct latency_matrix *live;
	enum latency_statistic statistic; /* for colours and ranking */
	struct ns max_age;                /* older pairs are stale; 0 = no limit */
	const char *history;              /* file of mesh_store; NULL = none */
};

/* For serve_create(); the context is a struct mesh_pages. */
extern const struct serve_route mesh_pages_routes[];

/* Serves the pages of a live matrix over HTTP and records its history, until stopped. One call per process. */

struct mesh_pages_daemon {
	const char *live_path, *address; /* address: IPv4 */
	uint16_t port;                   /* 0 = any free port */
	enum latency_statistic statistic;
	struct ns max_age;                    /* older pairs are stale; 0 = no limit */
	struct mesh_recorder_options history; /* store_path NULL = no history; its live_path is ignored */
};

/* Prints the served address to `out`, and returns when *stop is set. Returns 0, or -errno with err set. */
int mesh_pages_run(const struct mesh_pages_daemon *daemon, const volatile sig_atomic_t *stop, FILE *out,
		   struct error *err);

#endif
