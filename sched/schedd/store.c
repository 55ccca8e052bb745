/* SPDX-License-Identifier: BSD-3-Clause */
#include "store_priv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/hash.h>

enum { VERSION = 2, APPLICATION_ID = 0x4e6f6d72 }; /* "Nomr" */

static const char *const texts[STATEMENTS] = {
	[PUT_MACHINE] = "INSERT OR REPLACE INTO machines VALUES (?1, ?2, ?3, ?4, ?5, row_sum(?1, ?2, ?3, ?4, ?5))",
	[REMOVE_MACHINE] = "DELETE FROM machines WHERE name = ?",
	[PUT_DEFAULT_RTT] =
		"INSERT OR REPLACE INTO default_rtt VALUES (?1, ?2, ?3, ?4, ?5, row_sum(?1, ?2, ?3, ?4, ?5))",
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
	/* Deletes the lines before the last checkpoint that is older than the given time. */
	[CUT_JOURNAL] =
		"DELETE FROM journal WHERE number < (SELECT max(number) FROM journal WHERE checkpoint AND at < ?)",
	/* Keeps the last decision, because the number of the next decision follows from it. */
	[CUT_DECISIONS] = "DELETE FROM decisions WHERE at < ? AND sequence < (SELECT max(sequence) FROM decisions)",
	[DECISIONS_OF] =
		"SELECT sequence, at, kind, from_machine, to_machine, rtt_us, performance, gain, origin, measured "
		"FROM decisions WHERE job = ? AND task = ? ORDER BY sequence DESC LIMIT ?",
	[JOURNAL_PAGE] = "SELECT number, lines FROM journal WHERE number > ?1 AND (NOT checkpoint OR number = (SELECT "
			 "min(number) FROM journal)) ORDER BY number",
};

#define JOURNAL_TABLE                                                                                                  \
	"CREATE TABLE journal (number INTEGER PRIMARY KEY, at REAL, checkpoint INTEGER, lines TEXT);"                  \
	"CREATE INDEX decisions_of_tasks ON decisions (job, task);"

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

/* The table has one row, with id 1. */
static const char default_rtt_table[] =
	"CREATE TABLE IF NOT EXISTS default_rtt (id INTEGER PRIMARY KEY, same_machine REAL, same_rack REAL, "
	"same_pod REAL, other_pod REAL, sum INTEGER)";

/* upgrades[v] converts a state of version v to version v + 1. */
static const char *const upgrades[VERSION] = {
	[1] = "ALTER TABLE decisions ADD COLUMN origin TEXT; ALTER TABLE decisions ADD COLUMN measured REAL;"
	      "ALTER TABLE machines ADD COLUMN sum INTEGER; ALTER TABLE curves ADD COLUMN sum INTEGER;"
	      "ALTER TABLE jobs ADD COLUMN restart REAL; ALTER TABLE tasks ADD COLUMN came_from TEXT;"
	      "ALTER TABLE tasks ADD COLUMN moved REAL; ALTER TABLE tasks ADD COLUMN started REAL;"
	      "ALTER TABLE jobs ADD COLUMN sum INTEGER; ALTER TABLE tasks ADD COLUMN sum INTEGER;" JOURNAL_TABLE,
};

/* Counts the rows with a wrong checksum, which another program has changed. Rows of version 1 have no checksum. */
static const char damaged_rows[] =
	"SELECT (SELECT count(*) FROM machines WHERE sum IS NOT row_sum(name, rack, pod, slots, state) AND sum "
	"NOTNULL) + "
	"(SELECT count(*) FROM default_rtt WHERE sum IS NOT row_sum(id, same_machine, same_rack, same_pod, other_pod)) "
	"+ "
	"(SELECT count(*) FROM curves WHERE sum IS NOT row_sum(name, text) AND sum NOTNULL) + "
	"(SELECT count(*) FROM jobs WHERE sum IS NOT row_sum(id, line, owner, may_move, restart) AND sum NOTNULL) + "
	"(SELECT count(*) FROM tasks WHERE sum IS NOT row_sum(job, task, state, machine, origin, attempts, since, "
	"came_from, moved, started) AND sum NOTNULL)";

