/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_world.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/log.h>
#include <base/process.h>
#include <base/stop.h>
#include <injector/sweep/metric.h>

#include "command.h"
#include "sweep_print.h"

static void show_progress(void *context, size_t done, size_t total, const char *note)
{
	struct sweep_world *world = context;

	if (!world->bar)
		world->bar = progress_create(stderr, "sweep", total);
	progress_update(world->bar, done, note);
}

static void say(void *context, const char *line)
{
	const struct sweep_world *world = context;

	progress_clear(world->bar);
	log_info("%s", line);
}

/* Prints a command that repeats one of the plan's by hand. */
static void print_by_hand(const struct sweep_world *world, const char *phase, const char *host, const char *netns,
			  const char *line)
{
	const struct sweep_plan *plan = world->plan;

	if (!line)
		return;
	if (plan->lab)
		printf("# %s:\nnomora lab exec %s --name %s -- ", phase, host, plan->lab);
	else if (strncmp(netns, "netns:", 6) == 0)
		printf("# %s:\nip netns exec %s ", phase, netns + 6);
	else if (strncmp(netns, "ssh:", 4) == 0)
		printf("# %s:\nssh %s ", phase, netns + 4);
	else
		printf("# %s:\n", phase);
	printf("env NOMORA_SERVER=%s NOMORA_CLIENT=%s NOMORA_PLAN_FOLDER='%s' NOMORA_SCRATCH=/tmp /bin/sh -c '",
	       plan->server_address ? plan->server_address : "", plan->client_address ? plan->client_address : "",
	       plan->folder);
	for (const char *c = line; *c; c++)
		fputs(*c == '\'' ? "'\\''" : (const char[]){*c, '\0'}, stdout);
	puts("'");
}

/* --debug: the lab stays up, and this is how to look into it. */
static void print_debugging(const struct sweep_world *world)
{
	const struct sweep_plan *plan = world->plan;
	const char *server = world->server_name, *client = world->client_name;

	print_by_hand(world, "setup", server, plan->server_host, plan->setup);
	print_by_hand(world, "server", server, plan->server_host, plan->server);
	print_by_hand(world, "server-ready", client, plan->client_host, plan->server_ready);
	print_by_hand(world, "client", client, plan->client_host, plan->client);
	if (plan->lab)
		printf("# when done:\nnomora lab down --name %s\n", plan->lab);
}

static void print_metric(void *context, const struct sweep_metric_def *metric, double value)
{
	const struct sweep_world *world = context;

	if (!world->plan->try_once)
		return;
	progress_clear(world->bar);
	printf("%-24s %.6g %s (%s is better)\n", metric->name, value, metric->unit, sweep_better_name(metric->better));
}

static int conclude(struct sweep_world *world, const struct sweeper_summary *summary)
{
	const struct sweep_plan *plan = world->plan;

	if (plan->try_once)
		return COMMAND_OK;
	sweep_print_summary(plan, summary);
	if (summary->failed > 0)
		log_warning("%zu run%s left out of %s because the benchmark failed in every attempt; the same command "
			    "tries again",
			    summary->failed, summary->failed == 1 ? " was" : "s were", plan->output);
	if (summary->disturbed > 0)
		log_warning("%zu run%s kept although a gate refused every attempt (column disturbed; reasons in "
			    "%s.log): repeat the sweep on a quieter machine",
			    summary->disturbed, summary->disturbed == 1 ? " was" : "s were", plan->output);
	return summary->failed > 0 || summary->disturbed > 0 ? COMMAND_NEGATIVE : COMMAND_OK;
}

