/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * - state.c: the state of machines, jobs and tasks. *_events.c: the events that change it. view.c: reading it.
 * - costs.c: the costs of a task. members.c: lists a job's tasks, class by class. classes.c: the solver's group of each
 *   class.
 * - changes.c: the changes that wait for the next round. groups.c: passes them to the structured solver.
 * - answer.c: solves by the structured solver and reads its answer. general.c: solves by any other algorithm.
 * - roots.c: solves rounds that place only roots. resting.c: leaves out tasks that beta keeps on their machines.
 * - extract.c: converts an answer to proposed moves. moves.c: carries them out. round.c: the steps of a round.
 * - network.c: builds the whole network. route.c: computes its flow. draw.c: prints it.
 * - wait.c: selects the waiting tasks that U_J holds. walk.c: the order in which jobs are visited.
 */
#ifndef FLOWNET_PRIV_H
#define FLOWNET_PRIV_H

#include <errno.h>

#include <base/array.h>
#include <sched/flownet/flownet.h>
#include <sched/mcf/structured.h>

enum { TASK_WAITING = FLOWNET_NONE, TASK_ABSENT = -2 }; /* values of net_task.machine that are not machines */
/*
 * Values of net_task.origin of a task that is not in transit. ORIGIN_LEAVES: it was asked to leave its machine
 * (flownet_task_leave()). ORIGIN_SETTLED: it was not.
 */
enum { ORIGIN_SETTLED = -2, ORIGIN_LEAVES = -3 };
#define JOB_NONE UINT32_MAX
/*
 * Flag in an item of job_of_group: the group belongs to the tasks at rest on a machine; the other bits are the
 * machine's number. Without the flag, the item is the number of a job.
 */
#define GROUP_RESTS (UINT32_C(1) << 31)

struct net_task {
	int32_t machine; /* machine where it runs or is about to start; or TASK_WAITING, TASK_ABSENT */
	int32_t origin;  /* in transit: the machine that it leaves, or FLOWNET_NONE if it waited; else ORIGIN_... */
	int32_t cost;    /* of running on `machine`; valid while cost_epoch is that of the job */
	uint32_t cost_epoch;
	bool rests; /* at rest, see resting.c; never true for a pinned task */
};

static inline bool net_task_runs(const struct net_task *task)
{
	return task->machine >= 0;
}

static inline bool net_task_in_transit(const struct net_task *task)
{
	return task->origin >= FLOWNET_NONE;
}

/*
 * A class: tasks of a job whose costs are equal, except that of staying on their machine. It is one group of the
 * solver.
 */
struct net_class {
	int32_t group;
	int32_t unscheduled_cost, unscheduled_capacity;
	int32_t machine_limit;   /* of the class's row, see struct cost_row */
	uint64_t row_version;    /* of the row that the solver has; 0: pass the row again in any case */
	uint64_t running_digest; /* hash of the running arcs (from tasks to the machines where they run) that the solver
				    has; 0 = none */
	bool root;               /* the class of the root, while the root waits */
	bool kept;               /* in apply_job(): the class still has members */
};

/* Two cache lines. For a job with one class, as most have, a round reads only these and the tasks. */
struct net_job {
	bool present;
	bool touched;     /* the job is in net->touched */
	bool recount;     /* the running arcs may have changed: it is not enough to update the number of units */
	bool look;        /* read the solver's answer for the job even if it has not changed */
	bool root_ended;  /* the root has ended; its machine remains the reference for the other tasks */
	bool preemptible; /* its running tasks may move */
	bool ageing : 1;  /* in net->ageing: its costs change with time */
	bool waits : 1;   /* in net->waits */
	bool spare : 1;   /* its number is in net->spare_jobs */
	uint32_t root;
	int32_t root_machine; /* where the root runs or ran, FLOWNET_NONE while it waits */
	uint32_t task_limit;  /* highest task number so far + 1 */
	uint32_t place;       /* index in net->live */
	struct net_task *tasks;
	uint32_t pending_arcs, pending_units; /* index of the job's change in net->pending + 1, 0 = none */
	uint32_t cost_epoch;                  /* changes when costs may have changed; never 0 */
	uint32_t class_count;                 /* classes known to the solver: the first, then those in `more` */
	struct net_class first;
	struct net_class *more; /* [more_room] all classes but the first */
	uint32_t more_room, task_room;
	uint32_t waiting, running;
	double *since_s;    /* [task_room] time (net->now_s) at which each task began to wait or run; NULL without omega
			       and beta */
	uint32_t next_root; /* next job with its root on the same machine, JOB_NONE at the end */
	float gain;         /* least gain in performance for which a running task moves, see flownet_job_moves() */
} __attribute__((aligned(128)));

