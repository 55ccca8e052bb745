/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/process.h>

static struct ns seconds(int s)
{
	return (struct ns){s * NS_PER_S};
}

Test(process, output_exit_code_and_environment_come_back)
{
	const char *const environment[] = {"NOMORA_TEST=hello", NULL};
	struct process_options options = {.shell = "echo $NOMORA_TEST; echo err >&2; exit 7",
					  .environment = environment};
	struct process_result result;
	struct error err = {0};

	cr_assert_eq(process_run(&options, seconds(20), &result, &err), 0, "%s", err.text);
	cr_assert_eq(result.exit_code, 7);
	cr_assert_str_eq(result.output, "hello\nerr\n");
	process_result_free(&result);
	options.discard_stderr = true;
	cr_assert_eq(process_run(&options, seconds(20), &result, &err), 0);
	cr_assert_str_eq(result.output, "hello\n");
	process_result_free(&result);
}

Test(process, large_output_is_read_while_it_runs)
{
	struct process_options options = {.shell = "head -c 3000000 /dev/zero | tr '\\0' x"};
	struct process_result result;
	struct error err = {0};

	cr_assert_eq(process_run(&options, seconds(60), &result, &err), 0);
	cr_assert_eq(result.output_bytes, 3000000);
	process_result_free(&result);
}

Test(process, a_program_that_does_not_exist_is_an_error_not_an_exit_code)
{
	const char *const argv[] = {"/no/such/program", NULL};
	struct process_options options = {.argv = argv};
	struct process_result result;
	struct error err = {0};

	cr_assert_eq(process_run(&options, seconds(20), &result, &err), -ENOENT);
	cr_assert(strstr(err.text, "/no/such/program"));
}

static bool says(const char *path, const char *text)
{
	char found[64] = "";
	FILE *file = fopen(path, "re");

	if (file) {
		found[fread(found, 1, sizeof found - 1, file)] = '\0';
		fclose(file);
	}
	return strstr(found, text);
}

/* Without the signal, it would be killed after the grace, which is longer than the test may take. */
Test(process, stopping_asks_first, .timeout = 60)
{
	char path[] = "/tmp/nomora-process-XXXXXX";
	struct process_options options = {
		.shell = "trap 'echo asked; exit' TERM; echo ready; while :; do sleep 0.01; done", .output_path = path};
	struct error err = {0};
	struct process *process;

	close(mkstemp(path));
	process = process_start(&options, &err);
	cr_assert_not_null(process, "%s", err.text);
	while (!says(path, "ready"))
		usleep(1000);
	process_stop(process, seconds(600));
	cr_assert(says(path, "asked"));
	process_destroy(process);
	unlink(path);
}

/* The shell ignores SIGTERM and has a child of its own: both must be gone after the timeout. */
Test(process, a_hanging_group_is_ended_whole)
{
	struct process_options options = {.shell = "trap '' TERM; sleep 300 & echo $!; wait; wait"};
	struct process_result result;
	struct error err = {0};
	pid_t grandchild;

	cr_assert_eq(process_run(&options, (struct ns){NS_PER_S / 2}, &result, &err), 0);
	cr_assert(result.timed_out);
	grandchild = atoi(result.output);
	cr_assert_gt(grandchild, 1);
	for (int i = 0; i < 1000 && kill(grandchild, 0) == 0; i++)
		usleep(1000); /* killed; init may take a moment to reap it */
	cr_assert(kill(grandchild, 0) < 0 || getpgid(grandchild) < 0 || waitpid(grandchild, NULL, WNOHANG) != 0);
	process_result_free(&result);
}

Test(process, a_daemon_that_holds_the_pipe_does_not_hold_us)
{
	struct process_options options = {.shell = "echo ready; sleep 300 & exit 0"};
	struct process_result result;
	struct error err = {0};

	cr_assert_eq(process_run(&options, seconds(60), &result, &err), 0);
	cr_assert_not(result.timed_out);
	cr_assert_str_eq(result.output, "ready\n");
	process_result_free(&result);
}

/* True if the process does not exist, or is a zombie that its new parent has not reaped yet. */
static bool is_dead(pid_t pid)
{
	char path[64], state = 'Z';
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (file && fscanf(file, "%*d %*s %c", &state) != 1)
		state = 'Z';
	if (file)
		fclose(file);
	return state == 'Z' || state == 'X';
}

Test(process, what_is_left_of_a_group_ends_with_its_leader_if_asked_for)
{
	struct process_options options = {.shell = "sleep 300 & echo $!"};
	struct process_result result;
	struct error err = {0};
	pid_t left;

	cr_assert_eq(process_run(&options, seconds(60), &result, &err), 0);
	left = atoi(result.output);
	cr_assert_gt(left, 1);
	cr_assert_not(is_dead(left), "it may be a daemon");
	kill(left, SIGKILL);
	process_result_free(&result);

	options.ends_group = true;
	options.shell = "sleep 300 & echo $!; exit 3";
	cr_assert_eq(process_run(&options, seconds(60), &result, &err), 0);
	cr_assert_eq(result.exit_code, 3, "its own end counts");
	left = atoi(result.output);
	cr_assert_gt(left, 1);
	for (int i = 0; i < 5000 && !is_dead(left); i++)
		usleep(1000);
	cr_assert(is_dead(left));
	process_result_free(&result);
}

Test(process, priority_is_taken_and_inherited)
{
	struct process_options options = {.shell = "nice"};
	struct process_result result;
	struct error err = {0};

	/* A session of its own, so that the other tests keep their priority. */
	if (fork() == 0) {
		setsid();
		cr_assert_eq(process_set_nice(7, &err), 0, "%s", err.text);
		cr_assert_eq(process_run(&options, (struct ns){5 * NS_PER_S}, &result, &err), 0, "%s", err.text);
		_exit(strcmp(result.output, "7\n") == 0 ? 0 : 1);
	}
	int status = -1;

	cr_assert_gt(wait(&status), 0);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