static int fail(struct store *store, const char *path, int code, struct error *err)
{
	if ((code & 0xff) == SQLITE_BUSY)
		return error_set(err, EBUSY,
				 "%s: another process has this state file open; stop it, or choose another --state",
				 path);
	if ((code & 0xff) == SQLITE_CORRUPT)
		return error_set(err, EINVAL,
				 "%s: the state is damaged; restore it from a backup, or start with --salvage, which "
				 "renames the file and recovers its readable part",
				 path);
	return error_set(err, database_errno(code), "%s: %s", path,
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

int store_add_functions(sqlite3 *base)
{
	return sqlite3_create_function(base, "row_sum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, row_sum, NULL,
				       NULL);
}

int64_t store_pragma(struct store *store, const char *text)
{
	int64_t value = -1;

	database_integer(store->base, text, &value);
	return value;
}

static int change_schema(struct store *store, const char *change)
{
	int code = sqlite3_exec(store->base, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	return code == SQLITE_OK ? database_change_schema(store->base, change, VERSION, APPLICATION_ID) : code;
}

/* Checks SQLite's structures and the checksums of our rows. */
static bool is_whole(struct store *store)
{
	sqlite3_stmt *statement = NULL;
	bool whole = false;

	if (sqlite3_prepare_v2(store->base, "PRAGMA quick_check(1)", -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		whole = strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
	sqlite3_finalize(statement);
	return whole && store_pragma(store, damaged_rows) == 0;
}

static int prepare(struct store *store, const char *path, struct error *err)
{
	/*
	 * In this locking mode, the first read takes an exclusive lock on the file, which is kept until the file is
	 * closed.
	 */
	int code = sqlite3_exec(store->base,
				"PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
				NULL, NULL, NULL);
	int64_t version;

	if (code != SQLITE_OK)
		return fail(store, path, code, err);
	if (store_pragma(store, "PRAGMA user_version") == 0 &&
	    store_pragma(store, "SELECT count(*) FROM sqlite_schema") == 0) {
		code = change_schema(store, schema);
		if (code != SQLITE_OK)
			return fail(store, path, code, err);
	}
	if (store_pragma(store, "PRAGMA application_id") != APPLICATION_ID)
		return error_set(err, EINVAL, "%s: not a state of nomora schedd", path);
	version = store_pragma(store, "PRAGMA user_version");
	if (version == VERSION - 1)
		code = change_schema(store, upgrades[version]);
	if (code != SQLITE_OK)
		return fail(store, path, code, err);
	if (version != VERSION && version != VERSION - 1)
		return error_set(err, EINVAL,
				 "%s: the state has version %lld; this program reads version %d. Use the nomora that "
				 "wrote it, or a new --state file",
				 path, (long long)version, VERSION);
	code = sqlite3_exec(store->base, default_rtt_table, NULL, NULL, NULL);
	if (code != SQLITE_OK)
		return fail(store, path, code, err);
	if (!is_whole(store))
		return error_set(err, EINVAL,
				 "%s: the state is damaged; restore it from a backup, or start with --salvage, which "
				 "renames the file and recovers its readable part",
				 path);
	code = database_prepare(store->base, texts, STATEMENTS, store->statements);
	return code == SQLITE_OK ? 0 : fail(store, path, code, err);
}

static struct store *open_with(const char *path, int flags, struct error *err)
{
	struct store *store = calloc(1, sizeof *store);
	int code;

	if (!store) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	code = database_open(path, SQLITE_OPEN_READWRITE | flags, &store->base);
	if (code == SQLITE_OK)
		code = store_add_functions(store->base);
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

sqlite3_stmt *store_begin(struct store *store, enum statement which)
{
	if (!store->pending) {
		store->pending = true;
		store->failed = sqlite3_exec(store->base, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	}
	return store->statements[which];
}

void store_run(struct store *store, sqlite3_stmt *statement)
{
	int code = store->failed == SQLITE_OK ? sqlite3_step(statement) : SQLITE_DONE;

	if (code != SQLITE_DONE)
		store->failed = code;
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
}

void store_bind_text(struct store *store, sqlite3_stmt *statement, int at, const char *text)
{
	int code = text ? sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT) : SQLITE_OK;

	if (code != SQLITE_OK && store->failed == SQLITE_OK)
		store->failed = code;
}

void store_bind_real(sqlite3_stmt *statement, int at, double value)
{
	if (isfinite(value))
		sqlite3_bind_double(statement, at, value);
}

void store_put_machine(struct store *store, const char *name, const char *rack, const char *pod, uint32_t slots,
		       const char *state)
{
	sqlite3_stmt *statement = store_begin(store, PUT_MACHINE);

	store_bind_text(store, statement, 1, name);
	store_bind_text(store, statement, 2, rack);
	store_bind_text(store, statement, 3, pod);
	sqlite3_bind_int64(statement, 4, slots);
	store_bind_text(store, statement, 5, state);
	store_run(store, statement);
}

static void run_with_text(struct store *store, enum statement which, const char *text)
{
	sqlite3_stmt *statement = store_begin(store, which);

	store_bind_text(store, statement, 1, text);
	store_run(store, statement);
}

void store_remove_machine(struct store *store, const char *name)
{
	run_with_text(store, REMOVE_MACHINE, name);
}

void store_put_curve(struct store *store, const char *name, const char *text)
{
	sqlite3_stmt *statement = store_begin(store, PUT_CURVE);

	store_bind_text(store, statement, 1, name);
	store_bind_text(store, statement, 2, text);
	store_run(store, statement);
}

void store_put_default_rtt(struct store *store, const struct cluster_default_rtt *rtt)
{
	const double values[] = {rtt->same_machine_us, rtt->same_rack_us, rtt->same_pod_us, rtt->other_pod_us};
	sqlite3_stmt *statement = store_begin(store, PUT_DEFAULT_RTT);

	sqlite3_bind_int(statement, 1, 1);
	for (int v = 0; v < 4; v++)
		store_bind_real(statement, 2 + v, values[v]);
	store_run(store, statement);
}

void store_put_job(struct store *store, const char *id, const char *line, uint32_t owner, bool may_move,
		   double restart_s)
{
	sqlite3_stmt *statement = store_begin(store, PUT_JOB);

	store_bind_text(store, statement, 1, id);
	store_bind_text(store, statement, 2, line);
	sqlite3_bind_int64(statement, 3, owner);
	sqlite3_bind_int64(statement, 4, may_move);
	if (restart_s >= 0)
		store_bind_real(statement, 5, restart_s);
	store_run(store, statement);
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
		statement = store_begin(store, PUT_TASK);
		store_bind_text(store, statement, 1, job->id);
		sqlite3_bind_int64(statement, 2, t);
		store_bind_text(store, statement, 3, live_task_state_name(task->state));
		store_bind_text(store, statement, 4, machine_name(live, ended_root ? job->reference : task->machine));
		store_bind_text(store, statement, 5,
				machine_name(live, task->state == LIVE_WAITING ? task->lost_on : task->origin));
		sqlite3_bind_int64(statement, 6, task->attempts);
		sqlite3_bind_double(statement, 7, task->since_s + offset_s);
		store_bind_text(store, statement, 8, machine_name(live, task->came_from));
		store_bind_real(statement, 9, task->moved_s + offset_s);
		store_bind_real(statement, 10, task->started_s + offset_s);
		store_run(store, statement);
	}
}

void store_remove_job(struct store *store, const char *id)
{
	run_with_text(store, REMOVE_TASKS, id);
	run_with_text(store, REMOVE_JOB, id);
}

void store_give_up(struct store *store)
{
	store->pending = true;
	store->failed = SQLITE_NOMEM;
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
	error_set(err, database_errno(code), "the state cannot be written: %s", sqlite3_errstr(code));
	sqlite3_exec(store->base, "ROLLBACK", NULL, NULL, NULL);
	return error_code(err, EIO);
}

char *store_job_line(struct store *store, const char *id)
{
	sqlite3_stmt *statement = store->statements[JOB_LINE];
	const char *text;
	char *line = NULL;

	store_bind_text(store, statement, 1, id);
	if (sqlite3_step(statement) == SQLITE_ROW && (text = (const char *)sqlite3_column_text(statement, 0)) != NULL)
		line = strdup(text);
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return line;
}
