/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A live mesh over a NATS bus: one side publishes the rows of its live matrix, the other collects them into its own. A
 * row is the entry of one pair of hosts. Both functions return when *stop is set (checked every 0.1 s). Server,
 * publisher and collector may restart at any time. Only one call per process: the whole of libnats is closed at the
 * end.
 */
#ifndef MESH_BUS_H
#define MESH_BUS_H

#include <jansson.h>
#include <signal.h>
#include <stdio.h>

#include <base/error.h>
#include <base/options.h>
#include <model/latency_live.h>
#include <model/peers.h>
#include <probe/nats/message.h>
#include <probe/store/store.h>

struct mesh_bus_options {
	const char *url;            /* nats://... or tls://... */
	const char *creds, *tls_ca; /* files; NULL = not used */
	const char *prefix;         /* prefix of the messages' subjects; mesh_prefix_is_valid() must be true */
};

/* Option rows of commands whose settings have this struct as `member`. */
#define MESH_BUS_ROWS(type, member)                                                                                    \
	OPTION_STRING(type, member.url, "server", 's', "URL", "nats://HOST:PORT or tls://HOST:PORT (required)"),       \
		OPTION_STRING(type, member.creds, "creds", 0, "FILE",                                                  \
			      "credentials file (JWT and seed), as written by nsc"),                                   \
		OPTION_STRING(type, member.tls_ca, "tls-ca", 0, "FILE",                                                \
			      "CA certificates that verify the server's certificate (PEM); implies TLS"),              \
		OPTION_STRING(type, member.prefix, "subject", 0, "PREFIX", "subjects are PREFIX.SRC.DST")

/* Checks that the server is given and the prefix valid, as options. Returns 0 or -EINVAL with err set. */
int mesh_bus_check(const struct mesh_bus_options *bus, struct error *err);

struct mesh_publish_options {
	struct mesh_bus_options bus;
	const char *live_path;
	double every_s; /* interval between two passes over the matrix */
	double all_s;   /* interval after which unchanged rows are published again */
};

/* Sets *rows to the number of rows published. Returns 0, or -errno with err set. */
int mesh_publish(const struct mesh_publish_options *options, const volatile sig_atomic_t *stop, uint64_t *rows,
		 struct error *err);
/* Returns the number of rows as nomora.mesh_publish/1, or NULL if out of memory. */
json_t *mesh_publish_to_json(uint64_t rows);

struct mesh_collect_options {
	struct mesh_bus_options bus;
	const char *live_path;
	struct latency_live_size size;       /* of a new live matrix */
	const char *peers_path;              /* only rows of these hosts are accepted; NULL = all */
	struct mesh_recorder_options record; /* store_path NULL = no history */
};

struct mesh_collect_counts {
	uint64_t taken, old;             /* rows stored in the matrix; rows ignored, because they were not newer */
	uint64_t statuses;               /* accepted statuses of hosts */
	uint64_t dropped;                /* messages dropped by libnats because the collector was too slow */
	uint64_t refused[MESH_REFUSALS]; /* by enum mesh_refusal; the first of each is logged */
};

/* Returns 0, or -errno with err set. */
int mesh_collect(const struct mesh_collect_options *options, const volatile sig_atomic_t *stop,
		 struct mesh_collect_counts *counts, struct error *err);

/* Show the counts: as text, and as nomora.mesh_collect/1 (NULL if out of memory). */
void mesh_collect_counts_print(const struct mesh_collect_counts *counts, FILE *out);
json_t *mesh_collect_counts_to_json(const struct mesh_collect_counts *counts);

/*
 * Who takes part in a mesh. Each host announces itself over NATS; one keeper has the list of all members and answers
 * with the host's list of peers if the host has another one. Hosts and keeper may restart at any time: an announcement
 * is repeated, and says which list the host has. Payloads are JSON, see docs/formats.md:
 *   - an announcement: subject PREFIX.HOST.%join, payload nomora.mesh_join/1
 *   - a list: subject PREFIX.HOST.%peers, payload nomora.mesh_peers/1
 * Whoever may publish under PREFIX may join: the permissions of the NATS server decide.
 */

struct mesh_join {
	struct peer host;   /* name, address and rack; no MAC */
	uint64_t list_hash; /* hash_text() of the list of peers that the host has; 0 = none */
	bool leaves;
};

/* True if the subject is that of an announcement or a list. */
bool mesh_membership_is(const char *subject);

/* As in message.h. The encoders return NULL if out of memory; the caller frees what they, and *list, return. */
char *mesh_join_encode(const struct mesh_join *join, const char *prefix, char subject[MESH_SUBJECT_BYTES]);
enum mesh_refusal mesh_join_decode(const char *prefix, const char *subject, const char *payload, size_t bytes,
				   struct mesh_join *join, struct error *err);
char *mesh_peers_encode(const char *host, const char *list, const char *prefix, char subject[MESH_SUBJECT_BYTES]);
enum mesh_refusal mesh_peers_decode(const char *prefix, const char *subject, const char *payload, size_t bytes,
				    char host[LATENCY_NAME_BYTES], char **list, struct error *err);

/*
 * Takes an announcement into the list of members: adds the host, changes its address and rack, or removes it. Returns 1
 * if the list has changed, 0 if not, or -errno with err set: -EEXIST if another member has the address, -E2BIG,
 * -ENOMEM.
 */
int mesh_members_take(struct peers *members, const struct mesh_join *join, struct error *err);

struct mesh_member_options {
	struct mesh_bus_options bus;
	struct peer host;       /* who joins */
	const char *peers_path; /* the list of peers, kept up to date */
	double every_s;         /* interval between two announcements */
};

/* Writes a list of the host alone if there is none; announces the host, and writes each list received, until *stop is
 * set. Returns 0, or -errno with err set. */
int mesh_member(const struct mesh_member_options *options, const volatile sig_atomic_t *stop, struct error *err);
/* Announces once that the host leaves. Returns 0, also if *stop ends the wait for the server; or -errno with err set.
 */
int mesh_leave(const struct mesh_member_options *options, const volatile sig_atomic_t *stop, struct error *err);

struct mesh_keeper_options {
	struct mesh_bus_options bus;
	const char *members_path; /* the list of members; read if it exists, written at each change */
	const char *lists_path; /* folder with the list of each host, HOST.peers; NULL, or no such file: all members */
};

/* Keeps the list of members until *stop is set. Returns 0, or -errno with err set. */
int mesh_keeper(const struct mesh_keeper_options *options, const volatile sig_atomic_t *stop, struct error *err);

#endif
