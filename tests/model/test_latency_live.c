/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <model/latency_table.h>
#include <model/latency_live.h>

#include "latency_store_priv.h"

static char path[64];
static struct error err;
static const struct latency_live_size size = {.hosts = 16, .racks = 4, .pairs = 40};

static void set_up(void)
{
	snprintf(path, sizeof path, "/tmp/nomora-live-%ld", (long)getpid());
	unlink(path);
}

static void tear_down(void)
{
	char lock[80];

	unlink(path);
	snprintf(lock, sizeof lock, "%s.lock", path);
	unlink(lock);
}

TestSuite(latency_live, .init = set_up, .fini = tear_down, .timeout = 60);

static struct latency_matrix *open_live(void)
{
	struct latency_matrix *matrix = latency_live_open(path, &size, &err);

	cr_assert_not_null(matrix, "%s", err.text);
	return matrix;
}

static struct latency_entry entry_of(uint32_t source, uint32_t destination, double p50_us)
{
	return (struct latency_entry){.source = source,
				      .destination = destination,
				      .rtt_p50_us = p50_us,
				      .rtt_p99_us = p50_us + 1,
				      .rtt_max_us = p50_us + 2,
				      .samples = 10,
				      .updated_at = {(int64_t)p50_us * NS_PER_S}};
}

static void set(struct latency_matrix *matrix, uint32_t source, uint32_t destination, double p50_us)
{
	struct latency_entry entry = entry_of(source, destination, p50_us);

	cr_assert_eq(latency_matrix_set(matrix, &entry), 0);
}

/* Hosts h0, h1 in rack r0 of pod p0, h2, h3 in r1 of p0, h4 in r2 of p1. */
static void add_hosts(struct latency_matrix *matrix)
{
	static const char *const hosts[][3] = {
		{"h0", "r0", "p0"}, {"h1", "r0", "p0"}, {"h2", "r1", "p0"}, {"h3", "r1", "p0"}, {"h4", "r2", "p1"}};

	for (int i = 0; i < 5; i++)
		cr_assert_eq(latency_live_add_host(matrix, hosts[i][0], hosts[i][1], hosts[i][2]), i);
}

Test(latency_live, a_reader_sees_what_a_writer_sets)
{
	struct latency_matrix *writer = open_live(), *reader = latency_live_map(path, &err), *snapshot;
	struct latency_entry entry;

	cr_assert_not_null(reader, "%s", err.text);
	cr_assert_eq(latency_live_written_at(reader).v, 0);
	cr_assert_eq(latency_live_begin(writer, &err), 0, "%s", err.text);
	add_hosts(writer);
	set(writer, 0, 1, 10);
	set(writer, 1, 0, 12);
	set(writer, 0, 1, 11);
	latency_live_end(writer);
	cr_assert_eq(latency_matrix_count(reader), 2);
	cr_assert_eq(latency_matrix_find_host(reader, "h4"), 4);
	cr_assert_eq(latency_matrix_find_host(reader, "h5"), -ENOENT);
	cr_assert(latency_matrix_load_pair(reader, 0, 1, &entry));
	cr_assert(entry.rtt_p50_us == 11 && entry.rtt_max_us == 13 && entry.state == LATENCY_STATE_MEASURED);
	cr_assert(!latency_matrix_load_pair(reader, 1, 2, &entry));
	cr_assert_gt(latency_live_written_at(reader).v, 0);
	cr_assert_eq(latency_matrix_set(reader, &entry), -EINVAL, "it is mapped read-only");
	snapshot = latency_live_snapshot(reader);
	cr_assert_eq(latency_matrix_get(snapshot, 1, 0)->rtt_p50_us, 12);
	latency_matrix_destroy(snapshot);
	snapshot = latency_matrix_read(path, NULL, &err);
	cr_assert_not_null(snapshot, "a live matrix is read like a file: %s", err.text);
	cr_assert_eq(latency_matrix_count(snapshot), 2);
	latency_matrix_destroy(snapshot);
	latency_matrix_destroy(reader);
	latency_matrix_destroy(writer);
}

