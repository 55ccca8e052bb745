/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live state's fields. Files from the ground up: names.c; queries.c reads; calls.c records calls; marks.c has the
 * lists; jobs.c; reports.c; decisions.c; moves.c; review.c; gang.c; measure.c has the mesh; world.c has the cluster,
 * the curves and the network; step.c runs rounds.
 */
#ifndef SCHED_LIVE_PRIV_H
#define SCHED_LIVE_PRIV_H

#include <errno.h>
#include <sys/queue.h>

#include <base/hash_table.h>
#include <sched/flownet/flownet.h>
#include <sched/live/live.h>

struct live_curve {
	char *name; /* NULL: free entry */
	char *text; /* nomora.curve/1, for rebuilding the network */
	struct curve *curve;
	int32_t number; /* in the placer */
};

struct live_machine {
	enum live_machine_state state;
	bool in_network; /* flownet_machine_added() */
	bool rtt_moved;  /* set while live_review_moved() lists the jobs with roots on it */
	uint32_t moving; /* tasks moving from or to it */
};

/* When a task's confirmation is due, or its pause ends. */
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
	struct flownet *net;           /* of the placer */
	struct live_machine *machines; /* by number */
	size_t machine_capacity;
	uint64_t slots; /* of all machines */
	struct live_curve *curves;
	size_t curve_count, curve_capacity;
	struct live_job **jobs; /* [] by number in the network; NULL: unused */
	uint32_t job_count;
	size_t job_capacity;
	struct live_job **removed; /* since the last live_take_changes() */
	size_t removed_count, removed_capacity;
	struct hash_table job_ids; /* hash of the id -> number */
	size_t task_count;         /* of all jobs */
	struct live_owner *owners;
	size_t owner_count, owner_capacity;
	struct live_deadline *deadlines; /* a heap */
	size_t deadline_count, deadline_capacity;
	TAILQ_HEAD(live_changed, live_job) changed_jobs;
	TAILQ_HEAD(live_gangs, live_job) gangs; /* jobs other than LIVE_GANG_NONE, by arrival */
	TAILQ_HEAD(live_reviews, live_job) reviews;
	struct live_decision *decisions;
	size_t decision_count, decision_capacity;
	uint64_t last_decision;
	int64_t *hosts; /* [host_count] machine of each host of the window, -1: none; host_count is 0 after the cluster
			   has changed */
	size_t host_count, host_capacity;
	uint32_t on_the_move;
	uint64_t round; /* number of the present round, from 1 */
	bool inside;    /* within live_step(): its own calls are not recorded */
	bool closed;    /* live_open_moves() closed the moves */
	bool blocked;   /* a task waits for a slot that another task keeps, as its move was refused */
	uint32_t up_count, draining_count; /* at the last round: machines in the network, and draining ones */
	double expired_s;                  /* measurements before this time have been withdrawn */
	double network_s;                  /* the network's clock, as of the last flownet_time_passed() */
	bool changed;                      /* a round is due */
	double look_again_s;               /* time to review the moves that the last round refused */
	bool broken;                       /* the solver failed: the network must be rebuilt */
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
 * Round trip and predicted performance of a job's task on a machine, relative to the root's machine, which must be
 * known.
 */
void live_predict(const struct live *live, const struct live_job *job, uint32_t machine, double *rtt_us,
		  double *performance, enum latency_origin *origin);
/* True if the value is neither a maximum over other pairs nor a default. */
bool live_is_measured(enum latency_origin origin);
/* Share of the other machines whose round trip to this one is measured. */
double live_measured_share(const struct live *live, uint32_t machine);
/* True if a task may run on a machine: it is reachable, and measured if required. */
bool live_fit_for(const struct live *live, const struct live_job *job, const struct live_task *task, int32_t to);

