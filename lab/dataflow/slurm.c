/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts the tasks by Slurm: one srun of a heterogeneous job. The job has one component for each host: as many tasks as
 * the host has, on the node that has the host's name. The plan of a source is the file NODE.LOCALID.source, that of any
 * other task NODE.LOCALID.task; LOCALID is the number of the task on its node (SLURM_LOCALID). The reports of all tasks
 * are lines of srun's output. A task that fails adds the line "failed NODE.LOCALID STATUS" with the shell's exit
 * status, and Slurm gets exit status 0, because it would otherwise end the tasks of all jobs.
 */
#include "run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <base/json.h>

enum { COMPONENT_WORDS = 12 };

/*
 * The shell script that srun runs for each task. $0: folder of the plans; $1: program; $2: seconds until sources end.
 * `timeout` then ends a source by SIGTERM, as the controller does without Slurm.
 */
static const char script[] = "plan=$0/$SLURMD_NODENAME.$SLURM_LOCALID\n"
			     "if [ -e \"$plan.source\" ]; then\n"
			     "timeout --preserve-status \"$2\" \"$1\" dataflow worker \"$plan.source\"\n"
			     "else \"$1\" dataflow worker \"$plan.task\"; fi\n"
			     "status=$?\n"
			     "[ $status -eq 0 ] || echo \"failed $SLURMD_NODENAME.$SLURM_LOCALID $status\"";

static const char *host_of(const struct run *run, uint32_t task)
{
	const struct task_process *of = &run->tasks[task];

	return run->lab->hosts[run->fabric.node_of[of->job->job->hosts[of->task]]].name;
}

/* Returns the number of a task among the tasks of its host. */
static uint32_t local_number(const struct run *run, uint32_t task)
{
	uint32_t number = 0;

	for (uint32_t t = 0; t < task; t++)
		number += strcmp(host_of(run, t), host_of(run, task)) == 0;
	return number;
}

/* Returns the task with local number `number` on a host, or NULL. */
static struct task_process *find_task(struct run *run, const char *host, uint32_t number)
{
	for (uint32_t t = 0; t < run->task_count; t++)
		if (strcmp(host_of(run, t), host) == 0 && local_number(run, t) == number)
			return &run->tasks[t];
	return NULL;
}

int run_take_slurm_failure(struct run *run, const char *line, size_t bytes, struct error *err)
{
	char text[128] = "", host[128];
	unsigned int number, code;
	const struct task_process *task = NULL;

	memcpy(text, line, bytes < sizeof text ? bytes : sizeof text - 1);
	/* The node's name may have dots. */
	if (sscanf(text, "failed %127[^ ] %u", host, &code) == 2 && strrchr(host, '.') &&
	    sscanf(strrchr(host, '.'), ".%u", &number) == 1) {
		*strrchr(host, '.') = '\0';
		task = find_task(run, host, number);
	}
	if (!task)
		return error_set(err, EBADMSG, "srun: a failure of an unknown task: '%s'", text);
	/* A shell adds 128 to the number of the signal that killed the process. */
	run_fail_job(run, task, code > 128 ? (int)(code - 128) & 0x7f : (int)(code & 0xff) << 8);
	return 0;
}

static void plan_path(const struct run *run, uint32_t task, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%.3000s/%s.%u.%s", run->plans, host_of(run, task), local_number(run, task),
		 run_is_source(&run->tasks[task]) ? "source" : "task");
}

/* Writes the tasks' plans to a new folder below slurm_folder. */
static int write_plans(struct run *run, struct error *err)
{
	char path[PATH_MAX];
	int code = 0;

	if (asprintf(&run->plans, "%s/run.XXXXXX", run->options->slurm_folder) < 0) {
		run->plans = NULL;
		return error_set(err, ENOMEM, "out of memory");
	}
	if (!mkdtemp(run->plans)) {
		code = error_set(err, errno, "%s: cannot create a folder in it: %s", run->options->slurm_folder,
				 strerror(errno));
		free(run->plans);
		run->plans = NULL;
		return code;
	}
	for (uint32_t t = 0; t < run->task_count && code == 0; t++) {
		json_t *json = worker_plan_to_json(run->tasks[t].plan);

		plan_path(run, t, path);
		code = json ? json_write_file(path, json, err) : error_set(err, ENOMEM, "out of memory");
		json_decref(json);
	}
	return code;
}

void run_remove_plans(struct run *run)
{
	char path[PATH_MAX];

	for (uint32_t t = 0; t < run->task_count && run->plans; t++) {
		plan_path(run, t, path);
		unlink(path);
	}
	if (run->plans)
		rmdir(run->plans);
	free(run->plans);
}

/* Writes the arguments of srun to words[]. numbers[]: memory for the arguments that are numbers. */
static void list_words(const struct run *run, const char *seconds, char (*numbers)[16], const char **words)
{
	const char *separator = "--job-name=nomora-dataflow";

	*words++ = "srun";
	for (uint32_t t = 0; t < run->task_count; t++) {
		const char *host = host_of(run, t);
		uint32_t count = 1;

		if (local_number(run, t) > 0)
			continue;
		for (uint32_t other = t + 1; other < run->task_count; other++)
			count += strcmp(host_of(run, other), host) == 0;
		snprintf(numbers[t], sizeof numbers[t], "%u", count);
		*words++ = separator;
		*words++ = "-N1";
		*words++ = "-n";
		*words++ = numbers[t];
		*words++ = "-w";
		*words++ = host;
		*words++ = "sh";
		*words++ = "-c";
		*words++ = script;
		*words++ = run->plans;
		*words++ = run->options->program;
		*words++ = seconds;
		separator = ":";
	}
	*words = NULL;
}

static void become(const char *const *words, int output, pid_t parent) __attribute__((noreturn));

static void become(const char *const *words, int output, pid_t parent)
{
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);

	/* If the controller dies, this process gets SIGTERM, which makes srun end the job. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* Leaves the controller's process group, so that the terminal's Ctrl-C goes to the controller only. */
	setpgid(0, 0);
	if (dup2(input, 0) == 0 && dup2(output, 1) == 1 && getppid() == parent)
		execvp(words[0], (char *const *)words);
	_exit(127);
}

static int start(struct run_process *process, const char *const *words, struct error *err)
{
	pid_t parent = getpid();
	int output[2];

	if (pipe2(output, O_CLOEXEC) != 0)
		return error_set(err, errno, "cannot start srun: %s", strerror(errno));
	process->pid = fork();
	if (process->pid == 0)
		become(words, output[1], parent);
	close(output[1]);
	process->output = output[0];
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	return process->pid > 0 ? 0 : error_set(err, EAGAIN, "cannot start srun");
}

int run_start_by_slurm(struct run *run, struct run_process *process, struct error *err)
{
	char(*numbers)[16] = calloc(run->task_count + 1u, sizeof *numbers), seconds[32];
	const char **words = calloc(COMPONENT_WORDS * run->task_count + 2u, sizeof *words);
	int code = numbers && words ? write_plans(run, err) : error_set(err, ENOMEM, "out of memory");

	snprintf(seconds, sizeof seconds, "%.3f", run->options->seconds);
	if (code == 0) {
		list_words(run, seconds, numbers, words);
		code = start(process, words, err);
	}
	free(numbers);
	free(words);
	return code;
}
