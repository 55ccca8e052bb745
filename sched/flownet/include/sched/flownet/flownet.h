/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NoMora's flow network (paper, figure 4 and table 2). The network is kept between rounds. Each event is recorded as a
 * change with its reason; changes of the same subject are merged. A round (flownet_propose()) passes the merged changes
 * to the solver, solves, and proposes moves of tasks. Each task is one unit of flow; tasks of a job whose costs are
 * equal are one supply ("group") of the solver.
 *
 * The nodes: T is a task, U_J collects the tasks of job J that stay unscheduled, X is the cluster, R a rack, M a
 * machine, S the sink. p_m and p_r are thresholds; the policy's rows have only the arcs within these thresholds.
 *
 *   task T of job J -> U_J   omega * wait + gamma          T -> X  largest cost of all machines
 *   T -> R                   largest cost of the rack, if <= p_r
 *   T -> M                   cost of the machine, if <= p_m
 *   X -> R -> M -> S         cost 0, capacity: the slots   U_J -> S  cost 0, capacity: see unscheduled_capacity
 *
 * A waiting root has an arc to X at cost 0, and one to U_J, so that the network has a feasible flow even if the cluster
 * is full. A running root has only the arc to its machine. The job's other tasks wait until the root runs. The machine
 * where the root runs is the job's reference: the costs of the other tasks are computed from the latency to it. After
 * the root has ended, this machine remains the reference.
 *
 * A running task of a job that is not preemptible is pinned: it has only the arc to its machine, and rounds do not move
 * it. A running task of a preemptible job has all arcs, and the cost of its arc to its machine is reduced by beta per
 * second that it has run and by the job's gain, but not below 0. If beta has reduced this cost to 0, the task may be at
 * rest: rounds do not examine it. A running task has waited 0 s: its arc to U_J costs gamma.
 *
 * A machine is up, draining, or down (absent). A draining machine, and one with fewer slots than tasks, is shut: it
 * gets no new tasks, and its tasks are pinned, except those for which flownet_task_leave() was called.
 *
 * A job has a weight (flownet_job_weighs()), by which the network multiplies all costs of its tasks: those above, and
 * that of staying. Costs that this header's functions return for one task or arc are without the weight; the cost of a
 * round, and those of a built network, have it.
 *
 * To the network, all free slots behind X or R are equal; for a task whose unit of flow goes through X or R, the
 * policy's `choose` selects the slot. Machines are numbered as in the cluster. The caller numbers jobs and tasks from
 * 0, without large gaps: memory grows with the highest number. The number of an ended job or task may be reused.
 * Durations are in seconds. Only one thread at a time may use a network.
 */
#ifndef FLOWNET_FLOWNET_H
#define FLOWNET_FLOWNET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <sched/cost/rows.h>
#include <sched/mcf/mcf.h>
#include <model/cluster.h>

enum { FLOWNET_NONE = -1 }; /* no machine, no rack */
/* Upper limit of omega's surcharge for waiting and of beta's discount for running. */
enum { FLOWNET_TIME_COST_MAXIMUM = 1 << 19 };
enum { FLOWNET_WEIGHT_MAXIMUM = 64 };

struct flownet;

