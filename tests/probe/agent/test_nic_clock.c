/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "agent_priv.h"

/* A NIC clock of 1 GHz and a counter of 2.5 GHz. */
Test(nic_clock, converts_by_two_readings_before_and_after_the_latest)
{
	struct nic_clock clock = {0};
	uint64_t tsc = 0;

	cr_assert(!nic_clock_to_tsc(&clock, 5, &tsc));
	nic_clock_read(&clock, 1000, 50000);
	cr_assert(!nic_clock_to_tsc(&clock, 1000, &tsc), "no rate yet");
	nic_clock_read(&clock, 1000001000, 2500050000);
	cr_assert(nic_clock_to_tsc(&clock, 1000001000, &tsc) && tsc == 2500050000);
	cr_assert(nic_clock_to_tsc(&clock, 1000002000, &tsc) && tsc == 2500052500);
	cr_assert(nic_clock_to_tsc(&clock, 1000000000, &tsc) && tsc == 2500047500);
	nic_clock_read(&clock, 2000001000, 5000050000);
	cr_assert(nic_clock_to_tsc(&clock, 2000001004, &tsc) && tsc == 5000050010);
}

Test(nic_clock, a_clock_that_stands_still_is_none)
{
	struct nic_clock clock = {0};
	uint64_t tsc;

	nic_clock_read(&clock, 7, 100);
	nic_clock_read(&clock, 7, 200);
	cr_assert(!nic_clock_to_tsc(&clock, 7, &tsc));
}