_Static_assert(sizeof(struct net_job) == 128, "a job is two cache lines");

/* Time-dependent costs of a job; stored separately, as few rounds need them. */
struct net_age {
	double due_s;           /* time (net->now_s) until which no cost of the job's tasks changes */
	double watched_until_s; /* time until which a change of costs may wake tasks at rest, as their discounts are
				   still below COST_MAXIMUM */
	double rested_s;        /* time at which net_rest_job() last looked for tasks of the job to put to rest */
	uint32_t resting;       /* tasks at rest */
	int32_t weight;         /* flownet_job_weighs() */
	uint32_t open;          /* tasks that have not ended, as declared by flownet_job_expects() */
	bool woken;             /* the job is in net->changed already; used while tasks are woken */
};

/* A task at rest, in the list of its machine. */
struct net_rest {
	uint32_t job, task;
	uint32_t next; /* index + 1 in net->rests of the machine's next task at rest or, in an unused item, of the next
			  unused item; 0 = none */
};

static inline struct net_class *net_class_at(struct net_job *job, uint32_t number)
{
	return number == 0 ? &job->first : &job->more[number - 1];
}

struct net_machine {
	int32_t slots;
	int32_t running; /* tasks that hold a slot: running, about to start, or moving away */
	int32_t pinned;  /* tasks of `running` whose slots no other task can get (net_is_held()); the solver's capacity
			    of the machine does not include these slots */
	int32_t unseen;  /* tasks of `running` that should leave or are moving away */
	int32_t told;    /* capacity that was passed to the solver, FLOWNET_NONE = none */
	uint32_t told_rack;  /* rack passed to the solver with `told` */
	uint32_t rack;       /* as in the cluster */
	uint32_t pending;    /* index of the machine's change in net->pending + 1, 0 = none */
	uint32_t first_root; /* first job with its root on the machine, JOB_NONE: none */
	bool present;
	bool draining;
	bool flipped;          /* in net->flipped */
	bool resting_changed;  /* in net->resting_changed */
	int32_t resting;       /* tasks at rest on it */
	uint32_t first_rest;   /* index of its first task at rest in net->rests + 1, 0 = none */
	int32_t resting_group; /* the solver's group of these tasks, FLOWNET_NONE: none */
	double lower_s; /* time (net->now_s) before which stays_at_rest() does not try to lower the machine's price */
};

/* A shut machine keeps its tasks and gets no new ones: it is draining, or has more tasks than slots. */
static inline bool net_machine_is_shut(const struct net_machine *machine)
{
	return machine->draining || machine->running > machine->slots;
}

/* One task of a class, while a job is visited. */
struct net_member {
	int32_t unscheduled_cost;
	int32_t running_cost; /* of the arc to the task's machine; FLOWNET_NONE if the task waits or should leave */
	bool discounted; /* beta or the job's gain make running_cost differ from the policy's cost of the machine */
	uint32_t task;
	int32_t machine;
	bool root;
};

/*
 * A proposed move. column: the machine to which the solver assigned the unit; choose() may have placed the task
 * elsewhere.
 */
struct net_plan {
	struct flownet_move move;
	int32_t column;
	uint32_t cost_epoch; /* the job's cost_epoch when the move was planned; differs from the present one if the root
				has moved or costs have changed */
	bool settled; /* carrying out the move leaves the job's classes and running arcs unchanged, see is_settled() */
	bool open;    /* not carried out yet */
};

/*
 * A task in a list that is sorted by cost. cost: of waiting; in roots.c, for running tasks, of staying. number: of the
 * task; in route.c, of the task's arc.
 */
struct net_waiter {
	uint32_t job;
	int32_t number;
	int64_t cost;
	uint32_t after; /* in roots.c: of waiters of equal cost, those with smaller values come first; see by_size */
};

/* Jobs to visit one after the other. */
struct net_walk {
	uint32_t *jobs;
	size_t count, room;
};

