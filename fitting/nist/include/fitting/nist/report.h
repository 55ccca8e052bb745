/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits a reference set and reports the fits as text or as JSON (nomora.fit_nist/1). */
#ifndef FITTING_NIST_REPORT_H
#define FITTING_NIST_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include <fitting/nist/nist.h>

/*
 * Fits the file's set from each of its starts. `out` (may be NULL) gets the text. If json is not NULL, *json gets the
 * JSON, which the caller frees, or NULL if out of memory. Returns 1 if all fits converged, 0 if not, or -errno with err
 * set.
 */
int nist_run(const char *path, FILE *out, json_t **json, struct error *err);

#endif
