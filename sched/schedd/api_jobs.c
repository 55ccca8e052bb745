/* SPDX-License-Identifier: BSD-3-Clause */
/* Submissions of jobs; see schedd.h. A large submission is processed in parts, in several turns of the loop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>
#include <base/number.h>

#include "schedd_priv.h"

/*
 * A turn processes about this many lines of each user; they take 1.5 ms of CPU time, including the decisions. So other
 * users' submissions wait for at most two turns of a large submission, each with one sync of the disk.
 */
enum { LINES_A_TURN = 30 };
/* Maximum number of lines in a body, because one reply answers all lines. */
enum { LINES_MOST = 10000 };

/* A body whose lines are being processed. */
struct submission {
	struct serve_call *call;
	struct file_lines *lines;
	json_t *answers;
	double restart_s; /* seconds of work that a move loses, for all jobs of the body; below 0: not given */
	unsigned status;  /* highest HTTP status of the lines so far */
	size_t share;     /* lines to process in this turn */
};

static bool over_quota(const struct schedd *schedd, const struct serve_call *call, const struct job *job)
{
	uint32_t most = schedd->options.user_tasks;

	return most > 0 && !schedd_is_admin(schedd, call) &&
	       live_owner_tasks(schedd->live, call->uid) + job->task_count > most;
}

/* The agents of Slurm and Kubernetes delete and trust the jobs with these ids. */
static bool is_reserved(const char *id)
{
	return strncmp(id, "slurm-", 6) == 0 || strncmp(id, "k8s-", 4) == 0;
}

/*
 * Submits a job and adds its result to the answers. Returns the HTTP status: 201 (new), 200 (already known) or an
 * error.
 */
static unsigned submit_job(struct schedd *schedd, struct submission *submission, const char *line,
			   const struct job *job)
{
	struct serve_call *call = submission->call;
	bool move = schedd_query_is(call, "move", "1");
	char *known = store_job_line(schedd->store, job->id);
	struct error err = {0};
	unsigned status = 201;
	int code = 0;

	for (uint32_t t = 0; t < job->task_count && code == 0; t++)
		if (job->tasks[t].machine_name && !schedd_is_admin(schedd, call))
			code = error_set(&err, EPERM, "task '%s' has a machine; only admins may submit running tasks",
					 job->tasks[t].name);
	if (code == 0 && is_reserved(job->id) && !schedd_is_admin(schedd, call))
		code = error_set(&err, EPERM, "job '%s': ids that begin with slurm- or k8s- belong to the agents",
				 job->id);
	if (code == 0 && !known && over_quota(schedd, call, job))
		code = error_set(&err, EDQUOT, "job '%s': its %u tasks would exceed the user's limit of %u tasks",
				 job->id, job->task_count, schedd->options.user_tasks);
	if (known && strcmp(known, line) == 0)
		status = 200;
	else if (known)
		code = error_set(&err, EEXIST, "job '%s' exists with another description", job->id);
	else if (code == 0)
		code = schedd_changed(schedd,
				      live_submit(schedd->live, job, call->uid, move, schedd_now_s(schedd), &err));
	if (code == 0 && !known && submission->restart_s >= 0)
		live_set_restart(schedd->live, job->id, submission->restart_s, NULL);
	free(known);
	if (code < 0)
		status = code == -EEXIST ? 409 : code == -EPERM || code == -EDQUOT ? 403 : 400;
	else if (status == 201) {
		store_put_job(schedd->store, job->id, line, call->uid, move, submission->restart_s);
		record_job(schedd->record, live_find_job(schedd->live, job->id));
	}
	json_array_append_new(submission->answers,
			      code < 0 ? json_pack("{s:s, s:i, s:o}", "id", job->id, "status", (int)status, "error",
						   json_message(err.text))
				       : json_pack("{s:s, s:i}", "id", job->id, "status", (int)status));
	return status;
}

/* Lines are parsed one by one, so that each is stored as it was sent. */
static int submit_line(struct schedd *schedd, struct submission *submission, const char *line, struct error *err)
{
	struct file_lines *one = file_lines_from_memory("body", line, strlen(line), err);
	struct jobs *jobs;
	int code;

	if (one)
		file_lines_start(one, file_lines_number(submission->lines));
	jobs = one ? jobs_parse(one, err) : NULL;
	code = jobs ? jobs_resolve(jobs, live_cluster(schedd->live), false, err) : error_code(err, ENOMEM);
	for (size_t j = 0; code == 0 && j < jobs->count; j++) {
		unsigned status = submit_job(schedd, submission, line, &jobs->items[j]);

		submission->status = status > submission->status ? status : submission->status;
	}
	jobs_destroy(jobs);
	file_lines_close(one);
	return code;
}

