/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all executors share. An executor is a client of schedd that starts the tasks of jobs where schedd decides,
 * or reports the tasks that another system has started: Slurm, Kubernetes. It supplies a table of callbacks, reads
 * its own system, and calls executor_turn() periodically; a turn compares that system with schedd and takes the
 * necessary steps. docs/architecture.md has the recipe for a new executor.
 *
 * The contract between an executor and schedd:
 *
 * - Ownership. An executor is an admin of schedd: root, schedd's user, or a member of its --admin-group. It owns
 *   its machines: it sets slots and state of every machine that it reports, whatever an operator has set in
 *   schedd, and removes those that it no longer reports. It owns the jobs whose ids begin with its prefix and
 *   ignores all others, so that several executors can share a schedd. schedd accepts ids with a reserved prefix
 *   (sched/schedd/api_jobs.c) only from admins.
 * - Jobs. An executor of another system submits jobs with waiting tasks, for schedd to decide, or with tasks that
 *   have machines: these run already. An executor without such a system runs the jobs that users submit to schedd.
 * - Decisions. A task in state "decided" has a machine; its slot is reserved. The executor reads decisions as the
 *   state of jobs (GET /v1/jobs/ID), never as a stream of messages that could be lost. A task in state "moving" is
 *   to stop on its origin, "from", and to start on its machine. Decisions are numbered, and schedd never uses a
 *   number twice: the latest entry of GET /v1/explain/JOB/TASK that is no advice has the number of the decision to
 *   carry out.
 * - Events. "started": the task runs on its machine. "ended": it has ended, with whatever result; its slot is
 *   free. "failed": it did not start, or was lost; schedd decides again after a pause, at most --attempts times
 *   without a start. schedd counts a decision without "started" within --start-timeout as failed. schedd ignores a
 *   second "started" or "ended", and refuses an event that does not fit the task's state.
 * - A lost answer. After -EIO or -ENOTCONN, schedd may have handled the request or not. The turn ends, and the
 *   next one reads schedd's state again and takes the steps that are still missing. So each step is chosen from
 *   two states, of schedd and of the other system, and not from what was sent before. If schedd refuses a request,
 *   only that job or machine is left out.
 * - Restart. schedd syncs each change before it answers, so a decision that the executor has seen survives a
 *   crash. The executor has no state that it could not read again, from its system or from files.
 * - Threads. One thread uses a struct executor; another may make requests of its own to the same socket.
 *
 * Functions return 0 or -errno with err set; executor_is_lost() tells that schedd does not answer.
 */
#ifndef INTEGRATIONS_EXECUTOR_EXECUTOR_H
#define INTEGRATIONS_EXECUTOR_EXECUTOR_H

#include <stdbool.h>

#include <jansson.h>

#include <base/error.h>
#include <base/ns.h>

/* The parts of a turn that differ between executors, in the order in which a turn calls them. */
struct executor_calls {
	const char *id_prefix; /* of the executor's jobs in schedd; "" for all jobs */
	/* Makes requests before the turn reads schedd's jobs. May be NULL. */
	int (*begin)(void *context, struct error *err);
	/*
	 * Returns the machines that schedd should have, name -> {"slots", "state"}, which the turn releases. NULL: they
	 * are not to be compared in this turn.
	 */
	json_t *(*machines)(void *context);
	/*
	 * Returns the rack of a machine that is new to schedd, which the turn frees; "" if it has none. NULL: it is not
	 * known now, and the next comparison tries again.
	 */
	char *(*rack)(void *context, const char *machine);
	/* Returns false for a job of the executor that has ended: the turn removes it from schedd. */
	bool (*wants)(void *context, const char *id);
	/* Compares the jobs with those of schedd, and takes the necessary steps. */
	int (*jobs)(void *context, struct error *err);
};

/* The caller sets the first four fields, the others to 0, and calls executor_init(). */
struct executor {
	const struct executor_calls *calls;
	void *context;
	const char *socket; /* of schedd; NULL: the client's default */
	long limit_ms;      /* for each answer of schedd */
	json_t *jobs;       /* schedd's jobs as the turn has read them: id -> entry of GET /v1/jobs */
	json_t *machines;   /* names of the machines that were reported to schedd */
	json_t *refused;    /* see executor_refuse() */
	json_t *known; /* schedd's machines as of its answer `version`: name -> entry of GET /v1/machines; their tasks
			* are older */
	json_int_t version; /* 0: not read */
	bool schedd_down;   /* schedd does not answer, and this was logged */
	struct ns
		answered; /* end of the last complete turn, on the monotonic clock; at first, time of executor_init() */
};

int executor_init(struct executor *executor, struct error *err);
void executor_free(struct executor *executor);

/*
 * Takes a turn. Logs when schedd stops or resumes answering, and requests about machines that schedd refuses. Returns
 * 0, or -errno after which the turn is incomplete; -EREMOTE: schedd is on standby.
 */
int executor_turn(struct executor *executor);

/* True if schedd does not answer, or its answer was lost. */
bool executor_is_lost(int code);
/* Logs once when a server stops or resumes answering; *down is the state that was logged last. */
void executor_note(bool *down, bool now_down, const char *server, const char *reason);

/* GET /v1/`path`. The caller json_decref()s *answer. */
int executor_get(const struct executor *executor, const char *path, json_t **answer, struct error *err);
/* Submits a job: an object for a line of jobs.jsonl, which is released. Replaces a job with this id. */
int executor_submit(const struct executor *executor, const char *id, json_t *job, struct error *err);
/* Removes a job from schedd; success, too, if schedd does not have it. */
int executor_forget(const struct executor *executor, const char *id, struct error *err);

/*
 * Adds a machine to the answer of machines(). Out of memory: releases the whole object and sets it to NULL, because
 * schedd would lose a machine that is not in it.
 */
void executor_add_machine(json_t **machines, const char *name, uint32_t slots, const char *state);
/*
 * Appends an event, "started", "ended" or "failed", to an array for executor_report(). Out of memory: releases the
 * whole array and sets it to NULL; executor_report() then sends nothing, and fails.
 */
void executor_add_event(json_t **events, const char *event, const char *job, const char *task, const char *machine);
/* Sends the events, if there are any, and releases the array. schedd takes those before the first that it refuses. */
int executor_report(const struct executor *executor, json_t *events, struct error *err);
/*
 * Sends what tasks have sent to each other since both began to run, [{"job", "from", "to", "MB"}], and releases the
 * array. schedd places lost tasks by it, and forgets it at its restart: report it in each turn.
 */
int executor_report_flows(const struct executor *executor, json_t *flows, struct error *err);

/*
 * Notes that schedd has refused a job in this version, and logs the reason once. executor_has_refused() is then true
 * for this version until the slots or state of a machine have changed, or schedd did not answer: it may now accept the
 * job. Both functions release the version.
 */
void executor_refuse(struct executor *executor, const char *id, json_t *version, const char *reason);
bool executor_has_refused(const struct executor *executor, const char *id, json_t *version);

#endif