Test(latency_live, it_outlives_its_writer_and_is_opened_again)
{
	struct latency_matrix *matrix = open_live();
	struct latency_entry entry;

	latency_live_begin(matrix, &err);
	add_hosts(matrix);
	set(matrix, 0, 1, 10);
	latency_live_end(matrix);
	latency_matrix_destroy(matrix);
	matrix = open_live();
	cr_assert_eq(latency_live_begin(matrix, &err), 0);
	cr_assert_eq(latency_live_add_host(matrix, "h1", "", ""), 1);
	cr_assert_eq(latency_live_rack_of(matrix, 1), 0, "its rack is known");
	cr_assert(latency_matrix_load_pair(matrix, 0, 1, &entry) && entry.rtt_p50_us == 10);
	latency_live_end(matrix);
	latency_matrix_destroy(matrix);
}

Test(latency_live, racks_and_pods_have_maxima_that_fall_again)
{
	struct latency_matrix *matrix = open_live();
	struct latency_maximum maximum;

	latency_live_begin(matrix, &err);
	add_hosts(matrix);
	set(matrix, 0, 2, 50);
	set(matrix, 1, 3, 80);
	set(matrix, 0, 1, 5);
	set(matrix, 0, 4, 300);
	cr_assert_eq(latency_live_update_maxima(matrix), 0);
	cr_assert(latency_live_maximum(matrix, 0, 1, &maximum));
	cr_assert(maximum.rtt_p50_us == 80 && maximum.rtt_max_us == 82 && maximum.pairs == 2);
	cr_assert_eq(maximum.updated_at.v, 80 * NS_PER_S);
	cr_assert(!latency_live_maximum(matrix, 1, 0, &maximum), "nothing measured that way");
	cr_assert(!latency_live_maximum(matrix, 0, 3, &maximum), "no such rack");
	cr_assert(!latency_live_maximum(matrix, 0, 1U << 30, &maximum), "nor that one, beyond the file");
	set(matrix, 1, 3, 20);
	latency_live_set_status(matrix, 4, LATENCY_HOST_GONE);
	cr_assert_eq(latency_live_update_maxima(matrix), 0);
	cr_assert(latency_live_maximum(matrix, 0, 1, &maximum) && maximum.rtt_p50_us == 50);
	cr_assert(!latency_live_maximum(matrix, 0, 2, &maximum), "that host has left");
	latency_live_end(matrix);
	latency_matrix_destroy(matrix);
}

static void fill(struct latency_matrix *matrix)
{
	char name[16];

	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof name, "h%d", i);
		cr_assert_eq(latency_live_add_host(matrix, name, "", ""), i);
	}
	for (uint32_t i = 0; i < 40; i++)
		set(matrix, i / 8, i % 8, 10);
}

static void expect_whole(const struct latency_matrix *matrix)
{
	size_t slots = 0;

	for (size_t i = 0; i < latency_matrix_count(matrix); i++) {
		struct latency_entry entry, found;

		cr_assert(latency_matrix_load(matrix, i, &entry));
		cr_assert(latency_matrix_load_pair(matrix, entry.source, entry.destination, &found));
		cr_assert_arr_eq(&entry, &found, sizeof entry);
	}
	for (size_t i = 0; i < matrix->pair_slot_count; i++)
		slots += matrix->pair_slots[i] != 0;
	cr_assert_eq(slots, latency_matrix_count(matrix), "%zu slots", slots);
}

Test(latency_live, one_full_of_hosts_says_so)
{
	struct latency_matrix *matrix = open_live();

	latency_live_begin(matrix, &err);
	fill(matrix);
	cr_assert_eq(latency_live_add_host(matrix, "one-more", "", ""), -ENOSPC);
	latency_live_end(matrix);
	latency_matrix_destroy(matrix);
}

