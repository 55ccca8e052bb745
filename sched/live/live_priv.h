/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live state's fields. Each file uses only the files named before it: names.c has the names of states; queries.c
 * reads the state; flows.c has the flows between tasks; recover_report.c reports on the last recovery; calls.c records
 * calls; marks.c has the lists of tasks and jobs to visit; jobs.c adds and removes jobs; reports.c takes the executor's
 * reports; decisions.c, moves.c, review.c and gang.c make decisions; measure.c takes measurements; world.c has the
 * cluster, the curves and the network; recover.c places the tasks of failed machines, by recover_near.c; step.c runs
 * rounds.
 */
#ifndef SCHED_LIVE_PRIV_H
#define SCHED_LIVE_PRIV_H

#include <errno.h>
#include <sys/queue.h>

#include <base/hash_table.h>
#include <sched/flownet/flownet.h>
#include <sched/live/live.h>
#include <sched/round/round.h>

struct live_curve {
	char *name; /* NULL: free entry */
	char *text; /* nomora.curve/1, for rebuilding the network */
	struct curve *curve;
	int32_t number; /* the curve's number in the placer */
};

struct live_machine {
	enum live_machine_state state;
	bool in_network; /* the machine was added to the network by flownet_machine_added() */
	bool rtt_moved;  /* scratch of live_review_moved(): the machine's round trips have changed */
	uint32_t moving; /* number of tasks that are moving from or to the machine */
};

/* The time at which a task's start must have been reported, or at which the task's pause after a failure ends. */
struct live_deadline {
	double due_s;
	struct live_job *job;
	uint32_t task;
};

struct live_owner {
	uint32_t uid;
	int64_t tasks;
};

struct live {
	struct live_settings settings;
	struct cluster *cluster;
	struct cost_layout *layout;
	struct latency_view *view;
	struct placer *placer;
	struct flownet *net;           /* borrowed from the placer */
	struct live_machine *machines; /* by number */
	size_t machine_capacity;
	uint64_t slots; /* sum over all machines */
	struct live_curve *curves;
	size_t curve_count, curve_capacity;
	struct live_job **jobs; /* [] by number in the network; NULL: unused */
	uint32_t job_count;
	size_t job_capacity;
	struct live_job **removed; /* jobs removed since the last live_take_changes(), which frees them */
	size_t removed_count, removed_capacity;
	struct hash_table job_ids; /* hash of the id -> number */
	size_t task_count;         /* number of tasks of all jobs */
	struct live_owner *owners;
	size_t owner_count, owner_capacity;
	struct live_deadline *deadlines; /* a heap */
	size_t deadline_count, deadline_capacity;
	TAILQ_HEAD(live_changed, live_job) changed_jobs;
	TAILQ_HEAD(live_gangs, live_job) gangs; /* jobs that are held, by arrival */
	TAILQ_HEAD(live_reviews, live_job) reviews;
	struct live_decision *decisions;
	size_t decision_count, decision_capacity;
	uint64_t last_decision;
	int64_t *hosts; /* [host_count] machine of each host of the latency matrix, -1: not in the cluster; host_count
			   is 0 after a machine was added or removed */
	size_t host_count, host_capacity;
	uint32_t on_the_move;         /* number of moving tasks */
	uint64_t round;               /* number of the present round, from 1 */
	bool inside;                  /* live_step() is running: the calls that it makes itself are not recorded */
	bool closed;                  /* live_open_moves() closed the moves */
	struct round_outcome outcome; /* of the last round */
	struct round_gang *ready;     /* gangs that the present round may try */
	size_t ready_count, ready_capacity;
	uint32_t up_count,
		draining_count; /* at the last round: number of machines in the network, and of draining machines */
	double expired_s;       /* live_expire() has withdrawn the measurements made before this time */
	double network_s;       /* the time up to which flownet_time_passed() has advanced the network */
	bool lost;              /* tasks lost their machines since the last recovery */
	double lost_s;          /* time of the first step after that; INFINITY: none yet */
	struct live_recovered *recovered; /* the last recovery; NULL: none */
	bool changed;                     /* a round is due */
	double look_again_s; /* time at which a round is due even without an event, because a refused move may then be
				allowed, or a held job tried again; INFINITY: none */
	bool broken;         /* the solver failed: the network must be rebuilt */
	struct live_totals totals;
};