struct flownet {
	const struct cluster *cluster;
	struct flownet_policy policy;
	struct flownet_settings settings;
	double now_s;
	uint64_t rounds;
	uint32_t machine_count, rack_count; /* at the last flownet_grow() */
	struct net_machine *machines;       /* [machine_count] */
	int64_t *rack_free;                 /* [rack_count] free slots */
	int32_t most_slots;                 /* most slots that any machine has had */
	struct net_job *jobs;
	uint32_t job_limit, job_room;
	struct net_walk live;       /* all present jobs, in no order */
	struct net_walk spare_jobs; /* numbers of ended jobs, for reuse; some may be in use again */
	struct net_walk ageing;     /* jobs whose costs change with time; may still list ended ones */
	struct net_walk waits;      /* jobs with waiting tasks, and perhaps others, see net_clean_waits() */
	uint32_t *flipped; /* [machine_count] machines that were shut (net_machine_is_shut()) or reopened since the last
			      solve */
	uint32_t flipped_count;
	struct net_age *ages;      /* [job_room] by job */
	uint32_t *resting_changed; /* [machine_count] machines whose tasks at rest have changed since the solver got
				      them */
	uint32_t resting_changed_count;
	struct net_rest *rests;
	size_t rest_count, rest_room;
	uint32_t spare_rest; /* index of an unused item + 1, 0 = none */
	uint32_t preemptible_jobs;
	uint32_t shut_machines; /* shut machines that have tasks */
	uint32_t odd_tasks;     /* tasks in transit, or that should leave */
	struct flownet_change *pending;
	size_t pending_count, pending_room;
	uint64_t pending_events;
	struct net_walk changed; /* jobs whose changes are passed to the solver in this round */
	struct net_walk touched; /* jobs whose answer is read in this round */
	uint32_t *walk_starts;   /* [rack_count + 2] scratch for sorting by rack, like walk_sorted */
	uint32_t *walk_sorted;
	size_t walk_sorted_room;
	struct structured *solver; /* NULL if settings name another algorithm */
	uint32_t *job_of_group;
	int32_t *spare_groups;
	int32_t group_count, spare_count;
	size_t group_room, spare_room;
	const struct cost_row *row; /* of the visited job; NULL: not available */
	struct net_member *members; /* scratch of one job */
	size_t member_room;
	struct net_member *sorted; /* scratch for sorting `members` */
	size_t sorted_room;
	struct structured_running *running; /* scratch of one class */
	struct arc *weighted;               /* scratch of one row: its arcs, times the job's weight */
	size_t weighted_room;
	size_t running_room;
	struct block_arcs *racks; /* scratch of one class */
	size_t rack_room;
	int32_t *share_at; /* [machine_count] index of the machine's item in `shares`; FLOWNET_NONE between calls */
	struct structured_share *shares; /* scratch of one class */
	size_t share_room;
	bool others_held; /* set by flownet_hold_others(); always false without root_first */
	bool following;   /* the move that is being carried out leads to the machine where the solver has the unit */
	bool settled;     /* the solver's data already include the move that is being carried out */
	struct flownet_move *moves;
	size_t move_room;
	struct net_plan *plans; /* after a round: plans[i] is the plan of moves[i] */
	size_t plan_count, plan_room;
	size_t open_plans;
};

/* Returns NULL if there is no such job. */
static inline struct net_job *net_job_at(const struct flownet *net, uint32_t job)
{
	return job < net->job_limit && net->jobs[job].present ? &net->jobs[job] : NULL;
}

/* Returns NULL if there is no such job or task. */
static inline struct net_task *net_task_at(const struct flownet *net, uint32_t job, uint32_t task)
{
	struct net_job *entry = net_job_at(net, job);

	if (!entry || task >= entry->task_limit || entry->tasks[task].machine == TASK_ABSENT)
		return NULL;
	return &entry->tasks[task];
}

/* Stores the policy's cost of the machine where the task runs, which saves another call of the policy. */
static inline void net_running_cost_known(struct flownet *net, uint32_t job, uint32_t task, int32_t cost)
{
	net->jobs[job].tasks[task].cost = cost;
	net->jobs[job].tasks[task].cost_epoch = net->jobs[job].cost_epoch;
}

/* Grows *items to at least `count` elements; 0 or -ENOMEM. */
static inline int net_reserve(void **items, size_t *room, size_t count, size_t size)
{
	void *larger = array_reserve(*items, count, room, size);

	if (!larger)
		return -ENOMEM;
	*items = larger;
	return 0;
}

