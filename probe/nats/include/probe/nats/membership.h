/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who takes part in a mesh. Each host announces itself over NATS; one keeper has the list of all members and answers
 * with the host's list of peers if the host has another one. Hosts and keeper may restart at any time: an announcement
 * is repeated, and says which list the host has. Payloads are JSON, see docs/formats.md:
 *   - an announcement: subject PREFIX.HOST.%join, payload nomora.mesh_join/1
 *   - a list: subject PREFIX.HOST.%peers, payload nomora.mesh_peers/1
 * Whoever may publish under PREFIX may join: the permissions of the NATS server decide.
 */
#ifndef MESH_MEMBERSHIP_H
#define MESH_MEMBERSHIP_H

#include <model/peers.h>
#include <probe/nats/bus.h>

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
