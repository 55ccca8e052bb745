/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora sweep: a plan file carried out, with a lab and an injector of its own if the plan says so. */
#include "commands.h"
#include "sweep_print.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/log.h>
#include <base/process.h>
#include <base/progress.h>
#include <lab/lab.h>
#include <injector/sweep/metric.h>
#include <injector/sweep/plan.h>
#include <injector/sweep/schedule.h>
#include <injector/sweep/sweeper.h>

enum { INJECTOR_WORDS = 32, HOST_TEXT_BYTES = 64 };

static const struct option_usage usage = {
	.command = "nomora sweep",
	.operands = "PLAN -o SWEEP.csv",
	.summary = "Steps an injector through delays and runs an application's benchmark at each, several times.",
	.teach = "PLAN is a file of lines 'name = value' whose names are the options above; options on the command "
		 "line win.\n"
		 "Each run's rows are on the disk before the next begins: the same command goes on where it was cut "
		 "off. Exit 3: runs are left out (on-failure = skip).\n"
		 "Example, a plan that makes its own rack of two hosts:\n"
		 "  application = memcached\n"
		 "  delays = 0 5 10 20 50 100 200 500\n"
		 "  lab = lab0\n"
		 "  server-host = h1\n"
		 "  client-host = h2\n"
		 "  server = memcached -u nobody -l $NOMORA_SERVER\n"
		 "  server-ready = nomora load $NOMORA_SERVER --fill-only\n"
		 "  client = nomora load $NOMORA_SERVER --no-fill --duration 1 --json\n"
		 "  metric = qps 1/s higher json:qps\n"
		 "  rtt-check = true\n"
		 "and then: nomora sweep memcached.plan -o sweep.csv && nomora fit sweep.csv -o memcached.json",
	.rows = sweep_plan_rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
};

/* What must live as long as the plan that points to it. */
struct surroundings {
	const struct sweep_plan *plan;
	const char *file;
	const struct option_strings *strings; /* of that file */
	struct lab lab;
	struct lab_guard *guard;
	int claim;        /* on the lab's name; -1 = none */
	bool plan_is_bad; /* what is refused is the plan's, not the command line's */
	char server_host[HOST_TEXT_BYTES], client_host[HOST_TEXT_BYTES];
	char program[PATH_MAX], folder[PATH_MAX], plan_folder[PATH_MAX];
	struct progress *bar;
};

static volatile sig_atomic_t stop_signal;

