/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's state after damage: the committed state, or a refusal. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include <base/file.h>
#include <base/rng.h>

#include "store.h"

enum { JOBS = 12 };

static char folder[64];
static char state[96], copy[96];

static void begin(void)
{
	/* A place where a sync is cheap, if there is one. */
	strcpy(folder, "/dev/shm/nomora-store.XXXXXX");
	if (!mkdtemp(folder)) {
		strcpy(folder, "/tmp/nomora-store.XXXXXX");
		cr_assert_not_null(mkdtemp(folder));
	}
	snprintf(state, sizeof state, "%s/state", folder);
	snprintf(copy, sizeof copy, "%s/copy", folder);
}

static void end(void)
{
	char line[128];

	snprintf(line, sizeof line, "rm -rf %s", folder);
	cr_assert_eq(system(line), 0);
}

TestSuite(store, .init = begin, .fini = end);

static struct live *make_live(void)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	live = live_create(&settings, &err);
	cr_assert_not_null(live, "%s", err.text);
	return live;
}

static void put_job(struct store *store, int number)
{
	char id[16], line[160];

	snprintf(id, sizeof id, "j%d", number);
	snprintf(line, sizeof line, "{\"id\": \"%s\", \"curve\": \"flat\", \"root\": 0, \"tasks\": %d}", id,
		 1 + number % 3);
	store_put_job(store, id, line, 1000 + (uint32_t)number, number % 2, -1);
}

/* Commits the machines and a curve, then each job. Returns how many commits of jobs were acknowledged. */
static int fill(const char *path, bool *opened)
{
	static const double flat[] = {1, 1};
	struct error err = {0};
	struct curve *curve = curve_from_table("flat", flat, 2, &err);
	char *text = curve_to_text(curve, &err);
	struct store *store = store_open(path, &err);
	int acknowledged = -1;

	*opened = store;
	if (store) {
		store_put_machine(store, "m1", "r1", "p1", 4, "up");
		store_put_machine(store, "m2", "r1", "p1", 4, "draining");
		store_put_curve(store, "flat", text);
		acknowledged += store_commit(store, &err) == 0;
	}
	for (int j = 0; store && acknowledged == j && j < JOBS; j++) {
		put_job(store, j);
		acknowledged += store_commit(store, &err) == 0;
	}
	store_close(store);
	free(text);
	curve_destroy(curve);
	return acknowledged;
}

/* The number of jobs in a complete state, which must be the first ones; -1: refused. */
static int jobs_of(const char *path)
{
	struct error err = {0};
	struct store *store = store_open_old(path, &err);
	struct live *live = make_live();
	int count = -1;

	if (store && store_load(store, live, 0, 1e6, &err) == 0) {
		char id[16];

		count = (int)live_totals(live).jobs;
		for (int j = 0; j < count; j++) {
			const struct live_job *job;

			snprintf(id, sizeof id, "j%d", j);
			job = live_find_job(live, id);
			cr_expect(job && job->owner == 1000 + (uint32_t)j && job->task_count == 1 + (uint32_t)j % 3 &&
					  job->may_move == j % 2,
				  "job %d of %d is another", j, count);
		}
		cr_expect(count == 0 || live_cluster(live)->machine_count == 2);
	} else {
		cr_expect_neq(err.code, 0);
	}
	live_destroy(live);
	store_close(store);
	return count;
}

static void write_copy(const char *suffix, const char *bytes, size_t count)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof path, "%s%s", copy, suffix);
	file = fopen(path, "w");
	cr_assert_not_null(file);
	cr_assert_eq(fwrite(bytes, 1, count, file), count);
	fclose(file);
}

static void remove_copy(void)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};

	for (int s = 0; s < 3; s++) {
		char path[128];

		snprintf(path, sizeof path, "%s%s", copy, suffixes[s]);
		unlink(path);
	}
}

/*
 * Truncates the file or flips bits at random positions. An empty file is a new state, which this test does not judge.
 */
