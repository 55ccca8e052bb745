/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NIST_PRIV_H
#define NIST_PRIV_H

#include "nist.h"

#include <fitting/expression/expression.h>

/*
 * Adds one line of a model's equation to set->response and set->model: "y = (b1 + b2*x) /", then "(1 + b3*x) + e".
 * Skips lines that define a constant ("pi = 3.14..."). Returns 0, or -EINVAL with err set (without file and line) if
 * the equation is too long or has no left side.
 */
int nist_model_add(struct nist_set *set, const char *line, struct error *err);

/* Returns true if the equation is complete: begun, all brackets closed, no operator at its end. */
bool nist_model_complete(const struct nist_set *set);

/*
 * Removes "+ e" from the model's end and writes out the terms that an ellipsis stands for, as in B2*(x**2) + ... +
 * B9*(x**9).
 */
int nist_model_finish(struct nist_set *set, struct error *err);

/*
 * Parses the model with the set's names, and the response with y as its parameter; the caller destroys both. Returns 0,
 * or -errno with err set.
 */
int nist_expressions(const struct nist_set *set, struct expression **model, struct expression **response,
		     struct error *err);

#endif
