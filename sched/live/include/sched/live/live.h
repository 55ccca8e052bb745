/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live scheduler's state: the caller reports events and gets decisions. It does no I/O and has no clock: every call
 * that needs the time gets it as seconds on the caller's monotonic clock, which never goes back. The same calls give
 * the same decisions, byte for byte.
 *
 * A round solves the flow network of the policy ("the network", <sched/flownet/flownet.h>), which proposes a machine
 * for each task; the round then carries the proposals out as decisions or refuses them. A window is the set of
 * measurements of one publication of the latency matrix. A draining machine keeps its tasks but gets no new ones.
 *
 * A task's life:
 *
 *   waiting --decision--> decided --started--> running --ended--> gone
 *      ^                     |                    |  ^
 *      |  failed, timed out  |      decision      |  | failed, timed out: on its origin
 *      +---------------------+                    v  |
 *      ^                                        moving --started elsewhere--> running
 *      +--- machine down, running task failed ---------
 *
 * A decision reserves the slot; a moving task also keeps the slot on its origin until it has started elsewhere. An
 * executor, outside this state, starts the tasks as decided and reports each start, end and failure. A decision that is
 * not reported as started within start_timeout_s counts as failed. After a failure, a task waits again after a pause.
 * With each further failure the pause doubles, until the task starts; after attempts_maximum failures without a start
 * between them, the task is given up. If a move fails, the task keeps running on its origin. Without an executor, set
 * confirm_at_once: each decision then counts as started.
 *
 * A job's root is the task with which the others communicate. After the root has ended, its machine remains the
 * reference for the others.
 *
 * A running task moves only as <sched/migration/migration.h> allows. Moves of tasks on a machine that is unreachable
 * from the root, and those from draining machines, are made before other moves. The tasks of draining machines are
 * moved within the limits on moves at the same time, whatever the gain, if their jobs allow moves. Tasks of a machine
 * that goes down wait again. If a refused move was to free a slot for a waiting task, the round is repeated without
 * moves of the jobs whose moves were refused.
 *
 * Changed measurements enter the network job by job. The work before each round is bounded, so that a window with many
 * measurements does not delay waiting tasks. The network considers moves of a job's tasks only while one of these tasks
 * could gain at least moves.gain on a machine with the best possible performance, 1.
 *
 * Only one thread at a time may use a state.
 */
#ifndef SCHED_LIVE_LIVE_H
#define SCHED_LIVE_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/curve.h>
#include <model/jobs.h>
#include <model/latency_matrix.h>
#include <model/recovery.h>
#include <sched/cost/latency_view.h>
#include <sched/migration/migration.h>
#include <sched/policy/policy.h>

struct live;

struct live_settings {
	const struct policy *policy;
	struct policy_settings policy_settings;
	struct cluster_default_rtt default_rtt;
	bool confirm_at_once;
	bool bound; /* sums up live_totals.cost and cost_bound; slow in large clusters, see placer_bound() */
	double start_timeout_s; /* > 0 */
	double retry_s; /* pause after a task's first failure, seconds; doubles with each failure until a start */
	uint32_t attempts_maximum; /* after this many failures without a start the task is given up: LIVE_FAILED */
	double max_age_s;          /* measurements older than this, in seconds, do not count; 0: no limit */
	bool require_measured;     /* a task waits for a machine whose round trip to the root is measured */
	/* With MIGRATION_ADVISE, makes a decision of the kind LIVE_ADVICE instead of a move. */
	struct migration_settings moves;
	/*
	 * The access links of the machines, by which tasks that lose their machine are placed (recover.c); borrowed.
	 * NULL: the policy places them. recovery_ms: time limit of a solve. recovery_hold_s: time from the first loss
	 * to the solve, so that machines that fail together are one problem.
	 */
	const struct recovery_scenario *network;
	double recovery_ms, recovery_hold_s;
	uint32_t decisions_kept; /* minimum number of the latest decisions that stay readable; older ones are dropped */
	/*
	 * Callbacks for a journal; may be NULL. measured() gets the measurements that differ from the previous value of
	 * the same pair of machines; round trip NAN: the measurement was withdrawn. called() gets every call that
	 * changes the state, as a JSON object from which live_replay() repeats it. After a series of calls of
	 * measured(), called() gets one call "measured".
	 */
	void (*measured)(void *context, const struct live *live, const struct latency_sample *samples, size_t count);
	void (*called)(void *context, const char *call);
	void *context;
};
/*
 * The defaults: policy nomora, interpolated performance, confirmation by an executor within 60 s, 5 attempts with a
 * first pause of 1 s, measurements valid for 60 s, moves off; for moves: gain 0.1, hold_s 0, 4 tasks at a time,
 * no limit per machine or job, no restart cost, no return within 600 s; no network, a limit of 500 ms for recovery
 * without a hold; 10,000 decisions kept.
 */
