/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to a running nomora schedd or nomora inject over its unix socket; each request opens a connection. Any
 * thread may make requests. `socket` is the path of schedd's unix
 * socket; NULL: $NOMORA_SCHEDD, or CLIENT_SOCKET if that is not set.
 */
#ifndef CLIENT_REQUEST_H
#define CLIENT_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <base/ns.h>

#define CLIENT_SOCKET "/run/nomora-schedd/schedd.sock"

/*
 * Sends a request with a body (NULL = none). Returns the HTTP status, with the answer in *answer for the caller to
 * json_decref(), or -errno with err set: for example, no daemon answers, or its answer is not JSON.
 */
int client_request(const char *socket, const char *method, const char *path, const char *body, json_t **answer,
		   struct error *err);

/*
 * As client_request(), but takes at most limit_ms. After that it returns -EIO: the daemon may have handled the request
 * or not.
 */
int client_request_within(const char *socket, const char *method, const char *path, const char *body, long limit_ms,
			  json_t **answer, struct error *err);

/*
 * As client_request(), but a status of 400 or above is an error with the daemon's text. Returns 0 or -errno with err
 * set: -ENOENT for 404, -EPERM for 403, -EREMOTE for 421 (the daemon is on standby), -EINVAL for others.
 */
int client_ask(const char *socket, const char *method, const char *path, const char *body, json_t **answer,
	       struct error *err);
/* As client_ask(), but takes at most limit_ms, as client_request_within() does. */
int client_ask_within(const char *socket, const char *method, const char *path, const char *body, long limit_ms,
		      json_t **answer, struct error *err);

/*
 * Asks the injector with this control socket: `command` is "stats", "metrics", "reset", "stop", or "set" with the new
 * delays or rule as `body`, which it releases (NULL: none). Returns the answer, which the caller json_decref()s, or
 * NULL with err set: EINVAL if the injector refuses the command, or if `body` could not be made.
 */
json_t *client_ask_injector(const char *control, const char *command, json_t *body, struct ns limit, struct error *err);

/*
 * Returns the body of POST /v1/what-if, which the caller json_decref()s, or NULL with err set:
 * - changes: `count` changes in the words of `nomora what-if`, such as "drain rack r7", made in this order
 * - jobs_path: a file of jobs to add, NULL = none; move: schedd may move their tasks while they run
 * - within_s: how far to look ahead, seconds
 */
json_t *client_what_if_request(char *const *changes, int count, const char *jobs_path, bool move, double within_s,
			       struct error *err);

/* Prints the scheduler's journal (nomora.journal/1), which is requested in parts. Returns 0 or -errno with err set. */
int client_print_journal(const char *socket, FILE *out, struct error *err);

/*
 * Submits a job; `line` is a line of jobs.jsonl. Takes at most limit_ms. Returns 0 or -errno with err set; -EINVAL if
 * the daemon refuses the job.
 */
int client_submit(const char *socket, const char *line, long limit_ms, struct error *err);

/* Prints answers of a running nomora schedd for people; docs/formats.md describes the JSON. */

void client_show_jobs(const json_t *answer, FILE *out);        /* GET /v1/jobs */
void client_show_job(const json_t *answer, FILE *out);         /* GET /v1/jobs/JOB */
void client_show_nodes(const json_t *answer, FILE *out);       /* GET /v1/machines */
void client_show_explanation(const json_t *answer, FILE *out); /* GET /v1/explain/JOB/TASK */
void client_show_forecast(const json_t *answer, FILE *out); /* POST /v1/what-if: totals before and after, decisions */
/* GET /v1/overview: totals, racks, and the decisions of GET /v1/decisions. */
void client_show_overview(const json_t *overview, const json_t *decisions, FILE *out);
/* POST /v1/jobs: prints a line per job, those of refused jobs on `refusals`. Returns true if all jobs were accepted. */
bool client_show_submitted(const json_t *answer, FILE *out, FILE *refusals);

#endif
