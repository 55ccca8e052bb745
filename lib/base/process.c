/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/process.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/array.h>

enum { OUTPUT_BYTES_MAXIMUM = 16 << 20, READ_BYTES = 1 << 16 };

struct process {
	pid_t pid;
	int pidfd;
	int output_fd; /* our end of the pipe, -1 when the output goes to a file or has ended */
	char *output;
	size_t output_bytes, output_capacity;
	bool ends_group, ended;
	int status;
	struct ns started, finished;
};

/*
 * Runs in the child, between fork and exec: async-signal-safe calls only. Sends the errno of a failure to failure_fd.
 */
static void run_child(char *const *argv, char *const *environment, int output_fd, bool discard_stderr, int failure_fd,
		      pid_t parent)
{
	int code, null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	if (getppid() == parent && null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
	    dup2(output_fd, STDOUT_FILENO) >= 0 && dup2(discard_stderr ? null_fd : output_fd, STDERR_FILENO) >= 0)
		execvpe(argv[0], argv, environment);
	code = errno;
	if (write(failure_fd, &code, sizeof code) < 0) {
		/* ignored: if the errno cannot be sent, the parent sees exit code 127 */
	}
	_exit(127);
}

/*
 * Returns an array with the entries of environ whose names `added` does not set, followed by the entries of `added`.
 * The caller frees the array, but not the strings.
 */
static char **merge_environment(const char *const *added)
{
	size_t ours = 0, more = 0, n = 0;
	char **merged;

	while (environ && environ[ours])
		ours++;
	while (added && added[more])
		more++;
	merged = calloc(ours + more + 1, sizeof *merged);
	if (!merged)
		return NULL;
	for (size_t i = 0; i < ours; i++) {
		bool replaced = false;

		for (size_t k = 0; k < more && !replaced; k++) {
			size_t name = strcspn(added[k], "=") + 1;

			replaced = strncmp(environ[i], added[k], name) == 0;
		}
		if (!replaced)
			merged[n++] = environ[i];
	}
	for (size_t k = 0; k < more; k++)
		merged[n++] = (char *)(uintptr_t)added[k];
	return merged;
}