Test(store, damage_is_refused_or_the_last_commit_is_there)
{
	const char *given = getenv("NOMORA_DAMAGES");
	int damages = given ? atoi(given) : 300, refused = 0;
	struct error err = {0};
	struct rng rng;
	size_t bytes;
	bool opened;
	char *whole;

	cr_assert_eq(fill(state, &opened), JOBS);
	whole = file_read_all(state, 16 << 20, &bytes, &err);
	cr_assert_not_null(whole, "%s", err.text);
	rng_seed(&rng, 5);
	for (int d = 0; d < damages; d++) {
		size_t at = (size_t)rng_below(&rng, bytes - 1) + 1;
		char flip = (char)(1u << rng_below(&rng, 8));
		bool cut = rng_below(&rng, 3) == 0;
		int count;

		remove_copy();
		whole[at] = (char)(whole[at] ^ (cut ? 0 : flip));
		write_copy("", whole, cut ? at : bytes);
		whole[at] = (char)(whole[at] ^ (cut ? 0 : flip));
		count = jobs_of(copy);
		cr_expect(count == JOBS || count == -1, "damage %d at %zu: %d jobs", d, at, count);
		refused += count == -1;
	}
	cr_expect_gt(refused, damages / 10);
	free(whole);
}

/* The same for the log that is not yet in the main file: the last complete commit may be an earlier one. */
Test(store, damage_of_the_log_leaves_whole_commits)
{
	char path[128];
	struct error err = {0};
	struct store *store = store_open(state, &err);
	size_t bytes, log_bytes;
	struct rng rng;
	char *whole, *log;

	cr_assert_not_null(store, "%s", err.text);
	for (int j = 0; j < JOBS; j++) {
		if (j == 0) {
			static const double flat[] = {1, 1};
			struct curve *curve = curve_from_table("flat", flat, 2, &err);
			char *text = curve_to_text(curve, &err);

			store_put_curve(store, "flat", text);
			store_put_machine(store, "m1", "r1", "p1", 4, "up");
			store_put_machine(store, "m2", "r1", "p1", 4, "up");
			free(text);
			curve_destroy(curve);
		}
		put_job(store, j);
		cr_assert_eq(store_commit(store, &err), 0);
	}
	snprintf(path, sizeof path, "%s-wal", state);
	whole = file_read_all(state, 16 << 20, &bytes, &err);
	log = file_read_all(path, 16 << 20, &log_bytes, &err);
	cr_assert(whole && log, "%s", err.text);
	rng_seed(&rng, 6);
	for (int d = 0; d < 60; d++) {
		size_t at = (size_t)rng_below(&rng, log_bytes - 1) + 1;
		bool cut = rng_below(&rng, 2);

		remove_copy();
		log[at] = (char)(log[at] ^ (cut ? 0 : 4));
		write_copy("", whole, bytes);
		write_copy("-wal", log, cut ? at : log_bytes);
		log[at] = (char)(log[at] ^ (cut ? 0 : 4));
		cr_expect_leq(jobs_of(copy), JOBS);
	}
	store_close(store);
	free(whole);
	free(log);
}

/* The sum of a row covers numbers with a fraction, too. */
Test(store, a_round_trip_that_another_program_changed_is_refused)
{
	const struct cluster_default_rtt rtt = {
		.same_machine_us = 2, .same_rack_us = 70.5, .same_pod_us = 200, .other_pod_us = 390};
	struct error err = {0};
	struct store *store = store_open(state, &err);
	sqlite3 *base;

	cr_assert_not_null(store, "%s", err.text);
	store_put_default_rtt(store, &rtt);
	cr_assert_eq(store_commit(store, &err), 0);
	store_close(store);
	cr_assert_eq(sqlite3_open(state, &base), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(base, "UPDATE default_rtt SET same_rack = 71.5", NULL, NULL, NULL), SQLITE_OK, "%s",
		     sqlite3_errmsg(base));
	sqlite3_close(base);
	cr_expect_null(store_open(state, &err));
	cr_expect(strstr(err.text, "the state is damaged"), "%s", err.text);
}

/* The readable part of a damaged state is recovered, and the damaged file is kept. */
Test(store, salvage_takes_over_what_can_be_read)
{
	struct store_salvaged salvaged = {0};
	struct error err = {0};
	sqlite3 *base;
	bool opened;

	cr_assert_eq(fill(state, &opened), JOBS);
	cr_assert_eq(sqlite3_open(state, &base), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(base, "UPDATE jobs SET owner = 1 WHERE id = 'j3'", NULL, NULL, NULL), SQLITE_OK, "%s",
		     sqlite3_errmsg(base));
	sqlite3_close(base);
	cr_expect_null(store_open(state, &err), "a row that another program changed");
	cr_expect(strstr(err.text, "--salvage"), "%s", err.text);
	cr_assert_eq(store_salvage(state, &salvaged, &err), 0, "%s", err.text);
	cr_expect_eq(salvaged.jobs, JOBS - 1, "the changed row does not get a right checksum");
	cr_expect_eq(salvaged.dropped, 1);
	cr_expect_eq(salvaged.machines, 2);
	cr_expect_eq(access(salvaged.aside, F_OK), 0);
	{
		struct live *live = make_live();
		struct store *store = store_open(state, &err);

		cr_assert_not_null(store, "%s", err.text);
		cr_expect_eq(store_load(store, live, 0, 1e6, &err), 0, "%s", err.text);
		cr_expect_eq(live_totals(live).jobs, JOBS - 1);
		live_destroy(live);
		store_close(store);
	}
}

