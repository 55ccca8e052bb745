/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>

#include <base/cpus.h>

Test(cpus, parses_lists_in_the_kernels_form)
{
	unsigned int cpus[8];

	cr_assert_eq(cpus_parse("2", cpus, 8), 1);
	cr_assert_eq(cpus[0], 2);
	cr_assert_eq(cpus_parse("0,4-6", cpus, 8), 4);
	cr_assert_eq(cpus[0], 0);
	cr_assert_eq(cpus[1], 4);
	cr_assert_eq(cpus[3], 6);
	cr_assert_eq(cpus_parse("2-3\n", cpus, 8), 2, "/sys ends its lines");
	cr_assert_eq(cpus_parse("\n", cpus, 8), 0, "no isolated CPU");
}

Test(cpus, counts_the_cpus_that_do_not_fit)
{
	unsigned int cpus[2] = {99, 99};

	cr_assert_eq(cpus_parse("1-4", cpus, 2), 4);
	cr_assert_eq(cpus[1], 2);
}

Test(cpus, refuses_what_is_no_list)
{
	static const char *const bad[] = {"x", "1,", ",1", "3-1", "1-", "-1", "1;2", "1024", "999999999999"};
	unsigned int cpus[8];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		cr_assert_eq(cpus_parse(bad[i], cpus, 8), -EINVAL, "%s", bad[i]);
}