static void note_signal(int number)
{
	stop_signal = number;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = note_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int find_program(struct surroundings *around, struct error *err)
{
	int code = command_own_program(around->program, err);

	if (code)
		return code;
	strcpy(around->folder, around->program);
	*strrchr(around->folder, '/') = '\0';
	return 0;
}

/* The folder of the plan as an absolute path: the plan's commands may look for files beside it. */
static int find_plan_folder(const char *file, struct surroundings *around, struct error *err)
{
	if (!realpath(file, around->plan_folder))
		return error_set(err, errno, "cannot find the folder of %s: %s", file, strerror(errno));
	*strrchr(around->plan_folder, '/') = '\0';
	return 0;
}

/* "h1" -> "netns:lab0-h1"; other texts stay. */
static const char *resolve_host(const struct lab *lab, const char *text, char resolved[HOST_TEXT_BYTES])
{
	const struct lab_host *host = lab_find_host(lab, text);

	if (!host)
		return text;
	snprintf(resolved, HOST_TEXT_BYTES, "netns:%s", host->netns);
	return resolved;
}

/* Puts the place in front of err that a value came from, if that is the plan's file and not the command line. */
static int blame(struct surroundings *around, const char *value, struct error *err)
{
	long line = options_line_of(around->strings, value);

	around->plan_is_bad = line > 0;
	return line > 0 ? error_prefix(err, "%s:%ld", around->file, line) : -err->code;
}

static int plan_lab(const struct sweep_plan *plan, struct surroundings *around, struct error *err)
{
	const char *places[] = {plan->lab_inject};
	struct lab_spec spec = {.name = plan->lab,
				.hosts = (int)plan->lab_hosts,
				.racks = (int)plan->lab_racks,
				.slots = 1,
				.mtu_bytes = 1500,
				.places = places};

	if (lab_check_name(plan->lab, err) != 0)
		return blame(around, plan->lab, err);
	if (lab_plan(&spec, &around->lab, err) != 0) {
		around->plan_is_bad = true;
		return error_prefix(err, "%s", around->file);
	}
	spec.place_count = 1;
	return lab_plan(&spec, &around->lab, err) == 0 ? 0 : blame(around, plan->lab_inject, err);
}

/* Points the plan at the lab that will be made for it. */
static int resolve_lab(struct sweep_plan *plan, struct surroundings *around, struct error *err)
{
	const struct lab_host *server, *client;

	server = lab_find_host(&around->lab, plan->server_host);
	if (server && !plan->server_address)
		plan->server_address = server->address;
	client = lab_find_host(&around->lab, plan->client_host);
	if (client && !plan->client_address)
		plan->client_address = client->address;
	plan->injector = around->lab.injectors[0].control;
	plan->server_host = resolve_host(&around->lab, plan->server_host, around->server_host);
	plan->client_host = resolve_host(&around->lab, plan->client_host, around->client_host);
	if (plan->rtt_check && !plan->server_address) {
		error_set(err, EINVAL,
			  "server-host '%s' is no host of the lab: give its server-address for the check by ping",
			  plan->server_host);
		return blame(around, plan->server_host, err);
	}
	return 0;
}

/*
 * Server and client stay off the injector's CPU: there they would lose against it, and now and then would not. Children
 * inherit it. A machine with one CPU has none to spare.
 */
static void leave_injector_cpu(const struct sweep_plan *plan)
{
	cpu_set_t cpus;
	int cpu = lab_injector_cpu(0);

	if (cpu < 0 || (plan->lab_injector_arguments && strstr(plan->lab_injector_arguments, "--cpus")) ||
	    sched_getaffinity(0, sizeof cpus, &cpus) != 0)
		return;
	CPU_CLR(cpu, &cpus);
	if (CPU_COUNT(&cpus) > 0)
		sched_setaffinity(0, sizeof cpus, &cpus);
}

/* The lab's name for this sweep alone, from before the lab is made until it is down; else who has it. */
static int claim_lab(const struct sweep_plan *plan, struct surroundings *around, struct error *err)
{
	int other = 0, code = sweeper_claim_lab(plan->lab, &around->claim, &other, err);
	char who[40] = "";

	if (!code)
		code = lab_check_free(plan->lab, err);
	if (code == -EEXIST)
		other = sweeper_find_other(plan->injector); /* one that steps a lab of the user's */
	if (code != -EAGAIN && !(code == -EEXIST && other > 0))
		return code;
	if (other > 0)
		snprintf(who, sizeof who, ", process %d,", other);
	return error_set(err, EBUSY,
			 "another sweep%s uses the lab '%s': wait until it has ended, or give this one another --lab",
			 who, plan->lab);
}

static int make_lab(void *context, struct error *err)
{
	struct surroundings *around = context;
	const struct sweep_plan *plan = around->plan;
	char *text = strdup(plan->lab_injector_arguments ? plan->lab_injector_arguments : ""), *save = NULL;
	const char *words[INJECTOR_WORDS + 1] = {NULL};
	size_t count = 0;
	int code = text ? claim_lab(plan, around, err) : error_set(err, ENOMEM, "out of memory");

	if (!code) {
		around->guard = lab_guard_start(plan->lab, err);
		code = around->guard ? lab_up(&around->lab, err) : -err->code;
		/* If somebody else was quicker, the lab of that name is theirs. */
		if (code == -EEXIST) {
			lab_guard_release(around->guard, false, NULL);
			around->guard = NULL;
		}
	}
	for (char *word = text ? strtok_r(text, " \t", &save) : NULL; word && count < INJECTOR_WORDS;
	     word = strtok_r(NULL, " \t", &save))
		words[count++] = word;
	if (!code)
		code = lab_start_injectors(&around->lab, around->program, 0, words, err);
	if (!code)
		leave_injector_cpu(plan);
	free(text);
	return code;
}

static void show_progress(void *context, size_t done, size_t total, const char *note)
{
	struct surroundings *around = context;

	if (!around->bar)
		around->bar = progress_create(stderr, "sweep", total);
	progress_update(around->bar, done, note);
}

static void say(void *context, const char *line)
{
	const struct surroundings *around = context;

	progress_clear(around->bar);
	log_info("%s", line);
}

static int carry_out(struct sweep_plan *plan, struct surroundings *around)
{
	struct sweeper_hooks hooks = {.make_path = plan->lab ? make_lab : NULL,
				      .progress = show_progress,
				      .say = say,
				      .context = around,
				      .stop = &stop_signal,
				      .program_folder = around->folder};
	struct sweeper_summary summary = {0};
	struct error err = {0}, down = {0};
	int turn = -1, code = 0;

	if (!plan->share_machine)
		code = sweeper_take_turn(&hooks, &turn, &err);
	if (!code)
		code = sweeper_run(plan, &hooks, &summary, &err);
	progress_destroy(around->bar);
	if (around->guard && lab_guard_release(around->guard, true, &down) < 0)
		log_warning("%s", down.text);
	if (around->claim >= 0)
		close(around->claim);
	if (turn >= 0)
		close(turn);
	if (code == -EINTR || (code && summary.made + summary.found > 0)) {
		log_info("%zu of %zu runs are in %s; the same command goes on from there", summary.made + summary.found,
			 summary.planned, plan->output);
	}
	if (code)
		return command_fail(&err, COMMAND_FAILED);
	sweep_print_summary(plan, &summary);
	if (summary.failed == 0)
		return COMMAND_OK;
	log_warning(
		"%zu runs, whose benchmark failed in every attempt, are not in %s; the same command tries them again",
		summary.failed, plan->output);
	return COMMAND_NEGATIVE;
}

/* The sweep in a session of its own, whose priority is not that of the shell that we came from. Does not return. */
static void carry_out_in_session(struct sweep_plan *plan, struct surroundings *around, pid_t parent)
	__attribute__((noreturn));

static void carry_out_in_session(struct sweep_plan *plan, struct surroundings *around, pid_t parent)
{
	struct error err = {0};

	/* Our parent's death is an order to stop, not to die: a lab may have to be taken down. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setsid();
	if (getppid() != parent)
		exit(COMMAND_FAILED);
	if (process_set_nice((int)plan->nice, &err) != 0)
		exit(command_fail(&err, COMMAND_FAILED));
	exit(carry_out(plan, around));
}

/* Passes on what the terminal and others tell us; the child's exit code is ours. */
static int carry_out_with_priority(struct sweep_plan *plan, struct surroundings *around)
{
	struct error err = {0};
	pid_t parent = getpid(), child;
	bool passed = false;
	int status = 0;

	fflush(NULL);
	child = fork();
	if (child == 0)
		carry_out_in_session(plan, around, parent);
	if (child < 0) {
		error_set(&err, errno, "cannot start a process: %s", strerror(errno));
		return command_fail(&err, COMMAND_FAILED);
	}
	/* Looked at now and then: a signal just before a blocking wait would go unheard. */
	while (waitpid(child, &status, WNOHANG) == 0) {
		if (stop_signal && !passed) {
			passed = true;
			kill(child, SIGTERM);
		}
		usleep(20000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : COMMAND_FAILED;
}

static int start(struct sweep_plan *plan, struct surroundings *around)
{
	struct error err = {0};

	if (plan->lab && geteuid() != 0) {
		error_set(&err, EPERM, "making the lab '%s' needs root: run it with sudo", plan->lab);
		return command_fail(&err, COMMAND_FAILED);
	}
	return plan->nice != 0 ? carry_out_with_priority(plan, around) : carry_out(plan, around);
}

/* The metric of an item; -EEXIST if one of those before it has its name, as the rows of the two could not be told
 * apart. */
static int check_metric(const struct sweep_plan *plan, size_t item, char names[][SWEEP_NAME_BYTES],
			struct surroundings *around, struct error *err)
{
	struct sweep_metric_def metric;
	int code = sweep_metric_parse(plan->metrics.items[item], &metric, err);

	if (code)
		return code;
	memcpy(names[item], metric.name, sizeof metric.name);
	sweep_metric_free(&metric);
	for (size_t i = 0; i < item; i++) {
		long line = options_line_of(around->strings, plan->metrics.items[i]);
		char where[32] = "on the command line";

		if (strcmp(names[i], names[item]) != 0)
			continue;
		if (line > 0)
			snprintf(where, sizeof where, "in line %ld", line);
		return error_set(err, EEXIST, "metric '%s' is there already, %s: expected another name", names[i],
				 where);
	}
	return 0;
}

static int check_metrics(const struct sweep_plan *plan, struct surroundings *around, struct error *err)
{
	static char names[SWEEP_METRICS_MAXIMUM][SWEEP_NAME_BYTES];

	for (size_t i = 0; i < plan->metrics.count; i++) {
		const char *item = plan->metrics.items[i];
		int code = i < SWEEP_METRICS_MAXIMUM ? check_metric(plan, i, names, around, err)
						     : error_set(err, E2BIG, "metric '%s': expected at most %d metrics",
								 item, SWEEP_METRICS_MAXIMUM);

		if (code)
			return blame(around, item, err);
	}
	return 0;
}

/* Each metric and each host is parsed again by the sweep: here their errors have lines. */
static int check_values(const struct sweep_plan *plan, struct surroundings *around, struct error *err)
{
	static double delays[SWEEP_SCHEDULE_DELAYS_MAXIMUM];
	const char *const hosts[] = {plan->server_host, plan->client_host};

	if (sweep_schedule_parse_delays(plan->delays, delays, err) < 0)
		return blame(around, plan->delays, err);
	if (check_metrics(plan, around, err) != 0)
		return -err->code;
	for (size_t i = 0; i < 2; i++) {
		bool in_lab = plan->lab && lab_find_host(&around->lab, hosts[i]);

		if (!in_lab && sweeper_check_host(hosts[i], err) != 0) {
			error_prefix(err, i == 0 ? "server-host" : "client-host");
			return blame(around, hosts[i], err);
		}
	}
	return 0;
}

/* What can be refused before anything is started. */
static int check_all(struct sweep_plan *plan, struct surroundings *around, struct error *err)
{
	int code = sweep_plan_check(plan, around->file, err);

	around->plan_is_bad = code; /* or lacks something */
	if (!code)
		code = find_program(around, err);
	if (!code)
		code = find_plan_folder(around->file, around, err);
	plan->folder = around->plan_folder;
	around->plan = plan;
	if (!code && plan->lab)
		code = plan_lab(plan, around, err);
	if (!code)
		code = check_values(plan, around, err);
	if (!code && plan->lab)
		code = resolve_lab(plan, around, err);
	return code;
}

int command_sweep(int argc, char **argv)
{
	static struct surroundings around = {.claim = -1};
	struct sweep_plan plan;
	struct option_operands operands;
	struct option_strings *strings = NULL;
	struct error err = {0};
	char file[PATH_MAX];
	int code;

	/* Twice: first for the plan's name, then over what the plan says. */
	sweep_plan_defaults(&plan);
	code = command_parse(&usage, argc, argv, &plan, &operands);
	if (code >= 0)
		return code;
	command_find_data("plans", operands.items[0], ".plan", file);
	options_free(&operands);
	sweep_plan_defaults(&plan);
	if (options_read_file(&usage, file, &plan, &strings, &err) < 0)
		code = command_fail(&err, COMMAND_FAILED);
	else
		code = command_parse(&usage, argc, argv, &plan, &operands);
	if (code < 0) {
		catch_signals();
		around.file = file;
		around.strings = strings;
		if (check_all(&plan, &around, &err) != 0)
			code = command_fail(&err, around.plan_is_bad ? COMMAND_FAILED : COMMAND_USAGE);
		else
			code = plan.dry_run ? sweep_print_schedule(&plan) : start(&plan, &around);
		options_free(&operands);
	}
	/* The file's strings go the way of any other operands'. */
	operands = (struct option_operands){.strings = strings};
	options_free(&operands);
	return code;
}
