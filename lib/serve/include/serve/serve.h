/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small HTTP/1.1 server on libmicrohttpd for daemons that run an event loop: no threads; the caller polls serve_fd()
 * and calls serve_run().
 *
 * A server listens on a unix socket, where the caller's uid is known (SO_PEERCRED), or on a TCP address, where each
 * request needs "Authorization: Bearer TOKEN" unless the server is open. Bodies, connections and idle time are limited.
 * On a unix socket, each uid other than root's and the server's own has further limits: a quarter of the connections
 * (further ones are closed), and for the bodies of all its open calls together the size of the largest body allowed (a
 * body beyond that is refused as too large). A handler replies at once or later; until then the connection waits.
 *
 * One thread.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <base/error.h>

struct serve;

/* One request, valid until it is replied to. */
struct serve_call {
	const char *method; /* "GET", "POST", "PUT", "DELETE" */
	const char *path;   /* "/v1/jobs" */
	const char *tail;   /* what follows the route's prefix: "web" of /v1/jobs/web; "" */
	const char *body;   /* NUL-terminated; "" without one */
	size_t body_bytes;
	uid_t uid; /* of the caller on a unix socket */
	gid_t gid;
	bool remote; /* came by TCP: uid and gid mean nothing */
};

/* The value of a query parameter ("3" for "after" of ?after=3), or NULL. Borrowed from the call. */
const char *serve_query(const struct serve_call *call, const char *name);

/* True if the caller on a unix socket is a member of the group, by its primary or another one. */
bool serve_call_in_group(const struct serve_call *call, gid_t group);

/*
 * Replies: 200, 404, ...; `text` is copied. Ends the call. serve_reply_error() sends {"error": "..."} with a status
 * that fits err->code: EINVAL and EILSEQ 400, EACCES and EPERM 403, ENOENT 404, EEXIST and EBUSY 409, E2BIG 413, EAGAIN
 * and ENOSPC 503, others 500.
 */
void serve_reply(struct serve_call *call, unsigned status, const char *content_type, const char *text, size_t bytes);
void serve_reply_error(struct serve_call *call, const struct error *err);

/*
 * A table of routes ends with a row whose method is NULL. A prefix matches the path that is equal to it, and paths that
 * continue it after a '/'; "/" matches only itself.
 */
struct serve_route {
	const char *method, *prefix;
	void (*handle)(void *context, struct serve_call *call);
};

struct serve_options {
	const char *unix_path; /* unix socket; replaces that of a dead server; mode 0666, as calls carry the uid. Or: */
	const char *address;   /* "127.0.0.1", "::1" */
	uint16_t port;         /* 0: any, see serve_port() */
	const char *token;     /* for TCP; NULL: open to everybody who can connect */
	const struct serve_route *routes;
	void *context;
	size_t body_bytes;    /* largest body; 0: 1 MiB */
	unsigned connections; /* at a time; 0: 512 */
	unsigned timeout_s;   /* idle time of a connection; 0: 30 */
};

/* NULL with err set: the address is bad or in use (EADDRINUSE: another server listens on the unix socket). */
struct serve *serve_create(const struct serve_options *options, struct error *err);

/* Ends open calls with 503 and removes the unix socket. NULL is legal. */
void serve_destroy(struct serve *serve);

/* Becomes readable when there is something to do. */
int serve_fd(const struct serve *serve);
/* Does what can be done without waiting; handlers are called from here. */
void serve_run(struct serve *serve);
/* Milliseconds after which serve_run() must be called even if serve_fd() is not readable; -1: no limit. */
int serve_timeout_ms(struct serve *serve);
uint16_t serve_port(const struct serve *serve);

#endif
