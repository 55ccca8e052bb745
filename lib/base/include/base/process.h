/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Child processes that do not outlive us. Each child leads its own process group, and the kernel kills it when we die
 * (PR_SET_PDEATHSIG). process_stop() stops the whole group: SIGTERM, a grace period, SIGKILL. If a child ends by
 * itself, other processes of its group keep running, as they may be daemons that it started; with ends_group they are
 * killed. One thread per process object.
 */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>
#include <base/ns.h>
#include <sys/types.h>

struct process;

struct process_options {
	const char *const *argv;        /* NULL-terminated; argv[0] is looked up in PATH */
	const char *shell;              /* instead of argv: a line for /bin/sh -c */
	const char *const *environment; /* NULL-terminated "NAME=value", added to our environment; NULL = only ours */
	const char *output_path; /* stdout and stderr go to this file; NULL = captured in memory; more than 16 MiB is an
				    error */
	bool discard_stderr;
	bool ends_group; /* when the child has ended, the rest of its group is killed at once */
};

struct process_result {
	bool timed_out;
	int exit_code; /* 0..255; 128 + signal when a signal ended it */
	char *output;  /* captured text, NUL-terminated; NULL when output_path was given */
	size_t output_bytes;
	struct ns elapsed;
};

/* Starts a child; NULL with err set (also when the program does not exist). */
struct process *process_start(const struct process_options *options, struct error *err);

/*
 * Waits up to `timeout` (v < 0: for ever) for the child's end, and reads its output. 0 = ended, -ETIMEDOUT = still
 * running, -errno.
 */
int process_wait(struct process *process, struct ns timeout, struct process_result *result, struct error *err);

/*
 * Sends SIGTERM to the child's group, waits up to `grace` for the child's end, then kills the group with SIGKILL. If
 * the child has ended already, kills the rest of its group at once.
 */
void process_stop(struct process *process, struct ns grace);
void process_destroy(struct process *process); /* stops a running child, with 1 s of grace; NULL is legal */
void process_result_free(struct process_result *result);

/*
 * Sets our scheduling priority (-20 to 19). Where the kernel divides the processors among sessions (autogroup,
 * sched(7)), a nice value counts only among the processes of one session. On such a kernel the call also sets the
 * priority of the caller's whole session, so call setsid() first. Children inherit the priority. Returns 0, or -errno
 * with err set (raising needs CAP_SYS_NICE).
 */
int process_set_nice(int nice, struct error *err);

/*
 * Starts a child, waits for its end, stops it if it runs longer than `timeout`, and destroys the object. Returns 0 if
 * the child ran (see *result), else -errno with err set.
 */
int process_run(const struct process_options *options, struct ns timeout, struct process_result *result,
		struct error *err);

/*
 * Child processes in the foreground: they use our terminal, and we wait until they end. If we die first, the kernel
 * sends them SIGTERM.
 */

/*
 * Runs a command line with /bin/sh; it may be interactive. When *stop is set, the shell gets SIGTERM. Returns the exit
 * code, 128 + N if signal N ended the shell, or -errno with err set.
 */
int foreground_run_shell(const char *command, const volatile int *stop, struct error *err);

/*
 * Runs a function in a child with a session of its own, so that process_set_nice(), called in the child, affects no
 * other session. The child gets SIGTERM when *stop is set or when we die. The function's value is the child's exit
 * code. Returns this code, 128 + N if signal N ended the child, or -errno with err set.
 */
int foreground_run_session(int (*run)(void *context), void *context, const volatile int *stop, struct error *err);

#endif
