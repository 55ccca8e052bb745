/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One pair of a mesh as a NATS message: subject PREFIX.SRC.DST, payload nomora.mesh_row/1 (JSON, see docs/formats.md);
 * or a host's status: PREFIX.HOST.%status ("%s" begins no escaped name), payload nomora.mesh_status/1.
 * In the subject every byte of a name that is no letter, digit, '-' or '_' is "%XX". Pure: no I/O, no clock.
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
	MESH_FUTURE_S = 60, /* clocks of hosts may differ by this much */
};

struct mesh_place {
	char name[LATENCY_NAME_BYTES], rack[LATENCY_NAME_BYTES], pod[LATENCY_NAME_BYTES]; /* rack, pod "" = unknown */
};

struct mesh_message {
	struct mesh_place source, destination;
	struct latency_entry entry; /* its indices of hosts mean nothing here */
};

enum mesh_refusal {
	MESH_REFUSAL_NONE,
	MESH_REFUSAL_SUBJECT,
	MESH_REFUSAL_PAYLOAD,
	MESH_REFUSAL_FIGURES, /* p50 > p99 or p99 > max, times without samples, or samples without times */
	MESH_REFUSAL_FUTURE,
	MESH_REFUSAL_HOST, /* not among the peers */
	MESH_REFUSAL_FULL, /* the live matrix is full */
	MESH_REFUSALS,
};

extern const char *const mesh_refusal_names[MESH_REFUSALS];

/* Tokens of letters, digits, '-' and '_' with dots between; fits MESH_PREFIX_BYTES. */
bool mesh_prefix_is_valid(const char *prefix);

/* The payload is allocated, ended by a NUL; the caller free()s it. NULL: out of memory, or a name is not UTF-8. */
char *mesh_message_encode(const struct mesh_message *message, const char *prefix, char subject[MESH_SUBJECT_BYTES]);

/* `now` is the wall clock. Any result but NONE: the message is refused, err has the reason. */
enum mesh_refusal mesh_message_decode(const char *prefix, const char *subject, const char *payload, size_t bytes,
				      struct ns now, struct mesh_message *message, struct error *err);

/* The same of a host's status. */
bool mesh_status_is(const char *subject);
char *mesh_status_encode(const char *host, enum latency_host_status status, const char *prefix,
			 char subject[MESH_SUBJECT_BYTES]);
enum mesh_refusal mesh_status_decode(const char *prefix, const char *subject, const char *payload, size_t bytes,
				     char host[LATENCY_NAME_BYTES], enum latency_host_status *status,
				     struct error *err);

#endif
