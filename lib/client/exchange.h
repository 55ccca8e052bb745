/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request and its answer in HTTP/1.0 over a unix socket. Written here because libcurl, with the libraries that it
 * links for TLS and others, took half of the time in which a command starts. No state; any thread.
 */
#ifndef CLIENT_EXCHANGE_H
#define CLIENT_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include <base/ns.h>

struct exchange_answer {
	char *bytes; /* ends with a NUL; free() it */
	size_t count, capacity;
	int status;  /* 100 to 999; 0 = its head is not complete yet */
	size_t body; /* where the body begins */
	size_t end;  /* where it ends: SIZE_MAX = where the connection does */
};

/*
 * Sends the request with a body of JSON (NULL = none) to the server of the unix socket `socket`; fills *answer, which
 * must be zero before, and which the caller frees in any case. Returns 0, or -errno: ENOTCONN (nobody listens),
 * ETIMEDOUT (later than `limit`), EPROTO (not HTTP), EPIPE (ends too early), EINVAL (a path with blanks), ENOMEM.
 */
int exchange(const char *socket, const char *method, const char *path, const char *body, struct ns limit,
	     struct exchange_answer *answer);

/*
 * Reads the head as soon as the bytes have all of it. Returns 1 if the answer is complete, 0 if more may follow, or
 * -EPROTO if it is not HTTP.
 */
int exchange_read(struct exchange_answer *answer, bool ended);

#endif
