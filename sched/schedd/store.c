/* SPDX-License-Identifier: BSD-3-Clause */
#include "store.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include <base/file.h>
#include <base/hash.h>

enum { VERSION = 2, APPLICATION_ID = 0x4e6f6d72 }; /* "Nomr" */

enum statement {
	PUT_MACHINE,
	REMOVE_MACHINE,
	PUT_CURVE,
	PUT_JOB,
	REMOVE_JOB,
	REMOVE_TASKS,
	PUT_TASK,
	PUT_DECISION,
	JOB_LINE,
	PUT_JOURNAL,
	CUT_JOURNAL,
	JOURNAL_PAGE,
	STATEMENTS,
};

static const char *const texts[STATEMENTS] = {
	[PUT_MACHINE] = "INSERT OR REPLACE INTO machines VALUES (?1, ?2, ?3, ?4, ?5, row_sum(?1, ?2, ?3, ?4, ?5))",
	[REMOVE_MACHINE] = "DELETE FROM machines WHERE name = ?",
	[PUT_CURVE] = "INSERT OR REPLACE INTO curves VALUES (?1, ?2, row_sum(?1, ?2))",
	[PUT_JOB] = "INSERT OR REPLACE INTO jobs VALUES (?1, ?2, ?3, ?4, ?5, row_sum(?1, ?2, ?3, ?4, ?5))",
	[REMOVE_JOB] = "DELETE FROM jobs WHERE id = ?",
	[REMOVE_TASKS] = "DELETE FROM tasks WHERE job = ?",
	[PUT_TASK] = "INSERT OR REPLACE INTO tasks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, row_sum(?1, ?2, "
		     "?3, ?4, ?5, ?6, "
		     "?7, ?8, ?9, ?10))",
	[PUT_DECISION] = "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[JOB_LINE] = "SELECT line FROM jobs WHERE id = ?",
	[PUT_JOURNAL] = "INSERT INTO journal (at, checkpoint, lines) VALUES (?, ?, ?)",
	/* What a later checkpoint, itself old enough, makes superfluous. */
	[CUT_JOURNAL] =
		"DELETE FROM journal WHERE number < (SELECT max(number) FROM journal WHERE checkpoint AND at < ?)",
	[JOURNAL_PAGE] = "SELECT number, lines FROM journal WHERE number > ?1 AND (NOT checkpoint OR number = (SELECT "
			 "min(number) FROM journal)) ORDER BY number",
};

#define JOURNAL_TABLE "CREATE TABLE journal (number INTEGER PRIMARY KEY, at REAL, checkpoint INTEGER, lines TEXT);"

static const char schema[] =
	"CREATE TABLE machines (name TEXT PRIMARY KEY, rack TEXT, pod TEXT, slots INTEGER, state TEXT, sum "
	"INTEGER) WITHOUT ROWID;"
	"CREATE TABLE curves (name TEXT PRIMARY KEY, text TEXT, sum INTEGER) WITHOUT ROWID;"
	"CREATE TABLE jobs (id TEXT PRIMARY KEY, line TEXT, owner INTEGER, may_move INTEGER, restart REAL, sum "
	"INTEGER) WITHOUT "
	"ROWID;"
	"CREATE TABLE tasks (job TEXT, task INTEGER, state TEXT, machine TEXT, origin TEXT, attempts INTEGER, since "
	"REAL,"
	" came_from TEXT, moved REAL, started REAL, sum INTEGER, PRIMARY KEY (job, task)) WITHOUT ROWID;"
	"CREATE TABLE decisions (sequence INTEGER PRIMARY KEY, at REAL, kind TEXT, job TEXT, task TEXT, from_machine "
	"TEXT,"
	" to_machine TEXT, rtt_us REAL, performance REAL, gain REAL, origin TEXT, measured REAL);" JOURNAL_TABLE;

