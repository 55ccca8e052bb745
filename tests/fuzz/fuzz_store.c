/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedd's SQLite state: rows of any types and values with right checksums, or a file with changed bytes. It is loaded
 * or refused with a reason; what is loaded is consistent, and what a damaged file still has can be salvaged.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <base/log.h>

#include "fuzz_events.h"
#include "store_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_BYTES = 1 << 18 };

static struct {
	char folder[64], path[96];
	uint8_t whole[FILE_BYTES];
	size_t bytes;
	struct events events;
} world = {.folder = "/dev/shm/nomora-fuzz-store.XXXXXX"};

static const char *const tables[][2] = {
	{"machines (name, rack, pod, slots, state, sum)", "?1, ?2, ?3, ?4, ?5, row_sum(?1, ?2, ?3, ?4, ?5)"},
	{"curves (name, text, sum)", "?1, ?2, row_sum(?1, ?2)"},
	{"jobs (id, line, owner, may_move, restart, sum)", "?1, ?2, ?3, ?4, ?5, row_sum(?1, ?2, ?3, ?4, ?5)"},
	{"tasks (job, task, state, machine, origin, attempts, since, came_from, moved, started, sum)",
	 "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, row_sum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"},
	{"decisions", "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?3, ?2"},
	{"journal", "?1, ?2, ?3, ?4"},
	{"default_rtt", "1, ?2, ?3, ?4, ?5, row_sum(1, ?2, ?3, ?4, ?5)"},
};

static void remove_all(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", world.folder);
	if (system(command) != 0)
		perror(command);
}

static void fill(struct store *store)
{
	static const double flat[] = {1, 1};
	struct error err = {0};
	struct curve *curve = curve_from_table("flat", flat, 2, &err);
	char *text = curve_to_text(curve, &err);

	store_put_machine(store, "m1", "r1", "p1", 4, "up");
	store_put_machine(store, "m2", "r1", "p1", 4, "draining");
	store_put_curve(store, "flat", text);
	store_put_job(store, "j1", "{\"id\": \"j1\", \"curve\": \"flat\", \"root\": 0, \"tasks\": 3}", 1000, true, 5);
	store_put_job(store, "j2", "{\"id\": \"j2\", \"curve\": \"flat\", \"root\": 1, \"tasks\": 2}", 0, false, -1);
	store_put_journal(store, 5, 1, "{}\n");
	law(store_commit(store, &err) == 0);
	free(text);
	curve_destroy(curve);
}

static void make(void)
{
	struct error err = {0};
	struct store *store;
	int fd;

	log_set_sink(NULL);
	law(mkdtemp(world.folder));
	atexit(remove_all);
	snprintf(world.path, sizeof world.path, "%s/state", world.folder);
	store = store_open(world.path, &err);
	law(store);
	fill(store);
	store_close(store);
	fd = open(world.path, O_RDONLY);
	world.bytes = (size_t)read(fd, world.whole, FILE_BYTES);
	close(fd);
	law(world.bytes > 4096 && world.bytes < FILE_BYTES);
}