static void change(const char *text)
{
	sqlite3 *base;

	cr_assert_eq(sqlite3_open(state, &base), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(base, text, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(base));
	sqlite3_close(base);
}

/* A state that was salvaged can always be loaded: the jobs of a curve that was left out are left out, too. */
Test(store, salvage_leaves_out_what_cannot_be_loaded)
{
	struct store_salvaged salvaged = {0};
	struct error err = {0};
	struct live *live = make_live();
	struct store *store;
	bool opened;

	cr_assert_eq(fill(state, &opened), JOBS);
	change("UPDATE curves SET text = 'not JSON', sum = NULL; UPDATE machines SET slots = 99 WHERE name = 'm2'");
	cr_expect_null(store_open(state, &err));
	cr_assert_eq(store_salvage(state, &salvaged, &err), 0, "%s", err.text);
	cr_expect_eq(salvaged.dropped, 1 + 1 + JOBS);
	store = store_open(state, &err);
	cr_assert_not_null(store, "%s", err.text);
	cr_expect_eq(store_load(store, live, 0, 1e6, &err), 0, "%s", err.text);
	cr_expect_eq(live_totals(live).machines, 1);
	cr_expect_eq(live_totals(live).jobs, 0);
	live_destroy(live);
	store_close(store);
}

/* The damaged file keeps its name, so that no later start begins with an empty state in its place. */
/* A key that is no text, or ends for C before its end, is removed like any other. */
Test(store, salvage_leaves_out_rows_with_any_key)
{
	struct store_salvaged salvaged = {0};
	struct error err = {0};
	bool opened;

	cr_assert_eq(fill(state, &opened), JOBS);
	change("INSERT INTO curves VALUES (x'006d', 'no', NULL), ('a' || char(0) || 'b', 'no', NULL), (7, 'no', NULL)");
	change("INSERT INTO machines VALUES (x'ff', 'r', 'p', 0, 'up', 1)");
	cr_assert_eq(store_salvage(state, &salvaged, &err), 0, "%s", err.text);
	cr_expect_eq(jobs_of(state), JOBS);
}

Test(store, a_row_without_a_job_is_refused_with_its_reason)
{
	struct error err = {0};
	struct store *store;
	struct live *live = make_live();
	bool opened;

	cr_assert_eq(fill(state, &opened), JOBS);
	change("UPDATE jobs SET line = '', sum = NULL WHERE id = 'j3'");
	store = store_open_old(state, &err);
	cr_assert_not_null(store, "%s", err.text);
	cr_expect_eq(store_load(store, live, 0, 1e6, &err), -EINVAL);
	cr_expect(strstr(err.text, "j3"), "%s", err.text);
	store_close(store);
	live_destroy(live);
}

Test(store, an_empty_salvage_is_refused)
{
	struct store_salvaged salvaged = {0};
	struct error err = {0};
	bool opened;

	cr_assert_eq(fill(state, &opened), JOBS);
	change("UPDATE jobs SET owner = 99; UPDATE machines SET slots = 99");
	cr_expect_eq(store_salvage(state, &salvaged, &err), -EINVAL);
	cr_expect(strstr(err.text, "nothing can be recovered"), "%s", err.text);
	cr_expect_neq(access(salvaged.aside, F_OK), 0);
	cr_expect_null(store_open(state, &err));
	cr_expect(strstr(err.text, "the state is damaged"), "%s", err.text);
}

/* A VFS in which write or sync number `fail_at` and all later ones fail. */
static int fail_at, done, fail_with;
static sqlite3_vfs failing;
static sqlite3_vfs *real;
/* Methods of the kinds of files that SQLite has. */
static struct kind {
	const sqlite3_io_methods *real;
	sqlite3_io_methods failing;
} kinds[4];

static const sqlite3_io_methods *real_of(const sqlite3_file *file)
{
	return ((const struct kind *)((const char *)file->pMethods - offsetof(struct kind, failing)))->real;
}

static int fails(void)
{
	return fail_at > 0 && ++done >= fail_at ? fail_with : SQLITE_OK;
}

static int failing_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at)
{
	int code = fails();

	return code == SQLITE_OK ? real_of(file)->xWrite(file, bytes, count, at) : code;
}

