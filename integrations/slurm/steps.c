/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out the agent's steps. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/log.h>
#include <base/text_stream.h>

#include "agent_priv.h"
#include "rules.h"

enum { MARK_BYTES = ERROR_TEXT_BYTES + 64 };

void agent_job_id(const struct slurm_job *job, const struct slurm_mark *mark, char id[static SLURM_NAME_BYTES])
{
	if (mark->id[0])
		snprintf(id, SLURM_NAME_BYTES, "%s", mark->id);
	else
		snprintf(id, SLURM_NAME_BYTES, "%s%s", LINK_ID_PREFIX, job->name);
}

bool agent_is_settled(const struct agent *agent, const struct slurm_job *job)
{
	return hash_table_find(&agent->settled, job->id) == (uint32_t)job->start;
}

/* If out of memory, stores nothing. The only effect is that the next turn handles the job again. */
void agent_note(struct hash_table *table, const struct slurm_job *job, uint32_t value)
{
	uint32_t at = hash_table_first(table, job->id);

	if (at == HASH_TABLE_NONE)
		hash_table_insert(table, job->id, value);
	else
		hash_table_set_value(table, at, value);
}

char *agent_list_hosts(char *const *hosts, uint32_t tasks, uint32_t *count)
{
	struct hash_table seen = {0};
	char *text = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&text, &bytes);
	int code = out ? 0 : -ENOMEM;

	*count = 0;
	for (uint32_t t = 0; t < tasks && code == 0; t++) {
		uint64_t key = hash_text(hosts[t]);

		if (hash_table_first(&seen, key) != HASH_TABLE_NONE)
			continue;
		code = hash_table_insert(&seen, key, 1);
		fprintf(out, "%s%s", (*count)++ > 0 ? "," : "", hosts[t]);
	}
	hash_table_free(&seen);
	if (out && fclose(out) == 0 && code == 0)
		return text;
	free(text);
	return NULL;
}

int agent_pass(const struct slurm_job *job, const char *reason, struct error *err)
{
	char mark[MARK_BYTES];

	snprintf(mark, sizeof mark, "%spass %s", SLURM_REQUEST_PREFIX, reason);
	log_warning("job %s: Slurm decides: %s", job->name, reason);
	return slurm_order_pass(job, mark, err);
}

/* Leaves the job to Slurm, and removes it from schedd. */
static int pass(struct agent *agent, const struct slurm_job *job, const char *id, const char *reason, struct error *err)
{
	int code = agent_pass(job, reason, err);

	return code == 0 ? executor_forget(&agent->schedd, id, err) : code;
}

/*
 * Passes schedd's decision to Slurm. If Slurm refuses the placement, reports the tasks to schedd as failed: schedd then
 * decides again, and gives up after --attempts failures.
 */
static int place(struct agent *agent, const struct slurm_job *job, const char *id, const struct sched_job *sched,
		 struct error *err)
{
	uint32_t count;
	char *list = agent_list_hosts(sched->hosts, job->tasks, &count);
	char *mark = slurm_mark_placed(id, sched->hosts, job->tasks);
	struct error reason = {0};
	int code;

	if (!list || !mark) {
		free(list);
		free(mark);
		return error_set(err, ENOMEM, "out of memory");
	}
	if (!slurm_rules_allow(&agent->view.rules, agent->largest, job->tasks, count)) {
		free(list);
		free(mark);
		return pass(agent, job, id,
			    "schedd's decision has too many or too few nodes for Slurm's memory settings", err);
	}
	code = slurm_order_place(job, list, count, mark, &reason);
	if (code == 0) {
		log_info("job %s: placed, %s", job->name, mark + sizeof SLURM_REQUEST_PREFIX - 1);
		agent_note(&agent->placed, job, job->restarts);
	}
	free(list);
	free(mark);
	if (code == 0)
		return 0;
	log_warning("job %s: %s", job->name, reason.text);
	return link_report(&agent->schedd, id, "failed", sched->hosts, job->tasks, err);
}

static int submit(struct agent *agent, const struct slurm_job *job, const char *id, const struct slurm_request *request,
		  struct error *err)
{
	struct error reason = {0};
	int code = link_submit(&agent->schedd, id, request, job->tasks, NULL, 0, &reason);