/* upgrades[v] makes a state of version v + 1 out of one of version v. */
static const char *const upgrades[VERSION] = {
	[1] = "ALTER TABLE decisions ADD COLUMN origin TEXT; ALTER TABLE decisions ADD COLUMN measured REAL;"
	      "ALTER TABLE machines ADD COLUMN sum INTEGER; ALTER TABLE curves ADD COLUMN sum INTEGER;"
	      "ALTER TABLE jobs ADD COLUMN restart REAL; ALTER TABLE tasks ADD COLUMN came_from TEXT;"
	      "ALTER TABLE tasks ADD COLUMN moved REAL; ALTER TABLE tasks ADD COLUMN started REAL;"
	      "ALTER TABLE jobs ADD COLUMN sum INTEGER; ALTER TABLE tasks ADD COLUMN sum INTEGER;" JOURNAL_TABLE,
};

/* Rows whose sum is wrong: the file was changed by others than us. Rows of version 1 have none. */
static const char damaged_rows[] =
	"SELECT (SELECT count(*) FROM machines WHERE sum IS NOT row_sum(name, rack, pod, slots, state) AND sum "
	"NOTNULL) + "
	"(SELECT count(*) FROM curves WHERE sum IS NOT row_sum(name, text) AND sum NOTNULL) + "
	"(SELECT count(*) FROM jobs WHERE sum IS NOT row_sum(id, line, owner, may_move, restart) AND sum NOTNULL) + "
	"(SELECT count(*) FROM tasks WHERE sum IS NOT row_sum(job, task, state, machine, origin, attempts, since, "
	"came_from, moved, started) AND sum NOTNULL)";

struct store {
	sqlite3 *base;
	sqlite3_stmt *statements[STATEMENTS];
	bool pending;
	int failed; /* SQLite's code of the first write of the transaction that failed */
};

static int errno_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return EBUSY;
	case SQLITE_FULL:
		return ENOSPC;
	case SQLITE_NOMEM:
		return ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return EINVAL;
	case SQLITE_CANTOPEN:
		return ENOENT;
	default:
		return EIO;
	}
}

static int fail(struct store *store, const char *path, int code, struct error *err)
{
	if ((code & 0xff) == SQLITE_BUSY)
		return error_set(err, EBUSY, "%s: another daemon has this state", path);
	if ((code & 0xff) == SQLITE_CORRUPT)
		return error_set(
			err, EINVAL,
			"%s: the state is damaged; restore it from a backup, or start with --salvage, which keeps "
			"the file under another name and takes over what can be read",
			path);
	return error_set(err, errno_of(code), "%s: %s", path,
			 store->base ? sqlite3_errmsg(store->base) : sqlite3_errstr(code));
}

/* SQL function row_sum(...): FNV-1a over types and values. */
static void row_sum(sqlite3_context *context, int count, sqlite3_value **values)
{
	uint64_t hash = HASH_FNV_START;

	for (int v = 0; v < count; v++) {
		int type = sqlite3_value_type(values[v]);
		double real;
		int64_t integer;

		hash = hash_fnv_bytes(hash, &type, sizeof type);
		switch (type) {
		case SQLITE_INTEGER:
			integer = sqlite3_value_int64(values[v]);
			hash = hash_fnv_bytes(hash, &integer, sizeof integer);
			break;
		case SQLITE_FLOAT:
			real = sqlite3_value_double(values[v]);
			hash = hash_fnv_bytes(hash, &real, sizeof real);
			break;
		case SQLITE_NULL:
			break;
		default:
			hash = hash_fnv_bytes(hash, sqlite3_value_blob(values[v]),
					      (size_t)sqlite3_value_bytes(values[v]));
		}
	}
	sqlite3_result_int64(context, (sqlite3_int64)hash);
}