/* A policy's costs and choices. `context` is borrowed. */
struct flownet_policy {
	void *context;
	bool root_first; /* tasks wait until their root runs */
	bool preempts;   /* jobs may be preemptible */
	bool by_size; /* of roots with equal costs of waiting, small jobs' get slots first; large jobs' choose first */
	int32_t least_cost; /* lower bound of the costs in a row; 0: not known */
	/*
	 * Returns the arcs of the job's tasks when its root runs on `root` (FLOWNET_NONE: the root waits, and the
	 * policy has no root_first). An arc to a rack or to the cluster costs at least as much as at() returns for any
	 * machine in it. Returns NULL if out of memory. The row is valid until the next call.
	 */
	const struct cost_row *(*row)(void *context, uint32_t job, int32_t root);
	/* Prefetches a row that is needed soon (cost_rows_fetch()). fetch = NULL: rows need no prefetch. */
	void (*fetch)(void *context, uint32_t job, int32_t root, enum cost_fetch step);
	/* Cost of one machine, regardless of thresholds. */
	int32_t (*at)(void *context, uint32_t job, int32_t root, uint32_t machine);
	/*
	 * Chooses the machine of a task whose unit of flow goes through a rack or the cluster. The machine must have a
	 * free slot (flownet_free()) and be in `rack`, unless `rack` is FLOWNET_NONE; there is at least one such
	 * machine. choose = NULL: the first machine is taken.
	 */
	uint32_t (*choose)(void *context, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack);
	/*
	 * Reports that `machine` is now the job's reference (`runs` is true), or no longer is (false). The network
	 * requests rows only for the present reference. May be NULL.
	 */
	void (*root)(void *context, uint32_t job, uint32_t machine, bool runs);
	/*
	 * present() and moved() report changes before rows that depend on them are requested. Both may be NULL. `moved`
	 * = NULL: all latencies may have changed.
	 */
	void (*present)(void *context, uint32_t machine, bool present);
	void (*moved)(void *context, const struct cost_moved *moved);
};

struct flownet_settings {
	bool preemption; /* default for new jobs, see flownet_job_moves() */
	int32_t gamma;
	double omega_per_s;
	double beta_per_s; /* discount on a running task's cost of staying, per second run; for preemptible jobs only */
	int32_t unscheduled_capacity; /* capacity of U_J -> S; 0 = the number of the job's tasks. With 1, as in the
					 paper, some tasks have no path */
	const struct mcf_algorithm *algorithm; /* NULL = the structured solver, kept and repaired between rounds */
	bool verify;                           /* prove every answer by mcf_verify() */
};

/* Returns NULL with err set on failure. The network has no machines yet: add them by flownet_machine_added(). */
struct flownet *flownet_create(const struct cluster *cluster, const struct flownet_policy *policy,
			       const struct flownet_settings *settings, struct error *err);
void flownet_destroy(struct flownet *net); /* NULL is legal */
/* Call it after the cluster got machines or racks; see <sched/cost/layout.h> for the order. 0 or -ENOMEM. */
int flownet_grow(struct flownet *net);

/* Why something changed. */
enum flownet_reason {
	FLOWNET_MACHINE_ADDED,
	FLOWNET_MACHINE_REMOVED,
	FLOWNET_SLOTS_CHANGED,
	FLOWNET_JOB_ARRIVED,
	FLOWNET_JOB_ENDED,
	FLOWNET_TASK_ARRIVED,
	FLOWNET_TASK_ENDED,
	FLOWNET_TASK_PLACED,
	FLOWNET_TASK_PREEMPTED,
	FLOWNET_ROOT_PLACED,
	FLOWNET_ROOT_LOST,
	FLOWNET_LATENCY_CHANGED,
	FLOWNET_TIME_PASSED,
	FLOWNET_MOVES_CHANGED,
	FLOWNET_TASK_STARTED,
	FLOWNET_TASK_FAILED,
	FLOWNET_REASONS, /* number of reasons */
};

/* The part of the network that changes. */
enum flownet_change_kind {
	FLOWNET_CHANGE_CAPACITY, /* M -> S and the arcs to M; subject: machine */
	FLOWNET_CHANGE_ARCS,     /* costs of a job's tasks to X, R, M; subject: job */
	FLOWNET_CHANGE_UNITS,    /* a job's tasks: their number and machines; subject: job */
};

struct flownet_change {
	enum flownet_change_kind kind;
	enum flownet_reason reason; /* reason of the first event that was merged into this change */
	uint32_t subject;
	uint32_t events; /* number of events merged into this change */
	/*
	 * a machine's slots for tasks that are not pinned: in the solver (before) and at present (after). FLOWNET_NONE:
	 * the machine is absent. 0 if the subject is a job
	 */
	int32_t before, after;
};