static int open_output(const struct process_options *options, int pipe_fds[2], struct error *err)
{
	pipe_fds[0] = -1;
	if (options->output_path) {
		pipe_fds[1] = open(options->output_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (pipe_fds[1] < 0)
			return error_set(err, errno, "cannot write %s: %s", options->output_path, strerror(errno));
		return 0;
	}
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return error_set(err, errno, "cannot create a pipe: %s", strerror(errno));
	fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
	return 0;
}

/* Waits for the child's exec. Returns 0 if it succeeded, else the errno that the child sent. */
static int exec_failure(int failure_fd)
{
	int code = 0;
	ssize_t got;

	do {
		got = read(failure_fd, &code, sizeof code);
	} while (got < 0 && errno == EINTR);
	return got == sizeof code ? code : 0;
}

static struct process *process_of(pid_t pid, int output_fd, struct error *err)
{
	struct process *process = calloc(1, sizeof *process);

	if (!process) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	process->pid = pid;
	process->output_fd = output_fd;
	process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	process->started = ns_now_monotonic();
	if (process->pidfd >= 0)
		return process;
	error_set(err, errno, "cannot watch process %d: %s", (int)pid, strerror(errno));
	free(process);
	return NULL;
}

static pid_t start_child(const struct process_options *options, char *const *argv, char **environment,
			 const int output[2], struct error *err)
{
	int failure[2], code;
	pid_t parent = getpid(), pid;

	if (pipe2(failure, O_CLOEXEC) < 0)
		return error_set(err, errno, "cannot create a pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		run_child(argv, environment, output[1], options->discard_stderr, failure[1], parent);
	code = pid < 0 ? errno : 0;
	close(failure[1]);
	if (pid > 0) {
		setpgid(pid, pid); /* called by parent and child, so that neither continues before the group exists */
		code = exec_failure(failure[0]);
		if (code)
			waitpid(pid, NULL, 0);
	}
	close(failure[0]);
	return code ? error_set(err, code, "cannot run %s: %s", argv[0], strerror(code)) : pid;
}

struct process *process_start(const struct process_options *options, struct error *err)
{
	const char *const shell_argv[] = {"/bin/sh", "-c", options->shell, NULL};
	char *const *argv = (char *const *)(uintptr_t)(options->shell ? shell_argv : options->argv);
	char **environment = merge_environment(options->environment);
	struct process *process = NULL;
	int output[2] = {-1, -1};
	pid_t pid = -1;

	if (!environment) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	if (open_output(options, output, err) < 0)
		goto out;
	pid = start_child(options, argv, environment, output, err);
	if (pid > 0)
		process = process_of(pid, output[0], err);
	if (process)
		process->ends_group = options->ends_group;
	if (pid > 0 && !process) {
		kill(-pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
out:
	free(environment);
	if (output[1] >= 0)
		close(output[1]);
	if (!process && output[0] >= 0)
		close(output[0]);
	return process;
}

/* Reads the available output; at its end, closes the pipe. Returns 0, or -ENOMEM or -EFBIG with err set. */
static int drain(struct process *process, struct error *err)
{
	for (;;) {
		char *output;
		ssize_t got;

		if (process->output_bytes > OUTPUT_BYTES_MAXIMUM)
			return error_set(err, EFBIG, "the program printed more than 16 MiB");
		output = array_reserve(process->output, process->output_bytes + READ_BYTES + 1,
				       &process->output_capacity, 1);
		if (!output)
			return error_set(err, ENOMEM, "out of memory");
		process->output = output;
		got = read(process->output_fd, process->output + process->output_bytes, READ_BYTES);
		if (got > 0) {
			process->output_bytes += (size_t)got;
			continue;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0) {
			close(process->output_fd);
			process->output_fd = -1;
		}
		return 0;
	}
}

static void reap(struct process *process)
{
	siginfo_t who = {0};

	if (process->ended || waitid(P_PID, (id_t)process->pid, &who, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	    who.si_pid != process->pid)
		return;
	/* Before waitpid() below, the kernel cannot reuse the child's process number, so this group is the child's. */
	if (process->ends_group)
		kill(-process->pid, SIGKILL);
	waitpid(process->pid, &process->status, 0);
	process->ended = true;
	process->finished = ns_now_monotonic();
}

static void fill_result(struct process *process, struct process_result *result)
{
	*result = (struct process_result){
		.exit_code =
			WIFEXITED(process->status) ? WEXITSTATUS(process->status) : 128 + WTERMSIG(process->status),
		.elapsed = ns_sub(process->finished, process->started),
		.output = process->output,
		.output_bytes = process->output_bytes,
	};
	if (result->output)
		result->output[result->output_bytes] = '\0';
	process->output = NULL;
	process->output_bytes = process->output_capacity = 0;
}

/*
 * Returns the milliseconds to `deadline`, rounded up, but at most 100,000; or -1 (wait for ever) if there is no
 * deadline.
 */
static int poll_ms(struct ns deadline)
{
	int64_t left;

	if (deadline.v < 0)
		return -1;
	left = deadline.v - ns_now_monotonic().v;
	if (left <= 0)
		return 0;
	return left / NS_PER_MS > 100000 ? 100000 : (int)((left + NS_PER_MS - 1) / NS_PER_MS);
}

int process_wait(struct process *process, struct ns timeout, struct process_result *result, struct error *err)
{
	struct ns deadline = timeout.v < 0 ? timeout : ns_add(ns_now_monotonic(), timeout);

	for (;;) {
		struct pollfd fds[2] = {{process->pidfd, POLLIN, 0}, {process->output_fd, POLLIN, 0}};
		int ready = poll(fds, 2, poll_ms(deadline)), status = 0;

		if (ready < 0 && errno != EINTR)
			return error_set(err, errno, "cannot wait for a program: %s", strerror(errno));
		if (process->output_fd >= 0)
			status = drain(process, err);
		if (status < 0)
			return status;
		reap(process);
		if (process->ended) {
			/*
			 * the child has ended: read only the output that is there now, as a daemon that it started may
			 * keep the pipe open
			 */
			if (process->output_fd >= 0)
				status = drain(process, err);
			if (status == 0)
				fill_result(process, result);
			return status;
		}
		if (deadline.v >= 0 && ns_now_monotonic().v >= deadline.v)
			return -ETIMEDOUT;
	}
}

void process_stop(struct process *process, struct ns grace)
{
	struct ns deadline = ns_add(ns_now_monotonic(), grace);

	if (!process->ended) {
		kill(-process->pid, SIGTERM);
		while (!process->ended) {
			struct pollfd fd = {process->pidfd, POLLIN, 0};

			if (poll(&fd, 1, poll_ms(deadline)) == 0)
				break;
			reap(process);
		}
	}
	/* all remaining processes of the group, the leader included; ESRCH if there are none */
	kill(-process->pid, SIGKILL);
	if (!process->ended) {
		while (waitpid(process->pid, &process->status, 0) < 0 && errno == EINTR)
			;
		process->ended = true;
		process->finished = ns_now_monotonic();
	}
}

void process_destroy(struct process *process)
{
	if (!process)
		return;
	if (!process->ended)
		process_stop(process, (struct ns){NS_PER_S});
	if (process->output_fd >= 0)
		close(process->output_fd);
	close(process->pidfd);
	free(process->output);
	free(process);
}

void process_result_free(struct process_result *result)
{
	free(result->output);
	result->output = NULL;
}

int process_run(const struct process_options *options, struct ns timeout, struct process_result *result,
		struct error *err)
{
	struct process *process = process_start(options, err);
	int status;

	*result = (struct process_result){0};
	if (!process)
		return error_code(err, ECHILD);
	status = process_wait(process, timeout, result, err);
	if (status == -ETIMEDOUT) {
		process_stop(process, (struct ns){NS_PER_S});
		if (process->output_fd >= 0)
			drain(process, NULL);
		fill_result(process, result);
		result->timed_out = true;
		status = 0;
	}
	process_destroy(process);
	return status;
}

int process_set_nice(int nice, struct error *err)
{
	char text[8];
	int descriptor, length;

	if (setpriority(PRIO_PROCESS, 0, nice) != 0)
		return error_set(err, errno, "cannot set the scheduling priority %d: %s", nice, strerror(errno));
	length = snprintf(text, sizeof text, "%d", nice);
	/* A kernel without autogroups does not have this file. */
	descriptor = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (descriptor < 0)
		return 0;
	if (write(descriptor, text, (size_t)length) != length) {
		int code = errno;

		close(descriptor);
		return error_set(err, code, "cannot set the scheduling priority %d for this session: %s", nice,
				 strerror(code));
	}
	close(descriptor);
	return 0;
}
