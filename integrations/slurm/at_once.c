/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gets schedd's decision about a new job while sbatch waits. The job has no number in Slurm yet, so it is submitted to
 * schedd under a new id, which the job's mark contains. If schedd decides too late, Slurm decides: the next turn
 * removes the job from schedd.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/log.h>

#include "agent_priv.h"
#include "rules.h"

enum {
	LIMIT_MS = 18,    /* milliseconds to wait for schedd's decision; the plug-in waits for 20 ms */
	FRESH_MOST = 4096 /* number of the latest ids, which are stored; older ids do not count as fresh */
};
/*
 * Seconds for which a new id is fresh, that is, for which Slurm may not list its job yet. Slurm lists the job at the
 * agent's next poll, or some seconds later if slurmctld is busy. If Slurm refuses the job, by a limit for example, its
 * slots are reserved for that time. A job that Slurm lists later is left to Slurm.
 */
#define FRESH_S 5

struct at_once {
	const struct executor *schedd;
	uint64_t start;       /* part of all ids; differs between runs of the agent */
	pthread_mutex_t lock; /* protects the fields below */
	struct fresh {
		uint64_t key;
		struct ns until;
	} fresh[FRESH_MOST]; /* a ring */
	uint64_t count;
	struct slurm_rules rules;
	uint32_t largest;
};

struct at_once *at_once_create(const struct executor *schedd)
{
	struct at_once *at_once = calloc(1, sizeof *at_once);

	if (!at_once)
		return NULL;
	at_once->schedd = schedd;
	at_once->start = (uint64_t)time(NULL);
	pthread_mutex_init(&at_once->lock, NULL);
	return at_once;
}

void at_once_destroy(struct at_once *at_once)
{
	if (!at_once)
		return;
	pthread_mutex_destroy(&at_once->lock);
	free(at_once);
}

void at_once_follow(struct at_once *at_once, const struct slurm_rules *rules, uint32_t largest)
{
	pthread_mutex_lock(&at_once->lock);
	at_once->rules = *rules;
	at_once->largest = largest;
	pthread_mutex_unlock(&at_once->lock);
}

static bool allows(struct at_once *at_once, uint32_t tasks, uint32_t nodes)
{
	bool allowed;

	pthread_mutex_lock(&at_once->lock);
	allowed = slurm_rules_allow(&at_once->rules, at_once->largest, tasks, nodes);
	pthread_mutex_unlock(&at_once->lock);
	return allowed;
}

/* Creates a new id, which counts as fresh for FRESH_S seconds. */
static void take_id(struct at_once *at_once, char id[static SLURM_NAME_BYTES])
{
	pthread_mutex_lock(&at_once->lock);
	snprintf(id, SLURM_NAME_BYTES, LINK_ID_PREFIX "%llx-%llu", (unsigned long long)at_once->start,
		 (unsigned long long)at_once->count + 1);
	at_once->fresh[at_once->count++ % FRESH_MOST] =
		(struct fresh){.key = hash_text(id), .until = ns_add(ns_now_monotonic(), ns_from_us(FRESH_S * 1e6))};
	pthread_mutex_unlock(&at_once->lock);
}

bool at_once_is_fresh(struct at_once *at_once, const char *id)
{
	uint64_t key = hash_text(id);
	bool fresh = false;

	pthread_mutex_lock(&at_once->lock);
	for (uint64_t n = 0; n < FRESH_MOST && n < at_once->count && !fresh; n++)
		fresh = at_once->fresh[n].key == key && ns_now_monotonic().v < at_once->fresh[n].until.v;
	pthread_mutex_unlock(&at_once->lock);
	return fresh;
}

/*
 * Prints "PLACE HOSTS COUNT MARK". Returns false if it is too long, if Slurm's rules do not allow the number of hosts,
 * or out of memory.
 */
static bool print_place(struct at_once *at_once, const char *id, const struct sched_job *job,
			char answer[static ANSWER_BYTES])
{
	uint32_t count;
	char *list = agent_list_hosts(job->hosts, job->tasks, &count);
	char *mark = slurm_mark_placed(id, job->hosts, job->tasks);
	bool fits = list && mark && allows(at_once, job->tasks, count) &&
		    snprintf(answer, ANSWER_BYTES - 1, "PLACE %s %u %s", list, count, mark) < ANSWER_BYTES - 1;

	if (fits)
		log_info("new job: placed at once, %s", mark + sizeof SLURM_REQUEST_PREFIX - 1);
	free(list);
	free(mark);
	return fits;
}

/* The id is not fresh any more, so that the next turn removes it from schedd. */
static void drop_id(struct at_once *at_once, const char *id)
{
	uint64_t key = hash_text(id);

	pthread_mutex_lock(&at_once->lock);
	for (uint64_t n = 0; n < FRESH_MOST && n < at_once->count; n++)
		if (at_once->fresh[n].key == key)
			at_once->fresh[n].until = (struct ns){0};
	pthread_mutex_unlock(&at_once->lock);
}

bool at_once_decide(void *context, const struct slurm_request *request, uint32_t tasks,
		    char answer[static ANSWER_BYTES])
{
	struct at_once *at_once = context;
	char id[SLURM_NAME_BYTES];
	struct sched_job job;
	bool placed = false;

	take_id(at_once, id);
	if (link_decide(at_once->schedd, id, request, tasks, LIMIT_MS, &job) == 0) {
		placed = print_place(at_once, id, &job, answer);
		link_job_free(&job);
	}
	if (!placed)
		drop_id(at_once, id);
	return placed;
}
