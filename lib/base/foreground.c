/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/process.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_US = 20000 };

/* Waits for the child by polling: a blocking waitpid() would miss a signal that sets *stop just before the call. */
static int wait_for(pid_t child, const volatile int *stop)
{
	bool passed = false;
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(child, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
		if (*stop && !passed) {
			passed = true;
			kill(child, SIGTERM);
		}
		usleep(POLL_US);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int foreground_run_shell(const char *command, const volatile int *stop, struct error *err)
{
	pid_t child = fork();

	if (child < 0)
		return error_set(err, errno, "cannot start a shell: %s", strerror(errno));
	if (child > 0)
		return wait_for(child, stop);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

int foreground_run_session(int (*run)(void *context), void *context, const volatile int *stop, struct error *err)
{
	pid_t parent = getpid(), child;
	int code;

	fflush(NULL);
	child = fork();
	if (child < 0)
		return error_set(err, errno, "cannot start a process: %s", strerror(errno));
	if (child > 0)
		return wait_for(child, stop);
	/* SIGTERM rather than SIGKILL lets the child clean up. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setsid();
	code = getppid() == parent ? run(context) : EXIT_FAILURE;
	fflush(NULL);
	_exit(code);
}
