/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs programs and shell scripts that change a lab. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab_priv.h"

int lab_run(const char *const *argv, struct process_result *result, struct error *err)
{
	struct process_options options = {.argv = argv};

	return process_run(&options, (struct ns){30 * NS_PER_S}, result, err);
}

/* Returns advice to be added to an error message of `ip`. */
static const char *advice(const char *said)
{
	/* ip changes the mount propagation of "/", which fails if the root of a chroot is not a mount point */
	if (strstr(said, "make-rslave"))
		return "; the root of this chroot is not a mount point: run 'mount --bind DIR DIR' first";
	if (strstr(said, "not found"))
		return "; the lab needs ip, ethtool and sysctl (Debian: iproute2, ethtool, procps)";
	if (strstr(said, "Operation not permitted"))
		return "; this root lacks CAP_SYS_ADMIN or CAP_NET_ADMIN: a container has to be a privileged one";
	return "";
}

int lab_script_open(const struct lab *lab, struct lab_script *script, struct error *err)
{
	int descriptor;

	*script = (struct lab_script){0};
	snprintf(script->path, sizeof script->path, LAB_FOLDER "/%s-batch.XXXXXX", lab->name);
	descriptor = mkstemp(script->path);
	if (descriptor < 0)
		return error_set(err, errno, "cannot create %s: %s", script->path, strerror(errno));
	script->out = fdopen(descriptor, "w");
	if (script->out)
		return 0;
	error_set(err, errno, "cannot write %s: %s", script->path, strerror(errno));
	close(descriptor);
	unlink(script->path);
	return error_code(err, EIO);
}

int lab_script_run(const struct lab *lab, struct lab_script *script, const char *purpose, struct error *err)
{
	const char *argv[] = {"/bin/sh", script->path, NULL};
	struct process_result result = {0};
	int code = ferror(script->out) ? -EIO : 0;

	if (fclose(script->out) != 0 || code) {
		code = error_set(err, EIO, "cannot write %s", script->path);
		goto out_unlink;
	}
	code = lab_run(argv, &result, err);
	if (code == 0 && (result.timed_out || result.exit_code != 0)) {
		/* Keeps only the first line: the second one names a line of the script. */
		result.output[strcspn(result.output, "\n")] = '\0';
		code = error_set(err, EIO, "cannot %s '%s': ip says: %s%s", purpose, lab->name,
				 result.timed_out ? "nothing for 30 s" : result.output, advice(result.output));
	}
	process_result_free(&result);
out_unlink:
	unlink(script->path);
	return code;
}
