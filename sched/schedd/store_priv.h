/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store's fields. store.c writes the state, store_load.c reads it, store_history.c writes and reads the decisions
 * and the journal, store_salvage.c copies the readable part of a damaged state.
 */
#ifndef SCHED_SCHEDD_STORE_PRIV_H
#define SCHED_SCHEDD_STORE_PRIV_H

#include <database/database.h>

#include "store.h"

enum statement {
	PUT_MACHINE,
	REMOVE_MACHINE,
	PUT_DEFAULT_RTT,
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
	CUT_DECISIONS,
	DECISIONS_OF,
	STATEMENTS,
};

struct store {
	sqlite3 *base;
	sqlite3_stmt *statements[STATEMENTS];
	bool pending;
	int failed; /* SQLite's code of the first failed write in the transaction */
};

/* Begins a transaction if there is none, and returns the statement, to which the caller binds its values. */
sqlite3_stmt *store_begin(struct store *store, enum statement which);
/* Executes the statement, unless a write of this transaction has failed, and resets it. Sets `failed` on failure. */
void store_run(struct store *store, sqlite3_stmt *statement);
/* NULL: binds nothing. Sets `failed` if out of memory: otherwise the row would be written without the text. */
void store_bind_text(struct store *store, sqlite3_stmt *statement, int at, const char *text);
void store_bind_real(sqlite3_stmt *statement, int at, double value); /* not finite: binds nothing */
int store_add_functions(sqlite3 *base);                              /* adds row_sum(); SQLite's code */
/* Returns the first value of a query's first row; -1: there is none. */
int64_t store_pragma(struct store *store, const char *text);

#endif