static inline int live_out_of_memory(struct error *err)
{
	return error_set(err, ENOMEM, "out of memory");
}

static inline uint32_t live_task_number(const struct live_job *job, const struct live_task *task)
{
	return (uint32_t)(task - job->tasks);
}

/* queries.c */
struct live_curve *live_find_curve(const struct live *live, const char *name);
struct live_task *live_find_task(const struct live *live, const char *job, const char *task, struct live_job **found);
bool live_moves_on(const struct live *live, const struct live_job *job);
/* Limits that apply to a job: for each, the stricter one of the job's and the settings'. */
struct job_limits live_limits(const struct live *live, const struct live_job *job);
/*
 * Sets *rtt_us to the round trip between `machine` and the machine of the job's root, *origin to its origin, and
 * *performance to the performance that it predicts for a task of the job on `machine`. The root's machine must be
 * known.
 */
void live_predict(const struct live *live, const struct live_job *job, uint32_t machine, double *rtt_us,
		  double *performance, enum latency_origin *origin);
/* Returns the share of the other machines that have a measured round trip to `machine`. */
double live_measured_share(const struct live *live, uint32_t machine);
/* True if the task may run on `to`: it is reachable from the root, and measured if require_measured is set. */
bool live_fit_for(const struct live *live, const struct live_job *job, const struct live_task *task, int32_t to);

/* True if the task is not the root, and `machine` is unreachable from the root. */
bool live_is_cut_off(const struct live *live, const struct live_job *job, const struct live_task *task,
		     int32_t machine);

/* calls.c: each function passes one call to the callback settings.called. */
void live_note_begin(struct live *live);
void live_note_name(struct live *live, const char *call, const char *name);
void live_note_number(struct live *live, const char *call, double number);
void live_note_machine(struct live *live, uint32_t machine);
void live_note_curve(struct live *live, const struct live_curve *curve);
/* Also notes live_recovery_figures(), but no rates: those of a large cluster would fill the journal. */
void live_note_recovery(struct live *live, const json_t *places, double now_s);
/* `restored`: the states of the tasks before a restart; NULL: a new job. */
void live_note_job(struct live *live, const struct job *job, uint32_t owner, bool may_move,
		   const struct live_task *restored, double now_s);
void live_note_report(struct live *live, const char *call, const char *job, const char *task, const char *machine,
		      double now_s);

/* marks.c: reserves space for the deadlines of `tasks` more tasks. 0 or -ENOMEM. */
int live_reserve_deadlines(struct live *live, uint32_t tasks);
/* Updates the task's entry in the heap of deadlines. Call it after the task's state, since_s or retry_s has changed. */
void live_mark_task(struct live *live, struct live_job *job, struct live_task *task);
void live_mark_changed(struct live *live, struct live_job *job);
/* Sets the task's state and since_s = now_s, marks task and job as changed, and updates the task's deadline. */
void live_set_state(struct live *live, struct live_job *job, struct live_task *task, enum live_task_state state,
		    double now_s);
/*
 * live_gang_enter() adds a new job to the list `gangs` if it has a minimum number of tasks to start with. Call
 * live_gang_leave() when the job starts or is removed.
 */
void live_gang_enter(struct live *live, struct live_job *job);
void live_gang_leave(struct live *live, struct live_job *job);
/*
 * If a job with a minimum number of tasks has no task left that holds a slot, takes it out of the network, so that its
 * next start is again one of the minimum number of tasks at once. Call it after tasks of the job lost their slots.
 */
void live_gang_return(struct live *live, struct live_job *job);
/* Adds a job to the list `reviews`, or removes it from the list. */
void live_review_later(struct live *live, struct live_job *job);
void live_review_leave(struct live *live, struct live_job *job);
/* Takes a job that is about to be removed off all lists. */
void live_unmark_job(struct live *live, struct live_job *job);
/*
 * Counts of tasks by user. live_reserve_owner() makes the user's entry if there is none, and returns 0 or -ENOMEM.
 * live_count_owner() adds `tasks`, which may be negative, to the user's count.
 */
int live_reserve_owner(struct live *live, uint32_t uid);
void live_count_owner(struct live *live, uint32_t uid, int64_t tasks);
/* Updates the counts of moving tasks when a task stops moving. Call it before the task's fields change. */
void live_end_move(struct live *live, struct live_job *job, const struct live_task *task);