void live_settings_default(struct live_settings *settings);

enum live_task_state { LIVE_WAITING, LIVE_DECIDED, LIVE_RUNNING, LIVE_MOVING, LIVE_ENDED, LIVE_FAILED };
const char *live_task_state_name(enum live_task_state state);

enum live_machine_state { LIVE_UP, LIVE_DRAINING, LIVE_DOWN };
const char *live_machine_state_name(enum live_machine_state state);
int live_machine_state_find(const char *name); /* -1: unknown */

/* How a task that lost its machine got another one, in clusters with a network. LIVE_RECOVERY_NONE: it lost none. */
enum live_recovery {
	LIVE_RECOVERY_NONE,
	LIVE_RECOVERY_PLACED,   /* by the joint optimum of sched/recovery, or its best answer within the time limit */
	LIVE_RECOVERY_NO_FLOWS, /* this and below: by the policy; no flow to a task that has or lost a machine is known
				 */
	LIVE_RECOVERY_HELD,     /* the job waits until a minimum number of its tasks can start together */
	LIVE_RECOVERY_SLOTS,    /* the lost tasks do not all fit */
	LIVE_RECOVERY_LINKS,    /* in every placement, a flow needs a link without capacity */
	LIVE_RECOVERY_LATE,     /* no placement was found within the time limit */
	LIVE_RECOVERY_CUT_OFF,  /* the machine cannot be reached from the job's root */
};

struct live_task {
	char *name;
	enum live_task_state state;
	int32_t machine;   /* machine on which the task runs or is to start; -1: none */
	int32_t origin;    /* of a moving task: machine on which it still runs; -1: none */
	int32_t came_from; /* machine to which the task may not soon return: the one it left by its last move, or the
			      target of that move if the move failed; -1: none */
	int32_t lost_on;   /* of a waiting task whose machine failed: that machine; -1: none */
	enum live_recovery recovery;
	/* With LIVE_RECOVERY_PLACED: transfer time of the slowest job in that placement, flows, and measured ones. */
	float slowest_s;
	uint32_t flows, measured_flows;
	double since_s;             /* when the state began */
	double moved_s;             /* end of the last move */
	double retry_s;             /* end of the pause after a failure; 0: no pause */
	uint32_t attempts;          /* number of failures since the task last started */
	uint64_t decision;          /* number of the last decision about the task; 0: none */
	double started_s;           /* time of the task's first start since it last waited; moves do not change it */
	bool dirty;                 /* changed since live_take_changes() */
	uint32_t deadline;          /* 1 + index in the heap of deadlines; 0: not in the heap */
	struct migration_task move; /* the last move that the network proposed for the task */
	int32_t advised_to; /* machine of the last LIVE_ADVICE about the present series of proposals; -1: none */
};