/* 1,000 hosts, each in a rack of its own, and some pairs. */
Test(latency_live, a_new_one_has_room_for_more_than_it_is_made_from)
{
	struct latency_matrix *from = latency_matrix_create(), *live;
	char cluster[sizeof path + 8], name[8];
	FILE *file;

	snprintf(cluster, sizeof cluster, "%s.json", path);
	file = fopen(cluster, "w");
	cr_assert_not_null(file);
	fprintf(file, "{\"schema\": \"nomora.cluster/1\", \"machines\": [");
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "h%u", i);
		fprintf(file, "%s{\"name\": \"%s\", \"rack\": \"r%u\", \"slots\": 1}", i ? ", " : "", name, i);
		cr_assert_eq(latency_matrix_add_host(from, name), i);
	}
	fprintf(file, "]}\n");
	fclose(file);
	for (uint32_t i = 1; i < 1000; i++)
		set(from, 0, i, 10);
	cr_assert_eq(latency_live_put(path, from, cluster, &err), 0, "%s", err.text);
	unlink(cluster);
	live = latency_live_map(path, &err);
	cr_assert_not_null(live, "%s", err.text);
	cr_expect_eq(latency_matrix_count(live), 999);
	cr_expect_eq(latency_live_racks(live), 1000);
	cr_expect_eq(live->host_capacity, 1064, "64 more hosts");
	cr_expect_eq(live->rack_capacity, 1064, "64 more racks");
	cr_expect_eq(live->pair_capacity, 1 << 20);
	latency_matrix_destroy(live);
	latency_matrix_destroy(from);
}

/*
 * Ten passes over all pairs of 16 hosts; four pairs are set again at each step: these remain, the others are evicted
 * oldest first.
 */
Test(latency_live, a_full_one_evicts_pairs_that_were_not_set_for_long)
{
	struct latency_matrix *matrix = open_live();
	struct latency_entry entry;

	latency_live_begin(matrix, &err);
	fill(matrix);
	for (uint32_t round = 0; round < 2560; round++) {
		set(matrix, round / 16 % 16, round % 16, 20 + round);
		for (uint32_t kept = 0; kept < 4; kept++)
			set(matrix, 15, kept, 20 + round);
		if (round % 97 == 0)
			expect_whole(matrix);
		cr_assert(latency_matrix_load_pair(matrix, 15, 0, &entry) && entry.rtt_p50_us == 20 + round);
	}
	expect_whole(matrix);
	cr_assert_eq(latency_matrix_count(matrix), 40);
	cr_assert_gt(latency_live_evicted(matrix), 2000);
	cr_assert(latency_matrix_load_pair(matrix, 15, 3, &entry), "set all the time");
	cr_assert(latency_matrix_load_pair(matrix, 15, 15, &entry), "set last");
	cr_assert(!latency_matrix_load_pair(matrix, 0, 0, &entry), "256 rounds ago");
	latency_live_end(matrix);
	latency_matrix_destroy(matrix);
}

Test(latency_live, pairs_of_hosts_that_left_are_evicted_first)
{
	struct latency_matrix *matrix = open_live();
	struct latency_entry entry;

	latency_live_begin(matrix, &err);
	fill(matrix);
	latency_live_set_status(matrix, 4, LATENCY_HOST_GONE);
	for (uint32_t i = 0; i < 5; i++)
		set(matrix, 8, 8 + i, 20);
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t j = 0; j < 4; j++)
			cr_assert(latency_matrix_load_pair(matrix, i, j, &entry), "%u -> %u", i, j);
	latency_live_end(matrix);
	latency_matrix_destroy(matrix);
}

/* A writer dies while it writes a pair: readers skip that pair, and the next writer repairs it. */
Test(latency_live, a_half_written_pair_is_not_read_and_is_repaired)
{
	struct latency_matrix *matrix = open_live(), *reader;
	struct latency_entry entry;

	latency_live_begin(matrix, &err);
	add_hosts(matrix);
	set(matrix, 0, 1, 10);
	set(matrix, 1, 0, 20);
	latency_store_block(matrix, 0)->sequence |= 1;
	atomic_store(&matrix->counts->pairs, 3); /* and a count of pairs that matches no table */
	entry = entry_of(2, 3, 30);
	latency_store_write(matrix, 2, &entry);
	latency_matrix_destroy(matrix); /* without latency_live_end() */

	reader = latency_live_map(path, &err);
	cr_assert(!latency_matrix_load_pair(reader, 0, 1, &entry), "torn");
	cr_assert(latency_matrix_load_pair(reader, 1, 0, &entry), "the others are there");
	matrix = open_live();
	cr_assert_eq(latency_live_begin(matrix, &err), 0);
	latency_live_end(matrix);
	cr_assert(latency_matrix_load_pair(reader, 0, 1, &entry));
	cr_assert(entry.state == LATENCY_STATE_NEVER && entry.samples == 0 && isnan(entry.rtt_p50_us));
	cr_assert(latency_matrix_load_pair(reader, 2, 3, &entry) && entry.rtt_p50_us == 30);
	latency_matrix_destroy(reader);
	latency_matrix_destroy(matrix);
}

