/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints answers of a running nomora schedd for people; docs/formats.md describes the JSON. */
#ifndef CLIENT_SHOW_H
#define CLIENT_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

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