static int failing_sync(sqlite3_file *file, int flags)
{
	int code = fails();

	return code == SQLITE_OK ? real_of(file)->xSync(file, flags) : code;
}

static int failing_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *out)
{
	int code = real->xOpen(real, name, file, flags, out);
	struct kind *kind = kinds;

	(void)vfs;
	if (code != SQLITE_OK || !file->pMethods)
		return code;
	while (kind->real && kind->real != file->pMethods)
		kind++;
	cr_assert_lt(kind - kinds, 4);
	kind->real = file->pMethods;
	kind->failing = *kind->real;
	kind->failing.xWrite = failing_write;
	kind->failing.xSync = failing_sync;
	file->pMethods = &kind->failing;
	return code;
}

/* Every write and sync in the life of a state fails once: every acknowledged commit is there afterwards. */
Test(store, errors_of_the_disk_lose_nothing_acknowledged)
{
	static const int errors[] = {SQLITE_FULL, SQLITE_IOERR_WRITE};
	int last = 0;

	real = sqlite3_vfs_find(NULL);
	failing = *real;
	failing.zName = "failing";
	failing.xOpen = failing_open;
	for (int e = 0; e < 2; e++)
		for (fail_at = 1; fail_at < 400; fail_at++) {
			bool opened;
			int acknowledged, kept;

			remove_copy();
			done = 0;
			fail_with = errors[e];
			cr_assert_eq(sqlite3_vfs_register(&failing, 1), SQLITE_OK);
			acknowledged = fill(copy, &opened);
			sqlite3_vfs_unregister(&failing);
			if (acknowledged == JOBS && done < fail_at)
				break; /* all writes have failed once */
			kept = access(copy, F_OK) == 0 ? jobs_of(copy) : -1;
			/* The commit that failed may be in the state; a state that was never created is refused. */
			cr_expect(kept >= acknowledged && kept <= acknowledged + 1,
				  "write %d: %d acknowledged, %d kept", fail_at, acknowledged, kept);
			last = fail_at;
		}
	cr_expect_gt(last, 20);
}

/* Machines and a job in several states, one of them on m2, which the second state has as down. */
static struct live *make_live_with_job(struct store *store)
{
	static const double flat[] = {1, 1};
	static const char *const line = "{\"id\": \"j\", \"curve\": \"flat\", \"root\": 0, \"tasks\": 5}";
	struct error err = {0};
	struct curve *curve = curve_from_table("flat", flat, 2, &err);
	char *text = curve_to_text(curve, &err);
	struct live *live = make_live();
	struct file_lines *lines = file_lines_from_memory("jobs", line, strlen(line), &err);
	struct jobs *jobs = jobs_parse(lines, &err);

	cr_assert_not_null(jobs, "%s", err.text);
	cr_assert_eq(live_machine_set(live, "m1", "r1", "p1", 3, LIVE_UP, &err), 0);
	cr_assert_eq(live_machine_set(live, "m2", "r1", "p1", 4, LIVE_DRAINING, &err), 0);
	cr_assert_eq(live_machine_set(live, "m3", "r2", "p1", 2, LIVE_UP, &err), 0);
	cr_assert_eq(live_curve_set(live, "flat", curve, &err), 0);
	cr_assert_eq(live_submit(live, &jobs->items[0], 77, true, 700, &err), 0);
	cr_assert_eq(live_step(live, 701, &err), 5, "%s", err.text);
	store_put_machine(store, "m1", "r1", "p1", 3, "up");
	store_put_machine(store, "m2", "r1", "p1", 4, "draining");
	store_put_machine(store, "m3", "r2", "p1", 2, "up");
	store_put_curve(store, "flat", text);
	store_put_job(store, "j", line, 77, true, 12.5);
	jobs_destroy(jobs);
	file_lines_close(lines);
	free(text);
	curve_destroy(curve);
	return live;
}

