/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface that the baseline is measured on, from the output of "ip -o route get". */
#include <criterion/criterion.h>

#include "sweeper_priv.h"

Test(baseline, the_interface_of_a_route)
{
	char interface[16];

	cr_assert(baseline_parse_route("10.77.1.1 dev eth0 src 10.77.1.2 uid 0 \\    cache \n", interface,
				       sizeof interface));
	cr_assert_str_eq(interface, "eth0");
	cr_assert(baseline_parse_route("192.0.2.1 via 198.51.100.1 dev enp3s0f1 src 198.51.100.7", interface,
				       sizeof interface));
	cr_assert_str_eq(interface, "enp3s0f1");
	cr_assert(baseline_parse_route("10.0.0.1 dev va\n", interface, sizeof interface));
	cr_assert_str_eq(interface, "va");
}

Test(baseline, no_interface_to_measure_on)
{
	char interface[16];

	cr_assert_not(baseline_parse_route("local 127.0.0.1 dev lo src 127.0.0.1", interface, sizeof interface));
	cr_assert_not(baseline_parse_route("RTNETLINK answers: Network is unreachable\n", interface, sizeof interface));
	cr_assert_not(baseline_parse_route("10.0.0.1 dev ", interface, sizeof interface));
	cr_assert_not(
		baseline_parse_route("10.0.0.1 dev a-name-that-is-far-too-long src", interface, sizeof interface));
	cr_assert_not(baseline_parse_route("", interface, sizeof interface));
	cr_assert_not(baseline_parse_route(NULL, interface, sizeof interface));
}
