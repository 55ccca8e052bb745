/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves the pages of a live matrix over HTTP and records its history, until stopped. One call per process. */
#ifndef MESH_DAEMON_H
#define MESH_DAEMON_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/latency_matrix.h>
#include <probe/store/recorder.h>

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
