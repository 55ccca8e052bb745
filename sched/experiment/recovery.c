/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "recovery_priv.h"

int experiment_recovery(enum experiment_recovery what, const char *folder, uint32_t runs, FILE *progress,
			struct experiment_rows *rows, struct error *err)
{
	static const char *const titles[] = {
		[EXPERIMENT_RECOVERY_TESTBED] = "Recovery: the testbed, figures 6 to 11",
		[EXPERIMENT_RECOVERY_SCALE] = "Recovery at scale, figures 12 and 13",
		[EXPERIMENT_RECOVERY_RUNTIME] = "Recovery: running time, figures 14 and 15",
	};
	struct experiment_page *page = experiment_page_open(folder, titles[what], rows, err);

	if (!page)
		return error_code(err, EIO);
	if (what == EXPERIMENT_RECOVERY_TESTBED)
		experiment_recovery_testbed(page);
	else if (what == EXPERIMENT_RECOVERY_SCALE)
		experiment_recovery_scale(page, progress);
	else
		experiment_recovery_runtime(page, runs, progress);
	return experiment_page_close(page);
}
