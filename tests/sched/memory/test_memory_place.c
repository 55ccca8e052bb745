/* SPDX-License-Identifier: BSD-3-Clause */
/* sched/place and sched/gain, with the network, the policies, the round and the solvers, when memory runs out: an
 * error, or the same placement. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/json.h>
#include <sched/gain/gain.h>
#include <sched/mcf/algorithms.h>
#include <sched/place/place.h>

#include "fail_allocation.h"

static char folder[] = "/tmp/nomora-memory-XXXXXX", cluster[64], jobs[64], latency[64];
static struct place_settings settings;

static void write_text(char path[static 64], const char *name, const char *text)
{
	FILE *file;

	snprintf(path, 64, "%s/%s", folder, name);
	file = fopen(path, "w");
	cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/*
 * Three racks; a job of which the root waits (the first, so that its cost must age), one that waits, one that runs and
 * a gang; not enough slots.
 */
static void make_files(void)
{
	cr_assert(mkdtemp(folder));
	write_text(cluster, "cluster.json",
		   "{\"schema\": \"nomora.cluster/1\", \"machines\": ["
		   "{\"name\": \"h1\", \"rack\": \"r1\", \"slots\": 3}, {\"name\": \"h2\", \"rack\": \"r1\", "
		   "\"slots\": 2},"
		   "{\"name\": \"h3\", \"rack\": \"r2\", \"slots\": 4}, {\"name\": \"h4\", \"rack\": \"r2\", "
		   "\"slots\": 2},"
		   "{\"name\": \"h5\", \"rack\": \"r3\", \"slots\": 3}, {\"name\": \"h6\", \"rack\": \"r3\", "
		   "\"slots\": 2}]}");
	write_text(jobs, "jobs.jsonl",
		   "{\"id\": \"lost\", \"curve\": \"memcached\", \"root\": 0, \"tasks\": [\"x\", {\"name\": \"y\", "
		   "\"machine\": \"h5\"}, \"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]}\n"
		   "{\"id\": \"web\", \"curve\": \"memcached\", \"root\": \"s\", \"graph\": \"ring\", "
		   "\"tasks\": [\"s\", \"c1\", \"c2\"]}\n"
		   "{\"id\": \"runs\", \"curve\": \"spark\", \"root\": \"r\", \"tasks\": [{\"name\": \"r\", "
		   "\"machine\": \"h3\"},"
		   " {\"name\": \"a\", \"machine\": \"h6\", \"running_s\": 60}, \"b\"]}\n"
		   "{\"id\": \"gang\", \"curve\": \"strads\", \"root\": 0, \"minimum_tasks\": 2, \"tasks\": [\"x\", "
		   "\"y\", \"z\"]}\n");
	write_text(latency, "latency.csv",
		   "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
		   "h1,h2,10,12,20,0,100,1795188663.25\nh1,h3,410,412,420,0,100,1795188663.25\n"
		   "h2,h3,310,412,420,0,100,1795188663.25\nh5,h6,30,42,50,0,100,1795188663.25\n"
		   "h3,h6,200,212,230,0,100,1795188663.25\nh3,h4,20,22,30,0,100,1795188663.25\n");
	place_settings_default(&settings, false);
	settings.cluster = cluster;
	settings.jobs = jobs;
	settings.latency = latency;
	settings.curves = SOURCE_ROOT "/curves";
	settings.rounds = 2;
	settings.round_s = 10;
	settings.omega_per_s = 1;
	settings.verify = true;
}

static void remove_files(void)
{
	unlink(cluster);
	unlink(jobs);
	unlink(latency);
	rmdir(folder);
}

TestSuite(memory_place, .init = make_files, .fini = remove_files);

static int place(FILE *out)
{
	struct place_world world = {0};
	struct place_outcome outcome = {0};
	struct error err = {0};
	int code = place_world_load(&world, &settings, &err);

	if (code == 0)
		code = place_run(&world, &outcome, &err);
	outcome.seconds = 0;
	if (code == 0 && settings.algorithm_name) /* out of memory, `auto` may find another optimum */
		fprintf(out, "%ld %zu", (long)outcome.round.cost, outcome.round.move_count);
	else if (code == 0)
		code = place_print_json(&world, &outcome, out);
	place_outcome_free(&outcome);
	place_world_free(&world);
	return code;
}

/* Of the policies, the one with a root search, one with a network of its own and one that draws. */
Test(memory_place, policies)
{
	for (settings.policy = 0; policies[settings.policy]; settings.policy++) {
		const char *name = policies[settings.policy]->name;

		settings.preemption = strcmp(name, "nomora") == 0;
		if (settings.preemption || strcmp(name, "quincy") == 0 || strcmp(name, "random") == 0)
			cr_expect_gt(fail_each_allocation(place), 100);
	}
}

Test(memory_place, every_algorithm)
{
	settings.rounds = 1;
	settings.verify = false;
	for (const struct mcf_algorithm *row = mcf_algorithms; row->name; row++) {
		settings.algorithm_name = row->name;
		cr_expect_gt(fail_each_allocation(place), 100);
	}
}

static int compare(FILE *out)
{
	struct gain_settings of_gain = {.place = settings, .curve = "spark", .seeds = 2};
	struct gain gain = {0};
	struct error err = {0};
	json_t *running = json_pack("{s:{s:s, s:{s:s, s:s, s:s}}, s:{s:s, s:s, s:{s:s, s:s}}, s:{s:s, s:{s:s, s:s}}}",
				    "one", "root", "0", "tasks", "0", "h1", "1", "h3", "2", "h6", "two", "curve",
				    "memcached", "root", "0", "tasks", "0", "h2", "1", "h5", "away", "root", "0",
				    "tasks", "0", "h1", "1", "elsewhere");
	int code = running ? gain_run(&of_gain, running, &gain, &err) : -ENOMEM;
	json_t *answer = code == 0 ? gain_to_json(&of_gain, &gain) : NULL;

	if (code == 0)
		code = json_print(out, answer);
	json_decref(answer);
	gain_free(&gain);
	json_decref(running);
	return code;
}

Test(memory_place, gain)
{
	settings.jobs = NULL;
	cr_expect_gt(fail_each_allocation(compare), 100);
}
