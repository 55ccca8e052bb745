/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NATS messages of a mesh. Their payload is JSON, see docs/formats.md:
 *   - a pair of hosts: subject PREFIX.SRC.DST, payload nomora.mesh_row/1
 *   - the status of a host: subject PREFIX.HOST.%status, payload nomora.mesh_status/1
 *
 * In subjects, every byte of a name that is not a letter, a digit, '-' or '_' is written as "%XX", in hexadecimal. So
 * no name is written as "%status". Pure: no I/O, no clock.
 */
#ifndef MESH_MESSAGE_H
#define MESH_MESSAGE_H

#include <stddef.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/latency_live.h>

enum {
	MESH_PREFIX_BYTES = 128,
	MESH_SUBJECT_BYTES = MESH_PREFIX_BYTES + 2 * 3 * LATENCY_NAME_BYTES,
	MESH_FUTURE_S = 60, /* a stamp may be this far in the future, because the clocks of hosts differ */
	MESH_SKEW_S = 10,   /* a publisher's clock that differs by more than this is wrong: its times are corrected */
};

struct mesh_place {
	char name[LATENCY_NAME_BYTES], rack[LATENCY_NAME_BYTES], pod[LATENCY_NAME_BYTES]; /* rack, pod "" = unknown */
};

struct mesh_message {
	struct mesh_place source, destination;
	struct latency_entry entry; /* its host indices are not used */
	struct ns sent_at;          /* the publisher's wall clock; 0 = not known */
};

enum mesh_refusal {
	MESH_REFUSAL_NONE,
	MESH_REFUSAL_SUBJECT,
	MESH_REFUSAL_PAYLOAD,
	MESH_REFUSAL_FIGURES, /* p50 > p99 or p99 > max; times without samples; samples without times; or a state that
				 does not fit the samples */
	MESH_REFUSAL_FUTURE,
	MESH_REFUSAL_HOST, /* not among the peers; for a status: no row of this host was received yet */
	MESH_REFUSAL_FULL, /* the live matrix is full */
	MESH_REFUSALS,
};

extern const char *const mesh_refusal_names[MESH_REFUSALS];

/*
 * Subjects about one host: PREFIX.HOST and a word such as ".%status". mesh_host_of_subject() returns false if the
 * subject is not exactly as mesh_subject_of_host() writes it.
 */
bool mesh_subject_ends(const char *subject, const char *word);
void mesh_subject_of_host(const char *prefix, const char *host, const char *word, char subject[MESH_SUBJECT_BYTES]);
bool mesh_host_of_subject(const char *prefix, const char *subject, const char *word, char host[LATENCY_NAME_BYTES]);

/* True for tokens of letters, digits, '-' and '_', separated by dots, that fit into MESH_PREFIX_BYTES. */
bool mesh_prefix_is_valid(const char *prefix);

/*
 * Returns the payload, NUL-terminated, which the caller must free(), or NULL if out of memory or if a name is not
 * UTF-8.
 */
char *mesh_message_encode(const struct mesh_message *message, const char *prefix, char subject[MESH_SUBJECT_BYTES]);

/*
 * `now` is the wall clock. If the publisher's clock differs from it by more than MESH_SKEW_S, the entry's times are
 * moved by the difference. If the result is not MESH_REFUSAL_NONE, the message is refused, and err has the reason.
 */
enum mesh_refusal mesh_message_decode(const char *prefix, const char *subject, const char *payload, size_t bytes,
				      struct ns now, struct mesh_message *message, struct error *err);

/*
 * Like mesh_message_encode() and mesh_message_decode(), for the status of a host. mesh_status_is(): true if the subject
 * is that of a status.
 */
bool mesh_status_is(const char *subject);
char *mesh_status_encode(const char *host, enum latency_host_status status, const char *prefix,
			 char subject[MESH_SUBJECT_BYTES]);
enum mesh_refusal mesh_status_decode(const char *prefix, const char *subject, const char *payload, size_t bytes,
				     char host[LATENCY_NAME_BYTES], enum latency_host_status *status,
				     struct error *err);

#endif
