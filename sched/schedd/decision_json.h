/* SPDX-License-Identifier: BSD-3-Clause */
/* A decision as JSON for the API. Private. */
#ifndef SCHED_SCHEDD_DECISION_JSON_H
#define SCHED_SCHEDD_DECISION_JSON_H

#include <jansson.h>

#include <sched/live/live.h>

json_t *decision_json(const struct live_decision *decision);

#endif
