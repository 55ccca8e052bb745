/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the state back; see store.h. */
#include "store_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/log.h>

static const char *text_at(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	return text ? text : "";
}

/* Calls take() for each row until one fails. */
static int each_row(struct store *store, const char *text, int (*take)(sqlite3_stmt *row, void *context), void *context,
		    struct error *err)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->base, text, -1, &statement, NULL), taken = 0;

	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW)
			taken = take(statement, context);
		if (taken >= 0 && sqlite3_errcode(store->base) == SQLITE_NOMEM) /* a text of the row was taken as "" */
			taken = error_set(err, ENOMEM, "the state cannot be read: out of memory");
		if (taken < 0)
			break;
	}
	sqlite3_finalize(statement);
	if (taken < 0)
		return taken;
	return code == SQLITE_DONE
		       ? 0
		       : error_set(err, database_errno(code), "the state cannot be read: %s", sqlite3_errstr(code));
}

struct loading {
	struct store *store;
	struct live *live;
	double offset_s, now_s;
	struct error *err;
	struct live_task *tasks; /* the tasks of the job that is being read */
	uint32_t task_count;
	uint64_t *dropped; /* count of removed rows; NULL: a row that cannot be loaded is an error */
};

/*
 * Removes a row that cannot be loaded, if that is allowed. The last column is its key, which may be of any type and
 * have any bytes: it must not be read before, which would make it text. Returns 0 if the load goes on.
 */
static int drop(struct loading *loading, const char *table, const char *key, sqlite3_stmt *row, int code)
{
	sqlite3 *base = loading->store->base;
	sqlite3_stmt *statement = NULL;
	char *text;

	if (code >= 0 || code == -ENOMEM || !loading->dropped)
		return code;
	log_warning("left out row '%s' of %s: %s", text_at(row, 0), table, loading->err->text);
	*loading->err = (struct error){0};
	text = sqlite3_mprintf("DELETE FROM %s WHERE %s IS ?", table, key);
	store_begin(loading->store, REMOVE_JOB);
	code = text ? sqlite3_prepare_v2(base, text, -1, &statement, NULL) : SQLITE_NOMEM;
	if (code == SQLITE_OK)
		code = sqlite3_bind_value(statement, 1, sqlite3_column_value(row, sqlite3_column_count(row) - 1));
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	sqlite3_finalize(statement);
	sqlite3_free(text);
	(*loading->dropped)++;
	return code == SQLITE_DONE ? 0 : error_set(loading->err, database_errno(code), "%s", sqlite3_errstr(code));
}

static int load_default_rtt(sqlite3_stmt *row, void *context)
{
	*(struct cluster_default_rtt *)context =
		(struct cluster_default_rtt){.same_machine_us = sqlite3_column_double(row, 0),
					     .same_rack_us = sqlite3_column_double(row, 1),
					     .same_pod_us = sqlite3_column_double(row, 2),
					     .other_pod_us = sqlite3_column_double(row, 3)};
	return 0;
}

int store_load_default_rtt(struct store *store, struct cluster_default_rtt *rtt, struct error *err)
{
	return each_row(store, "SELECT same_machine, same_rack, same_pod, other_pod FROM default_rtt", load_default_rtt,
			rtt, err);
}

static int load_machine(sqlite3_stmt *row, void *context)
{
	struct loading *loading = context;
	int state = live_machine_state_find(text_at(row, 4));
	int code = live_machine_set(loading->live, text_at(row, 0), text_at(row, 1), text_at(row, 2),
				    (uint32_t)sqlite3_column_int64(row, 3),
				    state < 0 ? LIVE_DOWN : (enum live_machine_state)state, loading->err);

	return drop(loading, "machines", "name", row, code);
}

static int load_curve(sqlite3_stmt *row, void *context)
{
	struct loading *loading = context;
	struct curve *curve =
		curve_from_memory(text_at(row, 0), text_at(row, 1), strlen(text_at(row, 1)), loading->err);
	int code = curve ? live_curve_set(loading->live, text_at(row, 0), curve, loading->err)
			 : error_code(loading->err, EINVAL);

	curve_destroy(curve);
	return drop(loading, "curves", "name", row, code);
}

static int32_t find_machine(const struct live *live, const char *name)
{
	int64_t number = name ? cluster_find_machine(live_cluster(live), name) : -1;

	return number < 0 ? -1 : (int32_t)number;
}

static enum live_task_state find_state(const char *name)
{
	for (int s = LIVE_WAITING; s <= LIVE_FAILED; s++)
		if (strcmp(live_task_state_name((enum live_task_state)s), name) == 0)
			return (enum live_task_state)s;
	return LIVE_WAITING;
}

/*
 * Converts a column with a wall clock time to the clock of live, at most now_s. Returns `fallback` if the column is
 * NULL.
 */
static double clock_at(const struct loading *loading, sqlite3_stmt *row, int column, double fallback)
{
	if (sqlite3_column_type(row, column) == SQLITE_NULL)
		return fallback;
	return fmin(sqlite3_column_double(row, column) - loading->offset_s, loading->now_s);
}

