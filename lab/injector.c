/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the injectors of a lab. They outlive the command that started them and end with the lab. */
#include <lab/lab.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/file.h>
#include <base/number.h>
#include <base/process.h>
#include <client/request.h>

#include "lab_priv.h"

enum { ARGUMENTS_MAXIMUM = 64, START_PATIENCE_MS = 20000 };

/* Runs in the forked child. Makes a new session, so that a hang-up of the terminal does not reach the injector. */
static void become_injector(const char *log_path, const char **argv) __attribute__((noreturn));

static void become_injector(const char *log_path, const char **argv)
{
	int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setsid();
	/*
	 * The injector polls: if it loses its CPU, packets are delayed more than requested. If the high priority is
	 * not permitted, the injector keeps its present one.
	 */
	process_set_nice(-20, NULL);
	if (log < 0 || nothing < 0 || dup2(nothing, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
		_exit(126);
	execvp(argv[0], (char *const *)argv);
	dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Sets err to the reason why the injector ended: the last error in its log or, if there is none, the last line. */
static int ended_early(const struct lab_injector *injector, const char *log_path, struct error *err)
{
	char *text = file_read_all(log_path, 1 << 20, NULL, NULL), *save = NULL;
	const char *why = "its log is empty";
	bool is_error = false;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		bool this_one = strstr(line, "error: ");

		if (this_one || !is_error)
			why = line;
		is_error = is_error || this_one;
	}
	error_set(err, EIO, "the injector at %s ended at once: %s", injector->place, why);
	free(text);
	return -EIO;
}

static int wait_for_control(const struct lab_injector *injector, pid_t pid, const char *log_path, struct error *err)
{
	for (int waited_ms = 0; waited_ms < START_PATIENCE_MS; waited_ms += 20) {
		json_t *answer = client_ask_injector(injector->control, "stats", NULL, (struct ns){NS_PER_S}, NULL);

		if (answer) {
			json_decref(answer);
			return 0;
		}
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return ended_early(injector, log_path, err);
		usleep(20000);
	}
	return error_set(err, ETIMEDOUT, "the injector at %s did not answer on %s within %d s; its log: %s",
			 injector->place, injector->control, START_PATIENCE_MS / 1000, log_path);
}

int lab_injector_cpu(size_t index)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return (long)index + 1 < online ? (int)(online - 1 - (long)index) : -1;
}

static int start_one(const struct lab *lab, size_t index, const char *program, const char *delay,
		     const char *const *extra, struct error *err)
{
	const struct lab_injector *injector = &lab->injectors[index];
	const char *argv[ARGUMENTS_MAXIMUM] = {"ip",         "netns",  "exec",           lab->injector_netns,
					       program,      "inject", injector->port_a, injector->port_b,
					       "--delay-us", delay,    "--control",      injector->control};
	char log_path[128], cpu[16], mtu[16];
	size_t count = 12;
	bool has_cpus = false;
	pid_t pid;

	snprintf(mtu, sizeof mtu, "--mtu=%d", lab->mtu_bytes);
	argv[count++] = mtu;
	for (const char *const *word = extra; word && *word; word++)
		has_cpus = has_cpus || strncmp(*word, "--cpus", 6) == 0;
	if (!has_cpus && lab_injector_cpu(index) >= 0) {
		snprintf(cpu, sizeof cpu, "--cpus=%d", lab_injector_cpu(index));
		argv[count++] = cpu;
	}
	while (extra && *extra && count < ARGUMENTS_MAXIMUM - 1)
		argv[count++] = *extra++;
	snprintf(log_path, sizeof log_path, LAB_FOLDER "/%s-%s.log", lab->name, injector->place);
	pid = fork();
	if (pid < 0)
		return error_set(err, errno, "cannot start the injector: %s", strerror(errno));
	if (pid == 0)
		become_injector(log_path, argv);
	return wait_for_control(injector, pid, log_path, err);
}

int lab_start_injectors(const struct lab *lab, const char *program, double delay_us, const char *const *extra,
			struct error *err)
{
	char delay[32];

	number_print_double(delay_us, delay, sizeof delay);
	for (size_t i = 0; i < lab->injector_count; i++) {
		int code = start_one(lab, i, program, delay, extra, err);

		if (code)
			return code;
	}
	return 0;
}