/* A writer is killed at random moments, hundreds of times, while pairs are added, changed and evicted. */
Test(latency_live, killed_writers_leave_no_torn_value)
{
	struct latency_matrix *reader;

	latency_matrix_destroy(open_live());
	reader = latency_live_map(path, &err);
	for (int round = 0; round < 200; round++) {
		pid_t child = fork();
		struct latency_entry entry;

		if (child == 0) {
			struct latency_matrix *matrix = latency_live_open(path, &size, NULL);

			for (unsigned int i = 0;; i++) {
				char name[16];

				latency_live_begin(matrix, NULL);
				snprintf(name, sizeof name, "h%u", i % 16);
				latency_live_add_host(matrix, name, "", "");
				for (uint32_t a = 0; a < latency_matrix_hosts(matrix); a++) {
					struct latency_entry set_entry = entry_of(a, i % 7 % (a + 1), i % 1000);

					latency_matrix_set(matrix, &set_entry);
				}
				latency_live_end(matrix);
			}
		}
		usleep((useconds_t)(200 + 37 * round % 1500));
		/* On a busy machine, no writer may have come as far as an eviction before the last one. */
		for (int ms = 0; round == 199 && latency_live_evicted(reader) == 0 && ms < 10000; ms++)
			usleep(1000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		for (size_t i = 0; i < latency_matrix_count(reader); i++)
			if (latency_matrix_load(reader, i, &entry) && entry.state == LATENCY_STATE_MEASURED)
				cr_assert(entry.rtt_p99_us == entry.rtt_p50_us + 1 &&
						  entry.updated_at.v == (int64_t)entry.rtt_p50_us * NS_PER_S,
					  "round %d: a torn pair", round);
	}
	latency_matrix_destroy(reader);
	cr_assert_eq(latency_live_begin(reader = open_live(), &err), 0);
	latency_live_end(reader);
	cr_assert_gt(latency_live_evicted(reader), 0);
	expect_whole(reader);
	latency_matrix_destroy(reader);
}

static void refuse(const char *what)
{
	err = (struct error){0};
	cr_assert_null(latency_live_map(path, &err), "%s", what);
	cr_assert_not_null(strstr(err.text, path), "%s: %s", what, err.text);
}

Test(latency_live, other_files_versions_and_sizes_are_refused)
{
	uint32_t wrong = 9999;
	int fd;

	refuse("no such file");
	latency_matrix_destroy(open_live());
	fd = open(path, O_RDWR);
	cr_assert_eq(pwrite(fd, "NOMORAL9", 8, 0), 8);
	refuse("another version");
	cr_assert(!latency_live_is(path));
	pwrite(fd, "NOMORAL6", 8, 0);
	cr_assert(latency_live_is(path));
	pwrite(fd, &wrong, 4, 8);
	refuse("records of another size");
	unlink(path);
	close(fd);
	latency_matrix_destroy(open_live());
	fd = open(path, O_RDWR);
	pwrite(fd, &wrong, 4, 24);
	refuse("capacities that the size contradicts");
	cr_assert_eq(ftruncate(fd, 100), 0);
	refuse("cut off");
	close(fd);
}

Test(latency_live, ages_make_states)
{
	struct latency_entry entry = entry_of(0, 1, 10);
	struct ns now = {20 * NS_PER_S};

	cr_assert_eq(latency_entry_state(&entry, now, (struct ns){0}), LATENCY_STATE_MEASURED);
	cr_assert_eq(latency_entry_state(&entry, now, (struct ns){10 * NS_PER_S}), LATENCY_STATE_MEASURED);
	cr_assert_eq(latency_entry_state(&entry, now, (struct ns){9 * NS_PER_S}), LATENCY_STATE_STALE);
	now.v = -50 * NS_PER_S; /* the clock was set back */
	cr_assert_eq(latency_entry_state(&entry, now, (struct ns){9 * NS_PER_S}), LATENCY_STATE_MEASURED, "by 60 s");
	now.v--;
	cr_assert_eq(latency_entry_state(&entry, now, (struct ns){9 * NS_PER_S}), LATENCY_STATE_STALE);
	cr_assert_eq(latency_entry_state(&entry, now, (struct ns){61 * NS_PER_S}), LATENCY_STATE_MEASURED);
	cr_assert_eq(latency_entry_state(&entry, now, (struct ns){0}), LATENCY_STATE_MEASURED);
	entry.state = LATENCY_STATE_NEVER;
	cr_assert_eq(latency_entry_state(&entry, now, (struct ns){9 * NS_PER_S}), LATENCY_STATE_NEVER);
}

Test(latency_live, a_census_is_printed_and_becomes_json)
{
	struct latency_matrix *matrix = open_live();
	struct latency_entry worst[] = {entry_of(0, 1, 20), entry_of(1, 0, 10)};
	uint32_t lost[] = {2, 1};
	struct latency_census census = {
		.pairs = 5, .by_state = {1, 2, 3, 4}, .lost_count = 2, .lost_hosts = lost, .worst_count = 2};
	char *text, *json;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *value;

	for (int h = 0; h < 3; h++)
		cr_assert_eq(latency_matrix_add_host(matrix, (const char *[]){"h0", "h1", "h2"}[h]), h);
	worst[0].loss = 0.125;
	memcpy(census.worst, worst, sizeof worst);
	latency_census_print(&census, matrix, ns_add(latency_live_written_at(matrix), (struct ns){0}), out);
	latency_census_print(&(struct latency_census){0}, matrix,
			     ns_add(latency_live_written_at(matrix), (struct ns){2500 * NS_PER_MS}), out);
	fclose(out);
	cr_expect(
		strstr(text,
		       "3 hosts, 5 pairs: 1 measured, 2 unreachable, 3 never, 4 stale; written 0.0 s ago\n"
		       "lost: h2: no host reaches it\n      h1: no host reaches it\n\n"
		       "from                 to                       p50 us     p99 us     max us   loss %    age s\n"
		       "h0                   h1                         20.0       21.0       22.0    12.50 ") == text,
		"%s", text);
	cr_expect(
		strstr(text, "\nh1                   h0                         10.0       11.0       12.0     0.00 "),
		"%s", text);
	cr_expect(strstr(text,
			 "\n3 hosts, 0 pairs: 0 measured, 0 unreachable, 0 never, 0 stale; written 2.5 s ago\n\nfrom "),
		  "%s", text);
	free(text);
	value = latency_census_to_json(&census, matrix);
	cr_expect_eq(json_real_value(json_object_get(value, "written_at")), ns_to_s(latency_live_written_at(matrix)));
	json_object_del(value, "written_at");
	json = json_dumps(value, 0);
	cr_expect_str_eq(
		json,
		"{\"schema\": \"nomora.mesh_top/1\", \"hosts\": 3, \"pairs\": 5, \"states\": {\"measured\": 1, "
		"\"unreachable\": 2, \"never\": 3, \"stale\": 4}, \"blind\": false, \"lost_hosts\": [\"h2\", \"h1\"], "
		"\"worst\": "
		"[{\"src\": "
		"\"h0\", \"dst\": \"h1\", \"rtt_p50_us\": 20.0, \"rtt_p99_us\": 21.0, \"rtt_max_us\": 22.0, \"loss\": "
		"0.125, "
		"\"updated_at\": 20.0}, {\"src\": \"h1\", \"dst\": \"h0\", \"rtt_p50_us\": 10.0, \"rtt_p99_us\": 11.0, "
		"\"rtt_max_us\": 12.0, \"loss\": 0.0, \"updated_at\": 10.0}]}");
	free(json);
	json_decref(value);
	latency_matrix_destroy(matrix);
}

/* Another user of the host makes files, or damages what it may write to; see model/latency_live.h. */

Test(latency_live, files_of_strangers_are_refused)
{
	struct latency_matrix *matrix = open_live();

	latency_matrix_destroy(matrix);
	cr_assert_eq(chmod(path, 0666), 0);
	cr_assert_null(latency_live_map(path, &err), "anyone may write to it");
	cr_assert_null(latency_live_open(path, &size, &err));
	cr_assert_eq(chmod(path, 0644), 0);
	if (geteuid() != 0)
		return;
	cr_assert_eq(chown(path, 65534, 65534), 0);
	cr_assert_null(latency_live_map(path, &err), "a stranger made it");
	cr_assert(strstr(err.text, "65534"), "%s", err.text);
	cr_assert_null(latency_live_open(path, &size, &err));
}

Test(latency_live, the_owner_of_a_folder_may_have_a_matrix_there)
{
	struct latency_matrix *matrix = open_live();
	char folder[80], inside[96];

	if (geteuid() != 0)
		return;
	latency_matrix_destroy(matrix);
	snprintf(folder, sizeof folder, "%s.folder", path);
	snprintf(inside, sizeof inside, "%s/live", folder);
	cr_assert(mkdir(folder, 0755) == 0 && rename(path, inside) == 0);
	cr_assert(chown(folder, 65534, 65534) == 0 && chown(inside, 65534, 65534) == 0);
	matrix = latency_live_map(inside, &err);
	cr_assert_not_null(matrix, "%s", err.text);
	latency_matrix_destroy(matrix);
	cr_assert_eq(chmod(folder, 01777), 0);
	cr_assert_null(latency_live_map(inside, &err), "anyone may have made it");
	unlink(inside);
	rmdir(folder);
}

Test(latency_live, a_reader_cannot_stop_writers)
{
	struct latency_matrix *writer = open_live();
	int reader = open(path, O_RDONLY);

	cr_assert_eq(flock(reader, LOCK_EX), 0);
	alarm(5);
	cr_assert_eq(latency_live_begin(writer, &err), 0, "%s", err.text);
	latency_live_end(writer);
	alarm(0);
	close(reader);
	latency_matrix_destroy(writer);
}

Test(latency_live, nothing_bad_leaves_a_damaged_file)
{
	struct latency_matrix *writer = open_live(), *reader = latency_live_map(path, &err);
	struct latency_census census;
	struct latency_entry entry;

	cr_assert_eq(latency_live_begin(writer, &err), 0, "%s", err.text);
	add_hosts(writer);
	set(writer, 0, 1, 5);
	latency_live_end(writer);
	cr_assert(latency_matrix_load(reader, 0, &entry) && latency_matrix_load_pair(reader, 0, 1, &entry));
	latency_store_entry(writer, 0)->state = 200;
	cr_assert(!latency_matrix_load(reader, 0, &entry) && !latency_matrix_load_pair(reader, 0, 1, &entry));
	cr_assert_eq(latency_census_take(reader, LATENCY_STATISTIC_P99, (struct ns){0}, (struct ns){0}, &census), 0);
	cr_assert_eq(census.pairs, 0);
	latency_census_free(&census);
	memset(writer->hosts[0].name, 'x', LATENCY_NAME_BYTES);
	cr_assert_str_eq(latency_matrix_host(reader, 0), "?");
	writer->hosts[1].status = 77;
	cr_assert_eq(latency_live_status(reader, 1), LATENCY_HOST_ACTIVE);
	atomic_store(&writer->counts->hosts, 1000000);
	atomic_store(&writer->counts->racks, 1000000);
	atomic_store(&writer->counts->pairs, 1000000);
	cr_assert_eq(latency_matrix_hosts(reader), size.hosts);
	cr_assert_eq(latency_live_racks(reader), size.racks);
	cr_assert_eq(latency_matrix_count(reader), size.pairs);
	latency_matrix_destroy(reader);
	latency_matrix_destroy(writer);
}

static void set_with_hop(struct latency_matrix *matrix, uint32_t source, uint32_t destination, ip_address hop)
{
	struct latency_entry entry = entry_of(source, destination, 10);

	entry.hop = hop;
	entry.next_hop = hop + 1;
	entry.hop_us = 400;
	entry.hop_loss = 0.25F;
	cr_assert_eq(latency_matrix_set(matrix, &entry), 0);
}

static struct latency_entry load(const struct latency_matrix *matrix, uint32_t source, uint32_t destination)
{
	struct latency_entry entry = {0};

	cr_assert(latency_matrix_load_pair(matrix, source, destination, &entry));
	return entry;
}

Test(latency_live, a_pair_has_its_link_until_it_is_set_without_one)
{
	struct latency_matrix *writer = open_live(), *reader = latency_live_map(path, &err);
	struct latency_entry entry;

	cr_assert_leq(latency_block_bytes(true), 96, "bytes a pair");
	cr_assert_eq(latency_live_begin(writer, &err), 0, "%s", err.text);
	add_hosts(writer);
	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 4; i++)
			set_with_hop(writer, i, i + 1, 0x0a000000 + 16 * i);
	set(writer, 0, 1, 10);
	latency_live_end(writer);
	for (uint32_t i = 1; i < 4; i++) {
		entry = load(reader, i, i + 1);
		cr_assert(entry.hop == 0x0a000000 + 16 * i && entry.next_hop == entry.hop + 1);
		cr_assert(entry.hop_us == 400 && entry.hop_loss == 0.25F);
	}
	entry = load(reader, 0, 1);
	cr_assert(!entry.hop && !entry.next_hop && entry.hop_us == 0 && entry.hop_loss == 0);
	cr_assert_eq(latency_live_hops_left_out(reader), 0);
	latency_matrix_destroy(reader);
	latency_matrix_destroy(writer);
}

