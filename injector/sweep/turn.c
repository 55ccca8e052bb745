/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One sweep at a time on a machine: two would disturb each other and both pass it off as the network's doing. The lock
 * is a name in the abstract socket space, which leaves no file and goes with its holder.
 */
#include "sweep_priv.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char name[] = "nomora-sweep"; /* behind a leading zero byte */

int turn_take(struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), code;

	if (descriptor < 0)
		return error_set(err, errno, "cannot make a socket: %s", strerror(errno));
	memcpy(address.sun_path + 1, name, strlen(name));
	if (bind(descriptor, (const struct sockaddr *)&address, bytes) == 0)
		return descriptor;
	code = errno;
	close(descriptor);
	return code == EADDRINUSE ? -EAGAIN : error_set(err, code, "cannot take the sweeps' lock: %s", strerror(code));
}