/* The clock of the state is 1000 s behind the wall clock; that of the state that is read is 1500 s behind it. */
Test(store, a_state_that_is_read_is_that_which_was_written)
{
	struct error err = {0};
	struct store *store = store_open(state, &err);
	struct live *live, *again = make_live();
	const struct live_job *job, *read;
	const struct live_decision *decisions;
	size_t count;
	char *line;

	cr_assert_not_null(store, "%s", err.text);
	live = make_live_with_job(store);
	job = live_find_job(live, "j");
	for (int t = 0; t < 4; t++)
		cr_assert_eq(live_started(live, "j", job->tasks[t].name,
					  live_cluster(live)->machines[job->tasks[t].machine].name, 702, &err),
			     0, "%s", err.text);
	cr_assert_eq(live_failed(live, "j", "t2", 703, &err), 0);
	cr_assert_eq(live_ended(live, "j", "t3", &err), 0);
	store_put_tasks(store, live, job, 1000);
	decisions = live_decisions(live, 0, &count);
	for (size_t d = 0; d < count; d++)
		store_put_decision(store, &decisions[d], 1000);
	cr_expect(store_pending(store));
	cr_assert_eq(store_commit(store, &err), 0, "%s", err.text);
	cr_expect_not(store_pending(store));
	store_close(store);

	store = store_open_old(state, &err);
	cr_assert_not_null(store, "%s", err.text);
	cr_assert_eq(store_load(store, again, 1500, 210, &err), 0, "%s", err.text);
	read = live_find_job(again, "j");
	cr_assert_not_null(read);
	cr_expect_float_eq(read->restart_s, 12.5, 1e-9);
	cr_expect_eq(read->owner, 77);
	cr_expect(read->may_move);
	for (uint32_t t = 0; t < 5; t++) {
		const struct live_task *task = &job->tasks[t], *of = &read->tasks[t];

		cr_expect_eq(of->state, task->state, "t%u", t);
		cr_expect_eq(of->attempts, task->attempts, "t%u", t);
		if (task->machine >= 0)
			cr_expect_str_eq(live_cluster(again)->machines[of->machine].name,
					 live_cluster(live)->machines[task->machine].name, "t%u", t);
		else
			cr_expect_eq(of->machine, -1, "t%u", t);
		if (task->state == LIVE_RUNNING) {
			cr_expect_float_eq(of->started_s, task->started_s - 500, 1e-6, "t%u", t);
			cr_expect_float_eq(of->since_s, task->since_s - 500, 1e-6, "t%u", t);
		}
		if (task->state == LIVE_DECIDED)
			cr_expect_float_eq(of->since_s, 210, 1e-6, "its time-out begins again");
	}
	cr_expect_eq(live_last_decision(again), 5);
	cr_expect_eq(live_totals(again).slots, 9);
	cr_expect_eq(live_machine_state_of(again, (uint32_t)cluster_find_machine(live_cluster(again), "m2")),
		     LIVE_DRAINING);
	line = store_job_line(store, "j");
	cr_expect_str_eq(line, "{\"id\": \"j\", \"curve\": \"flat\", \"root\": 0, \"tasks\": 5}");
	free(line);
	cr_expect_null(store_job_line(store, "k"));
	live_destroy(again);

	/* Without the machine of running tasks, and without one that is not used. */
	store_put_machine(store, live_cluster(live)->machines[job->tasks[1].machine].name,
			  live_cluster(live)->racks[live_cluster(live)->machines[job->tasks[1].machine].rack].name,
			  "p1", 3, "down");
	store_remove_machine(store, "m2");
	cr_assert_eq(store_commit(store, &err), 0, "%s", err.text);
	again = make_live();
	cr_assert_eq(store_load(store, again, 1500, 210, &err), 0, "%s", err.text);
	cr_expect_lt(cluster_find_machine(live_cluster(again), "m2"), 0);
	cr_expect_eq(live_totals(again).machines, 2);
	read = live_find_job(again, "j");
	cr_expect_eq(read->tasks[1].state, LIVE_WAITING);
	cr_expect_eq(read->tasks[1].machine, -1);
	live_destroy(again);
	store_remove_job(store, "j");
	cr_assert_eq(store_commit(store, &err), 0, "%s", err.text);
	again = make_live();
	cr_assert_eq(store_load(store, again, 1500, 210, &err), 0, "%s", err.text);
	cr_expect_eq(live_totals(again).jobs, 0);
	live_destroy(again);
	live_destroy(live);
	store_close(store);
}

