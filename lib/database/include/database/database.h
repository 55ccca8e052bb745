/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every SQLite file of the project has: a version of its schema, an application's number, statements prepared
 * once. `int` functions return SQLite's code unless said otherwise. The caller opens and closes the connection, and
 * uses it in one thread at a time.
 */
#ifndef DATABASE_DATABASE_H
#define DATABASE_DATABASE_H

#include <stdint.h>

#include <sqlite3.h>

/* The positive errno of SQLite's code. */
int database_errno(int code);

/* *value gets the first column of the first row; it stays as it is without a row. */
int database_integer(sqlite3 *base, const char *query, int64_t *value);

/* Within a transaction, which it commits: changes the schema, and notes its version and the application's number. */
int database_change_schema(sqlite3 *base, const char *change, int version, int application_id);

/* Fills statements[count], to be finalized by the caller also after a failure; those not prepared stay as they are. */
int database_prepare(sqlite3 *base, const char *const *texts, int count, sqlite3_stmt **statements);

#endif
