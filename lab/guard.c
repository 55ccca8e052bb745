/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard waits on a pipe of which only its parent holds the other end. The kernel closes that end however the parent
 * dies; then the guard runs its action. The action of struct lab_guard removes the lab.
 */
#include <lab/lab.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab_priv.h"

struct guard {
	pid_t pid;
	int pipe; /* our end of the pipe on which the guard waits */
};

struct lab_guard {
	char name[LAB_NAME_MAXIMUM + 1];
	struct guard *guard;
};

static void guard_body(int descriptor, void (*action)(void *context), void *context) __attribute__((noreturn));

static void guard_body(int descriptor, void (*action)(void *context), void *context)
{
	char byte;
	ssize_t count;
	int nothing;

	setsid();
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	/* Closes the terminal's descriptors: a pipeline or an ssh session would wait until the guard closes them. */
	nothing = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3 && nothing >= 0; i++)
		dup2(nothing, i);
	do
		count = read(descriptor, &byte, 1);
	while (count < 0 && errno == EINTR);
	if (count != 1)
		action(context);
	_exit(0);
}

struct guard *guard_start(void (*action)(void *context), void *context, struct error *err)
{
	struct guard *guard = calloc(1, sizeof *guard);
	int ends[2];

	if (!guard || pipe2(ends, O_CLOEXEC) != 0) {
		error_set(err, errno, "cannot start a guard: %s", strerror(errno));
		free(guard);
		return NULL;
	}
	guard->pid = fork();
	if (guard->pid == 0) {
		close(ends[1]);
		guard_body(ends[0], action, context);
	}
	close(ends[0]);
	guard->pipe = ends[1];
	if (guard->pid < 0) {
		error_set(err, errno, "cannot start a guard: %s", strerror(errno));
		close(ends[1]);
		free(guard);
		return NULL;
	}
	return guard;
}

void guard_release(struct guard *guard)
{
	if (!guard)
		return;
	while (write(guard->pipe, "q", 1) < 0 && errno == EINTR)
		;
	close(guard->pipe);
	while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(guard);
}

static void take_down(void *context)
{
	/*
	 * Repeats lab_down() until it finds nothing: a command that was creating a namespace when its parent died may
	 * finish after the first call.
	 */
	while (lab_down(((struct lab_guard *)context)->name, NULL) > 0)
		;
}

struct lab_guard *lab_guard_start(const char *name, struct error *err)
{
	struct lab_guard *guard = calloc(1, sizeof *guard);

	if (!guard) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	snprintf(guard->name, sizeof guard->name, "%s", name);
	guard->guard = guard_start(take_down, guard, err);
	if (guard->guard)
		return guard;
	free(guard);
	return NULL;
}

int lab_guard_release(struct lab_guard *guard, bool down, struct error *err)
{
	int code = 0;

	if (!guard)
		return 0;
	if (down)
		code = lab_down(guard->name, err);
	guard_release(guard->guard);
	free(guard);
	return code < 0 ? code : 0;
}