struct live_job {
	char *id, *curve;
	uint32_t owner;  /* uid */
	uint32_t number; /* the job's number in the network */
	uint32_t root, task_count, ended_count;
	int32_t reference; /* machine on which the root ended; -1: it has not ended */
	bool may_move;
	double restart_s; /* seconds of work that a move loses; < 0: the value in the settings */
	struct job_limits limits;
	struct job_graph *graph;  /* which tasks talk to each other; NULL: all to the root */
	struct live_flows *flows; /* measured ones; NULL: none */
	/* The job waits until a minimum number of its tasks can start; its tasks are not in the network. */
	bool is_held;
	double try_again_s; /* a held job is not tried again before this time */
	uint32_t moving;
	bool dirty;     /* changed since live_take_changes() */
	bool in_moves;  /* the network considers moves of its tasks */
	bool review;    /* the job is in the list of jobs to review (review.c) */
	bool rtt_moved; /* round trips to its root changed since its last review */
	TAILQ_ENTRY(live_job) changed, of_gangs, of_reviews;
	double arrived_s;
	struct live_task *tasks;
};

enum live_decision_kind { LIVE_PLACE, LIVE_MOVE, LIVE_ADVICE };
const char *live_decision_kind_name(enum live_decision_kind kind);

/*
 * A task should start on `to`; if the kind is LIVE_ADVICE, it would perform better there. Strings belong to the live
 * state and are valid until the decision is dropped.
 */
struct live_decision {
	uint64_t sequence; /* from 1, without gaps */
	enum live_decision_kind kind;
	double at_s;
	char *job, *task, *from, *to; /* names; from: NULL for a placement */
	bool is_root;
	double rtt_us;      /* round trip between `to` and the root's machine; NAN for the root */
	double performance; /* predicted; NAN for the root */
	enum latency_origin origin;
	double measured; /* of the other machines, the share whose round trip to the root's machine was measured at the
			    time of the decision; NAN for the root */
	double gain;     /* of a move: predicted performance on `to` minus that on `from` */
	double waited_s; /* of a placement: time for which the task has waited */
	bool drains;     /* a move away from a draining machine */
	bool recovers;   /* placed by recovery, see struct live_settings.network */
};

struct live *live_create(const struct live_settings *settings, struct error *err);
void live_destroy(struct live *live); /* NULL is legal */

/*
 * Adds a machine, or changes the slots and state of a known machine. The rack and pod of a known machine cannot change
 * (-EINVAL). A machine that has tasks, or on which the root of an unfinished job ended, cannot be removed (-EBUSY).
 */
int live_machine_set(struct live *live, const char *name, const char *rack, const char *pod, uint32_t slots,
		     enum live_machine_state state, struct error *err);
int live_machine_remove(struct live *live, const char *name, struct error *err);
const struct cluster *live_cluster(const struct live *live);
enum live_machine_state live_machine_state_of(const struct live *live, uint32_t machine);
uint32_t live_machine_tasks(const struct live *live, uint32_t machine);

/*
 * Adds a curve, or replaces it for all jobs that use it. The curve is copied. A curve that a job uses cannot be removed
 * (-EBUSY).
 */
int live_curve_set(struct live *live, const char *name, const struct curve *curve, struct error *err);
int live_curve_remove(struct live *live, const char *name, struct error *err);
/* Returns the name of curve `number`; "" if the number is unused, NULL beyond the last. */
const char *live_curve_name(const struct live *live, size_t number);

const struct curve *live_curve(const struct live *live, const char *name); /* NULL: unknown */
const char *live_curve_text(const struct live *live, const char *name);    /* nomora.curve/1; NULL: unknown */

/*
 * live_submit() adds a job. -EEXIST: the id is taken; -ENOENT: no such curve; -E2BIG: more tasks than the cluster has
 * slots. Tasks that have a machine in struct job count as running there. live_cancel() removes a job with all its
 * tasks.
 */
int live_submit(struct live *live, const struct job *job, uint32_t owner, bool may_move, double now_s,
		struct error *err);