/* view.c */
int32_t net_root_machine(const struct net_job *job);
/* True if the task is pinned: it runs, and it has no unit in the solver. */
bool net_is_pinned(const struct flownet *net, const struct net_job *job, uint32_t task);
/* True if the job's root runs or has run, or if the policy has no root_first: the other tasks need not wait for it. */
bool net_job_open(const struct flownet *net, const struct net_job *job);
/* True if the job has tasks other than a running root and tasks at rest. */
bool net_job_active(const struct flownet *net, const struct net_job *job);
/* True if some of the job's tasks are, or may be, members of its classes. */
bool net_job_has_members(const struct flownet *net, const struct net_job *job);
/* True if all tasks but a running root are members of one class, and their order does not matter. */
bool net_job_uniform(const struct flownet *net, const struct net_job *job);
/* True if the task is in the flow network. */
bool net_takes_part(const struct flownet *net, const struct net_job *job, uint32_t task);
int32_t net_machine_capacity(const struct net_machine *machine); /* slots for tasks that are not pinned */
/*
 * True if no other task can get this running task's slot before this task has left: it may not move, is in transit, or
 * should leave.
 */
bool net_is_held(const struct flownet *net, const struct net_job *job, uint32_t task);

/* state.c */
/* Adds (sign 1) or subtracts (-1) a waiting task of the job. 0 or -ENOMEM. */
int net_count_waiting(struct flownet *net, uint32_t job, int32_t sign);
/* Removes jobs without waiting tasks from net->waits. */
void net_clean_waits(struct flownet *net);
/*
 * For each task of the job that is held (net_is_held()), adds `sign` to the machine's `pinned`. Also wakes all tasks of
 * the job. 0 or -ENOMEM.
 */
int net_count_pins(struct flownet *net, struct net_job *job, int32_t sign, enum flownet_reason reason);
/* Sets the machine's slots, tasks and state. */
void net_machine_load(struct flownet *net, uint32_t machine, int32_t slots, int32_t running, bool draining);
/* Adds `sign` to the machine's number of tasks, temporarily: during choose(). */
void net_machine_try(struct flownet *net, int32_t machine, int32_t sign);
/* Records that the task began to wait or run `ago_s` seconds ago. */
void net_task_began(const struct flownet *net, struct net_job *job, uint32_t task, double ago_s);
/*
 * Moves a task to a machine, or lets it wait (FLOWNET_NONE); does not update `pinned` or record changes. 0 or -ENOMEM.
 */
int net_task_put(struct flownet *net, uint32_t job, uint32_t task, int32_t machine);
/* As net_task_put(), but also ends a transit, updates `pinned` and records the changes. 0 or -ENOMEM. */
int net_task_move(struct flownet *net, uint32_t job, uint32_t task, int32_t machine, enum flownet_reason reason);
/*
 * Sets the task's origin: the machine that it leaves, FLOWNET_NONE or ORIGIN_... Updates the counters of the machines
 * concerned and records the changes. 0 or -ENOMEM.
 */
int net_task_set_origin(struct flownet *net, uint32_t job, uint32_t task, int32_t origin, enum flownet_reason reason);
void net_root_forget(struct flownet *net, uint32_t job); /* forgets the machine of a root that has ended */

/* costs.c */
int32_t net_unscheduled_cost(const struct flownet *net, const struct net_job *job, uint32_t task);
int32_t net_running_cost(const struct flownet *net, uint32_t job, uint32_t task, bool *discounted);
/* beta's discount on the running task's cost of staying. */
int32_t net_discount(const struct flownet *net, const struct net_job *job, uint32_t task);
void net_costs_forget(struct net_job *job); /* the costs of the job's running tasks must be looked up again */
/*
 * Time until which no cost of the job's tasks changes, possibly slightly too early; INFINITY: the costs never change.
 */
double net_job_due_s(const struct flownet *net, uint32_t job);

/* moves.c: cancels the open proposal for the task, if any. */
void net_moves_strike(struct flownet *net, uint32_t job, uint32_t task);

/* wait.c */
/* Sorts by job, then by cost of waiting. U_J holds the first waiters of its job, as many as its capacity. */
void net_waiters_sort(struct net_waiter *waiters, size_t count);
/* Capacity of the arc U_J -> S. */
int32_t net_unscheduled_width(const struct flownet *net, const struct net_job *job);

/* job_events.c */
void net_job_free(struct net_job *job); /* frees the job's arrays; its number may be used again */

/*
 * members.c: fills net->members with those tasks of the job that may be placed or moved, class by class. Returns the
 * number of members, or -ENOMEM.
 */
int64_t net_members(struct flownet *net, uint32_t job);
/* Fills in the member of a task that exists. */
void net_member_set(struct flownet *net, uint32_t job, uint32_t task, struct net_member *member);
/* Returns the index after the last member of the class that begins at net->members[first]. */
size_t net_class_end(const struct flownet *net, size_t first, size_t count);

