/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the command without --what-if and --sweep: makes the workload, simulates the policies, writes the files, and
 * prints a table or JSON.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulate_priv.h"

int simulate_make_folder(const char *folder, bool *made, struct error *err)
{
	*made = folder && mkdir(folder, 0777) == 0;
	if (folder && !*made && errno != EEXIST)
		return error_set(err, errno, "cannot create %s: %s", folder, strerror(errno));
	return 0;
}

void simulate_drop_folder(const char *folder, bool made)
{
	if (made)
		(void)rmdir(folder); /* does not remove a folder with files */
}

static int write_output(const struct simulate *simulate, const char *folder, struct error *err)
{
	int code = simulate_write_jobs(simulate, folder, err);

	if (code == 0)
		code = simulate_write_report(simulate, folder, err);
	return code == 0 ? simulate_write_summary(simulate, folder, err) : code;
}

int simulate_day(const struct simulate_options *options, FILE *out, struct error *err)
{
	struct simulate simulate = {0};
	bool made;
	int code = simulate_make_folder(options->output, &made, err);

	if (code == 0)
		code = simulate_setup(&simulate, options, err);
	if (code == 0 && options->write_trace)
		code = google_trace_write(simulate.workload, options->write_trace, err);
	if (code == 0)
		code = simulate_run(&simulate, options->output, err);
	if (code == 0 && options->output)
		code = write_output(&simulate, options->output, err);
	if (code == 0 && options->json)
		code = simulate_print_summary(&simulate, out);
	else if (code == 0)
		simulate_print_table(&simulate, out);
	simulate_free(&simulate);
	if (code != 0)
		simulate_drop_folder(options->output, made);
	return code;
}