int live_cancel(struct live *live, const char *id, struct error *err);
/*
 * Like live_submit(), for a job that was known before a restart. `tasks` has each task's state, machine (of an ended
 * root: where it ran), origin, came_from, attempts and times. Moves in progress are cancelled; decided tasks remain
 * decided.
 */
int live_restore(struct live *live, const struct job *job, uint32_t owner, bool may_move, const struct live_task *tasks,
		 double now_s, struct error *err);
/*
 * Calls removed() for each job that was removed since the last call, and changed() for each job that changed. Meant for
 * the caller that stores the state on disk.
 */
void live_take_changes(struct live *live, void (*changed)(void *context, const struct live_job *job),
		       void (*removed)(void *context, const struct live_job *job), void *context);
/* Sets the number of the last decision, for a restart: the next one gets last + 1. */
void live_number_decisions(struct live *live, uint64_t last);
/* Sets the seconds of work that a move of one of the job's tasks loses. 0 or -ENOENT. */
int live_set_restart(struct live *live, const char *id, double restart_s, struct error *err);
const struct live_job *live_find_job(const struct live *live, const char *id);
/* Returns the number of tasks, ended ones included, in the user's unfinished jobs. */
uint64_t live_owner_tasks(const struct live *live, uint32_t uid);
/* All jobs, in no particular order; NULL entries are unused. */
struct live_job *const *live_jobs(const struct live *live, uint32_t *count);

/*
 * Reports of the executor. -ENOENT: no such task; -EINVAL: the report does not fit the task's state, or names a machine
 * other than the task's.
 */
int live_started(struct live *live, const char *job, const char *task, const char *machine, double now_s,
		 struct error *err);
int live_ended(struct live *live, const char *job, const char *task, struct error *err);
int live_failed(struct live *live, const char *job, const char *task, double now_s, struct error *err);

/*
 * Takes the MB (10^6 bytes) that task `from` of a job has sent to task `to` since both began to run, for recovery. It
 * is not recorded, and lost at a restart: report it again from time to time. Returns 0; 1 if one of the tasks does not
 * exist or run; -ENOMEM.
 */
int live_flow(struct live *live, const char *job, const char *from, const char *to, double MB, double now_s);

/*
 * Takes measurements that were all made at now_s. Samples name machines by number. Round trip INFINITY: unreachable. 0
 * or -ENOMEM.
 */
int live_latency(struct live *live, const struct latency_sample *samples, size_t count, double now_s);
/* Withdraws the measurements older than max_age_s. Returns 0. */
int live_expire(struct live *live, double now_s);

/*
 * A range of entries of a matrix, and the present time on both clocks: `wall` is the wall clock, now_s the caller's
 * monotonic clock.
 */
struct live_matrix_part {
	enum latency_statistic statistic;
	size_t first, count;
	struct ns wall;
	double now_s;
};
/* Numbers of entries: taken, of unknown machines, too old, too far in the future. */
struct live_matrix_outcome {
	uint64_t taken, unknown, old, future; /* unknown: one of the pair's machines is not in the cluster */
};
/*
 * Takes the measurements in a part of a matrix, which may be in shared memory. For each window, pass all parts in the
 * order of the matrix, and then call live_latency_settle() once. 0 or -ENOMEM.
 */
int live_latency_matrix(struct live *live, const struct latency_matrix *matrix, const struct live_matrix_part *part,
			struct live_matrix_outcome *outcome);
const struct latency_view *live_view(const struct live *live);
/* For a replay: takes measurements that the callback measured() of struct live_settings reported. 0 or -ENOMEM. */
int live_latency_again(struct live *live, const struct latency_sample *samples, size_t count);
/*
 * Ends a window of live_latency_matrix() or live_latency_again(). If round trips have changed, makes a round due, and
 * lists for review (review.c) the jobs whose root is on a machine with changed round trips.
 */
void live_latency_settle(struct live *live);