/* jobs.c: enters a job and its tasks into the network, according to their states. */
int live_enter_job(struct live *live, struct live_job *job, double now_s);
void live_remove_job(struct live *live, struct live_job *job); /* live_take_changes() reports and frees it */
void live_job_free(struct live_job *job);

/* reports.c: returns a decided task to waiting, and a moving task to running on its origin. */
void live_take_back(struct live *live, struct live_job *job, struct live_task *task, double now_s);

/*
 * decisions.c: records the decision that a task goes from machine `from` (-1: it waited) to `to`. `what` gives kind,
 * at_s, gain, waited_s and drains; the other fields are computed. 0 or -ENOMEM.
 */
int live_decide(struct live *live, const struct live_decision *what, const struct live_job *job, struct live_task *task,
		int32_t from, int32_t to);
/* Decides that a task starts on task->machine, where the network has reserved a slot for it. 0 or -errno. */
int live_place(struct live *live, struct live_job *job, struct live_task *task, double now_s);
void live_decision_clear(struct live_decision *decision);

/* moves.c: makes or refuses move `number` of the network's proposals. Returns as `take` of struct round_options. */
int live_take_move(struct live *live, const struct flownet_move *move, size_t number, struct live_job *job,
		   struct live_task *task, double now_s);
/* Refuses the network's proposal that a running task waits in favour of a root or of other jobs. */
void live_refuse_eviction(struct live *live, struct live_task *task);
/* Asks the network to propose moves for tasks on draining machines, for as many tasks as may move at a time. */
void live_send_away(struct live *live);
/*
 * Call it in a round that has refused moves. With hold, the network proposes no more moves for the jobs whose moves
 * were refused; without hold, it may propose them again. 0 or -errno.
 */
int live_hold_refused(struct live *live, bool hold);

/* review.c: adds to the list `reviews` each job whose root is on a machine with changed round trips. */
void live_review_moved(struct live *live, const struct cost_moved *moved);
/* Before a round: reviews jobs of the list `reviews`, as many as the limit of work allows. 0 or -errno. */
int live_review(struct live *live);

/* gang.c. Before a round: lists the held jobs that may be tried in live->ready. 0 or -ENOMEM. */
int live_gangs_list(struct live *live, double now_s);
/* After the round: makes the decisions of those that have started. The others that were tried pause. 0 or -errno. */
int live_gangs_settle(struct live *live, double now_s);

/* world.c: builds placer and network from cluster, curves and jobs. 0 or -errno with err set. */
int live_build(struct live *live, double now_s, struct error *err);

/*
 * jobs.c: has the network place a root for all tasks of the job that have neither ended nor been given up. Call it
 * after flownet_task_ended() for a task that returns: it is counted as ended. 0 or -errno.
 */
int live_expect(struct live *live, const struct live_job *job);

/*
 * recover.c: before a round, places the tasks that lost their machines and have flows; leaves the others to the policy.
 * 0 or -errno with err set.
 */
int live_recover(struct live *live, double now_s, struct error *err);
/* Seconds until live_recover() is due; INFINITY: it is not needed. */
double live_recovery_wait_s(const struct live *live, double now_s);
/* Places tasks: a list of [job, task, machine], as live_recover() records it. 0 or -errno with err set. */
int live_recover_again(struct live *live, const json_t *places, double now_s, struct error *err);
/* recover_report.c: figures of the last recovery, of which there must be one. NULL: out of memory. */
json_t *live_recovery_figures(const struct live *live);
void live_recovered_free(struct live_recovered *recovered); /* NULL is legal */
/* Writes how the task that lost its machine got this one; leaves why[] unchanged if it lost none. */
void live_recovery_say(const struct live_task *task, char why[static 160]);

void live_flows_free(struct live_flows *flows); /* flows.c; NULL is legal */

/* replay_performance.c: mean performance of the jobs of a replay, sampled once per second. */
struct replay_performance;
struct live_replayed;
struct replay_performance *replay_performance_create(void); /* NULL: out of memory */
/*
 * Samples each second from the last call up to time_us. Call it before the events of time_us are applied. 0 or -ENOMEM.
 */
int replay_performance_sample(struct replay_performance *replay, const struct live *live, int64_t time_us);
/* Stores the means in *replayed and frees the object. */
void replay_performance_end(struct replay_performance *replay, struct live_replayed *replayed);

#endif
