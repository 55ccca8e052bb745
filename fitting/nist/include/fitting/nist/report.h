/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints fits of a reference set as text, and as nomora.fit_nist/1. JSON is NULL if out of memory. */
#ifndef FITTING_NIST_REPORT_H
#define FITTING_NIST_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include <fitting/nist/nist.h>

/*
 * Fits the file's set from each of its starts. Prints to `out` unless it is NULL. If json is not NULL, the caller frees
 * *json. Returns 1 if all fits converged, 0 if not, or -errno with err set.
 */
int nist_run(const char *path, FILE *out, json_t **json, struct error *err);

#endif