/*
 * Events. They return 0, -ENOMEM, or -EINVAL: the machine, job or task does not exist or, if it is to be added, exists
 * already. An event that concerns a proposed move cancels the proposal.
 *
 * When a machine is removed (down), its tasks wait again. If a job's root is among them, the job's waiting tasks wait
 * for the root, and the job's running tasks stay. If a machine gets fewer slots than it has tasks, no task is evicted;
 * the machine is shut until enough tasks have ended.
 */
int flownet_machine_added(struct flownet *net, uint32_t machine, int32_t slots);
int flownet_machine_removed(struct flownet *net, uint32_t machine);
int flownet_machine_drained(struct flownet *net, uint32_t machine, bool draining);
int flownet_slots_changed(struct flownet *net, uint32_t machine, int32_t slots);
/*
 * True if a present job has its root on the machine, or had it there when the root ended. The machine's number must not
 * be reused as long as this is true.
 */
bool flownet_machine_is_reference(const struct flownet *net, uint32_t machine);

int flownet_job_arrived(struct flownet *net, uint32_t job, uint32_t root_task);
/*
 * Sets the job's weight, 1 to FLOWNET_WEIGHT_MAXIMUM; without it, 1. Call it before the job's first task arrives.
 * Larger weights than the solver's range of costs allows at this gamma count as the largest that it does; with omega,
 * every weight is 1.
 */
int flownet_job_weighs(struct flownet *net, uint32_t job, int32_t weight);
/*
 * Declares that the job has this many tasks that have not ended, whether they have arrived or not: a root is placed for
 * all of them. Without it, only the tasks that have arrived count.
 */
int flownet_job_expects(struct flownet *net, uint32_t job, uint32_t tasks);
int flownet_job_ended(struct flownet *net, uint32_t job); /* the job's tasks end, too; the job's number may be reused */
/* Returns an unused job number: that of an ended job if there is one, otherwise flownet_job_limit(). */
uint32_t flownet_spare_job(struct flownet *net);
/*
 * Sets whether running tasks of the job may move. A task moves only if its predicted performance p = 100 / cost rises
 * by at least `gain` (p is 1 at the baseline latency, so a gain of 0.1 is ten percent of that). Exception: a move that
 * frees a slot for another task may lower p. -EINVAL if the policy does not have `preempts`.
 */
int flownet_job_moves(struct flownet *net, uint32_t job, bool preemptible, double gain);

int flownet_task_arrived(struct flownet *net, uint32_t job, uint32_t task, double waited_s);
/* Adds a task that already runs on a machine, even if that is full. */
int flownet_task_found(struct flownet *net, uint32_t job, uint32_t task, uint32_t machine, double running_s);
int flownet_task_ended(struct flownet *net, uint32_t job, uint32_t task);
/*
 * Requests that the running task leaves its machine, regardless of its job's settings: rounds propose a move as soon as
 * there is another slot. To drain a machine, call it for as many tasks at a time as should move at once. `leaves` =
 * false withdraws the request.
 */
int flownet_task_leave(struct flownet *net, uint32_t job, uint32_t task, bool leaves);

/*
 * Report that costs changed, so that rows are requested again. flownet_costs_changed(): of this job.
 * flownet_latency_changed(): of all jobs whose roots are on the machines in `moved` (NULL = of all jobs).
 */
int flownet_costs_changed(struct flownet *net, uint32_t job);
int flownet_latency_changed(struct flownet *net, const struct cost_moved *moved);
/*
 * Advances the clock. Takes time linear in the number of jobs whose costs still change with time: waiting jobs with
 * omega, recently started ones with beta.
 */
int flownet_time_passed(struct flownet *net, double seconds);
/*
 * For rounds of two solves (NoMora 5.2): the first places roots, the second the other tasks. Starts (`held` is true) or
 * stops (false) holding back all tasks except roots. While they are held back, a round places only waiting roots,
 * without the solver. Other waiting tasks are not in the network. Running tasks stay, but if no slot is free, a root
 * may displace a task of a preemptible job. The cost of such a round is the sum of two parts: the cost of waiting of
 * each root that still waits, and gamma minus the cost of staying of each displaced task. Has no effect if the policy
 * has no root_first. Returns 0.
 */