/*
 * Handles decisions that timed out and pauses that ended, and runs a round if something changed. Returns the number of
 * new decisions or -errno. If the solver fails, returns its error; the next call rebuilds the network from the state.
 */
int live_step(struct live *live, double now_s, struct error *err);

/*
 * Opens or closes moves; initially they are open. If tasks may move only at certain hours of the day, call it when
 * these hours begin and end. Tasks still move away from draining machines while moves are closed.
 */
void live_open_moves(struct live *live, bool open);

/* Seconds, >= 0, until live_step() has something to do if no event comes before; INFINITY: nothing. */
double live_next_s(const struct live *live, double now_s);

/* Returns the decisions with a number above `after`, oldest first, and their number in *count. */
const struct live_decision *live_decisions(const struct live *live, uint64_t after, size_t *count);
uint64_t live_last_decision(const struct live *live);

/* A machine on which a task could run. */
struct live_candidate {
	uint32_t machine;
	double rtt_us, performance;
	enum latency_origin origin;
	uint32_t free_slots;
	bool is_here;
};
/*
 * Fills candidates[] with at most `most` machines on which the task could run, best predicted performance first. The
 * task's current machine comes last if it is not among the best. Returns their number, or -ENOENT (no such task).
 * `why` gets the reason why the task waits, was given up or does not move; otherwise why a root, or a task of a job
 * with a graph, is on its machine; otherwise "".
 */
int live_explain(struct live *live, const char *job, const char *task, struct live_candidate *candidates, size_t most,
		 char why[static 160], struct error *err);

/* The last recovery as nomora.recovery-live/1, a new reference; NULL: there was none, or out of memory. */
json_t *live_recovery_to_json(const struct live *live);
/* True if tasks have lost their machines, and a recovery is due. */
bool live_loses(const struct live *live);
/*
 * What the policy alone would do with the tasks that recovery would place in the next step, and what the flows would
 * then take, as the member `policy` of nomora.recovery-live/1. It settles the live state as live_settle() does: call it
 * in a forked process. JSON null: there are no such tasks. NULL with err set on failure.
 */
json_t *live_recovery_by_policy(struct live *live, double now_s, double within_s, struct error *err);

struct live_totals {
	uint64_t rounds, solver_errors, timeouts, decisions, moves;
	uint64_t recoveries, recovered;       /* recoveries solved, and tasks placed by them */
	uint64_t refused[MIGRATION_REFUSALS]; /* proposed moves, by reason of refusal; MIGRATION_ALLOWED: accepted ones
					       */
	double last_round_s, solver_s;        /* wall clock time in the solver: of the last round, and in total */
	uint32_t jobs, waiting, decided, running, moving, failed, machines;
	uint32_t waiting_root, waiting_pause; /* tasks that wait for their root, and tasks in a pause after a failure */
	uint64_t slots, free_slots, measured_pairs;
	int64_t cost, cost_bound; /* with settings.bound: sums over the rounds, see placer_bound() */
};
struct live_totals live_totals(const struct live *live);

/*
 * Compares, for each machine, the tasks that are decided, running or moving there with the slots that the network holds
 * for them. Returns the number of the first machine that differs, LIVE_MATCH, or -ENOMEM. After a difference, which is
 * a fault of the program, call live_rebuild(): the next round rebuilds the network from the tasks.
 */
enum { LIVE_MATCH = -1 };
int64_t live_find_mismatch(const struct live *live);
void live_rebuild(struct live *live, double now_s);

/*
 * Mean predicted performance of the running and moving tasks other than roots; a moving task counts as running on its
 * origin. NAN: there are none.
 */
double live_performance(const struct live *live);
/*
 * Calls each() for every task that live_performance() counts, with the task's job, machine and predicted performance,
 * job by job.
 */
void live_each_performance(const struct live *live,
			   void (*each)(void *context, const struct live_job *job, uint32_t machine,
					double performance),
			   void *context);

#endif