Test(latency_live, links_beyond_the_capacity_are_counted_and_their_rows_are_used_again)
{
	struct latency_matrix *writer = open_live(), *reader = latency_live_map(path, &err);

	writer->hop_capacity = 1;
	latency_live_begin(writer, &err);
	add_hosts(writer);
	set_with_hop(writer, 0, 1, 0x0a000000);
	set_with_hop(writer, 1, 2, 0x0a000010);
	cr_assert_eq(load(reader, 0, 1).hop, 0x0a000000);
	cr_assert_eq(load(reader, 1, 2).hop, 0);
	cr_assert_eq(latency_live_hops_left_out(reader), 1);
	set(writer, 0, 1, 10); /* frees the row */
	set_with_hop(writer, 1, 2, 0x0a000010);
	cr_assert_eq(load(reader, 0, 1).hop, 0);
	cr_assert_eq(load(reader, 1, 2).hop, 0x0a000010);
	cr_assert_eq(latency_live_hops_left_out(reader), 1);
	latency_live_end(writer);
	latency_matrix_destroy(reader);
	latency_matrix_destroy(writer);
}

Test(latency_live, a_damaged_number_of_a_link_is_refused)
{
	struct latency_matrix *writer = open_live(), *reader = latency_live_map(path, &err);
	struct latency_entry entry;

	latency_live_begin(writer, &err);
	add_hosts(writer);
	set_with_hop(writer, 0, 1, 0x0a000000);
	writer->hops[latency_block_hop(latency_store_block(writer, 0)) - 1].owner = UINT32_MAX;
	set_with_hop(writer, 0, 1, 0x0a000000);
	latency_live_end(writer);
	cr_assert_eq(load(reader, 0, 1).hop, 0x0a000000);
	memset((void *)writer->hops[latency_block_hop(latency_store_block(writer, 0)) - 1].words, 0xff, 8);
	cr_assert(!latency_matrix_load_pair(reader, 0, 1, &entry), "hop_us is no number");
	latency_store_block(writer, 0)->flags = UINT32_MAX;
	cr_assert(!latency_matrix_load_pair(reader, 0, 1, &entry) && !latency_matrix_load(reader, 0, &entry));
	latency_matrix_destroy(reader);
	latency_matrix_destroy(writer);
}

