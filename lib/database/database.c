/* SPDX-License-Identifier: BSD-3-Clause */
#include <database/database.h>

#include <errno.h>
#include <stddef.h>

int database_open(const char *path, int flags, sqlite3 **base)
{
	int code = sqlite3_open_v2(path, base, flags | SQLITE_OPEN_NOMUTEX, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_db_config(*base, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_db_config(*base, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	return code;
}

int database_errno(int code)
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

int database_integer(sqlite3 *base, const char *query, int64_t *value)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(base, query, -1, &statement, NULL);

	if (code == SQLITE_OK) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW)
			*value = sqlite3_column_int64(statement, 0);
	}
	sqlite3_finalize(statement);
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int database_change_schema(sqlite3 *base, const char *change, int version, int application_id)
{
	char text[128];
	int code = sqlite3_exec(base, change, NULL, NULL, NULL);

	sqlite3_snprintf(sizeof text, text, "PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT", version,
			 application_id);
	return code == SQLITE_OK ? sqlite3_exec(base, text, NULL, NULL, NULL) : code;
}

int database_prepare(sqlite3 *base, const char *const *texts, int count, sqlite3_stmt **statements)
{
	int code = SQLITE_OK;

	for (int s = 0; s < count && code == SQLITE_OK; s++)
		code = sqlite3_prepare_v2(base, texts[s], -1, &statements[s], NULL);
	return code;
}
