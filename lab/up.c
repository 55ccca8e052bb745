/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/lab.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/process.h>

#include "lab_priv.h"

static int build(const struct lab *lab, struct error *err)
{
	struct lab_script script;
	int code = lab_script_open(lab, &script, err);

	if (code)
		return code;
	lab_print_script(lab, script.out);
	return lab_script_run(lab, &script, "build the lab", err);
}

/*
 * Waits until all interfaces of a namespace have a carrier: the kernel brings veth peers up in a deferred worker, and a
 * bridge port forwards only from then on.
 */
static int wait_for_netns(const char *netns, struct error *err)
{
	const char *argv[] = {"ip", "-n", netns, "-o", "link", "show", NULL};

	for (int waited_ms = 0; waited_ms < LAB_PATIENCE_MS; waited_ms += 10) {
		struct process_result result = {0};
		int code = lab_run(argv, &result, err);
		bool carrying;

		if (code)
			return code;
		carrying = result.exit_code == 0 && !strstr(result.output, "NO-CARRIER") &&
			   !strstr(result.output, "LOWERLAYERDOWN") && !strstr(result.output, " state disabled");
		process_result_free(&result);
		if (carrying)
			return 0;
		usleep(10000);
	}
	return error_set(err, ETIMEDOUT, "the lab's links did not come up within %d ms", LAB_PATIENCE_MS);
}

static int wait_for_links(const struct lab *lab, struct error *err)
{
	int code = lab->switch_count > 0 ? 0 : wait_for_netns(lab->switch_netns, err);

	for (int s = 0; s < lab->switch_count && !code; s++)
		code = wait_for_netns(lab->switches[s].netns, err);
	return code;
}

int lab_check_free(const char *name, struct error *err)
{
	char path[128];

	lab_state_path(name, path, sizeof path);
	if (access(path, F_OK) != 0 && !lab_has_netns(name))
		return 0;
	return error_set(err, EEXIST,
			 "there is a lab '%s' already: remove it with 'nomora lab down --name %s' or choose another "
			 "--name",
			 name, name);
}

int lab_up(const struct lab *lab, struct error *err)
{
	int lock, code;

	if (geteuid() != 0)
		return error_set(err, EPERM, "making network namespaces needs root: run it with sudo");
	lock = lab_lock(err);
	if (lock < 0)
		return lock;
	code = lab_check_free(lab->name, err);
	if (code) {
		close(lock);
		return code;
	}
	code = build(lab, err);
	if (!code)
		code = wait_for_links(lab, err);
	if (!code && lab->switch_count > 0)
		code = fabric_set_links(lab, err);
	if (!code)
		code = lab_write_state(lab, err);
	close(lock);
	if (code)
		lab_down(lab->name, NULL);
	return code;
}
