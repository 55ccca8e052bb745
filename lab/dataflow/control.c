/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of a run: reports of the tasks, links that fail and return, faults on order, a line each second. */
#include "run_priv.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_MS = 50, DRAIN_S = 60 };

/* Makes the topology's links those that the watch sees; sets *down and *up to whether any has changed that way. */
static void compare_links(struct run *run, bool *down, bool *up)
{
	struct topology *topology = run->dataflow->topology;

	run->second.links_down = 0;
	for (uint32_t l = 0; l < topology->link_count; l++) {
		struct topology_link *link = &topology->links[l];
		int a = run->fabric.node_of[link->a], b = run->fabric.node_of[link->b];
		bool is_up = link->up;

		for (int i = 0; i < run->lab->link_count; i++)
			if ((run->lab->links[i].a == a && run->lab->links[i].b == b) ||
			    (run->lab->links[i].a == b && run->lab->links[i].b == a))
				is_up = watch_is_up(run->watch, i);
		*down |= link->up && !is_up;
		*up |= !link->up && is_up;
		link->up = is_up;
		run->second.links_down += !is_up;
	}
}

/* Chooses new routes for those that have failed, gives old ones back, and tells the switches. */
static int follow_links(struct run *run, struct error *err)
{
	struct ns noticed = ns_now_monotonic();
	struct routes_changes changes;
	bool down = false, up = false;
	int changed = 0, back = 0, code = watch_update(run->watch, err);

	if (code != 0)
		return code;
	compare_links(run, &down, &up);
	/* Connections stay on their ports. */
	if (run->options->ports)
		return 0;
	if (down)
		changed = network_reroute_pairs(run->plan->network, false);
	if (up)
		back = network_reroute_pairs(run->plan->network, true);
	if (changed < 0 || back < 0)
		return error_set(err, ENOMEM, "out of memory");
	if (!down && !up)
		return 0;
	code = fabric_list_routes(&run->fabric, run->plan->network, err);
	if (code == 0)
		code = routes_set(run->routes, run->fabric.routes, run->fabric.route_count, &changes, err);
	run->second.rerouted += (uint32_t)(changed + back);
	run->second.reroute_ms = fmax(run->second.reroute_ms, ns_to_us(ns_sub(ns_now_monotonic(), noticed)) / 1e3);
	return code;
}

/* In a child: the lab's script takes long enough that the loop would miss what follows. */
static int cut(const struct run *run, const struct simulate_fault *fault, bool down, struct error *err)
{
	const struct topology *topology = run->dataflow->topology;
	const struct topology_link *link = &topology->links[fault->subject];
	struct lab_link_change change = {.action = down ? LAB_LINK_DOWN : LAB_LINK_UP, .keep_routes = true};
	pid_t child = fork();

	if (child == 0)
		_exit(lab_change_link(run->lab->name, topology->nodes[link->a].name, topology->nodes[link->b].name,
				      &change, NULL) == 0
			      ? 0
			      : 1);
	return child > 0 ? 0 : error_set(err, errno, "cannot change a link: %s", strerror(errno));
}

static bool is_due(double at_s, double from_s, double to_s)
{
	return at_s > from_s && at_s <= to_s;
}

static int apply_faults(struct run *run, double from_s, double to_s, struct error *err)
{
	int code = 0;

	for (uint32_t f = 0; f < run->options->fault_count && code == 0; f++) {
		const struct simulate_fault *fault = &run->options->faults[f];

		if (is_due(fault->fail_s, from_s, to_s))
			code = cut(run, fault, true, err);
		if (code == 0 && is_due(fault->repair_s, from_s, to_s))
			code = cut(run, fault, false, err);
	}
	return code;
}

static void reap_cutters(const struct run *run)
{
	siginfo_t info;

	/* Tasks are waited for where their output ends. */
	while (info.si_pid = 0, waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0) {
		for (uint32_t t = 0; t < run->task_count; t++)
			if (run->tasks[t].pid == info.si_pid)
				return;
		waitpid(info.si_pid, NULL, 0);
	}
}

static void end_sources(struct run *run)
{
	run->ending = true;
	for (uint32_t t = 0; t < run->task_count; t++)
		if (run->tasks[t].pid > 0 && run_is_source(&run->tasks[t]))
			kill(run->tasks[t].pid, SIGTERM);
}

static void tell_second(struct run *run, struct ns now)
{
	run->second.s = ns_to_s(ns_sub(now, run->start));
	run->second.source_MBps = 0;
	run->second.sink_MBps = 0;
	for (uint32_t t = 0; t < run->task_count; t++) {
		const struct task_process *task = &run->tasks[t];

		run->second.source_MBps += run_is_source(task) && task->output >= 0 ? task->report.sent_MBps : 0;
		run->second.sink_MBps += run_is_sink(task) && task->output >= 0 ? task->report.received_MBps : 0;
	}
	run->options->each_second(run->options->context, &run->second);
	run->second.rerouted = 0;
	run->second.reroute_ms = 0;
	run->second.latency_p99_us = NAN;
	run->last_second = now;
}

static int wait_for_news(struct run *run, struct pollfd *polls)
{
	nfds_t count = 0;

	polls[count++] = (struct pollfd){.fd = watch_descriptor(run->watch), .events = POLLIN};
	for (uint32_t t = 0; t < run->task_count; t++)
		if (run->tasks[t].output >= 0)
			polls[count++] = (struct pollfd){.fd = run->tasks[t].output, .events = POLLIN};
	poll(polls, count, TICK_MS);
	return (int)count - 1;
}

static int loop(struct run *run, struct pollfd *polls, struct error *err)
{
	double before_s = -1;

	while (wait_for_news(run, polls) > 0) {
		struct ns now;
		double s;
		int code = follow_links(run, err);

		now = ns_now_monotonic();
		s = ns_to_s(ns_sub(now, run->start));
		for (uint32_t t = 0; t < run->task_count && code == 0; t++)
			if (run->tasks[t].output >= 0)
				code = run_read_task(run, &run->tasks[t], err);
		if (code == 0)
			code = apply_faults(run, before_s, s, err);
		reap_cutters(run);
		if (code != 0)
			return code;
		before_s = s;
		if (ns_sub(now, run->last_second).v >= NS_PER_S)
			tell_second(run, now);
		if (!run->ending && (*run->options->stop || s >= run->options->seconds))
			end_sources(run);
		if (s > run->options->seconds + DRAIN_S)
			return error_set(err, ETIMEDOUT, "the tasks did not end within %d s", DRAIN_S);
	}
	return 0;
}

int run_control(struct run *run, struct error *err)
{
	struct pollfd *polls = calloc(run->task_count + 2u, sizeof *polls);
	int code = polls ? 0 : error_set(err, ENOMEM, "out of memory");

	run->second.latency_p99_us = NAN;
	run->start = ns_now_monotonic();
	run->last_second = run->start;
	for (uint32_t t = 0; t < run->task_count && code == 0; t++)
		code = run_start_task(run, &run->tasks[t], err);
	if (code == 0)
		code = loop(run, polls, err);
	free(polls);
	return code;
}
