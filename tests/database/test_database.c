/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include <criterion/criterion.h>

#include <database/database.h>

static sqlite3 *base;

static void begin(void)
{
	cr_assert_eq(database_open(":memory:", SQLITE_OPEN_READWRITE, &base), SQLITE_OK);
}

static void end(void)
{
	cr_assert_eq(sqlite3_close(base), SQLITE_OK, "a statement is left");
}

TestSuite(database, .init = begin, .fini = end);

static int64_t integer(const char *query)
{
	int64_t value = -1;

	cr_expect_eq(database_integer(base, query, &value), SQLITE_OK);
	return value;
}

Test(database, an_integer_is_the_first_column_of_the_first_row)
{
	int64_t value = 7;

	cr_expect_eq(integer("SELECT 3, 4 UNION SELECT 5, 6"), 3);
	cr_expect_eq(integer("SELECT 3 WHERE 0"), -1, "no row");
	cr_expect_eq(database_integer(base, "SELECT missing", &value), SQLITE_ERROR);
	cr_expect_eq(value, 7);
}

Test(database, a_change_of_the_schema_is_committed_with_its_version)
{
	cr_assert_eq(sqlite3_exec(base, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	cr_expect_eq(database_change_schema(base, "CREATE TABLE t (x INTEGER)", 3, 0x1234), SQLITE_OK);
	cr_expect(sqlite3_get_autocommit(base), "the transaction is open");
	cr_expect_eq(integer("PRAGMA user_version"), 3);
	cr_expect_eq(integer("PRAGMA application_id"), 0x1234);
	cr_expect_eq(integer("SELECT count(*) FROM t"), 0);
}

Test(database, a_failed_change_of_the_schema_leaves_the_version)
{
	cr_assert_eq(sqlite3_exec(base, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	cr_expect_eq(database_change_schema(base, "CREATE TABLE", 3, 0x1234), SQLITE_ERROR);
	cr_expect_eq(integer("PRAGMA user_version"), 0);
}

Test(database, statements_are_prepared_up_to_the_first_bad_one)
{
	static const char *const texts[] = {"SELECT 1", "SELECT missing", "SELECT 3"};
	sqlite3_stmt *statements[3] = {NULL, NULL, NULL};

	cr_expect_eq(database_prepare(base, texts, 3, statements), SQLITE_ERROR);
	cr_expect_not_null(statements[0]);
	cr_expect_null(statements[1]);
	cr_expect_null(statements[2]);
	sqlite3_finalize(statements[0]);
}

Test(database, codes_of_sqlite_are_errnos_extended_ones_too)
{
	static const struct {
		int code, expected;
	} cases[] = {
		{SQLITE_BUSY, EBUSY},      {SQLITE_LOCKED, EBUSY},   {SQLITE_FULL, ENOSPC},
		{SQLITE_NOMEM, ENOMEM},    {SQLITE_CORRUPT, EINVAL}, {SQLITE_NOTADB, EINVAL},
		{SQLITE_CANTOPEN, ENOENT}, {SQLITE_IOERR, EIO},      {SQLITE_BUSY_SNAPSHOT, EBUSY},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_expect_eq(database_errno(cases[i].code), cases[i].expected, "code %d", cases[i].code);
}

static void touch(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count, (void)values;
	*(int *)sqlite3_user_data(context) += 1;
}

Test(database, a_schema_calls_no_function_of_the_program)
{
	int calls = 0;

	cr_assert_eq(sqlite3_create_function(base, "touch", 0, SQLITE_UTF8, &calls, touch, NULL, NULL), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(base, "CREATE VIEW trap AS SELECT touch()", NULL, NULL, NULL), SQLITE_OK);
	cr_expect_neq(sqlite3_exec(base, "SELECT * FROM trap", NULL, NULL, NULL), SQLITE_OK);
	cr_expect_eq(calls, 0);
}

Test(database, the_schema_table_cannot_be_written)
{
	cr_expect_neq(sqlite3_exec(base, "CREATE TABLE t (x); PRAGMA writable_schema = ON; DELETE FROM sqlite_schema",
				   NULL, NULL, NULL),
		      SQLITE_OK);
}