Test(latency_live, figures_of_a_damaged_file_are_in_range)
{
	struct latency_matrix *writer = open_live(), *reader = latency_live_map(path, &err);
	struct latency_maximum maximum;
	struct latency_entry entry;

	cr_assert_eq(latency_live_begin(writer, &err), 0, "%s", err.text);
	add_hosts(writer);
	set(writer, 0, 2, 5);
	cr_assert_eq(latency_live_update_maxima(writer), 0);
	latency_live_end(writer);
	cr_assert(latency_matrix_load(reader, 0, &entry) && latency_live_maximum(reader, 0, 1, &maximum));
	latency_store_entry(writer, 0)->rtt_max_us = 1e139;
	cr_assert(!latency_matrix_load(reader, 0, &entry), "no round trip is so long");
	latency_store_write(writer, 0, &entry);
	latency_store_entry(writer, 0)->peer_stall_us = INFINITY;
	cr_assert(!latency_matrix_load(reader, 0, &entry));
	latency_store_write(writer, 0,
			    &(struct latency_entry){.destination = 2,
						    .rtt_p50_us = NAN,
						    .rtt_p99_us = NAN,
						    .rtt_max_us = NAN,
						    .state = LATENCY_STATE_MEASURED});
	cr_assert(!latency_matrix_load(reader, 0, &entry), "measured without a sample");
	writer->maxima[1].maximum.updated_at.v = INT64_MIN;
	cr_assert(!latency_live_maximum(reader, 0, 1, &maximum));
	writer->maxima[1].maximum.updated_at.v = 1;
	writer->maxima[1].maximum.rtt_p99_us = NAN;
	cr_assert(!latency_live_maximum(reader, 0, 1, &maximum));
	atomic_store(&writer->counts->written_at_ns, INT64_MIN);
	cr_assert_eq(latency_live_written_at(reader).v, 0);
	latency_matrix_destroy(reader);
	latency_matrix_destroy(writer);
}