/*
 * A task whose machine is not in the cluster, or down, waits again. The time-out for the start of decided and moving
 * tasks begins again, because the executor may have tried to report the start while no daemon was running.
 */
static int load_task(sqlite3_stmt *row, void *context)
{
	struct loading *loading = context;
	int64_t number = sqlite3_column_int64(row, 0);
	struct live_task *task;
	bool holds;

	if (number < 0 || number >= loading->task_count)
		return 0;
	task = &loading->tasks[number];
	*task = (struct live_task){.state = find_state(text_at(row, 1)),
				   .lost_on = -1,
				   .machine = find_machine(loading->live, text_at(row, 2)),
				   .origin = find_machine(loading->live, text_at(row, 3)),
				   .attempts = (uint32_t)sqlite3_column_int64(row, 4),
				   .since_s = clock_at(loading, row, 5, loading->now_s),
				   .came_from = find_machine(loading->live, text_at(row, 6)),
				   .moved_s = clock_at(loading, row, 7, -INFINITY),
				   .started_s = clock_at(loading, row, 8, loading->now_s)};
	if (task->state == LIVE_WAITING) {
		task->lost_on = task->origin;
		task->origin = -1;
	}
	holds = task->state == LIVE_DECIDED || task->state == LIVE_RUNNING || task->state == LIVE_MOVING;
	if (task->state == LIVE_MOVING && task->origin < 0)
		task->state = LIVE_RUNNING;
	if (task->state == LIVE_DECIDED || task->state == LIVE_MOVING)
		task->since_s = loading->now_s;
	if (holds &&
	    (task->machine < 0 || live_machine_state_of(loading->live, (uint32_t)task->machine) == LIVE_DOWN)) {
		task->state = LIVE_WAITING;
		task->lost_on = task->machine;
		task->machine = task->origin = -1;
	}
	return 0;
}

static int load_tasks(struct loading *loading, const struct job *job)
{
	char *text = sqlite3_mprintf("SELECT task, state, machine, origin, attempts, since, came_from, moved, started "
				     "FROM tasks WHERE job = %Q",
				     job->id);
	int code;

	loading->task_count = job->task_count;
	loading->tasks = calloc(job->task_count + 1, sizeof *loading->tasks);
	if (!text || !loading->tasks) {
		sqlite3_free(text);
		return error_set(loading->err, ENOMEM, "out of memory");
	}
	for (uint32_t t = 0; t < job->task_count; t++)
		loading->tasks[t] = (struct live_task){.machine = -1,
						       .origin = -1,
						       .came_from = -1,
						       .lost_on = -1,
						       .since_s = loading->now_s,
						       .started_s = loading->now_s,
						       .moved_s = -INFINITY};
	code = each_row(loading->store, text, load_task, loading, loading->err);
	sqlite3_free(text);
	return code;
}

static int load_job(sqlite3_stmt *row, void *context)
{
	struct loading *loading = context;
	const char *line = text_at(row, 1);
	struct file_lines *lines = file_lines_from_memory("state", line, strlen(line), loading->err);
	struct jobs *jobs = lines ? jobs_parse(lines, loading->err) : NULL;
	int code = jobs ? 0 : error_code(loading->err, EINVAL);

	if (jobs && jobs->count != 1)
		code = error_set(loading->err, EINVAL, "job '%s': expected the line of one job", text_at(row, 0));
	if (code == 0)
		code = load_tasks(loading, &jobs->items[0]);
	if (code == 0)
		code = live_restore(loading->live, &jobs->items[0], (uint32_t)sqlite3_column_int64(row, 2),
				    sqlite3_column_int(row, 3), loading->tasks, loading->now_s, loading->err);
	if (code == 0 && sqlite3_column_type(row, 4) != SQLITE_NULL)
		code = live_set_restart(loading->live, text_at(row, 0), sqlite3_column_double(row, 4), loading->err);
	free(loading->tasks);
	loading->tasks = NULL;
	jobs_destroy(jobs);
	file_lines_close(lines);
	return drop(loading, "jobs", "id", row, code);
}

static int load(struct loading *loading)
{
	struct store *store = loading->store;
	struct error *err = loading->err;
	int code =
		each_row(store, "SELECT name, rack, pod, slots, state, name FROM machines", load_machine, loading, err);

	if (code == 0)
		code = each_row(store, "SELECT name, text, name FROM curves", load_curve, loading, err);
	if (code == 0)
		code = each_row(store, "SELECT id, line, owner, may_move, restart, id FROM jobs", load_job, loading,
				err);
	live_number_decisions(loading->live,
			      (uint64_t)store_pragma(store, "SELECT coalesce(max(sequence), 0) FROM decisions"));
	return code;
}

int store_load(struct store *store, struct live *live, double offset_s, double now_s, struct error *err)
{
	return load(&(struct loading){.store = store, .live = live, .offset_s = offset_s, .now_s = now_s, .err = err});
}

int store_load_readable(struct store *store, struct live *live, uint64_t *dropped, struct error *err)
{
	return load(&(struct loading){.store = store, .live = live, .err = err, .dropped = dropped});
}