/* changes.c */
int net_change_machine(struct flownet *net, uint32_t machine, enum flownet_reason reason);
int net_change_job(struct flownet *net, uint32_t job, enum flownet_change_kind kind, enum flownet_reason reason);
void net_changes_clear(struct flownet *net);

/* walk.c */
int net_walk_add(struct net_walk *walk, uint32_t job);         /* 0 or -ENOMEM */
int net_touch(struct flownet *net, uint32_t job);              /* adds the job to net->touched, once; 0 or -ENOMEM */
int net_walk_sort(struct flownet *net, struct net_walk *walk); /* sorts by the rack of the jobs' roots; 0 or -ENOMEM */
/* While the job at index `at` is visited, prefetches the next ones. */
enum net_walk_for { NET_WALK_APPLY, NET_WALK_EXTRACT };
void net_walk_fetch(const struct flownet *net, const struct net_walk *walk, size_t at, enum net_walk_for purpose);

/*
 * classes.c: net_group_take() sets *group to an unused group number, net_group_give_back() removes the group from the
 * solver and frees its number. `owner` is the number of a job, or that of a machine with the flag GROUP_RESTS. Both
 * return 0 or -errno.
 */
int net_group_take(struct flownet *net, uint32_t owner, int32_t *group);
int net_group_give_back(struct flownet *net, int32_t group);
/*
 * Returns the class of the job's root (`root` is true) or of its other tasks with this cost of waiting; NULL if there
 * is none.
 */
struct net_class *net_class_find(struct net_job *job, bool root, int32_t unscheduled_cost);
/* Removes one unit of the task's class from `column` in the solver, if the solver has one there. */
void net_class_unit_gone(struct flownet *net, uint32_t job, uint32_t task, int32_t column);
void net_classes_forget(struct flownet *net, uint32_t job);

/* resting.c */
int net_rest_job(struct flownet *net, uint32_t job); /* puts to rest all tasks of the job that may rest; 0 or -ENOMEM */
void net_wake(struct flownet *net, uint32_t job, uint32_t task); /* puts a task at rest back into its class */
void net_wake_job(struct flownet *net, uint32_t job);
/* True if a change of costs may wake some of the job's tasks. */
bool net_rest_is_watched(const struct flownet *net, uint32_t job);
int net_resting_apply(struct flownet *net); /* updates the solver's groups of tasks at rest; 0 or -errno */
/*
 * Call it after a solve. If the solver's answer moves a unit at rest off its machine, wakes all tasks at rest on that
 * machine. If this woke any task and `next` is set, also wakes those on machines whose units at rest would leave if the
 * machine's price rose further. Lists the jobs of all woken tasks in net->changed. Returns 1 if it woke a task, 0 if
 * not, or -errno.
 */
int net_wake_left(struct flownet *net, bool next);

/* groups.c: the structured solver. */
int net_groups_apply(struct flownet *net);
int net_groups_apply_woken(struct flownet *net); /* only the jobs in net->changed, whose tasks were woken */

/* answer.c: solves, and plans the moves of tasks. */
int net_groups_solve(struct flownet *net, struct flownet_round *round, struct error *err);

/* roots.c: places only waiting roots, while the other tasks are held back. */
int net_roots_solve(struct flownet *net, struct flownet_round *round, struct error *err);

/* general.c: solves the whole network with any algorithm of mcf. */
int net_general_solve(struct flownet *net, struct flownet_round *round, struct error *err);
/*
 * Checks with the simplex that the optimum of the current network costs `cost`. Returns 0, -EIO if it does not, or
 * another -errno.
 */
int net_general_prove(const struct flownet *net, int64_t cost, struct error *err);

/*
 * extract.c. Plans the moves of members[first..first+count-1], one class of the job, from net->shares (columns
 * ascending). The class's row has an arc to every machine that costs at most machine_limit. Overwrites the shares'
 * units and the members. 0 or -ENOMEM.
 */
int net_extract_class(struct flownet *net, uint32_t job, size_t first, size_t count, int32_t share_count,
		      int32_t machine_limit);
/*
 * Like net_extract_class(), for all tasks of a uniform job (net_job_uniform()); tasks that stay on their machines need
 * no struct net_member.
 */
int net_extract_uniform(struct flownet *net, uint32_t job, int32_t share_count, int32_t machine_limit);
/* Adds a plan for the task's move to `to`; 0 or -ENOMEM. */
int net_plan_add(struct flownet *net, const struct net_plan *plan);
/* Lets the policy choose the machines of units routed through a rack or the cluster. Fills net->moves. 0 or -ENOMEM. */
int net_extract_finish(struct flownet *net);

#endif
