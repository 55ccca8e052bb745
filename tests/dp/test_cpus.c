/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <base/cpus.h>

#include "port_priv.h"

Test(cpus, wants_one_for_each_worker_and_only_those_that_exist)
{
	struct error err = {0};
	unsigned int cpus[4];

	cr_assert_eq(dp_cpus_choose("0", 1, cpus, &err), 1);
	cr_assert_eq(dp_cpus_choose("0", 2, cpus, &err), -EINVAL);
	cr_assert_not_null(strstr(err.text, "2 are needed"), "%s", err.text);
	cr_assert_eq(dp_cpus_choose("1023", 1, cpus, &err), -EINVAL);
	cr_assert_not_null(strstr(err.text, "no CPU 1023"), "%s", err.text);
}

Test(cpus, prints_its_own_affinity_so_that_it_parses)
{
	unsigned int cpus[64];
	char text[256];

	dp_cpus_allowed(text, sizeof text);
	cr_assert_gt(cpus_parse(text, cpus, 64), 0, "%s", text);
}
