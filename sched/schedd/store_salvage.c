/* SPDX-License-Identifier: BSD-3-Clause */
/* Salvages the readable part of a damaged state. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <base/ns.h>

#include "store_priv.h"

/*
 * Copies the rows up to the first unreadable row. If there is one, also copies the rows after it, as far as they can be
 * read backwards from the end. Returns the number of rows copied.
 */
static uint64_t salvage_table(struct store *into, sqlite3 *from, const char *table, enum statement put)
{
	uint64_t count = 0;

	for (int backwards = 0, code = SQLITE_ERROR; backwards < 2 && code != SQLITE_DONE; backwards++) {
		char *text = sqlite3_mprintf("SELECT * FROM %s ORDER BY 1 %s", table, backwards ? "DESC" : "ASC");
		sqlite3_stmt *rows = NULL;

		if (text && sqlite3_prepare_v2(from, text, -1, &rows, NULL) == SQLITE_OK)
			while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
				sqlite3_stmt *statement = store_begin(into, put);

				for (int c = 0; c < sqlite3_bind_parameter_count(statement); c++)
					sqlite3_bind_value(statement, c + 1, sqlite3_column_value(rows, c));
				store_run(into, statement);
				count++;
			}
		sqlite3_finalize(rows);
		sqlite3_free(text);
	}
	return count;
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
		salvage_table(into, from, "default_rtt", PUT_DEFAULT_RTT);
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