static int carry_out(struct sweep_world *world)
{
	const struct sweep_plan *plan = world->plan;
	struct sweeper_hooks hooks = {.make_path = plan->lab ? sweep_lab_make : NULL,
				      .progress = show_progress,
				      .say = say,
				      .measured = print_metric,
				      .context = world,
				      .stop = stop_flag(),
				      .program_folder = world->folder};
	struct sweeper_summary summary = {0};
	struct error err = {0};
	int turn = -1, code = 0;
	bool keep;

	if (!plan->share_machine)
		code = sweeper_take_turn(&hooks, &turn, &err);
	if (!code)
		code = sweeper_run(plan, &hooks, &summary, &err);
	progress_destroy(world->bar);
	keep = code && code != -EINTR && plan->debug;
	if (keep && (world->guard || !plan->lab))
		print_debugging(world);
	sweep_lab_release(world, keep);
	if (turn >= 0)
		close(turn);
	if (code && !plan->try_once && (code == -EINTR || summary.made + summary.found > 0))
		log_info("%zu of %zu runs are in %s; the same command resumes the sweep", summary.made + summary.found,
			 summary.planned, plan->output);
	return code ? command_fail(&err, COMMAND_FAILED) : conclude(world, &summary);
}

/* Runs the sweep in a session of its own: a session's priority is that of all its processes. Does not return. */
static void carry_out_in_session(struct sweep_world *world, pid_t parent) __attribute__((noreturn));

static void carry_out_in_session(struct sweep_world *world, pid_t parent)
{
	struct error err = {0};

	/* Our parent's death asks us to stop, not to die: a lab may have to be removed. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setsid();
	if (getppid() != parent)
		exit(COMMAND_FAILED);
	if (process_set_nice((int)world->plan->nice, &err) != 0)
		exit(command_fail(&err, COMMAND_FAILED));
	exit(carry_out(world));
}

/* Passes signals on to the child; its exit code is ours. */
static int carry_out_with_priority(struct sweep_world *world)
{
	struct error err = {0};
	pid_t parent = getpid(), child;
	bool passed = false;
	int status = 0;

	fflush(NULL);
	child = fork();
	if (child == 0)
		carry_out_in_session(world, parent);
	if (child < 0) {
		error_set(&err, errno, "cannot start a process: %s", strerror(errno));
		return command_fail(&err, COMMAND_FAILED);
	}
	/* Polls, as a signal just before a blocking wait would be missed. */
	while (waitpid(child, &status, WNOHANG) == 0) {
		if (*stop_flag() && !passed) {
			passed = true;
			kill(child, SIGTERM);
		}
		usleep(20000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : COMMAND_FAILED;
}

/* --try: one run without delay, into a folder of its own. */
static int prepare_try(struct sweep_plan *plan, char output[PATH_MAX], struct error *err)
{
	static char folder[] = "/tmp/nomora-try-XXXXXX";

	if (!mkdtemp(folder))
		return error_set(err, errno, "cannot create a folder in /tmp: %s", strerror(errno));
	snprintf(output, PATH_MAX, "%s/sweep.csv", folder);
	plan->output = output;
	plan->delays = "0";
	plan->repetitions = plan->attempts = 1;
	plan->reference_every = 0;
	plan->precision_percent = 0;
	return 0;
}

/* Output of a failure stays. */
static void tidy_try(const char *output)
{
	char path[PATH_MAX];

	unlink(output);
	snprintf(path, sizeof path, "%.*s.log", PATH_MAX - 8, output);
	unlink(path);
	snprintf(path, sizeof path, "%.*s", (int)(strrchr(output, '/') - output), output);
	rmdir(path);
}

int sweep_run(struct sweep_world *world)
{
	struct sweep_plan *plan = world->plan;
	char output[PATH_MAX];
	struct error err = {0};
	int code;

	if (plan->lab && geteuid() != 0) {
		error_set(&err, EPERM, "making the lab '%s' needs root: run it with sudo", plan->lab);
		return command_fail(&err, COMMAND_FAILED);
	}
	if (plan->try_once && prepare_try(plan, output, &err) != 0)
		return command_fail(&err, COMMAND_FAILED);
	if (plan->debug)
		plan->attempts = 1;
	code = plan->nice != 0 ? carry_out_with_priority(world) : carry_out(world);
	if (plan->try_once)
		tidy_try(output);
	return code;
}