static int64_t pragma(struct store *store, const char *text)
{
	sqlite3_stmt *statement = NULL;
	int64_t value = -1;

	if (sqlite3_prepare_v2(store->base, text, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

/* A transaction that ends with the present version. */
static int change_schema(struct store *store, const char *change)
{
	char text[128];
	int code = sqlite3_exec(store->base, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_exec(store->base, change, NULL, NULL, NULL);
	sqlite3_snprintf(sizeof text, text, "PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT", VERSION,
			 APPLICATION_ID);
	return code == SQLITE_OK ? sqlite3_exec(store->base, text, NULL, NULL, NULL) : code;
}

/* SQLite's structures and our rows. */
static bool is_whole(struct store *store)
{
	sqlite3_stmt *statement = NULL;
	bool whole = false;

	if (sqlite3_prepare_v2(store->base, "PRAGMA quick_check(1)", -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		whole = strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
	sqlite3_finalize(statement);
	return whole && pragma(store, damaged_rows) == 0;
}

static int prepare(struct store *store, const char *path, struct error *err)
{
	/* An exclusive lock is taken with the first read and kept. */
	int code = sqlite3_exec(store->base,
				"PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
				NULL, NULL, NULL);
	int64_t version;

	if (code != SQLITE_OK)
		return fail(store, path, code, err);
	if (pragma(store, "PRAGMA user_version") == 0 && pragma(store, "SELECT count(*) FROM sqlite_schema") == 0) {
		code = change_schema(store, schema);
		if (code != SQLITE_OK)
			return fail(store, path, code, err);
	}
	if (pragma(store, "PRAGMA application_id") != APPLICATION_ID)
		return error_set(err, EINVAL, "%s: not a state of nomora schedd", path);
	version = pragma(store, "PRAGMA user_version");
	if (version == VERSION - 1)
		code = change_schema(store, upgrades[version]);
	if (code != SQLITE_OK)
		return fail(store, path, code, err);
	if (version != VERSION && version != VERSION - 1)
		return error_set(err, EINVAL,
				 "%s: version %lld of the state; this program reads version %d. Use the nomora that "
				 "wrote it, or a new --state file",
				 path, (long long)version, VERSION);
	if (!is_whole(store))
		return error_set(
			err, EINVAL,
			"%s: the state is damaged; restore it from a backup, or start with --salvage, which keeps "
			"the file under another name and takes over what can be read",
			path);
	for (int s = 0; s < STATEMENTS; s++) {
		code = sqlite3_prepare_v2(store->base, texts[s], -1, &store->statements[s], NULL);
		if (code != SQLITE_OK)
			return fail(store, path, code, err);
	}
	return 0;
}

static struct store *open_with(const char *path, int flags, struct error *err)
{
	struct store *store = calloc(1, sizeof *store);
	int code;

	if (!store) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	code = sqlite3_open_v2(path, &store->base, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | flags, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_create_function(store->base, "row_sum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
					       row_sum, NULL, NULL);
	if (code != SQLITE_OK)
		fail(store, path, code, err);
	if (code != SQLITE_OK || prepare(store, path, err) < 0) {
		store_close(store);
		return NULL;
	}
	return store;
}

struct store *store_open(const char *path, struct error *err)
{
	return open_with(path, SQLITE_OPEN_CREATE, err);
}

struct store *store_open_old(const char *path, struct error *err)
{
	return open_with(path, 0, err);
}

void store_close(struct store *store)
{
	if (!store)
		return;
	for (int s = 0; s < STATEMENTS; s++)
		sqlite3_finalize(store->statements[s]);
	sqlite3_close(store->base);
	free(store);
}

/* A statement ready for its values, in a transaction. */
static sqlite3_stmt *begin(struct store *store, enum statement which)
{
	if (!store->pending) {
		store->pending = true;
		store->failed = sqlite3_exec(store->base, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	}
	return store->statements[which];
}

static void run(struct store *store, sqlite3_stmt *statement)
{
	int code = store->failed == SQLITE_OK ? sqlite3_step(statement) : SQLITE_DONE;

	if (code != SQLITE_DONE)
		store->failed = code;
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	if (text)
		sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT);
}

static void bind_real(sqlite3_stmt *statement, int at, double value)
{
	if (isfinite(value))
		sqlite3_bind_double(statement, at, value);
}

void store_put_machine(struct store *store, const char *name, const char *rack, const char *pod, uint32_t slots,
		       const char *state)
{
	sqlite3_stmt *statement = begin(store, PUT_MACHINE);

	bind_text(statement, 1, name);
	bind_text(statement, 2, rack);
	bind_text(statement, 3, pod);
	sqlite3_bind_int64(statement, 4, slots);
	bind_text(statement, 5, state);
	run(store, statement);
}

static void run_with_text(struct store *store, enum statement which, const char *text)
{
	sqlite3_stmt *statement = begin(store, which);

	bind_text(statement, 1, text);
	run(store, statement);
}

void store_remove_machine(struct store *store, const char *name)
{
	run_with_text(store, REMOVE_MACHINE, name);
}

void store_put_curve(struct store *store, const char *name, const char *text)
{
	sqlite3_stmt *statement = begin(store, PUT_CURVE);

	bind_text(statement, 1, name);
	bind_text(statement, 2, text);
	run(store, statement);
}

void store_put_job(struct store *store, const char *id, const char *line, uint32_t owner, bool may_move,
		   double restart_s)
{
	sqlite3_stmt *statement = begin(store, PUT_JOB);

	bind_text(statement, 1, id);
	bind_text(statement, 2, line);
	sqlite3_bind_int64(statement, 3, owner);
	sqlite3_bind_int64(statement, 4, may_move);
	if (restart_s >= 0)
		bind_real(statement, 5, restart_s);
	run(store, statement);
}

static const char *machine_name(const struct live *live, int32_t machine)
{
	return machine < 0 ? NULL : live_cluster(live)->machines[machine].name;
}

void store_put_tasks(struct store *store, const struct live *live, const struct live_job *job, double offset_s)
{
	for (uint32_t t = 0; t < job->task_count; t++) {
		const struct live_task *task = &job->tasks[t];
		bool ended_root = t == job->root && task->state == LIVE_ENDED;
		sqlite3_stmt *statement;

		if (!task->dirty)
			continue;
		statement = begin(store, PUT_TASK);
		bind_text(statement, 1, job->id);
		sqlite3_bind_int64(statement, 2, t);
		bind_text(statement, 3, live_task_state_name(task->state));
		bind_text(statement, 4, machine_name(live, ended_root ? job->reference : task->machine));
		bind_text(statement, 5, machine_name(live, task->origin));
		sqlite3_bind_int64(statement, 6, task->attempts);
		sqlite3_bind_double(statement, 7, task->since_s + offset_s);
		bind_text(statement, 8, machine_name(live, task->came_from));
		bind_real(statement, 9, task->moved_s + offset_s);
		bind_real(statement, 10, task->started_s + offset_s);
		run(store, statement);
	}
}

void store_remove_job(struct store *store, const char *id)
{
	run_with_text(store, REMOVE_TASKS, id);
	run_with_text(store, REMOVE_JOB, id);
}

void store_put_decision(struct store *store, const struct live_decision *decision, double offset_s)
{
	sqlite3_stmt *statement = begin(store, PUT_DECISION);

	sqlite3_bind_int64(statement, 1, (sqlite3_int64)decision->sequence);
	sqlite3_bind_double(statement, 2, decision->at_s + offset_s);
	bind_text(statement, 3, live_decision_kind_name(decision->kind));
	bind_text(statement, 4, decision->job);
	bind_text(statement, 5, decision->task);
	bind_text(statement, 6, decision->from);
	bind_text(statement, 7, decision->to);
	bind_real(statement, 8, decision->rtt_us);
	bind_real(statement, 9, decision->performance);
	bind_real(statement, 10, decision->gain);
	bind_text(statement, 11, decision->is_root ? NULL : latency_origin_name(decision->origin));
	bind_real(statement, 12, decision->measured);
	run(store, statement);
}

void store_put_journal(struct store *store, double at_s, double checkpoint_origin_s, const char *lines)
{
	sqlite3_stmt *statement = begin(store, PUT_JOURNAL);

	sqlite3_bind_double(statement, 1, at_s);
	sqlite3_bind_int64(statement, 2, (sqlite3_int64)checkpoint_origin_s);
	bind_text(statement, 3, lines);
	run(store, statement);
}

void store_cut_journal(struct store *store, double before_s)
{
	sqlite3_stmt *statement = begin(store, CUT_JOURNAL);

	sqlite3_bind_double(statement, 1, before_s);
	run(store, statement);
}

void store_journal_range(struct store *store, double *origin_s, double *last_s)
{
	*origin_s = (double)pragma(store, "SELECT coalesce(max(checkpoint), 0) FROM journal");
	*last_s = (double)pragma(store, "SELECT coalesce(max(at), 0) + 1 FROM journal");
}

char *store_journal_page(struct store *store, uint64_t after, size_t bytes_most, uint64_t *next)
{
	sqlite3_stmt *statement = store->statements[JOURNAL_PAGE];
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	*next = after;
	if (!out)
		return NULL;
	sqlite3_bind_int64(statement, 1, (sqlite3_int64)after);
	while (ftell(out) < (long)bytes_most && sqlite3_step(statement) == SQLITE_ROW) {
		*next = (uint64_t)sqlite3_column_int64(statement, 0);
		fputs((const char *)sqlite3_column_text(statement, 1), out);
	}
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return fclose(out) == 0 ? text : NULL;
}

/* Copies the rows that can be read, from either end until one that cannot. Returns how many. */
static uint64_t salvage_table(struct store *into, sqlite3 *from, const char *table, enum statement put)
{
	uint64_t count = 0;

	for (int backwards = 0, code = SQLITE_ERROR; backwards < 2 && code != SQLITE_DONE; backwards++) {
		char *text = sqlite3_mprintf("SELECT * FROM %s ORDER BY 1 %s", table, backwards ? "DESC" : "ASC");
		sqlite3_stmt *rows = NULL;

		if (text && sqlite3_prepare_v2(from, text, -1, &rows, NULL) == SQLITE_OK)
			while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
				sqlite3_stmt *statement = begin(into, put);

				for (int c = 0; c < sqlite3_bind_parameter_count(statement); c++)
					sqlite3_bind_value(statement, c + 1, sqlite3_column_value(rows, c));
				run(into, statement);
				count++;
			}
		sqlite3_finalize(rows);
		sqlite3_free(text);
	}
	return count;
}

/* The state and what SQLite keeps beside it get other names. */
static int put_aside(const char *path, char aside[static 4096], struct error *err)
{
	static const char *const parts[] = {"", "-wal", "-shm"};

	snprintf(aside, 4096, "%s.damaged-%lld", path, (long long)(ns_now_wall().v / 1000000000));
	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
		char from[4200], to[4200];

		snprintf(from, sizeof from, "%s%s", path, parts[p]);
		snprintf(to, sizeof to, "%s%s", aside, parts[p]);
		if (rename(from, to) < 0 && (p == 0 || errno != ENOENT))
			return error_set(err, errno, "%s: %s", from, strerror(errno));
	}
	return 0;
}

int store_salvage(const char *path, struct store_salvaged *salvaged, struct error *err)
{
	struct store *into;
	sqlite3 *from = NULL;
	int code = put_aside(path, salvaged->aside, err);

	if (code < 0)
		return code;
	into = store_open(path, err);
	if (!into)
		return error_code(err, EIO);
	if (sqlite3_open_v2(salvaged->aside, &from, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
		salvaged->machines = salvage_table(into, from, "machines", PUT_MACHINE);
		salvaged->curves = salvage_table(into, from, "curves", PUT_CURVE);
		salvaged->jobs = salvage_table(into, from, "jobs", PUT_JOB);
		salvaged->tasks = salvage_table(into, from, "tasks", PUT_TASK);
		salvage_table(into, from, "decisions", PUT_DECISION);
	}
	sqlite3_close(from);
	code = store_commit(into, err);
	store_close(into);
	return code;
}

bool store_pending(const struct store *store)
{
	return store->pending;
}

int store_commit(struct store *store, struct error *err)
{
	int code = store->failed;

	if (!store->pending)
		return 0;
	store->pending = false;
	store->failed = SQLITE_OK;
	if (code == SQLITE_OK)
		code = sqlite3_exec(store->base, "COMMIT", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		return 0;
	error_set(err, errno_of(code), "the state cannot be written: %s", sqlite3_errstr(code));
	sqlite3_exec(store->base, "ROLLBACK", NULL, NULL, NULL);
	return error_code(err, EIO);
}

char *store_job_line(struct store *store, const char *id)
{
	sqlite3_stmt *statement = store->statements[JOB_LINE];
	char *line = NULL;

	bind_text(statement, 1, id);
	if (sqlite3_step(statement) == SQLITE_ROW)
		line = strdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return line;
}

static const char *text_at(sqlite3_stmt *statement, int column)
{
	return (const char *)sqlite3_column_text(statement, column);
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
		if (taken < 0)
			break;
	}
	sqlite3_finalize(statement);
	if (taken < 0)
		return taken;
	return code == SQLITE_DONE
		       ? 0
		       : error_set(err, errno_of(code), "the state cannot be read: %s", sqlite3_errstr(code));
}

struct loading {
	struct store *store;
	struct live *live;
	double offset_s, now_s;
	struct error *err;
	struct live_task *tasks; /* of the job that is read */
	uint32_t task_count, seen;
};

static int load_machine(sqlite3_stmt *row, void *context)
{
	struct loading *loading = context;
	int state = live_machine_state_find(text_at(row, 4));

	return live_machine_set(loading->live, text_at(row, 0), text_at(row, 1), text_at(row, 2),
				(uint32_t)sqlite3_column_int64(row, 3),
				state < 0 ? LIVE_DOWN : (enum live_machine_state)state, loading->err);
}

static int load_curve(sqlite3_stmt *row, void *context)
{
	struct loading *loading = context;
	struct curve *curve =
		curve_from_memory(text_at(row, 0), text_at(row, 1), strlen(text_at(row, 1)), loading->err);
	int code = curve ? live_curve_set(loading->live, text_at(row, 0), curve, loading->err)
			 : error_code(loading->err, EINVAL);

	curve_destroy(curve);
	return code;
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

/* A wall clock time on our clock; `fallback` where there is none. */
static double clock_at(const struct loading *loading, sqlite3_stmt *row, int column, double fallback)
{
	if (sqlite3_column_type(row, column) == SQLITE_NULL)
		return fallback;
	return fmin(sqlite3_column_double(row, column) - loading->offset_s, loading->now_s);
}

/* A task whose machine the cluster lacks waits again. */
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
				   .machine = find_machine(loading->live, text_at(row, 2)),
				   .origin = find_machine(loading->live, text_at(row, 3)),
				   .attempts = (uint32_t)sqlite3_column_int64(row, 4),
				   .since_s = clock_at(loading, row, 5, loading->now_s),
				   .came_from = find_machine(loading->live, text_at(row, 6)),
				   .moved_s = clock_at(loading, row, 7, -INFINITY),
				   .started_s = clock_at(loading, row, 8, loading->now_s)};
	holds = task->state == LIVE_DECIDED || task->state == LIVE_RUNNING || task->state == LIVE_MOVING;
	if (task->state == LIVE_MOVING && task->origin < 0)
		task->state = LIVE_RUNNING;
	if (holds &&
	    (task->machine < 0 || live_machine_state_of(loading->live, (uint32_t)task->machine) == LIVE_DOWN)) {
		task->state = LIVE_WAITING;
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
	struct file_lines *lines = file_lines_from_memory("state", line, strlen(line));
	struct jobs *jobs = lines ? jobs_parse(lines, loading->err) : NULL;
	int code = jobs && jobs->count == 1 ? load_tasks(loading, &jobs->items[0]) : -EINVAL;

	if (code == 0)
		code = live_restore(loading->live, &jobs->items[0], (uint32_t)sqlite3_column_int64(row, 2),
				    sqlite3_column_int(row, 3), loading->tasks, loading->now_s, loading->err);
	if (code == 0 && sqlite3_column_type(row, 4) != SQLITE_NULL)
		code = live_set_restart(loading->live, text_at(row, 0), sqlite3_column_double(row, 4), loading->err);
	free(loading->tasks);
	loading->tasks = NULL;
	jobs_destroy(jobs);
	file_lines_close(lines);
	return code;
}

int store_load(struct store *store, struct live *live, double offset_s, double now_s, struct error *err)
{
	struct loading loading = {.store = store, .live = live, .offset_s = offset_s, .now_s = now_s, .err = err};
	int code = each_row(store, "SELECT name, rack, pod, slots, state FROM machines", load_machine, &loading, err);

	if (code == 0)
		code = each_row(store, "SELECT name, text FROM curves", load_curve, &loading, err);
	if (code == 0)
		code = each_row(store, "SELECT id, line, owner, may_move, restart FROM jobs", load_job, &loading, err);
	live_number_decisions(live, (uint64_t)pragma(store, "SELECT coalesce(max(sequence), 0) FROM decisions"));
	return code;
}
