/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses parameters from a command line: starts "b1=500,b2=1e-4", bounds "b1=0:1000,b2=:1" and names of fixed
 * parameters "b2,b3". The functions return 0, or -EINVAL with err set, which names the option and the expected form.
 * struct expression_parameters holds no pointers, so there is nothing to free.
 */
#ifndef FITTING_PARAMETERS_H
#define FITTING_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>

enum { PARAMETERS_MAXIMUM = 64, PARAMETER_NAME_BYTES = 32 };

struct expression_parameters {
	size_t count;
	char name[PARAMETERS_MAXIMUM][PARAMETER_NAME_BYTES];
	double start[PARAMETERS_MAXIMUM];
	double lower[PARAMETERS_MAXIMUM], upper[PARAMETERS_MAXIMUM]; /* infinite if there is no bound */
	bool fixed[PARAMETERS_MAXIMUM];
};

/* Sets names and starts; resets bounds and `fixed`. */
int expression_parameters_start(const char *text, struct expression_parameters *parameters, struct error *err);

/*
 * Sets bounds, LOW:HIGH, of parameters that have a start. LOW or HIGH may be missing. Each start must be within its
 * bounds.
 */
int expression_parameters_bounds(const char *text, struct expression_parameters *parameters, struct error *err);
/* Marks parameters that have a start as fixed. */
int expression_parameters_fixed(const char *text, struct expression_parameters *parameters, struct error *err);

#endif
