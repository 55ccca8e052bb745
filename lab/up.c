/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/lab.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/process.h>

#include "lab_priv.h"

static int run(const char *const *argv, struct process_result *result, struct error *err)
{
	struct process_options options = {.argv = argv};

	return process_run(&options, (struct ns){30 * NS_PER_S}, result, err);
}

/* What to do about what `ip` said. */
static const char *advice(const char *said)
{
	/* ip changes mount propagation of "/", which has to be a mount: in a bare chroot it is not */
	if (strstr(said, "make-rslave"))
		return "; this is a chroot whose root is no mount: 'mount --bind DIR DIR' first";
	if (strstr(said, "not found"))
		return "; the lab needs ip, ethtool and sysctl (Debian: iproute2, ethtool, procps)";
	if (strstr(said, "Operation not permitted"))
		return "; this root lacks CAP_SYS_ADMIN or CAP_NET_ADMIN: a container has to be a privileged one";
	return "";
}

static int run_batch(const struct lab *lab, struct error *err)
{
	char path[128];
	const char *argv[] = {"ip", "-batch", path, NULL};
	struct process_result result = {0};
	int descriptor, code;
	FILE *out;

	snprintf(path, sizeof path, LAB_FOLDER "/%s-batch.XXXXXX", lab->name);
	descriptor = mkstemp(path);
	if (descriptor < 0)
		return error_set(err, errno, "cannot make %s: %s", path, strerror(errno));
	out = fdopen(descriptor, "w");
	if (!out) {
		code = error_set(err, errno, "cannot write %s: %s", path, strerror(errno));
		close(descriptor);
		goto out_unlink;
	}
	code = lab_print_batch(lab, out);
	if (fclose(out) != 0 || code) {
		code = error_set(err, EIO, "cannot write %s", path);
		goto out_unlink;
	}
	code = run(argv, &result, err);
	if (code == 0 && (result.timed_out || result.exit_code != 0)) {
		/* The second line names our temporary file. */
		result.output[strcspn(result.output, "\n")] = '\0';
		code = error_set(err, EIO, "cannot build the lab '%s': ip says: %s%s", lab->name,
				 result.timed_out ? "nothing for 30 s" : result.output, advice(result.output));
	}
	process_result_free(&result);
out_unlink:
	unlink(path);
	return code;
}

/* veth peers come up by a deferred kernel worker: a bridge port forwards only from then on. */
static int wait_for_links(const struct lab *lab, struct error *err)
{
	const char *argv[] = {"ip", "-n", lab->switch_netns, "-o", "link", "show", NULL};

	for (int waited_ms = 0; waited_ms < LAB_PATIENCE_MS; waited_ms += 10) {
		struct process_result result = {0};
		int code = run(argv, &result, err);
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

int lab_check_free(const char *name, struct error *err)
{
	char path[128];

	lab_state_path(name, path, sizeof path);
	if (access(path, F_OK) != 0 && !lab_has_netns(name))
		return 0;
	return error_set(err, EEXIST,
			 "there is a lab '%s' already: remove it by 'nomora lab down --name %s' or choose another "
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
	code = run_batch(lab, err);
	if (!code)
		code = wait_for_links(lab, err);
	if (!code)
		code = lab_write_state(lab, err);
	close(lock);
	if (code)
		lab_down(lab->name, NULL);
	return code;
}
