/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include "cpus_priv.h"

Test(cpus, parses_lists_in_the_kernels_form)
{
	unsigned int cpus[8];

	cr_assert_eq(dp_cpus_parse("2", cpus, 8), 1);
	cr_assert_eq(cpus[0], 2);
	cr_assert_eq(dp_cpus_parse("0,4-6", cpus, 8), 4);
	cr_assert_eq(cpus[0], 0);
	cr_assert_eq(cpus[1], 4);
	cr_assert_eq(cpus[3], 6);
	cr_assert_eq(dp_cpus_parse("2-3\n", cpus, 8), 2, "/sys ends its lines");
	cr_assert_eq(dp_cpus_parse("\n", cpus, 8), 0, "no isolated CPU");
}

Test(cpus, says_how_many_there_are_when_there_is_no_room)
{
	unsigned int cpus[2] = {99, 99};

	cr_assert_eq(dp_cpus_parse("1-4", cpus, 2), 4);
	cr_assert_eq(cpus[1], 2);
}

Test(cpus, refuses_what_is_no_list)
{
	static const char *const bad[] = {"x", "1,", ",1", "3-1", "1-", "-1", "1;2", "999999999999"};
	unsigned int cpus[8];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		cr_assert_eq(dp_cpus_parse(bad[i], cpus, 8), -EINVAL, "%s", bad[i]);
}

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
	cr_assert_gt(dp_cpus_parse(text, cpus, 64), 0, "%s", text);
}
