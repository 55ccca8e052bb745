/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>

#include "dataflow_priv.h"

int experiment_dataflow(const struct experiment_dataflow_options *options, struct experiment_rows *rows,
			struct error *err)
{
	static const char *const titles[] = {
		[EXPERIMENT_STORM] = "Dataflow: throughput of Storm jobs, figures 4 and 5",
		[EXPERIMENT_HADOOP] = "Dataflow: throughput of MapReduce jobs, figures 7 and 8",
		[EXPERIMENT_FAILURES] = "Dataflow: failed links, figures 6 and 9",
		[EXPERIMENT_RUNTIME] = "Dataflow: time of a decision, figures 10 and 11",
		[EXPERIMENT_SCALE] = "Dataflow: completion times at 1,000 hosts, figures 12 and 13",
	};
	struct experiment_page *page = experiment_page_open(options->folder, titles[options->what], rows, err);
	struct experiment_dataflow_options limited = *options;

	if (!page)
		return error_code(err, EIO);
	limited.engine.local_MBps = fmin(options->engine.local_MBps, EXPERIMENT_LINK_MBPS);
	options = &limited;
	switch (options->what) {
	case EXPERIMENT_STORM:
	case EXPERIMENT_HADOOP:
		experiment_gains(page, options);
		break;
	case EXPERIMENT_FAILURES:
		experiment_failures(page, options);
		break;
	case EXPERIMENT_RUNTIME:
		experiment_runtime(page, options);
		break;
	case EXPERIMENT_SCALE:
		experiment_scale(page, options);
		break;
	}
	return experiment_page_close(page);
}
