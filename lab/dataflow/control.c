/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main loop of a run: it reads the reports of the tasks, watches the links, carries out the scheduled faults, and
 * reports every second and at the end.
 */
#include "run_priv.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TICK_MS = 50, DRAIN_S = 60 };

/*
 * The nice value of this process during the main loop, so that tasks and other programs do not delay its probes.
 * Measured in 15 trials on two processors with a load average of 45: a link that drops every packet was detected within
 * 0.3 s, and without this nice value within 1.1 s.
 */
static const int control_nice = -10;

/* Returns true if a link of the lab is neither down nor lossy. Otherwise counts it in run->second as down or lossy. */
static bool check_link(struct run *run, int link, bool was_up)
{
	if (!watch_is_up(run->watch, link)) {
		probes_skip(run->probes, link);
		run->second.links_down++;
		return false;
	}
	if (!probes_is_lossy(run->probes, link))
		return true;
	run->second.links_lossy++;
	if (was_up)
		run->second.notice_windows = fmax(run->second.notice_windows, probes_notice_windows(run->probes, link));
	return false;
}

/*
 * Updates the states of the topology's links: up = neither down nor lossy. Sets *down if a link went down, *up if a
 * link came up.
 */
static void compare_links(struct run *run, bool *down, bool *up)
{
	struct topology *topology = run->dataflow->topology;

	run->second.links_down = 0;
	run->second.links_lossy = 0;
	for (uint32_t l = 0; l < topology->link_count; l++) {
		struct topology_link *link = &topology->links[l];
		int a = run->fabric.node_of[link->a], b = run->fabric.node_of[link->b];
		bool is_up = link->up;

		for (int i = 0; i < run->lab->link_count; i++)
			if ((run->lab->links[i].a == a && run->lab->links[i].b == b) ||
			    (run->lab->links[i].a == b && run->lab->links[i].b == a))
				is_up = check_link(run, i, link->up);
		*down |= link->up && !is_up;
		*up |= !link->up && is_up;
		link->up = is_up;
	}
}

static int set_routes(struct run *run, struct error *err)
{
	int code = fabric_list_routes(&run->fabric, run->plan->network, err);

	return code == 0 ? routes_set(run->routes, run->fabric.routes, run->fabric.route_count, NULL, err) : code;
}

/*
 * Looks for better routes than those that have just replaced failed routes, and sets them. The search takes time, so it
 * begins only when the replacements are set and data flows again.
 */
static int improve_routes(struct run *run, struct error *err)
{
	int better = network_improve_rerouted(run->plan->network);

	if (better < 0)
		return error_set(err, ENOMEM, "out of memory");
	return better > 0 ? set_routes(run, err) : 0;
}

/* Returns the rate at which a sink receives data, MB/s, if all sources send at the rates that the plan predicts. */
static double predicted_MBps(const struct task_process *task)
{
	const struct dataflow_by_source *received = &task->job->graph->received;
	double MBps = 0;

	for (uint32_t i = received->first[task->task]; i < received->first[task->task + 1]; i++)
		MBps += received->rate[i] * task->job->MBps[received->source[i]];
	return MBps;
}

/* Adds up what the sinks should have received since the last call, while the sources run. */
static void count_predicted(struct run *run, struct ns now)
{
	double s = ns_to_s(ns_sub(now, run->predicted_since));

	run->predicted_since = now;
	/* Under Slurm the job may have to wait for nodes, so the run starts with the first report. */
	if (run->ending || (run->options->slurm_folder && !run->reported))
		return;
	for (uint32_t t = 0; t < run->task_count; t++) {
		if (run_has_failed(run, run->tasks[t].job))
			continue;
		run->tasks[t].predicted_MB += run->tasks[t].predicted_MBps * s;
		run->tasks[t].predicted_s += s;
	}
}

/* Predicts the sinks' rates for the present links and routes. */
static int predict(struct run *run, struct error *err)
{
	count_predicted(run, ns_now_monotonic());
	if (dataflow_plan_read_rates(run->plan) < 0)
		return error_set(err, ENOMEM, "out of memory");
	for (uint32_t t = 0; t < run->task_count; t++)
		run->tasks[t].predicted_MBps = predicted_MBps(&run->tasks[t]);
	return 0;
}

/*
 * Replaces routes over links that are down or lossy, restores the old ones when the links return, and updates the
 * switches.
 */
