/* SPDX-License-Identifier: BSD-3-Clause */
/* Salvages the readable part of a damaged state. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <base/log.h>
#include <base/ns.h>

#include "store_priv.h"

/* A table whose rows are copied if their checksum is right, or if they have none, as those of version 1. */
struct salvaged_table {
	const char *name;
	enum statement put;
	const char *key;
	const char *columns; /* NULL: the rows have no checksum */
};

enum { MACHINES, DEFAULT_RTT, CURVES, JOBS, TASKS, DECISIONS, TABLES };

static const struct salvaged_table tables[TABLES] = {
	[MACHINES] = {"machines", PUT_MACHINE, "name", "name, rack, pod, slots, state"},
	[DEFAULT_RTT] = {"default_rtt", PUT_DEFAULT_RTT, "id", "id, same_machine, same_rack, same_pod, other_pod"},
	[CURVES] = {"curves", PUT_CURVE, "name", "name, text"},
	[JOBS] = {"jobs", PUT_JOB, "id", "id, line, owner, may_move, restart"},
	[TASKS] = {"tasks", PUT_TASK, "job || '/t' || task",
		   "job, task, state, machine, origin, attempts, since, came_from, moved, started"},
	[DECISIONS] = {"decisions", PUT_DECISION, "sequence", NULL},
};

struct salvage {
	struct store *into;
	sqlite3 *from;
	bool has_sums; /* the damaged state has checksums: it is not of version 1 */
	struct store_salvaged *salvaged;
};

static void take_row(const struct salvage *salvage, sqlite3_stmt *row, const struct salvaged_table *table,
		     uint64_t *count)
{
	sqlite3_stmt *put;

	if (!sqlite3_column_int(row, 0)) {
		const char *key = (const char *)sqlite3_column_text(row, 1);

		log_warning("left out row '%s' of %s: its checksum is wrong", key ? key : "", table->name);
		salvage->salvaged->dropped++;
		return;
	}
	put = store_begin(salvage->into, table->put);
	for (int c = 0; c < sqlite3_bind_parameter_count(put); c++)
		sqlite3_bind_value(put, c + 1, sqlite3_column_value(row, c + 2));
	store_run(salvage->into, put);
	(*count)++;
}

/*
 * Copies the rows up to the first unreadable row. If there is one, also copies the rows after it, as far as they can be
 * read backwards from the end. Returns the number of rows copied.
 */
static uint64_t salvage_table(const struct salvage *salvage, const struct salvaged_table *table)
{
	uint64_t count = 0;

	for (int backwards = 0, code = SQLITE_ERROR; backwards < 2 && code != SQLITE_DONE; backwards++) {
		bool sums = salvage->has_sums && table->columns;
		char *text = sqlite3_mprintf("SELECT %s%s%s, %s, * FROM %s ORDER BY 3 %s",
					     sums ? "sum ISNULL OR sum IS row_sum(" : "1", sums ? table->columns : "",
					     sums ? ")" : "", table->key, table->name, backwards ? "DESC" : "ASC");
		sqlite3_stmt *rows = NULL;

		if (text && sqlite3_prepare_v2(salvage->from, text, -1, &rows, NULL) == SQLITE_OK)
			while ((code = sqlite3_step(rows)) == SQLITE_ROW)
				take_row(salvage, rows, table, &count);
		sqlite3_finalize(rows);
		sqlite3_free(text);
	}
	return count;
}

/*
 * Loads the copied state and removes the rows that cannot be loaded, such as the jobs of a curve that was left out.
 */
static int check_load(const struct salvage *salvage, struct error *err)
{
	struct live_settings settings;
	struct live *live;
	int code;

	live_settings_default(&settings);
	live = live_create(&settings, err);
	if (!live)
		return error_code(err, ENOMEM);
	code = store_load_readable(salvage->into, live, &salvage->salvaged->dropped, err);
	live_destroy(live);
	return code;
}

/* Renames the state's file and the files that SQLite keeps beside it. */
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

/* Gives the damaged state its old name again, in place of the new one. */
static void put_back(const char *path, const char *aside)
{
	static const char *const parts[] = {"", "-wal", "-shm"};

	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
		char from[4200], to[4200];

		snprintf(from, sizeof from, "%s%s", aside, parts[p]);
		snprintf(to, sizeof to, "%s%s", path, parts[p]);
		unlink(to);
		rename(from, to);
	}
}

static int copy_tables(struct salvage *salvage, struct error *err)
{
	struct store_salvaged *salvaged = salvage->salvaged;
	uint64_t counts[TABLES];
	int64_t version = -1;
	int code;

	if (database_open(salvaged->aside, SQLITE_OPEN_READWRITE, &salvage->from) != SQLITE_OK ||
	    store_add_functions(salvage->from) != SQLITE_OK)
		return error_set(err, EIO, "%s: %s", salvaged->aside, sqlite3_errmsg(salvage->from));
	database_integer(salvage->from, "PRAGMA user_version", &version);
	salvage->has_sums = version != 1;
	for (int t = 0; t < TABLES; t++)
		counts[t] = salvage_table(salvage, &tables[t]);
	salvaged->machines = counts[MACHINES];
	salvaged->curves = counts[CURVES];
	salvaged->jobs = counts[JOBS];
	salvaged->tasks = counts[TASKS];
	if (salvaged->machines + salvaged->jobs == 0)
		return error_set(err, EINVAL,
				 "nothing can be recovered from the damaged state; restore it from a backup, or use a "
				 "new --state file");
	code = check_load(salvage, err);
	return code == 0 ? store_commit(salvage->into, err) : code;
}

int store_salvage(const char *path, struct store_salvaged *salvaged, struct error *err)
{
	struct salvage salvage = {.salvaged = salvaged};
	int code = put_aside(path, salvaged->aside, err);

	if (code < 0)
		return code;
	salvage.into = store_open(path, err);
	code = salvage.into ? copy_tables(&salvage, err) : error_code(err, EIO);
	sqlite3_close(salvage.from);
	store_close(salvage.into);
	if (code < 0)
		put_back(path, salvaged->aside);
	return code;
}
