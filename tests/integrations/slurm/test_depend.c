/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs 1 to 9 have not ended, 10 to 19 succeeded, 20 to 29 failed; of others Slurm has no record. */
#include <criterion/criterion.h>

#include "depend.h"

static const int context;

static enum slurm_outcome outcome(const void *got, uint32_t id)
{
	cr_assert_eq(got, &context);
	return id / 10 == 1 ? SLURM_SUCCEEDED : id / 10 == 2 ? SLURM_DID_NOT_SUCCEED : SLURM_NOT_ENDED;
}

static bool waits(const char *text)
{
	return slurm_waits(text, outcome, &context);
}

Test(slurm_depend, a_job_without_dependencies_does_not_wait)
{
	cr_assert(!waits(NULL));
	cr_assert(!waits(""));
}

Test(slurm_depend, a_job_waits_until_all_others_have_ended_as_it_asked)
{
	cr_assert(waits("afterany:1(unfulfilled)"));
	cr_assert(!waits("afterany:10(unfulfilled)"));
	cr_assert(!waits("afterany:20(unfulfilled)"));
	cr_assert(!waits("afterok:11(unfulfilled)"));
	cr_assert(waits("afterok:21(failed)"));
	cr_assert(waits("afternotok:1(unfulfilled)"));
	cr_assert(waits("afternotok:11(failed)"));
	cr_assert(!waits("afternotok:21(unfulfilled)"));
	cr_assert(!waits("afterok:10(unfulfilled),afterany:20(unfulfilled)"));
	cr_assert(waits("afterok:10(unfulfilled),afterany:1(unfulfilled)"));
	cr_assert(waits("afterany:1(unfulfilled),afterok:10(unfulfilled)"));
	cr_assert(waits("afterok:10(unfulfilled),afterok:20(failed)"));
	cr_assert(!waits("afterok:10"));
	cr_assert(waits("afterany:99"));
}

Test(slurm_depend, slurm_judges_all_others)
{
	static const char *const texts[] = {"singleton",
					    "singleton(unfulfilled)",
					    "after:10(unfulfilled)",
					    "after:10+5(unfulfilled)",
					    "afternotok:20_*(unfulfilled)",
					    "afterok:10_*(unfulfilled)",
					    "afterany:10_3(unfulfilled)",
					    "aftercorr:10(unfulfilled)",
					    "expand:10(unfulfilled)",
					    "afterok:10(unfulfilled)?afterok:11(unfulfilled)",
					    "afterok:10(unfulfilled),singleton(unfulfilled)",
					    "afterok:",
					    "afterok:x",
					    "afterok:-10",
					    "afterok:4294967306",
					    "afterok:99999999999999999999",
					    "afterok:10(",
					    "afterok:10,,",
					    "afterok:10)",
					    "afterok:10 "};

	for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
		cr_assert(waits(texts[t]), "'%s'", texts[t]);
}
