/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FITTING_FILES_SWEEPS_PRIV_H
#define FITTING_FILES_SWEEPS_PRIV_H

#include <jansson.h>

#include <fitting/curve/fit.h>

/* Returns one element of nomora.fit/1's "fits", or NULL if out of memory. */
json_t *fit_to_json(const struct fit *fit);

#endif
