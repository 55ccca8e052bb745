/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A live mesh over a NATS bus: one side publishes the rows of its live matrix, the other collects them into its own.
 * Each returns when *stop is set (checked every 0.1 s); server, publisher and collector may restart at any time. One
 * call in a process: libnats is closed as a whole at the end.
 */
#ifndef MESH_BUS_H
#define MESH_BUS_H

#include <signal.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <base/options.h>
#include <model/latency_live.h>
#include <probe/nats/message.h>
#include <probe/store/recorder.h>

struct mesh_bus_options {
	const char *url;            /* nats://... or tls://... */
	const char *creds, *tls_ca; /* files; NULL = none */
	const char *prefix;         /* of the subjects, mesh_prefix_is_valid() */
};

/* Option rows of commands whose settings have this struct as `member`. */
#define MESH_BUS_ROWS(type, member)                                                                                    \
	OPTION_STRING(type, member.url, "server", 's', "URL", "nats://HOST:PORT or tls://HOST:PORT (required)"),       \
		OPTION_STRING(type, member.creds, "creds", 0, "FILE",                                                  \
			      "credentials (JWT and seed) as nsc writes them"),                                        \
		OPTION_STRING(type, member.tls_ca, "tls-ca", 0, "FILE",                                                \
			      "certificates that the server's must be signed by (PEM); implies TLS"),                  \
		OPTION_STRING(type, member.prefix, "subject", 0, "PREFIX", "subjects are PREFIX.SRC.DST")

struct mesh_publish_options {
	struct mesh_bus_options bus;
	const char *live_path;
	double every_s; /* interval between two passes over the matrix */
	double all_s;   /* after this time rows that have not changed are published again */
};

/* Sets *rows to the number published. 0 or -errno with err set. */
int mesh_publish(const struct mesh_publish_options *options, const volatile sig_atomic_t *stop, uint64_t *rows,
		 struct error *err);
/* nomora.mesh_publish/1 with that number; NULL: out of memory. */
json_t *mesh_publish_to_json(uint64_t rows);

struct mesh_collect_options {
	struct mesh_bus_options bus;
	const char *live_path;
	struct latency_live_size size;       /* of a new live matrix */
	const char *peers_path;              /* only these hosts' rows; NULL = all */
	struct mesh_recorder_options record; /* store_path NULL = no history */
};

struct mesh_collect_counts {
	uint64_t taken, old;             /* old: not newer than the row that the matrix has */
	uint64_t statuses;               /* of hosts, taken */
	uint64_t dropped;                /* by libnats: the collector was too slow */
	uint64_t refused[MESH_REFUSALS]; /* by enum mesh_refusal; the first of each is logged */
};

/* 0 or -errno with err set. */
int mesh_collect(const struct mesh_collect_options *options, const volatile sig_atomic_t *stop,
		 struct mesh_collect_counts *counts, struct error *err);

/* As text, and nomora.mesh_collect/1 (NULL: out of memory). */
void mesh_collect_counts_print(const struct mesh_collect_counts *counts, FILE *out);
json_t *mesh_collect_counts_to_json(const struct mesh_collect_counts *counts);

#endif
