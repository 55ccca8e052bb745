/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/json.h>
#include <model/placement.h>
#include <sched/place/place.h>

static char folder[] = "/tmp/nomora-place-XXXXXX";
static char cluster[64], jobs[64], latency[64], answer[64];

static void write_text(char path[static 64], const char *name, const char *text)
{
	FILE *file;

	snprintf(path, 64, "%s/%s", folder, name);
	file = fopen(path, "w");
	cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* h3 is far away; the job's three tasks fit on h1 and h2. */
static void make_files(void)
{
	cr_assert(mkdtemp(folder));
	write_text(cluster, "cluster.json",
		   "{\"schema\": \"nomora.cluster/1\", \"machines\": ["
		   "{\"name\": \"h1\", \"rack\": \"r1\", \"slots\": 2}, {\"name\": \"h2\", \"rack\": \"r1\", "
		   "\"slots\": 2}, {\"name\": \"h3\", \"rack\": \"r2\", \"slots\": 2}]}");
	write_text(jobs, "jobs.jsonl",
		   "{\"id\": \"web\", \"curve\": \"memcached\", \"root\": \"server\", \"tasks\": [\"server\", \"c1\", "
		   "\"c2\"]}\n");
	write_text(latency, "latency.csv",
		   "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
		   "h1,h2,10,12,20,0,100,1795188663.25\nh1,h3,410,412,420,0,100,1795188663.25\n"
		   "h2,h3,410,412,420,0,100,1795188663.25\n");
	write_text(answer, "answer.json", "");
}

static void remove_files(void)
{
	unlink(cluster);
	unlink(jobs);
	unlink(latency);
	unlink(answer);
	rmdir(folder);
}

TestSuite(place, .init = make_files, .fini = remove_files);

static struct place_settings settings_of_files(void)
{
	struct place_settings settings;

	place_settings_default(&settings, false);
	settings.cluster = cluster;
	settings.jobs = jobs;
	settings.latency = latency;
	settings.curves = SHIPPED_CURVES;
	settings.verify = true;
	return settings;
}

Test(place, a_job_stays_in_the_rack_with_room_for_it_and_the_answer_reads_back)
{
	struct place_settings settings = settings_of_files();
	struct place_world world = {0};
	struct place_outcome outcome = {0};
	struct placement *placement;
	struct error err = {0};
	FILE *out = fopen(answer, "w");

	cr_assert_eq(place_world_load(&world, &settings, &err), 0, "%s", err.text);
	cr_assert_eq(place_run(&world, &outcome, &err), 0, "%s", err.text);
	cr_assert_eq(outcome.explanation.totals.placed, 3);
	cr_assert_eq(outcome.solves, 2);
	cr_assert(outcome.round.last.verified);
	cr_assert_eq(place_print_json(&world, &outcome, out), 0);
	cr_assert_eq(fclose(out), 0);
	placement = placement_from_json(answer, json_read_file(answer, &err), &err);
	cr_assert(placement, "%s", err.text);
	cr_assert_eq(placement->task_count, 3);
	for (size_t i = 0; i < placement->task_count; i++)
		cr_assert_str_eq(placement->tasks[i].taken.rack, "r1");
	placement_destroy(placement);
	place_outcome_free(&outcome);
	place_world_free(&world);
}

Test(place, a_job_without_its_curve_is_refused_with_its_line)
{
	struct place_settings settings = settings_of_files();
	struct place_world world = {0};
	struct error err = {0};

	write_text(jobs, "jobs.jsonl",
		   "{\"id\": \"web\", \"curve\": \"nowhere\", \"root\": \"server\", \"tasks\": [\"server\"]}\n");
	cr_assert_neq(place_world_load(&world, &settings, &err), 0);
	cr_assert(strstr(err.text, "jobs.jsonl:1: curve: job 'web' needs curve 'nowhere'"), "%s", err.text);
	place_world_free(&world);
}
