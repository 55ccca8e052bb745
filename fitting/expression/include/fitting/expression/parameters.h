/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters as a command line gives them: starts "b1=500,b2=1e-4", bounds "b1=0:1000,b2=:1" and names to hold
 * "b2,b3". Plain data; errors name the option and what was expected.
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
	double lower[PARAMETERS_MAXIMUM], upper[PARAMETERS_MAXIMUM]; /* infinite where free */
	bool fixed[PARAMETERS_MAXIMUM];
};

/* Names and starts; bounds and fixed are reset. 0 or -EINVAL. */
int expression_parameters_start(const char *text, struct expression_parameters *parameters, struct error *err);

/* Bounds of parameters that have a start: low:high, either may be missing. Each start must lie within. */
int expression_parameters_bounds(const char *text, struct expression_parameters *parameters, struct error *err);
int expression_parameters_fixed(const char *text, struct expression_parameters *parameters, struct error *err);

#endif
