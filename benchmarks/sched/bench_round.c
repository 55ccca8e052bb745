/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A complete round of the flow network: events, rows of costs, changes of the network, solve, tasks extracted and
 * moved. Machines in racks of 48 and pods of 16 racks, 8 to 12 slots, about 8 running tasks a machine in jobs of about
 * 10; the paper's four curves; policy nomora with preemption, beta 0. Each round 300 tasks arrive or end, and a share
 * of the jobs gets new costs, in one of two ways:
 *
 *   redrawn   all latencies in the root's rack are redrawn: most arcs of the job change, and most of its tasks move
 *   drifting  each latency to a machine that the job has an arc to (p_m) is measured again with probability 1/4, within
 *             10 us of its initial value: each cost changes by a few units
 *
 * The first round is a warm-up. The events of a round are drawn before its clock starts. The time includes storing
 * round trips, passing events, and reading rows from stored round trips. Only the round trips within the root's pod are
 * stored; the others, which no round asks for, are computed by a hash.
 *
 * bench_round [MACHINES [SHARE ROUNDS [drifting]]]: without arguments 1,250 and 12,500 machines. One JSON line a
 * figure; CPU time.
 */
#include <base/ns.h>
#include <base/quantile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "round_load.h"

static void report(const char *figure, const struct load *load, double share, double *seconds, int rounds,
		   const double *parts, uint64_t moves, uint64_t changes)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	quantile_median(seconds, rounds); /* sorts */
	printf("{\"benchmark\": \"round\", \"figure\": \"%s\", \"machines\": %u, \"jobs\": %u, \"recosted\": %.2f, "
	       "\"rounds\": %d, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f, \"events_ms\": %.3f, "
	       "\"apply_ms\": "
	       "%.3f, \"solve_ms\": %.3f, \"extract_ms\": %.3f, \"changes\": %.1f, \"moves\": %.1f, \"peak_MB\": "
	       "%.0f}\n",
	       figure, load->cluster->machine_count, load->job_count, share, rounds, seconds[rounds / 2] * 1e3,
	       seconds[(int)(rounds * 0.99)] * 1e3, seconds[rounds - 1] * 1e3, parts[0] / rounds * 1e3,
	       parts[1] / rounds * 1e3, parts[2] / rounds * 1e3, parts[3] / rounds * 1e3, (double)changes / rounds,
	       (double)moves / rounds, (double)usage.ru_maxrss / 1024);
	fflush(stdout);
}

static void run_rounds(struct load *load, double share, int rounds, bool drifting)
{
	double *seconds = calloc((size_t)rounds, sizeof *seconds), parts[4] = {0};
	struct flownet_round round;
	struct error err = {0};
	uint64_t moves = 0, changes = 0;

	need(seconds != NULL, "memory");
	for (int i = 0; i < rounds; i++) {
		double begin, after_events;

		load_draw(load, (uint32_t)(share * load->job_count), drifting);
		begin = ns_to_s(ns_now_cpu());
		load_happen(load);
		after_events = ns_to_s(ns_now_cpu());
		need(flownet_solve(load->net, &round, &err) == 0, err.text);
		seconds[i] = ns_to_s(ns_now_cpu()) - begin;
		parts[0] += after_events - begin;
		parts[1] += round.apply_s;
		parts[2] += round.solve_s;
		parts[3] += round.extract_s;
		moves += round.move_count;
		changes += round.changes;
	}
	report(drifting ? "incremental, drifting" : "incremental", load, share, seconds, rounds, parts, moves, changes);
	free(seconds);
}

static void run_first(struct load *load)
{
	double begin = ns_to_s(ns_now_cpu()), seconds, parts[4] = {0};
	struct flownet_round round;
	struct error err = {0};

	need(flownet_solve(load->net, &round, &err) == 0, err.text);
	need(flownet_prepare(load->net) == 0, "memory");
	seconds = ns_to_s(ns_now_cpu()) - begin;
	parts[1] = round.apply_s;
	parts[2] = round.solve_s;
	parts[3] = round.extract_s;
	report("first round", load, 1, &seconds, 1, parts, round.move_count, round.changes);
}

static void run_all(uint32_t machines)
{
	struct load load = {0};

	load_start(&load, machines);
	run_first(&load);
	run_rounds(&load, 0.02, 200, false);
	run_rounds(&load, 0.80, 40, false);
	run_rounds(&load, 0.02, 200, true);
	load_stop(&load);
}

static void run_one(uint32_t machines, double share, int rounds, bool drifting)
{
	struct load load = {0};

	load_start(&load, machines);
	run_first(&load);
	run_rounds(&load, share, rounds, drifting);
	load_stop(&load);
}

int main(int argc, char **argv)
{
	uint32_t machines = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1250;

	need(machines > 0, "usage: bench_round [MACHINES [SHARE ROUNDS [drifting]]]");
	if (argc > 3)
		run_one(machines, strtod(argv[2], NULL), atoi(argv[3]), argc > 4);
	else
		run_all(machines);
	if (argc == 1)
		run_all(12500);
	return 0;
}