Test(latency_live, a_damaged_table_or_name_loses_no_other_pair)
{
	struct latency_matrix *writer = open_live(), *reader = latency_live_map(path, &err), *copy;
	struct latency_entry entry;

	cr_assert_eq(latency_live_begin(writer, &err), 0, "%s", err.text);
	add_hosts(writer);
	for (size_t i = 0; i < writer->pair_slot_count; i++)
		atomic_store(&writer->pair_slots[i], i == 7 ? 0 : UINT32_MAX);
	set(writer, 0, 1, 5);
	set(writer, 0, 1, 6);
	latency_live_end(writer);
	cr_assert(latency_matrix_load_pair(reader, 0, 1, &entry) && entry.rtt_p50_us == 6);
	cr_assert_eq(latency_matrix_count(reader), 1, "the pair was found and replaced");
	set(writer, 1, 2, 7);
	strcpy(writer->hosts[0].name, "a b");
	copy = latency_live_snapshot(reader);
	cr_assert(copy && latency_matrix_count(copy) == 1, "the pair without a bad name");
	latency_matrix_destroy(copy);
	atomic_store(&writer->counts->hosts, 2);
	cr_assert_eq(latency_matrix_find_host(reader, latency_store_name(writer->hosts[2].name)), -ENOENT);
	cr_assert_str_eq(latency_matrix_host(reader, 2), "?");
	latency_matrix_destroy(reader);
	latency_matrix_destroy(writer);
}

Test(latency_live, a_dead_prober_leaves_the_maximum)
{
	struct latency_matrix *writer = open_live();
	struct latency_maximum maximum;
	struct latency_entry entry = entry_of(0, 2, 900);

	cr_assert_eq(latency_live_begin(writer, &err), 0, "%s", err.text);
	add_hosts(writer);
	entry.updated_at.v = 1000 * NS_PER_S;
	cr_assert_eq(latency_matrix_set(writer, &entry), 0);
	entry = entry_of(1, 3, 5);
	entry.updated_at.v = 1061 * NS_PER_S;
	cr_assert_eq(latency_matrix_set(writer, &entry), 0);
	cr_assert_eq(latency_live_update_maxima(writer), 0);
	latency_live_end(writer);
	cr_assert(latency_live_maximum(writer, 0, 1, &maximum) && maximum.pairs == 1 && maximum.rtt_p50_us == 5);
	latency_matrix_destroy(writer);
}
