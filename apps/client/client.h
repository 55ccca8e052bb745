/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests to a running nomora schedd. */
#ifndef APPS_CLIENT_H
#define APPS_CLIENT_H

#include <jansson.h>

#include <base/error.h>

#define CLIENT_SOCKET "/run/nomora/schedd.sock"

/*
 * Sends a request over the unix socket (NULL: $NOMORA_SCHEDD, else CLIENT_SOCKET). Returns the HTTP status and the
 * answer, which the caller json_decref()s, or -errno with err set: no daemon, no JSON. body NULL: none.
 */
int client_request(const char *socket, const char *method, const char *path, const char *body, json_t **answer,
		   struct error *err);

/* As client_request(), and any status of 400 or above is an error with the daemon's text. 0 or -errno. */
int client_ask(const char *socket, const char *method, const char *path, const char *body, json_t **answer,
	       struct error *err);

/* Prints the answer as JSON text with indent. */
void client_print_json(const json_t *answer);

#endif