int flownet_hold_others(struct flownet *net, bool held);

/* The changes that the next round will pass to the solver; valid until the next call that changes the network. */
const struct flownet_change *flownet_pending(const struct flownet *net, size_t *count);

/* The first arc on the path of a task's unit of flow. */
enum flownet_arc {
	FLOWNET_ARC_UNSCHEDULED,
	FLOWNET_ARC_CLUSTER,
	FLOWNET_ARC_RACK,
	FLOWNET_ARC_MACHINE,
	FLOWNET_ARC_RUNNING, /* from a running task to its present machine */
	FLOWNET_ARC_NONE,    /* no arc: the task waits for its root, or U_J has no capacity left for the task */
};
const char *flownet_arc_name(enum flownet_arc arc);

struct flownet_move {
	uint32_t job, task;
	int32_t from, to; /* machine, FLOWNET_NONE = waiting */
	enum flownet_arc arc;
	int32_t cost; /* of the arc */
};

/* The moves proposed by a round; arrays belong to the network and are valid until the next round. */
struct flownet_round {
	const struct flownet_move *moves;
	size_t move_count;
	int64_t cost;        /* of the optimal flow, without pinned tasks and unrouted units */
	int64_t unscheduled; /* units that wait */
	int64_t unrouted;    /* tasks without any path to S, see unscheduled_capacity */
	uint64_t changes;    /* changes applied to the solver */
	uint64_t scans;      /* arcs that the structured solver examined; 0 with another solver */
	uint64_t merged;     /* events that were merged into the change of an earlier event */
	const char *algorithm;
	bool verified;                      /* the answer was proved to be optimal, see flownet_settings.verify */
	double apply_s, solve_s, extract_s; /* wall-clock time */
};

/*
 * Does the one-time work of the second round in advance. Call it after the first round if another will follow. 0 or
 * -ENOMEM.
 */
int flownet_prepare(struct flownet *net);

/*
 * Applies the pending changes, solves, and proposes moves; no task has moved yet. For each proposal
 * round->moves[number], the caller then does one of the following, before the next round and in any order:
 *
 * - flownet_apply(): the task runs at `to` now.
 * - flownet_reserve(): the task holds a slot at `to` and keeps its slot at `from`. Rounds leave the task out until the
 *   caller ends the reservation: by flownet_confirm() if the task has started at `to`, which frees its slot at `from`,
 *   or by flownet_fail(), which frees its slot at `to`. A job's root counts as placed from its reservation on.
 * - nothing, which refuses the move: the next rounds propose it again as long as it is optimal.
 *
 * Returns 0, -ENOMEM, -ERANGE (a cost is too large), or -EIO (the answer could not be proved, see
 * flownet_settings.verify).
 */
int flownet_propose(struct flownet *net, struct flownet_round *round, struct error *err);
/* flownet_propose(), then flownet_apply_all(). */
int flownet_solve(struct flownet *net, struct flownet_round *round, struct error *err);

/*
 * Carries out a proposal. 0, -ESTALE (an event has made it obsolete, or it was carried out already), or -EBUSY (`to`
 * has no free slot until another task has left).
 */
int flownet_apply(struct flownet *net, size_t number);
/*
 * Exchanges the machines of two proposals: which task gets which slot. The tasks wait, are of one job, are not its
 * root, and their waiting costs the same, so the cost of the round stays the same. 0 or -EINVAL (they are not alike).
 */
int flownet_exchange(struct flownet *net, size_t a, size_t b);
bool flownet_alike(const struct flownet *net, size_t a, size_t b); /* true if flownet_exchange() can exchange them */
/*
 * Reserves a slot for a proposed move. Returns as flownet_apply(), or -EINVAL: the proposal is that the task waits,
 * which needs no slot.
 */
