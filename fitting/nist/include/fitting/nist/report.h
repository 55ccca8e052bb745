/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits of a reference set as text and as nomora.fit_nist/1. JSON is NULL if out of memory. */
#ifndef FITTING_NIST_REPORT_H
#define FITTING_NIST_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include <fitting/nist/nist.h>

void nist_print_set(const struct nist_set *set, FILE *out);
void nist_print_fit(const struct nist_set *set, size_t start, const struct nist_fit *fit, FILE *out);

json_t *nist_fit_to_json(const struct nist_set *set, size_t start, const struct nist_fit *fit);
/* Takes over `fits`, an array of nist_fit_to_json()'s. */
json_t *nist_set_to_json(const struct nist_set *set, json_t *fits);

#endif