	if (code == -EINVAL || code == -ENOENT)
		return agent_pass(job, reason.text, err);
	return code < 0 ? error_set(err, -code, "%s", reason.text) : 0;
}

/* Writes into a running job's mark where it runs, unless it is there. */
static int mark_running(const struct slurm_job *job, const char *id, const struct slurm_mark *mark, char *const *hosts,
			struct error *err)
{
	char *truth = slurm_mark_placed(id, hosts, job->tasks);
	int code = truth ? 0 : error_set(err, ENOMEM, "out of memory");

	if (truth && (mark->kind == SLURM_MARK_MOVING || !job->mark || strcmp(job->mark, truth) != 0))
		code = slurm_order_mark(job, truth, err);
	if (code == 0)
		log_info("job %s: adopted, %s", job->name, truth + sizeof SLURM_REQUEST_PREFIX - 1);
	free(truth);
	return code;
}

/* Reports a running job to schedd with the machines on which it runs. */
static int adopt(struct agent *agent, const struct slurm_job *job, const char *id, const struct slurm_request *request,
		 const struct slurm_mark *mark, char *const *hosts, struct error *err)
{
	struct error reason = {0};
	double running_s = difftime(time(NULL), job->start);
	int code = link_submit(&agent->schedd, id, request, job->tasks, hosts, running_s > 0 ? running_s : 0, &reason);

	if (code == -EINVAL) {
		executor_refuse(&agent->schedd, id, json_integer(job->start), reason.text);
		return 0;
	}
	return code < 0 ? error_set(err, -code, "%s", reason.text) : mark_running(job, id, mark, hosts, err);
}

/* Requeues a job to move it. If Slurm refuses, reports to schedd that the job runs where it is. */
static int requeue(struct agent *agent, const struct slurm_job *job, const char *id,
		   const struct slurm_request *request, const struct slurm_mark *mark, char *const *hosts,
		   struct error *err)
{
	struct error reason = {0};

	if (slurm_order_requeue(job, &reason) == 0) {
		log_info("job %s: requeued to move", job->name);
		return 0;
	}
	log_warning("job %s: %s", job->name, reason.text);
	return adopt(agent, job, id, request, mark, hosts, err);
}

static const char *pass_reason(const struct slurm_job *job, const struct sched_job *sched)
{
	if (job->held && job->held_by_slurm)
		return "Slurm cannot start it on the nodes of schedd's decision";
	if (job->held)
		return "a user holds the job";
	if (job->blocked && job->restarts == 0)
		return "Slurm cannot start it, whatever nodes are free";
	if (job->lacks_nodes)
		return "other jobs have the CPUs of schedd's decision";
	if (sched->failed > 0)
		return "schedd gave up after failed starts";
	return sched->decided > 0 ? "Slurm did not start it in time on the nodes of schedd's decision"
				  : "schedd found no place in time";
}

int agent_take_step(struct agent *agent, enum slurm_step step, const struct slurm_job *job,
		    const struct slurm_request *request, const struct slurm_mark *mark, const struct sched_job *sched,
		    char *const *hosts, struct error *err)
{
	char id[SLURM_NAME_BYTES];

	agent_job_id(job, mark, id);
	switch (step) {
	case SLURM_STEP_SUBMIT:
		return submit(agent, job, id, request, err);
	case SLURM_STEP_ADOPT:
		return adopt(agent, job, id, request, mark, hosts, err);
	case SLURM_STEP_MARK:
		return mark_running(job, id, mark, hosts, err);
	case SLURM_STEP_START:
		return link_report(&agent->schedd, id, "started", hosts, job->tasks, err);
	case SLURM_STEP_PLACE:
		return place(agent, job, id, sched, err);
	case SLURM_STEP_PASS:
		return pass(agent, job, id, pass_reason(job, sched), err);
	case SLURM_STEP_FORGET:
		return executor_forget(&agent->schedd, id, err);
	case SLURM_STEP_REQUEUE:
		return requeue(agent, job, id, request, mark, hosts, err);
	default:
		return 0;
	}
}