/* calls.c: pass calls to settings.called. */
void live_note_begin(struct live *live);
void live_note_name(struct live *live, const char *call, const char *name);
void live_note_number(struct live *live, const char *call, double number);
void live_note_machine(struct live *live, uint32_t machine);
void live_note_curve(struct live *live, const struct live_curve *curve);
/* `restored`: the states of the tasks before a restart; NULL: a new job. */
void live_note_job(struct live *live, const struct job *job, uint32_t owner, bool may_move,
		   const struct live_task *restored, double now_s);
void live_note_report(struct live *live, const char *call, const char *job, const char *task, const char *machine,
		      double now_s);

/* marks.c: reserves space for the deadlines of `tasks` more tasks. 0 or -ENOMEM. */
int live_reserve_deadlines(struct live *live, uint32_t tasks);
/* Call it after the task's state, since_s or retry_s has changed. */
void live_mark_task(struct live *live, struct live_job *job, struct live_task *task);
void live_mark_changed(struct live *live, struct live_job *job);
/* Sets the task's state as of now_s, and marks the task and its job. */
void live_set_state(struct live *live, struct live_job *job, struct live_task *task, enum live_task_state state,
		    double now_s);
/*
 * Lists a new job if it has a minimum number of tasks to start with. Call live_gang_leave() when a job starts or is
 * removed.
 */
void live_gang_enter(struct live *live, struct live_job *job);
void live_gang_leave(struct live *live, struct live_job *job);
/* Lists a job for a review, or removes it from the list. */
void live_review_later(struct live *live, struct live_job *job);
void live_review_leave(struct live *live, struct live_job *job);
/* Call it before the job is removed. */
void live_unmark_job(struct live *live, struct live_job *job);
/*
 * Counts of tasks by user. live_reserve_owner() makes an entry: 0 or -ENOMEM. live_count_owner() adds `tasks`, which
 * may be negative.
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

/* decisions.c: adds a decision. 0 or -ENOMEM. */
int live_decide(struct live *live, const struct live_decision *what, const struct live_job *job, struct live_task *task,
		int32_t from, int32_t to);
/* Decides that a task starts on its machine, where its slot is reserved. 0 or -errno. */
int live_place(struct live *live, struct live_job *job, struct live_task *task, double now_s);
void live_decision_clear(struct live_decision *decision);

/* moves.c: handles a proposed move; 0 or -errno. */
int live_take_move(struct live *live, const struct flownet_move *move, size_t number, struct live_job *job,
		   struct live_task *task, double now_s);
/* Refuses to send a running task back to waiting in favour of a root or of other jobs. */
void live_refuse_eviction(struct live *live, struct live_task *task);
/* Requests moves of tasks on draining machines, as many as may move at a time. */
void live_send_away(struct live *live);
/* Turns moves off, or on again, for the jobs with a move that was refused in this round. 0 or -errno. */
int live_hold_refused(struct live *live, bool hold);

/* review.c: lists the jobs with their roots on machines whose round trips changed. */
void live_review_moved(struct live *live, const struct cost_moved *moved);
/* Reviews listed jobs before a round; some may remain listed. 0 or -errno. */
int live_review(struct live *live);

/* gang.c. Before a round: adds the jobs for which there are free slots to the network. 0 or -errno. */
int live_gangs_try(struct live *live, double now_s);
/* After a round: starts the jobs that got enough places. 0 or -errno. */
int live_gangs_settle(struct live *live, bool failed, double now_s);

/* world.c: builds placer and network from cluster, curves and jobs. 0 or -errno with err set. */
int live_build(struct live *live, double now_s, struct error *err);

/* replay_performance.c: performance in each second of a replay. */
struct replay_performance;
struct live_replayed;
struct replay_performance *replay_performance_create(void); /* NULL: out of memory */
/* Samples the seconds since the last call. Call it before the events of this time. 0 or -ENOMEM. */
int replay_performance_sample(struct replay_performance *replay, const struct live *live, int64_t time_us);
/* Frees it; stores the means in *replayed. */
void replay_performance_end(struct replay_performance *replay, struct live_replayed *replayed);

#endif
