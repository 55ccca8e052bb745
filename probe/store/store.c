/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/store/store.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <database/database.h>

enum { VERSION = 1, APPLICATION_ID = 0x4e6f6d68 /* "Nomh" */, PATIENCE_MS = 5000 };

enum statement { FIND_HOST, FIND_RACK, ADD_HOST, ADD_RACK, PUT_PAIR, PUT_RACKS, READ_PAIR, READ_RACKS, STATEMENTS };

static const char *const texts[STATEMENTS] = {
	[FIND_HOST] = "SELECT id FROM hosts WHERE name = ?",
	[FIND_RACK] = "SELECT id FROM racks WHERE name = ?",
	[ADD_HOST] = "INSERT INTO hosts (name) VALUES (?)",
	[ADD_RACK] = "INSERT INTO racks (name) VALUES (?)",
	[PUT_PAIR] = "INSERT OR IGNORE INTO pairs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[PUT_RACKS] = "INSERT OR IGNORE INTO rack_pairs VALUES (?, ?, ?, ?, ?, ?, ?)",
	[READ_PAIR] = "SELECT at, p50, p99, max, samples, loss, state FROM pairs WHERE src = ? AND dst = ? AND at >= ? "
		      "ORDER BY at",
	[READ_RACKS] = "SELECT at, p50, p99, max, pairs, 0, 0 FROM rack_pairs WHERE src = ? AND dst = ? AND at >= ? "
		       "ORDER BY at",
};

/* Times are milliseconds since the epoch. Round trips are microseconds, NULL if there are no samples. */
static const char schema[] =
	"CREATE TABLE hosts (id INTEGER PRIMARY KEY, name TEXT UNIQUE);"
	"CREATE TABLE racks (id INTEGER PRIMARY KEY, name TEXT UNIQUE);"
	"CREATE TABLE pairs (src INTEGER, dst INTEGER, at INTEGER, p50 REAL, p99 REAL, max REAL, loss REAL,"
	" samples INTEGER, state INTEGER, PRIMARY KEY (src, dst, at)) WITHOUT ROWID;"
	"CREATE INDEX pairs_by_time ON pairs (at);"
	"CREATE TABLE rack_pairs (src INTEGER, dst INTEGER, at INTEGER, p50 REAL, p99 REAL, max REAL, pairs INTEGER,"
	" PRIMARY KEY (src, dst, at)) WITHOUT ROWID;"
	"CREATE INDEX rack_pairs_by_time ON rack_pairs (at);";

/* For each position of the live matrix: updated_at of the row that was last added to the history. */
struct seen {
	int64_t *updated_at;
	size_t count, capacity;
};

struct mesh_store {
	sqlite3 *base;
	sqlite3_stmt *statements[STATEMENTS];
	struct seen pairs, racks; /* racks: [from * racks + to], reset when the number of racks changes */
};

static int fail(struct mesh_store *store, int code, struct error *err)
{
	return error_set(err, database_errno(code), "%s",
			 store->base ? sqlite3_errmsg(store->base) : sqlite3_errstr(code));
}

static int make_schema(struct mesh_store *store)
{
	int64_t tables = 0;
	int code = sqlite3_exec(store->base, "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE", NULL, NULL, NULL);

	/* Another process may have created the schema meanwhile. */
	if (code == SQLITE_OK)
		code = database_integer(store->base, "SELECT count(*) FROM sqlite_schema", &tables);
	if (code != SQLITE_OK)
		return code;
	if (tables)
		return sqlite3_exec(store->base, "COMMIT", NULL, NULL, NULL);
	return database_change_schema(store->base, schema, VERSION, APPLICATION_ID);
}

