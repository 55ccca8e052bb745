/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits of a reference set as text and as nomora.fit_nist/1. JSON is NULL if out of memory. */
#ifndef FITTING_NIST_REPORT_H
#define FITTING_NIST_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include <fitting/nist/nist.h>

/*
 * Fits the set of the file from each of its starts. Prints to `out` unless it is NULL; *json, if asked for, is the
 * caller's. 1: all fits converged, 0: not all, or -errno with err set.
 */
int nist_run(const char *path, FILE *out, json_t **json, struct error *err);

#endif
