/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulator's state and the functions that its files share. Private. */
#ifndef SIM_PRIV_H
#define SIM_PRIV_H

#include <base/event_queue.h>
#include <sched/round/round.h>
#include <sched/sim/sim.h>

enum { SIM_NONE = -1 };
enum sim_event { SIM_SUBMIT, SIM_FINISH, SIM_MACHINE, SIM_MOVED };
enum sim_task_state { SIM_TASK_FUTURE, SIM_TASK_WAITING, SIM_TASK_RUNNING, SIM_TASK_DONE };

struct sim_task {
	int64_t left_us;    /* remaining run time at the task's last start, or WORKLOAD_TO_THE_END */
	int64_t started_us; /* time at which the task began to run or to wait */
	int64_t placed_us;  /* time of the first placement; -1: none yet */
	int64_t moved_us;   /* time of the last migration */
	int32_t machine, moved_from;
	uint32_t generation; /* number of the valid finish event; finish events with other numbers are ignored */
	uint32_t position;   /* index of the task in the job's cells[] and owners[] */
	enum sim_task_state state;
};

/* A task's last move by the rules, and the time of its first start since it last waited. */
struct sim_move {
	struct migration_task rules;
	double started_s;
	int32_t from, to; /* of a move that has not ended */
	bool is_moving;
};

struct sim_job {
	int32_t root_machine; /* machine of the root, also after the root has ended; SIM_NONE: the root is not placed */
	int64_t root_placed_us;
	uint32_t waiting, running, done;
	uint32_t moving; /* number of tasks that are moving, see moves.c */
	/*
	 * While root_machine is known, these list the job's running tasks other than the root. cells: index in the
	 * latency table of the round trip between the task and the root; owners: index of the task in sim->tasks.
	 */
	uint16_t *cells;
	uint32_t *owners;
	uint32_t cell_count, cell_capacity;
	uint32_t curve;
	struct job_graph *graph; /* from the job's first submission to its end; NULL: all tasks talk to the root */
	uint32_t active;         /* index of the job in sim->active */
	bool in_moves;           /* the network proposes moves of its tasks, see moves.c */
	bool in_net, announced;  /* the job is in the network; the journal has the job */
	bool started;            /* one of its tasks has run */
	uint32_t arrived;        /* of a job with a gang: number of its tasks that were submitted */
	struct performance_sum performance;
	double task_samples, task_sum;
	double nearest_us; /* cached result of nearest_recorded() (metrics.c); nearest_at tells if it is valid */
	uint64_t nearest_at;
};

struct sim {
	const struct sim_settings *settings;
	const struct workload *workload;
	const struct sim_watch *watch;
	struct sim_result *result;
	struct cluster *cluster;
	struct cost_layout *layout;
	struct sim_latency latency;
	struct placer *placer;
	struct flownet *net;
	struct event_queue events;
	struct event *deferred; /* events that reach the network only at the end of the round */
	size_t deferred_count, deferred_capacity;
	struct round_outcome outcome;
	struct round_gang
		*gangs; /* the jobs with a gang that wait for it, all of whose tasks are submitted; see gangs.c */
	size_t gang_count, gang_capacity;
	struct rng rng;
	bool *present;      /* [machines] */
	int32_t *slots;     /* [machines], valid while present */
	bool *announced_up; /* [machines], true if the last journal event of the machine says `up` */
	struct sim_task *tasks;
	struct sim_job *jobs;
	struct sim_move *moves;      /* [tasks], NULL without rules */
	uint32_t moving, *moving_of; /* number of moving tasks; [machines] those from or to the machine */
	uint32_t *active;            /* numbers of the jobs that have arrived and have tasks that have not ended */
	uint32_t active_count;
	int64_t now_us, next_sample_us, round_begin_us, round_end_us, net_time_us, next_round_us;
	uint64_t waiting, running, samples;
	int64_t slot_count;
	uint64_t decisions;        /* number of decisions in the journal */
	size_t recorded_latencies; /* number of the workload's latencies in the journal */
	bool in_round, changed, latencies_moved;
	double round_cpu_s; /* CPU time of the last round, seconds */
	double slot_us;     /* slot_us + running * now_us: total time for which tasks have run, see count_running() */
	double utilisation, waiting_sum; /* sums over the samples, for the means in the result */
	/*
	 * p: performance at each entry of this second's latency table. If curves are looked up at the nearest step,
	 * step_of_cell gives the step of each entry and p_of_step the performance at each step: p_of_step is smaller
	 * than p and does not change from second to second.
	 */
	float *p[SIM_CURVES_MAXIMUM];         /* [SIM_LATENCY_CELLS], or NULL */
	float *p_of_step[SIM_CURVES_MAXIMUM]; /* [steps + 1], the last for round trips beyond all tables; or NULL */
	uint16_t step_of_cell[SIM_LATENCY_CELLS];
	uint32_t steps; /* number of steps; 0: p is used */
};

