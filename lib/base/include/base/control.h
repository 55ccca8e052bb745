/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control socket: a UNIX stream socket on which a client sends one line ("stats", "set delay_us=20", "stop") and gets
 * one line of JSON back. The server never blocks its owner, who calls control_poll() regularly. A new server replaces
 * the socket file of a dead process; if a live process answers on the socket, control_server_create() fails with
 * EADDRINUSE. One thread.
 */
#ifndef BASE_CONTROL_H
#define BASE_CONTROL_H

#include <jansson.h>

#include <base/error.h>
#include <base/ns.h>

struct control_server;

/*
 * Answers one request: `line` without its newline. Returns a new JSON object, which the server sends and frees;
 * NULL with err set is sent as {"error": "..."}.
 */
typedef json_t *(*control_handler)(void *context, const char *line, struct error *err);

struct control_server *control_server_create(const char *path, control_handler handler, void *context,
					     struct error *err);
/*
 * Handles the clients that are ready; if none is ready, waits at most `timeout`. Returns the number of requests
 * answered.
 */
int control_poll(struct control_server *server, struct ns timeout);
void control_server_destroy(struct control_server *server); /* unlinks the socket; NULL is legal */

/*
 * Sends a request and returns the answer, which the caller json_decref()s; NULL with err set (no server, timeout, or
 * the server's own error).
 */
json_t *control_request(const char *path, const char *line, struct ns timeout, struct error *err);

#endif