/* Writes the state again, with as many changed bytes as the input says. */
static void write_file(uint32_t changes)
{
	static uint8_t bytes[FILE_BYTES];
	char command[192];
	int fd;

	snprintf(command, sizeof command, "%s-wal", world.path);
	unlink(command);
	memcpy(bytes, world.whole, world.bytes);
	while (changes-- > 0) {
		size_t at = ((size_t)events_byte(&world.events) << 8 | events_byte(&world.events)) * 4 % world.bytes;

		bytes[at + (events_byte(&world.events) & 3)] ^= events_byte(&world.events);
	}
	fd = open(world.path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	law(write(fd, bytes, world.bytes) == (ssize_t)world.bytes);
	close(fd);
}

static void bind_any(sqlite3_stmt *statement, int at)
{
	static const char *const words[] = {"m1",
					    "m2",
					    "j1",
					    "j2",
					    "flat",
					    "up",
					    "down",
					    "waiting",
					    "decided",
					    "running",
					    "moving",
					    "finished",
					    "{\"id\": \"j3\", \"curve\": \"flat\", \"root\": 0, \"tasks\": 3}",
					    "",
					    "r1",
					    "\xff"};
	uint8_t kind = events_byte(&world.events);
	const uint8_t *bytes;
	size_t count;

	switch (kind & 7) {
	case 0:
	case 1:
	case 2:
	case 3:
		sqlite3_bind_text(statement, at, words[kind >> 4], -1, SQLITE_STATIC);
		break;
	case 4:
		sqlite3_bind_int64(statement, at, (int8_t)(kind & 0xf0) / 16);
		break;
	case 5:
		sqlite3_bind_double(statement, at, (kind & 0xf0) == 0xf0 ? 1e300 : kind / 16 * 1e6);
		break;
	case 6:
		sqlite3_bind_int64(statement, at, INT64_MIN >> (kind >> 4));
		break;
	case 7:
		bytes = events_bytes(&world.events, kind >> 3, &count);
		sqlite3_bind_text(statement, at, (const char *)bytes, (int)count, SQLITE_STATIC);
		break;
	}
}

static void add_rows(uint32_t rows)
{
	sqlite3 *base = NULL;

	law(database_open(world.path, SQLITE_OPEN_READWRITE, &base) == SQLITE_OK &&
	    store_add_functions(base) == SQLITE_OK);
	sqlite3_exec(base, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN", NULL, NULL, NULL);
	while (rows-- > 0) {
		const char *const *table = tables[events_below(&world.events, 7)];
		char *text = sqlite3_mprintf("INSERT OR REPLACE INTO %s VALUES (%s)", table[0], table[1]);
		sqlite3_stmt *statement = NULL;

		law(sqlite3_prepare_v2(base, text, -1, &statement, NULL) == SQLITE_OK);
		for (int at = 1; at <= sqlite3_bind_parameter_count(statement); at++)
			bind_any(statement, at);
		sqlite3_step(statement);
		sqlite3_finalize(statement);
		sqlite3_free(text);
	}
	law(sqlite3_exec(base, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(base);
}

static void check_live(const struct live *live)
{
	uint32_t count, machines = live_cluster(live)->machine_count;
	struct live_job *const *jobs = live_jobs(live, &count);

	for (uint32_t j = 0; j < count; j++)
		for (uint32_t t = 0; t < jobs[j]->task_count; t++) {
			const struct live_task *task = &jobs[j]->tasks[t];
			bool holds = task->state == LIVE_DECIDED || task->state == LIVE_RUNNING ||
				     task->state == LIVE_MOVING;

			law(task->machine < (int64_t)machines && task->origin < (int64_t)machines);
			law(!holds || task->machine >= 0);
		}
}

static void read_history(struct store *store)
{
	double origin_s, last_s;
	uint64_t after = 0, next = 0;

	store_journal_range(store, &origin_s, &last_s);
	for (int page = 0; page < 8; page++, after = next) {
		char *text = store_journal_page(store, after, 100, &next);

		law(text);
		free(text);
		if (next == after)
			break;
	}
	store_cut_journal(store, 100);
}

/* Returns true if the state was loaded. */
static bool load(bool readable)
{
	struct live_settings settings;
	struct cluster_default_rtt rtt = {0};
	struct error err = {0};
	struct store *store = store_open_old(world.path, &err);
	struct live *live;
	uint64_t dropped = 0;
	int code = -1;

	live_settings_default(&settings);
	live = live_create(&settings, &err);
	law(store || err.text[0]);
	if (store) {
		(void)store_load_default_rtt(store, &rtt, &err);
		err = (struct error){0};
		code = readable ? store_load_readable(store, live, &dropped, &err)
				: store_load(store, live, 0, 1e6, &err);
		law(code == 0 || err.text[0]);
		check_live(live);
		read_history(store);
		(void)store_commit(store, &err);
	}
	store_close(store);
	live_destroy(live);
	return code == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_salvaged salvaged;
	struct error err = {0};
	uint8_t kind;

	world.events = (struct events){data, size};
	if (!world.bytes)
		make();
	kind = events_byte(&world.events);
	write_file(kind & 1 ? kind >> 4 : 0);
	if (!(kind & 1))
		add_rows(kind >> 4);
	if (load(kind & 2))
		return 0;
	if (store_salvage(world.path, &salvaged, &err) < 0) {
		law(err.text[0]);
		return 0;
	}
	unlink(salvaged.aside);
	law(load(false));
	return 0;
}
