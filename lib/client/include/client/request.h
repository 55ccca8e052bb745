/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to a running nomora schedd over its unix socket, one connection each. Any thread; if there are several, call
 * client_init() first.
 */
#ifndef CLIENT_REQUEST_H
#define CLIENT_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>

#define CLIENT_SOCKET "/run/nomora/schedd.sock"

/*
 * Sends a request over the unix socket (NULL: $NOMORA_SCHEDD, else CLIENT_SOCKET). Returns the HTTP status and the
 * answer, which the caller json_decref()s, or -errno with err set: no daemon, no JSON. body NULL: none.
 */
int client_request(const char *socket, const char *method, const char *path, const char *body, json_t **answer,
		   struct error *err);

/*
 * As client_request(), but takes at most limit_ms. After that it returns -EIO: the daemon may have handled the request
 * or not.
 */
int client_request_within(const char *socket, const char *method, const char *path, const char *body, long limit_ms,
			  json_t **answer, struct error *err);

/* Call it once, before several threads make requests. */
void client_init(void);

/* As client_request(), and any status of 400 or above is an error with the daemon's text. 0 or -errno. */
int client_ask(const char *socket, const char *method, const char *path, const char *body, json_t **answer,
	       struct error *err);

/* The body of POST /v1/what-if; jobs_path: a file of jobs, NULL = none. NULL with err set. */
json_t *client_what_if_request(char *const *changes, int count, const char *jobs_path, bool move, double within_s,
			       struct error *err);

/* Prints the scheduler's journal (nomora.journal/1), page after page. 0 or -errno with err set. */
int client_print_journal(const char *socket, FILE *out, struct error *err);

/* Submits a job, which is a line of jobs.jsonl. 0, or -errno with err set; -EINVAL if the daemon refuses the job. */
int client_submit(const char *socket, const char *line, struct error *err);

#endif
