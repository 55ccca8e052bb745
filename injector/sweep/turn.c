/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two locks. Only one sweep at a time runs on a machine, because two would disturb each other. And only one sweep at a
 * time uses the name of a lab, which it locks before it makes the lab. Each lock is a name in the abstract socket
 * namespace, which leaves no file and is released when its holder ends.
 */
#include <injector/sweep/sweeper.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host_priv.h"

static const char machine[] = "nomora-sweep", lab_prefix[] = "nomora-sweep-lab-";

/* Abstract names begin with a zero byte. */
static socklen_t set_address(const char *name, struct sockaddr_un *address)
{
	size_t bytes = strnlen(name, sizeof address->sun_path - 1);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path + 1, name, bytes);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
}

/*
 * Returns 0 and in *lock a descriptor that holds the lock; -EAGAIN if another sweep holds it; or -errno with err set.
 */
static int try_lock(const char *name, int *lock, struct error *err)
{
	struct sockaddr_un address;
	socklen_t bytes = set_address(name, &address);
	int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), code;

	if (descriptor < 0)
		return error_set(err, errno, "cannot create a socket: %s", strerror(errno));
	/* Listens only so that others can read our process number from the socket. */
	if (bind(descriptor, (const struct sockaddr *)&address, bytes) == 0 && listen(descriptor, 16) == 0) {
		*lock = descriptor;
		return 0;
	}
	code = errno;
	close(descriptor);
	return code == EADDRINUSE ? -EAGAIN : error_set(err, code, "cannot take the sweeps' lock: %s", strerror(code));
}

/* Returns the process that holds the lock, or 0 if it is not known. */
static pid_t find_holder(const char *name)
{
	struct sockaddr_un address;
	socklen_t bytes = set_address(name, &address), length = sizeof(struct ucred);
	struct ucred who = {0};
	int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (descriptor < 0)
		return 0;
	if (connect(descriptor, (const struct sockaddr *)&address, bytes) != 0 ||
	    getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0)
		who.pid = 0;
	close(descriptor);
	return who.pid;
}

static void tell(const struct sweeper_hooks *hooks)
{
	pid_t holder = find_holder(machine);
	char who[40] = "", line[200];

	if (!hooks->say)
		return;
	if (holder > 0)
		snprintf(who, sizeof who, ", process %d,", (int)holder);
	snprintf(line, sizeof line, "another sweep%s runs on this machine: waiting for it (or use --share-machine)",
		 who);
	hooks->say(hooks->context, line);
}

int sweeper_take_turn(const struct sweeper_hooks *hooks, int *turn, struct error *err)
{
	bool told = false;

	for (;;) {
		int code = try_lock(machine, turn, err);

		if (code != -EAGAIN)
			return code;
		if (hooks->stop && *hooks->stop)
			return error_set(err, EINTR, "stopped while waiting for another sweep on this machine");
		if (!told)
			tell(hooks);
		told = true;
		host_sleep((struct ns){200 * NS_PER_MS}, hooks->stop);
	}
}

int sweeper_claim_lab(const char *lab, int *claim, int *other, struct error *err)
{
	char name[sizeof((struct sockaddr_un *)NULL)->sun_path];
	int code;

	snprintf(name, sizeof name, "%s%s", lab_prefix, lab);
	code = try_lock(name, claim, err);
	if (code == -EAGAIN)
		*other = (int)find_holder(name);
	return code;
}