static int follow_links(struct run *run, struct error *err)
{
	struct ns noticed = ns_now_monotonic();
	bool down = false, up = false;
	int changed = 0, back = 0, code = watch_update(run->watch, err);

	if (code == 0)
		code = probes_update(run->probes, err);
	if (code != 0)
		return code;
	compare_links(run, &down, &up);
	if (!down && !up)
		return 0;
	/* Source ports select the routes, and connections keep their source ports, so routes cannot be replaced. */
	if (run->options->ports)
		return predict(run, err);
	if (down)
		changed = network_reroute_pairs(run->plan->network, false);
	if (up)
		back = network_reroute_pairs(run->plan->network, true);
	if (changed < 0 || back < 0)
		return error_set(err, ENOMEM, "out of memory");
	code = set_routes(run, err);
	run->second.rerouted += (uint32_t)(changed + back);
	run->second.reroute_ms = fmax(run->second.reroute_ms, ns_to_us(ns_sub(ns_now_monotonic(), noticed)) / 1e3);
	if (code == 0 && down && run->options->improve_routes)
		code = improve_routes(run, err);
	return code == 0 ? predict(run, err) : code;
}

/*
 * Ends the sources by SIGTERM. Under Slurm, `timeout` does this when the run's time is over. If the user stops the run
 * earlier, ends srun, and so all tasks.
 */
static void end_sources(struct run *run)
{
	run->ending = true;
	for (uint32_t p = 0; p < run->process_count; p++) {
		const struct run_process *process = &run->processes[p];

		if (process->pid > 0 && (process->task ? run_is_source(process->task) : *run->options->stop))
			kill(process->pid, SIGTERM);
	}
}

static void tell_second(struct run *run, struct ns now)
{
	run->second.s = ns_to_s(ns_sub(now, run->start));
	run->second.source_MBps = 0;
	run->second.sink_MBps = 0;
	for (uint32_t t = 0; t < run->task_count; t++) {
		struct task_process *task = &run->tasks[t];
		bool counts = task->fresh || !task->report.done;

		run->second.source_MBps += run_is_source(task) && counts ? task->report.sent_MBps : 0;
		run->second.sink_MBps += run_is_sink(task) && counts ? task->report.received_MBps : 0;
		task->fresh = false;
	}
	run->options->each_second(run->options->context, &run->second);
	run->second.rerouted = 0;
	run->second.reroute_ms = 0;
	run->second.latency_p99_us = NAN;
	run->second.gap_ms = 0;
	run->second.notice_windows = 0;
	run->last_second = now;
}

static void wait_for_news(const struct run *run, struct pollfd *polls)
{
	nfds_t count = 0;

	polls[count++] = (struct pollfd){.fd = watch_descriptor(run->watch), .events = POLLIN};
	polls[count++] = (struct pollfd){.fd = probes_descriptor(run->probes), .events = POLLIN};
	for (uint32_t p = 0; p < run->process_count; p++)
		if (run->processes[p].output >= 0)
			polls[count++] = (struct pollfd){.fd = run->processes[p].output, .events = POLLIN};
	poll(polls, count, TICK_MS);
}

static bool is_running(const struct run *run)
{
	for (uint32_t p = 0; p < run->process_count; p++)
		if (run->processes[p].output >= 0)
			return true;
	return false;
}

static int loop(struct run *run, struct pollfd *polls, struct error *err)
{
	while (is_running(run)) {
		struct ns now;
		uint32_t failed = run->failure_count;
		double s;
		int code;

		wait_for_news(run, polls);
		code = follow_links(run, err);
		now = ns_now_monotonic();
		if (run->options->slurm_folder && !run->reported)
			run->start = run->last_second = now;
		s = ns_to_s(ns_sub(now, run->start));
		for (uint32_t p = 0; p < run->process_count && code == 0; p++)
			if (run->processes[p].output >= 0)
				code = run_read_process(run, &run->processes[p], err);
		if (code == 0 && run->failure_count > failed)
			code = predict(run, err);
		if (code == 0)
			code = run_apply_faults(run, s, err);
		if (code != 0)
			return code;
		if (ns_sub(now, run->last_second).v >= NS_PER_S || !is_running(run))
			tell_second(run, now);
		if (!run->ending && (*run->options->stop || s >= run->options->seconds))
			end_sources(run);
		count_predicted(run, now);
		if (s > run->options->seconds + DRAIN_S)
			return error_set(err, ETIMEDOUT, "the tasks did not end within %d s", DRAIN_S);
	}
	return 0;
}

int run_control(struct run *run, struct error *err)
{
	struct pollfd *polls = calloc(run->task_count + 3u, sizeof *polls);
	int nice = getpriority(PRIO_PROCESS, 0);
	int code = polls ? 0 : error_set(err, ENOMEM, "out of memory"), await;

	run->second.latency_p99_us = NAN;
	if (code == 0)
		code = run_start_tasks(run, err);
	run->start = ns_now_monotonic();
	run->last_second = run->predicted_since = run->start;
	if (code == 0)
		code = predict(run, err);
	if (code == 0) {
		setpriority(PRIO_PROCESS, 0, control_nice); /* the tasks, already started, do not inherit it */
		code = loop(run, polls, err);
		setpriority(PRIO_PROCESS, 0, nice);
		/* run_return_links(), which the caller calls next, must not run at the same time as a change. */
		await = run_await_faults(run, code == 0 ? err : NULL);
		code = code == 0 ? await : code;
	}
	free(polls);
	return code;
}