/* gangs.c: jobs whose tasks talk to each other, not only to the root. */
int sim_graph_create(struct sim *sim, uint32_t job);  /* if it is not there yet; 0 or -errno */
void sim_graph_to_net(struct sim *sim, uint32_t job); /* the job has arrived in the network */
void sim_graph_destroy(struct sim *sim, uint32_t job);

/* world.c */
int sim_world_create(struct sim *sim, struct error *err);
int sim_create_placer(struct sim *sim, struct error *err);
void sim_world_free(struct sim *sim);

/* gangs.c: jobs that start with a number of tasks together. 0 or -errno. */
bool sim_waits_for_gang(const struct sim *sim, uint32_t job); /* its tasks are not in the network */
int sim_gang_arrived(struct sim *sim, uint32_t job);          /* a task of such a job was submitted */
void sim_gangs_set(struct sim *sim, struct round_options *options);
void sim_gangs_settle(struct sim *sim);

/* events.c: 0 or -errno. */
int sim_apply_event(struct sim *sim, const struct event *event);
int sim_apply_deferred(struct sim *sim);
int sim_start_task(struct sim *sim, uint32_t task, int32_t machine, int64_t now_us);
void sim_stop_task(struct sim *sim, uint32_t task, int64_t now_us);

/* moves.c */
static inline bool sim_moves_by_rules(const struct sim *sim)
{
	return sim->settings->moves.mode != MIGRATION_OFF && sim->settings->policy->preempts;
}
int sim_moves_create(struct sim *sim); /* 0 or -ENOMEM */
void sim_moves_free(struct sim *sim);
/*
 * Before a round: lets the network propose moves of the jobs of which a task could gain enough, and only of these, as
 * the live scheduler does. 0 or -errno.
 */
int sim_review_moves(struct sim *sim);
struct round_options sim_round_options(struct sim *sim);
/* A waiting task has started; a task was moved at the end of a round (0 or -ENOMEM); its move has ended. */
void sim_move_started(struct sim *sim, uint32_t task);
int sim_move_made(struct sim *sim, uint32_t task);
void sim_move_ended(struct sim *sim, uint32_t task);

/* metrics.c */
int sim_create_p(struct sim *sim); /* 0 or -ENOMEM */
void sim_compute_p(struct sim *sim);
double sim_performance_at(const struct sim *sim, uint32_t curve, double rtt_us);
void sim_sample(struct sim *sim);
int sim_finish_result(struct sim *sim);

/* record.c: writes the journal; does nothing if watch->journal is NULL. */
int sim_record_begin(struct sim *sim, struct error *err);
void sim_record_machine(struct sim *sim, const struct workload_machine_event *event, int32_t slots);
void sim_record_submission(struct sim *sim, uint32_t task);
void sim_record_task(struct sim *sim, uint32_t task, enum journal_task_state state, int64_t time_us);
void sim_record_decision(struct sim *sim, uint32_t task, enum journal_decision decision, int32_t from, int32_t to);

void sim_record_latencies(struct sim *sim);

/* rounds.c: 0 or -errno with err set. A round of no duration ends at once. */
int sim_begin_round(struct sim *sim, struct error *err);
int sim_end_round(struct sim *sim, struct error *err);

#endif
