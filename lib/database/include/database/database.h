/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions for the SQLite files of the project: each has a schema version and an application number, and its
 * statements are prepared once. `int` functions return SQLite's code unless said otherwise. The caller closes the
 * connection, and uses it in one thread at a time.
 */
#ifndef DATABASE_DATABASE_H
#define DATABASE_DATABASE_H

#include <stdint.h>

#include <sqlite3.h>

/*
 * Opens a file with SQLITE_OPEN_ flags. The file may come from anybody: its schema can call no function that has side
 * effects, and no statement can write what SQLite keeps for itself. *base must be closed also after a failure.
 */
int database_open(const char *path, int flags, sqlite3 **base);

/* Converts SQLite's code to an errno value (> 0). */
int database_errno(int code);

/* Runs a query. *value gets the first column of the first row, and is unchanged if there is no row. */
int database_integer(sqlite3 *base, const char *query, int64_t *value);

/*
 * Changes the schema, stores its version and the application number, and commits the transaction, which the caller has
 * begun.
 */
int database_change_schema(sqlite3 *base, const char *change, int version, int application_id);

/*
 * Prepares texts[i] as statements[i] for each i below count. Stops at the first bad text. The caller finalizes all
 * statements, also after a failure, so all of them must be NULL before the call.
 */
int database_prepare(sqlite3 *base, const char *const *texts, int count, sqlite3_stmt **statements);

#endif
