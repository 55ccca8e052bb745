/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a lab with everything in it, under a guard that removes it if this process is killed. */
#include <errno.h>
#include <limits.h>

#include <base/program.h>
#include <base/stop.h>
#include <lab/lab.h>
#include <lab/transfer.h>

/* Builds the lab and adds its contents. If this fails, removes the lab. */
static int complete(const struct lab *lab, const struct lab_contents *contents, struct error *err)
{
	char program[PATH_MAX];
	int code = lab_up(lab, err);

	if (code)
		return code;
	if (contents->link_MBps > 0 || lab->switch_count > 0)
		code = lab_limit_links(lab, contents->link_MBps, err);
	if (!code && contents->delay_us >= 0 && lab->injector_count > 0) {
		code = program_path(program, err);
		if (!code)
			code = lab_start_injectors(lab, program, contents->delay_us, contents->injector_arguments, err);
	}
	if (!code)
		code = lab_write_inventory(lab, contents->cluster, contents->peers, contents->topology, err);
	if (code)
		lab_down(lab->name, NULL);
	return code;
}

int lab_make(const struct lab *lab, const struct lab_contents *contents, lab_user *use, void *context, int *result,
	     struct error *err)
{
	struct lab_guard *guard;
	int code;

	/*
	 * If the lab is removed at the end, signals end `use`. Otherwise a signal ends the process at once, and the
	 * guard removes the parts that have been made.
	 */
	if (use)
		stop_catch_signals();
	/*
	 * Check before the guard starts: otherwise the guard would remove another user's lab of this name. lab_up()
	 * checks again, under a lock.
	 */
	code = lab_check_free(lab->name, err);
	if (code)
		return code;
	guard = lab_guard_start(lab->name, err);
	if (!guard)
		return error_code(err, EIO);
	code = complete(lab, contents, err);
	if (!code && use)
		*result = use(lab, context, err);
	if (code || !use)
		lab_guard_release(guard, false, NULL);
	else
		code = lab_guard_release(guard, true, err);
	return code;
}
