/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace-driven simulation of one scheduling policy: events, rounds and metrics, in virtual time and without I/O. Its
 * rounds run the same code as those of `place` (sched/round).
 *
 * A round begins when the previous one has ended and something has changed: a submission, a machine, a free slot for a
 * waiting task, or, with preemption, the latencies. If round_us is not 0, rounds begin at this interval instead. The
 * placements of a round take effect at its end. Events during a round reach the flow network at the round's end, too.
 * Performance is sampled at each whole second, before the events of that time: the sample at t is for the second before
 * t. Latencies change at whole seconds, after the sample.
 *
 * The defaults are the rules of the paper (NoMora section 6) and of the simulator that it used:
 *
 * - tasks without an attempt and single-task jobs are left out (model/workload.h)
 * - evicted and migrated tasks keep their progress
 * - updates of machines are ignored
 * - the first two rounds take no time
 * - the machine of a root remains the reference after the root has ended
 *
 * The same settings and workload give the same results, except with SIM_SOLVER_MEASURED and for wall-clock figures.
 * Times are microseconds. One thread.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/histogram.h>
#include <base/progress.h>
#include <model/curve.h>
#include <model/journal.h>
#include <model/workload.h>
#include <sched/explain/performance.h>
#include <sched/migration/migration.h>
#include <sched/policy/policy.h>
#include <sched/sim/latency.h>

/* How long a round takes in virtual time. */
enum sim_solver_time {
	SIM_SOLVER_ZERO,
	SIM_SOLVER_FIXED,     /* solver_us */
	SIM_SOLVER_WORK,      /* 5 ns for each arc that the solver scans */
	SIM_SOLVER_MEASURED,  /* wall clock */
	SIM_SOLVER_PUBLISHED, /* drawn from the paper's quantiles for the policy */
};

enum { SIM_CURVES_MAXIMUM = 16 };

struct sim_settings {
	const struct policy *policy;
	struct policy_settings policy_settings;
	uint32_t machines_per_rack, racks_per_pod;
	uint32_t slots; /* of each machine */
	int64_t end_us;
	int64_t round_us; /* interval of the rounds; 0: a round whenever something has changed */
	enum sim_solver_time solver_time;
	int64_t solver_us;
	bool one_solve; /* a round is one solve: tasks whose root waits are placed in a later round */
	/*
	 * With moves.mode other than MIGRATION_OFF, a policy that can preempt proposes moves, and tasks move by the
	 * live scheduler's rules, at the hours of the day in `windows`. The simulated day begins at 00:00, begin_us
	 * before the simulation.
	 */
	struct migration_settings moves;
	struct windows windows;
	int64_t begin_us;
	int64_t migration_cost_us; /* added to the run time of a migrated task */
	bool lose_work;            /* evicted and migrated tasks start from the beginning */
	const struct curve *curves[SIM_CURVES_MAXIMUM];
	const char *curve_names[SIM_CURVES_MAXIMUM]; /* names by which a workload may assign curves to its jobs */
	double curve_shares[SIM_CURVES_MAXIMUM]; /* share of the jobs that get each curve, chosen by a hash of the job's
						    id; the shares add up to 1 */
	uint32_t curve_count;
	struct sim_latency_settings latency;
	uint64_t seed;
	bool check; /* after each round, check that no task was lost and no machine is overfull; O(tasks) */
	bool bound; /* bounds the cost of each round from below, see placer_bound() */
};
/*
 * The paper's settings: 48 machines a rack, 16 racks a pod, 12 slots, 24 h, solver time zero; roots get any free slot;
 * tasks that the flow network sends to a rack or to the cluster, and not to one machine, get any free slot there.
 */
void sim_settings_default(struct sim_settings *settings);

/* A row of the table of rounds. */
struct sim_round {
	uint64_t number;
	int64_t begin_us, took_us; /* virtual time of the beginning, and duration in virtual time */
	double wall_s, cpu_s;
	uint64_t placed, migrated, preempted; /* numbers of moves that took effect */
	uint64_t waiting, running;            /* numbers of tasks after the round */
	uint64_t scans;
	int64_t cost, cost_bound; /* of the tasks that got a machine, see placer_bound(); 0 without settings.bound */
};

/* A job that was sampled: at one sample or more, the machine of its root was known and another of its tasks ran. */
struct sim_job_result {
	uint64_t id;
	uint32_t tasks, curve;
	struct performance_sum performance;
	double task_samples; /* number of samples of the job's tasks: its weight in the mean over tasks */
	double task_sum;     /* sum of the performance p of the tasks over these samples */
};

struct sim_result {
	bool complete;  /* false: stopped by a signal */
	int64_t end_us; /* virtual time reached */
	struct sim_job_result *jobs;
	size_t job_count;
	/*
	 * Means over jobs (<sched/explain/performance.h>):
	 * - area: of performance_average(), the "area" of the paper's figure 5
	 * - area_worst: of performance_worst()
	 * - area_other: of performance_average_other()
	 */
	double area, area_worst, area_other;
	double task_mean;                               /* mean of p over all samples of all tasks */
	double start_area, start_task_mean;             /* area and task_mean at the first sample */
	uint64_t submitted, finished, running, waiting; /* numbers of tasks; running and waiting: at the end */
	/* ping_pongs: migrations to the machine that the task left by a migration at most 60 s before */
	uint64_t rounds, solves, moves, migrations, preemptions, evictions, ping_pongs;
	uint64_t refused[MIGRATION_REFUSALS]; /* proposed moves, by reason of refusal, as in struct live_totals */
	double task_hours;                    /* sum of the times for which tasks ran, in hours */
	uint64_t machines_added, machines_removed;
	/* over the samples: share of the slots that are in use, 0..1, and number of waiting tasks */
	double utilisation_mean, utilisation_maximum, waiting_mean;
	uint64_t waiting_maximum;
	struct histogram *runtime_us; /* wall clock of a round */
	struct histogram *cpu_us;     /* CPU time of a round */
	struct histogram *took_us;    /* duration of a round in virtual time */
	/*
	 * placement_us: time from a task's submission to its first placement. It is the sum of the task's waits for its
	 * root (wait_root_us), for a slot (wait_slot_us) and for the end of the round (wait_solver_us). response_us:
	 * time from a task's submission to its end.
	 */
	struct histogram *placement_us, *wait_root_us, *wait_slot_us, *wait_solver_us, *response_us;
	struct histogram *migrated_ppm; /* migrated tasks per million running ones, for each round with preemption */
	double wall_s, solver_wall_s, cpu_s, solver_cpu_s;
	int64_t cost, cost_bound; /* with settings.bound: sums over the rounds */
	double gap_maximum;       /* the largest placer_bound_gap() of a round */
};
void sim_result_free(struct sim_result *result);

/* Callbacks and signals of a run; members may be NULL. */
struct sim_watch {
	void *context;
	void (*round)(void *context, const struct sim_round *round);
	/* Gets each event in the form of a journal, in chronological order. */
	void (*journal)(void *context, const struct journal_event *event);
	void *journal_context;
	struct progress *progress;
	const volatile sig_atomic_t *stop; /* not 0: end the run */
};

/* Returns 0 with the result filled, also after a stop, or -errno with err set. Free the result in both cases. */
int sim_run(const struct workload *workload, const struct sim_settings *settings, const struct sim_watch *watch,
	    struct sim_result *result, struct error *err);

/*
 * Virtual duration of a round, from the quantiles published for a policy with these settings; u is a uniform random
 * number in 0..1.
 */
int64_t sim_published_us(const struct sim_settings *settings, double u);

#endif