int flownet_reserve(struct flownet *net, size_t number);
/* Applies all remaining proposals, departures first. 0 or -ENOMEM. */
int flownet_apply_all(struct flownet *net);
/* End a reservation, see flownet_propose(). 0, -ENOMEM, or -EINVAL: the task is not in transit. */
int flownet_confirm(struct flownet *net, uint32_t job, uint32_t task);
int flownet_fail(struct flownet *net, uint32_t job, uint32_t task);

/* Reading. An absent machine has no slots. */
int32_t flownet_free(const struct flownet *net, uint32_t machine); /* number of free slots; 0 if the machine is shut */
int64_t flownet_free_in_rack(const struct flownet *net, uint32_t rack);
int32_t flownet_slots(const struct flownet *net, uint32_t machine);
int32_t flownet_most_slots(const struct flownet *net); /* the most slots that any machine has had so far */
int32_t flownet_running(const struct flownet *net, uint32_t machine); /* tasks on it */
const struct cluster *flownet_cluster(const struct flownet *net);
uint64_t flownet_rounds(const struct flownet *net); /* solves begun so far */
/* Numbers of the jobs, in no order; valid until a job arrives or ends. */
const uint32_t *flownet_jobs(const struct flownet *net, size_t *count);
/* Numbers of the jobs with waiting tasks; the list may also have other jobs, even ended ones. */
const uint32_t *flownet_waiting_jobs(const struct flownet *net, size_t *count);
uint32_t flownet_job_limit(const struct flownet *net); /* highest job number so far + 1 */
uint32_t flownet_task_limit(const struct flownet *net, uint32_t job);
uint32_t flownet_root_task(const struct flownet *net, uint32_t job);
/* The machine where the root runs or, if it has ended, ran; FLOWNET_NONE: the root waits. */
int32_t flownet_root_machine(const struct flownet *net, uint32_t job);
int32_t flownet_task_machine(const struct flownet *net, uint32_t job, uint32_t task);
/*
 * True if the task is in transit: a move of it was reserved and neither confirmed nor failed. *origin: the machine that
 * the task leaves, or FLOWNET_NONE if it waited.
 */
bool flownet_task_in_transit(const struct flownet *net, uint32_t job, uint32_t task, int32_t *origin);
bool flownet_task_present(const struct flownet *net, uint32_t job, uint32_t task);
uint32_t flownet_waiting_tasks(const struct flownet *net, uint32_t job);
/* Number of the job's tasks that have no machine yet: the waiting ones, and those that are expected. */
uint32_t flownet_unplaced_tasks(const struct flownet *net, uint32_t job);
/*
 * Number of tasks at rest: running tasks that rounds do not examine, because beta has reduced their cost of staying to
 * 0.
 */
uint64_t flownet_resting(const struct flownet *net);
bool flownet_a_root_waits(struct flownet *net); /* true if the root of any job waits */
/*
 * Number of waiting tasks whose cost has reached omega's limit, FLOWNET_TIME_COST_MAXIMUM; among these, tasks that have
 * waited longer are no longer preferred. *longest_s: the longest wait of any task.
 */
uint64_t flownet_capped_tasks(const struct flownet *net, double *longest_s);
/*
 * Sum of the costs of the pinned tasks' arcs, which are not part of a round's cost. While flownet_hold_others() is in
 * effect, also includes the running tasks that are not pinned.
 */
int64_t flownet_pinned_cost(const struct flownet *net);
/* Returns the task's cheapest arc in the current network that leads to `machine`, or to waiting (FLOWNET_NONE). */
enum flownet_arc flownet_arc_to(const struct flownet *net, uint32_t job, uint32_t task, int32_t machine, int32_t *cost);
/*
 * Marks the job's waiting tasks that cannot be routed in the current network because U_J -> S has too little capacity:
 * those with the highest cost of waiting; among equal costs, the last ones. unrouted[flownet_task_limit()]. 0 or
 * -ENOMEM.
 */
int flownet_list_unrouted(const struct flownet *net, uint32_t job, bool *unrouted);
uint64_t flownet_memory_bytes(const struct flownet *net); /* memory that the solver uses */

#endif