static int prepare(struct mesh_store *store, bool writable, struct error *err)
{
	int64_t version = 0, application = 0, tables = 0;
	int code;

	sqlite3_busy_timeout(store->base, PATIENCE_MS);
	code = database_integer(store->base, "SELECT count(*) FROM sqlite_schema", &tables);
	if (code == SQLITE_OK && writable && !tables)
		code = make_schema(store);
	if (code == SQLITE_OK && writable)
		code = sqlite3_exec(store->base, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = database_integer(store->base, "PRAGMA application_id", &application);
	if (code == SQLITE_OK)
		code = database_integer(store->base, "PRAGMA user_version", &version);
	if (code != SQLITE_OK)
		return fail(store, code, err);
	if (application != APPLICATION_ID)
		return error_set(err, EINVAL, "expected the history of a mesh, found another SQLite file");
	if (version != VERSION)
		return error_set(err, EINVAL, "the history has version %lld; this program reads version %d",
				 (long long)version, VERSION);
	code = database_prepare(store->base, texts, STATEMENTS, store->statements);
	return code == SQLITE_OK ? 0 : fail(store, code, err);
}

struct mesh_store *mesh_store_open(const char *path, bool writable, struct error *err)
{
	struct mesh_store *store = calloc(1, sizeof *store);
	int flags = writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY, code;

	if (!store) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	code = database_open(path, flags, &store->base);
	if (code != SQLITE_OK)
		fail(store, code, err);
	if (code == SQLITE_OK && prepare(store, writable, err) == 0)
		return store;
	error_prefix(err, "%s", path);
	mesh_store_close(store);
	return NULL;
}

void mesh_store_close(struct mesh_store *store)
{
	if (!store)
		return;
	for (int s = 0; s < STATEMENTS; s++)
		sqlite3_finalize(store->statements[s]);
	free(store->pairs.updated_at);
	free(store->racks.updated_at);
	sqlite3_close(store->base);
	free(store);
}

static int64_t to_ms(struct ns time)
{
	return time.v / NS_PER_MS;
}

static void bind_real(sqlite3_stmt *statement, int at, double value)
{
	if (isfinite(value))
		sqlite3_bind_double(statement, at, value);
	else
		sqlite3_bind_null(statement, at);
}

/* Returns SQLite's code: SQLITE_ROW, SQLITE_DONE or an error. */
static int find_name(struct mesh_store *store, enum statement which, const char *name, int64_t *id)
{
	sqlite3_stmt *statement = store->statements[which];
	int code;

	sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		*id = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return code;
}

/*
 * If *id is 0, sets it to the id of the host or rack, which is added to the table if it is new. Returns SQLITE_OK or an
 * error.
 */
static int name_id(struct mesh_store *store, bool rack, const char *name, int64_t *id)
{
	int code;

	if (*id)
		return SQLITE_OK;
	code = find_name(store, rack ? FIND_RACK : FIND_HOST, name, id);
	if (code == SQLITE_DONE) {
		code = find_name(store, rack ? ADD_RACK : ADD_HOST, name, id);
		*id = sqlite3_last_insert_rowid(store->base);
	}
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static int put(sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	sqlite3_reset(statement);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int put_pair(struct mesh_store *store, const struct latency_entry *entry, const int64_t *ids)
{
	sqlite3_stmt *statement = store->statements[PUT_PAIR];

	sqlite3_bind_int64(statement, 1, ids[entry->source]);
	sqlite3_bind_int64(statement, 2, ids[entry->destination]);
	sqlite3_bind_int64(statement, 3, to_ms(entry->updated_at));
	bind_real(statement, 4, entry->rtt_p50_us);
	bind_real(statement, 5, entry->rtt_p99_us);
	bind_real(statement, 6, entry->rtt_max_us);
	bind_real(statement, 7, entry->loss);
	sqlite3_bind_int64(statement, 8, (int64_t)entry->samples);
	sqlite3_bind_int(statement, 9, entry->state);
	return put(statement);
}

/* Grows the list to `count` positions; new ones count as never updated. Returns SQLite's code. */
static int see(struct seen *seen, size_t count)
{
	int64_t *times = array_reserve(seen->updated_at, count + 1, &seen->capacity, sizeof *times);

	if (!times)
		return SQLITE_NOMEM;
	seen->updated_at = times;
	if (count > seen->count)
		memset(&times[seen->count], 0, (count - seen->count) * sizeof *times);
	seen->count = count;
	return SQLITE_OK;
}

static int put_pairs(struct mesh_store *store, const struct latency_matrix *live)
{
	size_t hosts = latency_matrix_hosts(live), count = latency_matrix_count(live);
	int64_t *ids = calloc(hosts + 1, sizeof *ids);
	int code = ids ? see(&store->pairs, count) : SQLITE_NOMEM;

	for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
		struct latency_entry entry;

		if (!latency_matrix_load(live, i, &entry) || entry.source >= hosts || entry.destination >= hosts)
			continue;
		if (entry.state == LATENCY_STATE_NEVER || entry.updated_at.v == store->pairs.updated_at[i])
			continue;
		store->pairs.updated_at[i] = entry.updated_at.v;
		code = name_id(store, false, latency_matrix_host(live, entry.source), &ids[entry.source]);
		if (code == SQLITE_OK)
			code = name_id(store, false, latency_matrix_host(live, entry.destination),
				       &ids[entry.destination]);
		if (code == SQLITE_OK)
			code = put_pair(store, &entry, ids);
	}
	free(ids);
	return code;
}

static int put_racks(struct mesh_store *store, const struct latency_matrix *live, struct ns now)
{
	sqlite3_stmt *statement = store->statements[PUT_RACKS];
	size_t racks = latency_live_racks(live);
	int64_t *ids = calloc(racks + 1, sizeof *ids);
	int code = ids ? SQLITE_OK : SQLITE_NOMEM;

	if (store->racks.count != racks * racks)
		store->racks.count = 0;
	if (code == SQLITE_OK)
		code = see(&store->racks, racks * racks);
	for (size_t i = 0; i < racks * racks && code == SQLITE_OK; i++) {
		uint32_t from = (uint32_t)(i / racks), to = (uint32_t)(i % racks);
		struct latency_maximum maximum;

		if (!latency_live_maximum(live, from, to, &maximum) ||
		    maximum.updated_at.v == store->racks.updated_at[i])
			continue;
		store->racks.updated_at[i] = maximum.updated_at.v;
		code = name_id(store, true, latency_live_rack_name(live, from), &ids[from]);
		if (code == SQLITE_OK)
			code = name_id(store, true, latency_live_rack_name(live, to), &ids[to]);
		if (code != SQLITE_OK)
			break;
		sqlite3_bind_int64(statement, 1, ids[from]);
		sqlite3_bind_int64(statement, 2, ids[to]);
		sqlite3_bind_int64(statement, 3, to_ms(now));
		bind_real(statement, 4, (double)maximum.rtt_p50_us);
		bind_real(statement, 5, (double)maximum.rtt_p99_us);
		bind_real(statement, 6, (double)maximum.rtt_max_us);
		sqlite3_bind_int64(statement, 7, (int64_t)maximum.pairs);
		code = put(statement);
	}
	free(ids);
	return code;
}

int mesh_store_take(struct mesh_store *store, const struct latency_matrix *live, struct ns now, struct error *err)
{
	int code = sqlite3_exec(store->base, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code = put_pairs(store, live);
	if (code == SQLITE_OK)
		code = put_racks(store, live, now);
	if (code == SQLITE_OK)
		code = sqlite3_exec(store->base, "COMMIT", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		return 0;
	code = fail(store, code, err);
	sqlite3_exec(store->base, "ROLLBACK", NULL, NULL, NULL);
	store->pairs.count = store->racks.count = 0; /* add all rows again next time; the database ignores duplicates */
	return code;
}

int mesh_store_forget(struct mesh_store *store, struct ns pairs_before, struct ns racks_before, struct error *err)
{
	char text[160];
	int code;

	sqlite3_snprintf(sizeof text, text, "DELETE FROM pairs WHERE at < %lld; DELETE FROM rack_pairs WHERE at < %lld",
			 (long long)to_ms(pairs_before), (long long)to_ms(racks_before));
	code = sqlite3_exec(store->base, text, NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : fail(store, code, err);
}

static double column_real(sqlite3_stmt *statement, int at)
{
	return sqlite3_column_type(statement, at) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(statement, at);
}

static int append(struct latency_series *series, sqlite3_stmt *row)
{
	struct latency_point *items = array_grow(series->items, series->count, &series->capacity, sizeof *items);

	if (!items)
		return SQLITE_NOMEM;
	series->items = items;
	items[series->count++] = (struct latency_point){
		.at = {sqlite3_column_int64(row, 0) * NS_PER_MS},
		.rtt_p50_us = column_real(row, 1),
		.rtt_p99_us = column_real(row, 2),
		.rtt_max_us = column_real(row, 3),
		.count = (uint64_t)sqlite3_column_int64(row, 4),
		.loss = sqlite3_column_double(row, 5),
		.state = (uint8_t)(sqlite3_column_int(row, 6) == LATENCY_STATE_UNREACHABLE ? LATENCY_STATE_UNREACHABLE
											   : LATENCY_STATE_MEASURED),
	};
	return SQLITE_OK;
}

int mesh_store_read(struct mesh_store *store, bool racks, const char *from, const char *to, struct ns since,
		    struct latency_series *series, struct error *err)
{
	sqlite3_stmt *statement = store->statements[racks ? READ_RACKS : READ_PAIR];
	const char *const names[] = {from, to};
	int code = SQLITE_ROW;

	for (int i = 0; i < 2 && code == SQLITE_ROW; i++) {
		int64_t id = 0;

		code = find_name(store, racks ? FIND_RACK : FIND_HOST, names[i], &id);
		if (code == SQLITE_DONE)
			return error_set(err, ENOENT, "the history has no %s '%s'", racks ? "rack" : "host", names[i]);
		sqlite3_bind_int64(statement, i + 1, id);
	}
	sqlite3_bind_int64(statement, 3, to_ms(since));
	while (code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW && append(series, statement) != SQLITE_OK)
			code = SQLITE_NOMEM;
	}
	if (code != SQLITE_DONE)
		code = fail(store, code, err);
	sqlite3_reset(statement);
	return code == SQLITE_DONE ? 0 : code;
}