/* Processes at most `most` lines. Returns true if the submission is complete or failed, and was answered. */
static bool take_lines(struct schedd *schedd, struct submission *submission, size_t most)
{
	struct error err = {0};
	json_t *root;
	char *line;
	int code = 1;

	for (size_t taken = 0; code == 1 && taken < most; taken++) {
		code = file_lines_next(submission->lines, &line, &err);
		if (code == 1 && submit_line(schedd, submission, line, &err) < 0)
			code = -EINVAL;
	}
	if (code == 1)
		return false;
	if (code < 0)
		submission->status = 400;
	else if (json_array_size(submission->answers) == 0) {
		submission->status = 400;
		error_set(&err, EINVAL, "the body is empty; expected lines of jobs.jsonl");
	}
	root = json_pack("{s:O}", "jobs", submission->answers);
	if (err.text[0])
		json_object_set_new(root, "error", json_message(err.text));
	schedd_reply_json(schedd, submission->call, submission->status, root);
	return true;
}

static void free_submission(struct submission *submission)
{
	file_lines_close(submission->lines);
	json_decref(submission->answers);
}

/*
 * Returns the number of lines of a submission to process in this turn: LINES_A_TURN divided by the number of the user's
 * submissions, at least 1.
 */
static size_t share(const struct schedd *schedd, const struct submission *submission)
{
	size_t others = 0;

	for (size_t s = 0; s < schedd->submission_count; s++)
		others += &schedd->submissions[s] != submission &&
			  schedd->submissions[s].call->uid == submission->call->uid;
	return others < LINES_A_TURN ? LINES_A_TURN / (others + 1) : 1;
}

void schedd_take_submissions(struct schedd *schedd)
{
	struct submission *submissions = schedd->submissions;
	size_t kept = 0;

	for (size_t s = 0; s < schedd->submission_count; s++)
		submissions[s].share = share(schedd, &submissions[s]);
	for (size_t s = 0; s < schedd->submission_count; s++)
		if (take_lines(schedd, &submissions[s], submissions[s].share))
			free_submission(&submissions[s]);
		else
			submissions[kept++] = submissions[s];
	schedd->submission_count = kept;
}

void schedd_refuse_submissions(struct schedd *schedd)
{
	for (size_t s = 0; s < schedd->submission_count; s++) {
		schedd_reply(schedd, schedd->submissions[s].call, 503, strdup("{}"));
		free_submission(&schedd->submissions[s]);
	}
	schedd->submission_count = 0;
}

static size_t count_lines(const struct serve_call *call)
{
	size_t count = 0;

	for (const char *at = call->body; (at = strchr(at, '\n')) != NULL; at++)
		count++;
	return count;
}

static int begin_submission(struct schedd *schedd, struct serve_call *call, struct error *err)
{
	struct submission *submissions = array_grow(schedd->submissions, schedd->submission_count,
						    &schedd->submission_capacity, sizeof *submissions),
			  new = {.call = call, .restart_s = -1, .status = 200};
	const char *restart = serve_query(call, "restart_s");

	if (restart &&
	    (number_parse_double(restart, &new.restart_s) < 0 || !(new.restart_s >= 0 && new.restart_s <= 1e7)))
		return error_set(err, EINVAL, "bad restart_s '%.40s'; expected seconds, 0 to 1e7", restart);
	if (count_lines(call) > LINES_MOST)
		return error_set(err, E2BIG, "the body has more than %d lines", LINES_MOST);
	if (submissions)
		schedd->submissions = submissions;
	new.lines = file_lines_from_memory("body", call->body, call->body_bytes, err);
	new.answers = json_array();
	if (!submissions || !new.lines || !new.answers) {
		free_submission(&new);
		return error_set(err, ENOMEM, "out of memory");
	}
	submissions[schedd->submission_count++] = new;
	return 0;
}

void schedd_post_jobs(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	struct error err = {0};

	if (schedd_query_is(call, "dry_run", "1"))
		schedd_dry_run(schedd, call);
	else if (begin_submission(schedd, call, &err) < 0)
		serve_reply_error(call, &err);
}