/* Context of note_decision(): the numbers of decisions, as text. */
static void note_decision(void *context, const struct live_decision *decision, double wall_s)
{
	char *numbers = context;

	sprintf(numbers + strlen(numbers), "%d:%.0f%s ", (int)decision->sequence, wall_s, decision->is_root ? "r" : "");
	cr_expect(decision->kind == LIVE_MOVE && decision->origin == LATENCY_ORIGIN_RACK_PAIR);
	cr_expect_str_eq(decision->from, "m1");
	cr_expect_str_eq(decision->to, "m2");
	cr_expect_float_eq(decision->rtt_us, 7, 1e-9);
	cr_expect_float_eq(decision->performance, 0.5, 1e-9);
	cr_expect_float_eq(decision->gain, 0.25, 1e-9);
	cr_expect(isnan(decision->measured));
}

static void expect_page(struct store *store, uint64_t after, size_t bytes_most, const char *expected,
			uint64_t expected_next)
{
	uint64_t next;
	char *page = store_journal_page(store, after, bytes_most, &next);

	cr_expect_str_eq(page, expected);
	cr_expect_eq(next, expected_next, "%d", (int)next);
	free(page);
}

Test(store, the_journal_is_read_in_pages_and_cut_at_a_checkpoint)
{
	struct error err = {0};
	struct store *store = store_open(state, &err);
	struct live_decision decision = {.kind = LIVE_MOVE,
					 .job = (char *)"j",
					 .task = (char *)"t1",
					 .from = (char *)"m1",
					 .to = (char *)"m2",
					 .rtt_us = 7,
					 .performance = 0.5,
					 .gain = 0.25,
					 .measured = NAN,
					 .origin = LATENCY_ORIGIN_RACK_PAIR};
	double origin_s, last_s;
	char numbers[64] = "";

	cr_assert_not_null(store, "%s", err.text);
	store_journal_range(store, &origin_s, &last_s);
	cr_expect_float_eq(origin_s, 0, 1e-9, "there is no journal");
	store_put_journal(store, 100, 50, "first checkpoint\n");
	store_put_journal(store, 110, 0, "one\n");
	store_put_journal(store, 200, 50, "second checkpoint\n");
	store_put_journal(store, 210, 0, "two\n");
	store_put_journal(store, 300, 50, "third checkpoint\n");
	store_put_journal(store, 310, 0, "three\n");
	for (int d = 1; d <= 3; d++) {
		decision.sequence = (uint64_t)d;
		decision.at_s = 100 * d - 40;
		store_put_decision(store, &decision, 40);
	}
	cr_assert_eq(store_commit(store, &err), 0, "%s", err.text);
	store_journal_range(store, &origin_s, &last_s);
	cr_expect_float_eq(origin_s, 50, 1e-9);
	cr_expect_float_eq(last_s, 311, 1e-9);
	expect_page(store, 0, 1000, "first checkpoint\none\ntwo\nthree\n", 6);
	expect_page(store, 0, 1, "first checkpoint\n", 1);
	expect_page(store, 1, 4, "one\n", 2);
	expect_page(store, 1, 5, "one\ntwo\n", 4);
	expect_page(store, 6, 1000, "", 6);
	store_each_decision(store, "j", "t1", 2, note_decision, numbers);
	cr_expect_str_eq(numbers, "3:300 2:200 ");
	/* The checkpoint at the time itself is not older. */
	store_cut_journal(store, 200);
	cr_assert_eq(store_commit(store, &err), 0, "%s", err.text);
	expect_page(store, 0, 1000, "first checkpoint\none\ntwo\nthree\n", 6);
	store_cut_journal(store, 299);
	cr_assert_eq(store_commit(store, &err), 0, "%s", err.text);
	expect_page(store, 0, 1000, "second checkpoint\ntwo\nthree\n", 6);
	numbers[0] = '\0';
	store_each_decision(store, "j", "t1", 9, note_decision, numbers);
	cr_expect_str_eq(numbers, "3:300 ");
	store_cut_journal(store, 1000);
	cr_assert_eq(store_commit(store, &err), 0, "%s", err.text);
	expect_page(store, 0, 1000, "third checkpoint\nthree\n", 6);
	numbers[0] = '\0';
	store_each_decision(store, "j", "t1", 9, note_decision, numbers);
	cr_expect_str_eq(numbers, "3:300 ", "the last one stays");
	store_close(store);
}
