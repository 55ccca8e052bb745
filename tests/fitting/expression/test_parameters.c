/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <fitting/expression/expression.h>

static struct expression_parameters parameters;

Test(parameters, starts_bounds_and_fixed_are_read)
{
	struct error err = {0};

	cr_assert_eq(expression_parameters_start(" b1=500, b2 = 1e-4 ,rate_3=-2", &parameters, &err), 0, "%s",
		     err.text);
	cr_assert_eq(parameters.count, 3);
	cr_assert_str_eq(parameters.name[2], "rate_3");
	cr_assert(parameters.start[0] == 500 && parameters.start[1] == 1e-4 && parameters.start[2] == -2);
	cr_assert_eq(expression_parameters_bounds("b1=0:1000,b2=:1,rate_3=-5:", &parameters, &err), 0, "%s", err.text);
	cr_assert(parameters.lower[0] == 0 && parameters.upper[0] == 1000);
	cr_assert(parameters.lower[1] == -INFINITY && parameters.upper[1] == 1);
	cr_assert(parameters.lower[2] == -5 && parameters.upper[2] == INFINITY);
	cr_assert_eq(expression_parameters_fixed("rate_3,b1", &parameters, &err), 0, "%s", err.text);
	cr_assert(parameters.fixed[0] && !parameters.fixed[1] && parameters.fixed[2]);
}

Test(parameters, nonsense_is_refused)
{
	static const char *const starts[] = {"",          "b1",         "b1=",      "b1=x",  "=3",     "1b=2",
					     "b1=1,b1=2", "b1=1,,b2=2", "b1=1e999", "b 1=2", "b1=nan", "b1=1;b2=2"};
	static const char *const bounds[] = {"b1", "b1=1", "b1=a:2", "b1=3:2", "b9=0:1", "b1=2:3", "b1=0:1:2"};
	struct error err;

	for (size_t k = 0; k < sizeof starts / sizeof starts[0]; k++)
		cr_assert_eq(expression_parameters_start(starts[k], &parameters, &err), -EINVAL, "'%s'", starts[k]);
	for (size_t k = 0; k < sizeof bounds / sizeof bounds[0]; k++) {
		cr_assert_eq(expression_parameters_start("b1=1", &parameters, &err), 0);
		cr_assert_eq(expression_parameters_bounds(bounds[k], &parameters, &err), -EINVAL, "'%s'", bounds[k]);
	}
	cr_assert_eq(expression_parameters_fixed("b7", &parameters, &err), -EINVAL);
}

Test(parameters, too_many_are_refused)
{
	char text[4096] = "";
	size_t used = 0;
	struct error err;

	for (int k = 0; k <= PARAMETERS_MAXIMUM; k++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%sp%d=1", k ? "," : "", k);
	cr_assert_eq(expression_parameters_start(text, &parameters, &err), -EINVAL);
	cr_assert(strstr(err.text, "at most 64 parameters"), "%s", err.text);
}

/* Each list is valid except for one item that is too long, which must not be truncated and accepted. */
Test(parameters, items_that_are_too_long_are_refused)
{
	char text[4096];
	struct error err;

	snprintf(text, sizeof text, "b1=%0*d", 2000, 1);
	cr_assert_eq(expression_parameters_start(text, &parameters, &err), -EINVAL);
	cr_assert(strstr(err.text, "too long"), "%s", err.text);
	cr_assert_eq(expression_parameters_start("b1=1", &parameters, &err), 0);
	snprintf(text, sizeof text, "b1=0:%0*d", 2000, 9);
	cr_assert_eq(expression_parameters_bounds(text, &parameters, &err), -EINVAL);
	cr_assert(strstr(err.text, "too long"), "%s", err.text);
	snprintf(text, sizeof text, "b1%0*d", 2000, 1);
	cr_assert_eq(expression_parameters_fixed(text, &parameters, &err), -EINVAL);
}
