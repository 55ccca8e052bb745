/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One round of `nomora place`, of the simulator and of the live scheduler: the same tasks on the same machines. The
 * worlds have new jobs, jobs that run in part, silent pairs, full and draining machines.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <model/curve_library.h>
#include <sched/live/live.h>
#include <sched/place/place.h>

#include "random_case.h"
#include "sim_priv.h"

enum { CASES = 1000, TEXT_BYTES = 4096, POLICIES = 5, SEED = 1 };

static char folder[] = "/tmp/nomora-engines-XXXXXX";
static char cluster[64], jobs[64], latency[64], curves[CASE_CURVES][64];

static uint32_t minimum_of[CASE_JOBS]; /* gangs: number of tasks with which the job starts */

static FILE *create(char path[static 64], const char *name)
{
	FILE *file;

	snprintf(path, 64, "%s/%s", folder, name);
	file = fopen(path, "w");
	cr_assert(file);
	return file;
}

static void make_folder(void)
{
	cr_assert(mkdtemp(folder));
}

static void remove_files(void)
{
	unlink(cluster);
	unlink(jobs);
	unlink(latency);
	for (int k = 0; k < CASE_CURVES; k++)
		unlink(curves[k]);
	rmdir(folder);
}

TestSuite(engines, .init = make_folder, .fini = remove_files);

static uint32_t running_on(const struct random_case *random, uint32_t machine)
{
	uint32_t tasks = 0;

	for (uint32_t j = 0; j < random->job_count; j++)
		for (uint32_t t = 0; t < random->jobs[j].tasks; t++)
			tasks += random->jobs[j].machine[t] == (int32_t)machine;
	return tasks;
}

/* Slots of a machine in formats that know no draining: a draining machine has no free slot. */
static uint32_t slots_of(const struct random_case *random, uint32_t machine)
{
	return random->machines[machine].draining ? running_on(random, machine)
						  : (uint32_t)random->machines[machine].slots;
}

/* Draws a case. Some jobs are new: none of their tasks runs. */
static void draw(struct random_case *random, struct rng *rng, double silent)
{
	random_case_draw(random, rng, silent);
	for (uint32_t j = 0; j < random->job_count; j++)
		for (uint32_t t = 0, is_new = rng_below(rng, 2) == 0; is_new && t < random->jobs[j].tasks; t++)
			random->jobs[j].machine[t] = CASE_WAITS;
}

static void print_place(char *text, size_t *length, uint32_t job, uint32_t task, int32_t machine)
{
	*length += (size_t)(machine < 0 ? snprintf(text + *length, TEXT_BYTES - *length, "%u.%u waits\n", job, task)
					: snprintf(text + *length, TEXT_BYTES - *length, "%u.%u m%d\n", job, task,
						   machine));
	cr_assert_lt(*length, TEXT_BYTES);
}

static void write_jobs(const struct random_case *random)
{
	FILE *out = create(jobs, "jobs.jsonl");

	for (uint32_t j = 0; j < random->job_count; j++) {
		const struct case_job *job = &random->jobs[j];

		fprintf(out, "{\"id\": \"%u\", \"curve\": \"c%d\", \"root\": \"0\", \"tasks\": [", j, job->curve);
		for (uint32_t t = 0; t < job->tasks; t++) {
			fprintf(out, "%s{\"name\": \"%u\"", t > 0 ? ", " : "", t);
			if (job->machine[t] != CASE_WAITS)
				fprintf(out, ", \"machine\": \"m%d\", \"running_s\": 1", job->machine[t]);
			fprintf(out, "}");
		}
		fprintf(out, "], \"minimum_tasks\": %u}\n", minimum_of[j]);
	}
	cr_assert_eq(fclose(out), 0);
}

static void write_files(const struct random_case *random)
{
	FILE *out = create(cluster, "cluster.json");
	struct error err = {0};

	fprintf(out, "{\"schema\": \"nomora.cluster/1\", \"machines\": [");
	for (uint32_t m = 0; m < random->machine_count; m++)
		fprintf(out, "%s{\"name\": \"m%u\", \"rack\": \"r%u\", \"pod\": \"p\", \"slots\": %u}",
			m > 0 ? ", " : "", m, random->machines[m].rack, slots_of(random, m));
	fprintf(out, "]}");
	cr_assert_eq(fclose(out), 0);
	out = create(latency, "latency.csv");
	fprintf(out, "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n");
	for (uint32_t a = 0; a < random->machine_count; a++) {
		for (uint32_t b = 0; b < random->machine_count; b++) {
			double us = (double)random->rtt_us[a][b];

			if (isinf(us))
				fprintf(out, "m%u,m%u,,,,1,0,1795188663\n", a, b);
			else
				fprintf(out, "m%u,m%u,%g,%g,%g,0,100,1795188663\n", a, b, us, us, us);
		}
	}
	cr_assert_eq(fclose(out), 0);
	for (int k = 0; k < CASE_CURVES; k++) {
		char name[16], *text = curve_to_text(random->curves[k], &err);

		cr_assert(text, "%s", err.text);
		snprintf(name, sizeof name, "c%d.json", k);
		out = create(curves[k], name);
		cr_assert(fputs(text, out) >= 0 && fclose(out) == 0);
		free(text);
	}
	write_jobs(random);
}

static void by_place(const struct random_case *random, int policy, char text[TEXT_BYTES])
{
	struct place_settings settings;
	struct place_world world = {0};
	struct place_outcome outcome = {0};
	struct error err = {0};
	size_t length = 0;

	write_files(random);
	place_settings_default(&settings, false);
	settings.cluster = cluster;
	settings.jobs = jobs;
	settings.latency = latency;
	settings.curves = folder;
	settings.policy = policy;
	settings.seed = SEED;
	cr_assert_eq(place_world_load(&world, &settings, &err), 0, "%s", err.text);
	cr_assert_eq(place_run(&world, &outcome, &err), 0, "%s", err.text);
	for (uint32_t j = 0; j < random->job_count; j++)
		for (uint32_t t = 0; t < random->jobs[j].tasks; t++)
			print_place(text, &length, j, t, flownet_task_machine(placer_net(world.placer), j, t));
	place_outcome_free(&outcome);
	place_world_free(&world);
}

static void submit(struct live *live, const struct random_case *random, uint32_t number, bool may_move)
{
	const struct case_job *from = &random->jobs[number];
	char id[12], curve[16], names[CASE_TASKS][12];
	struct job_task tasks[CASE_TASKS] = {0};
	struct job job = {.id = id,
			  .curve = curve,
			  .tasks = tasks,
			  .task_count = from->tasks,
			  .limits.minimum_tasks = minimum_of[number]};
	struct error err = {0};

	snprintf(id, sizeof id, "%u", number);
	snprintf(curve, sizeof curve, "c%d", from->curve);
	for (uint32_t t = 0; t < from->tasks; t++) {
		snprintf(names[t], sizeof names[t], "%u", t);
		tasks[t].name = names[t];
		tasks[t].machine = from->machine[t] == CASE_WAITS ? JOB_NO_MACHINE : from->machine[t];
		tasks[t].running_s = 1;
	}
	cr_assert_eq(live_submit(live, &job, 0, may_move, 0, &err), 0, "%s", err.text);
}

static struct live *make_live(const struct random_case *random, int policy, const struct migration_settings *moves)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.policy = policies[policy];
	settings.policy_settings.seed = SEED;
	settings.confirm_at_once = true;
	settings.max_age_s = 0;
	settings.moves = *moves;
	live = live_create(&settings, &err);
	cr_assert(live, "%s", err.text);
	for (uint32_t m = 0; m < random->machine_count; m++) {
		char name[16], rack[16];

		snprintf(name, sizeof name, "m%u", m);
		snprintf(rack, sizeof rack, "r%u", random->machines[m].rack);
		cr_assert_eq(live_machine_set(live, name, rack, "p", (uint32_t)random->machines[m].slots,
					      random->machines[m].draining ? LIVE_DRAINING : LIVE_UP, &err),
			     0, "%s", err.text);
	}
	for (int k = 0; k < CASE_CURVES; k++) {
		char name[16];

		snprintf(name, sizeof name, "c%d", k);
		cr_assert_eq(live_curve_set(live, name, random->curves[k], &err), 0, "%s", err.text);
	}
	return live;
}

static void by_live(const struct random_case *random, int policy, const struct migration_settings *moves,
		    char text[TEXT_BYTES])
{
	struct live *live = make_live(random, policy, moves);
	struct error err = {0};
	size_t length = 0;

	for (uint32_t a = 0; a < random->machine_count; a++)
		for (uint32_t b = 0; b < random->machine_count; b++)
			cr_assert_eq(live_latency(live, &(struct latency_sample){a, b, random->rtt_us[a][b]}, 1, 0), 0);
	for (uint32_t j = 0; j < random->job_count; j++)
		submit(live, random, j, moves->mode != MIGRATION_OFF);
	cr_assert_geq(live_step(live, 0, &err), 0, "%s", err.text);
	for (uint32_t j = 0; j < random->job_count; j++) {
		const struct live_job *job;
		char id[12];

		snprintf(id, sizeof id, "%u", j);
		job = live_find_job(live, id);
		for (uint32_t t = 0; t < job->task_count; t++)
			print_place(text, &length, j, t, job->tasks[t].machine);
	}
	live_destroy(live);
}

static struct workload *make_workload(const struct random_case *random)
{
	struct workload *workload = workload_create();
	struct error err = {0};

	workload->places = cluster_create();
	for (uint32_t m = 0; m < random->machine_count; m++) {
		char name[16], rack[16];

		snprintf(name, sizeof name, "m%u", m);
		snprintf(rack, sizeof rack, "r%u", random->machines[m].rack);
		cr_assert_geq(cluster_add_machine(workload->places, name, rack, "p", random->machines[m].slots, &err),
			      0, "%s", err.text);
		cr_assert_eq(workload_add_machine_event(workload, 0, m, WORKLOAD_MACHINE_ADDED, -1), 0);
		workload->machine_events[workload->machine_event_count - 1].slots = (int32_t)slots_of(random, m);
	}
	for (uint32_t a = 0; a < random->machine_count; a++)
		for (uint32_t b = 0; b < random->machine_count; b++)
			cr_assert_eq(workload_add_latency(workload, 0, a, b, random->rtt_us[a][b]), 0);
	for (uint32_t j = 0; j < random->job_count; j++) {
		char id[12], curve[16];

		snprintf(id, sizeof id, "%u", j);
		snprintf(curve, sizeof curve, "c%d", random->jobs[j].curve);
		cr_assert_eq(workload_note_job(workload, j, id, curve), 0);
		for (uint32_t t = 0; t < random->jobs[j].tasks; t++)
			cr_assert_eq(workload_add_task(workload, j, t, 0, WORKLOAD_TO_THE_END), 0);
	}
	cr_assert_eq(workload_finish(workload,
				     &(struct workload_filter){
					     .end_us = 1500000, .fraction = 1, .speed_up = 1, .keep_single = true}),
		     0);
	return workload;
}

/* What the simulator runs, and where its tasks are after each round. */
static const struct random_case *simulated;
static int32_t places[CASE_JOBS][CASE_TASKS];

/* Starts the tasks that run in the case, as a round would. */
static int start_running(struct sim *sim, struct error *err)
{
	struct round_outcome *outcome = &sim->outcome;

	outcome->moves = calloc(CASE_JOBS * CASE_TASKS, sizeof *outcome->moves);
	outcome->move_capacity = CASE_JOBS * CASE_TASKS;
	for (uint32_t j = 0; j < simulated->job_count; j++) {
		for (uint32_t t = 0; t < simulated->jobs[j].tasks; t++) {
			int32_t to = simulated->jobs[j].machine[t];

			if (to != CASE_WAITS)
				outcome->moves[outcome->move_count++] =
					(struct flownet_move){.job = j, .task = t, .from = FLOWNET_NONE, .to = to};
		}
	}
	return sim_end_round(sim, err);
}

/* A network like those of place and schedd: it finds the running tasks and has not solved a round. */
static int renew_net(struct sim *sim, struct error *err)
{
	int code = sim_create_placer(sim, err);

	for (uint32_t m = 0; m < simulated->machine_count && code == 0; m++)
		code = flownet_machine_added(sim->net, m, sim->slots[m]);
	for (uint32_t j = 0; j < simulated->job_count && code == 0; j++) {
		code = placer_job_arrived(sim->placer, j, (int32_t)sim->jobs[j].curve, 0, simulated->jobs[j].tasks);
		for (uint32_t t = 0; t < simulated->jobs[j].tasks && code == 0; t++) {
			int32_t on = simulated->jobs[j].machine[t];

			code = on == CASE_WAITS ? flownet_task_arrived(sim->net, j, t, 0)
						: flownet_task_found(sim->net, j, t, (uint32_t)on, 0);
		}
	}
	return code;
}

int __real_sim_begin_round(struct sim *sim, struct error *err);
int __wrap_sim_begin_round(struct sim *sim, struct error *err);

/* The round of second 0 starts the tasks that run in the case; the round of second 1 is the test's. */
int __wrap_sim_begin_round(struct sim *sim, struct error *err)
{
	int code;

	if (sim->now_us > 0)
		code = __real_sim_begin_round(sim, err);
	else
		code = start_running(sim, err) != 0 ? -1 : renew_net(sim, err);
	for (uint32_t j = 0; j < simulated->job_count; j++)
		for (uint32_t t = 0; t < simulated->jobs[j].tasks; t++)
			places[j][t] = sim->tasks[sim->workload->jobs[j].first_task + t].machine;
	return code;
}

static void by_simulator(const struct random_case *random, int policy, const struct migration_settings *moves,
			 char text[TEXT_BYTES])
{
	struct workload *workload = make_workload(random);
	struct sim_settings settings;
	struct sim_watch watch = {0};
	struct sim_result result;
	struct error err = {0};
	size_t length = 0;

	sim_settings_default(&settings);
	settings.policy = policies[policy];
	policy_settings_default(&settings.policy_settings);
	settings.seed = SEED;
	settings.end_us = 1500000;
	settings.round_us = 1000000;
	settings.check = true;
	settings.moves = *moves;
	for (int k = 0; k < CASE_CURVES; k++) {
		static const char *const names[CASE_CURVES] = {"c0", "c1", "c2"};

		settings.curves[settings.curve_count] = random->curves[k];
		settings.curve_shares[settings.curve_count] = k == 0;
		settings.curve_names[settings.curve_count++] = names[k];
	}
	simulated = random;
	cr_assert_eq(sim_run(workload, &settings, &watch, &result, &err), 0, "%s", err.text);
	cr_assert_eq(result.rounds, 2);
	for (uint32_t j = 0; j < random->job_count; j++)
		for (uint32_t t = 0; t < random->jobs[j].tasks; t++)
			print_place(text, &length, j, t, places[j][t]);
	sim_result_free(&result);
	workload_destroy(workload);
}

/* Silent pairs: a share of the measurements has no answer. */
static double silent_share(int number)
{
	static const double shares[] = {0, 0.03, 0.1, 0.3};

	return shares[number / POLICIES % 4];
}

Test(engines, place_simulate_and_schedd_decide_alike)
{
	const struct migration_settings off = {.mode = MIGRATION_OFF};
	struct random_case random;
	struct rng rng;

	rng_seed(&rng, 43);
	for (int number = 0; number < CASES; number++) {
		static char place[TEXT_BYTES], simulator[TEXT_BYTES], live[TEXT_BYTES];
		int policy = number % POLICIES;

		draw(&random, &rng, silent_share(number));
		by_place(&random, policy, place);
		by_simulator(&random, policy, &off, simulator);
		by_live(&random, policy, &off, live);
		cr_expect_str_eq(live, place, "world %d, %s: schedd\n%splace\n%s", number, policies[policy]->name, live,
				 place);
		cr_expect_str_eq(simulator, place, "world %d, %s: simulate\n%splace\n%s", number,
				 policies[policy]->name, simulator, place);
		random_case_free(&random);
	}
}

/*
 * Jobs that start only with several tasks, whose number may exceed that of the free or reachable slots. No machine is
 * draining: with the policy random, ties depend on the slots that such a machine has but does not give.
 */
Test(engines, place_and_schedd_start_the_same_gangs)
{
	const struct migration_settings off = {.mode = MIGRATION_OFF};
	struct random_case random;
	struct rng rng;

	rng_seed(&rng, 45);
	for (int number = 0; number < CASES; number++) {
		static char place[TEXT_BYTES], live[TEXT_BYTES];
		int policy = number % POLICIES;

		draw(&random, &rng, silent_share(number));
		for (uint32_t m = 0; m < random.machine_count; m++)
			random.machines[m].draining = false;
		for (uint32_t j = 0; j < random.job_count; j++)
			minimum_of[j] = (uint32_t)rng_below(&rng, random.jobs[j].tasks + 1);
		by_place(&random, policy, place);
		by_live(&random, policy, &off, live);
		cr_expect_str_eq(live, place, "world %d, %s: schedd\n%splace\n%s", number, policies[policy]->name, live,
				 place);
		random_case_free(&random);
	}
}

/* Moves by the rules. Draining machines, which the simulator does not have, are left out. */
Test(engines, simulate_and_schedd_move_alike)
{
	struct random_case random;
	struct rng rng;

	rng_seed(&rng, 44);
	for (int number = 0; number < CASES; number++) {
		const struct migration_settings on = {.mode = MIGRATION_ON,
						      .gain = 0.05 + 0.1 * (double)rng_below(&rng, 4),
						      .rate = 100,
						      .no_return_s = 600,
						      .restart_s = (double)rng_below(&rng, 2) * 0.2};
		static char simulator[TEXT_BYTES], live[TEXT_BYTES];

		random_case_draw(&random, &rng, silent_share(number));
		for (uint32_t m = 0; m < random.machine_count; m++)
			random.machines[m].draining = false;
		for (uint32_t j = 0; j < random.job_count; j++)
			for (uint32_t t = 1; t < random.jobs[j].tasks; t++)
				if (rng_below(&rng, 2) == 0)
					random.jobs[j].machine[t] = random_case_place(&random, &rng);
		by_simulator(&random, 0, &on, simulator);
		by_live(&random, 0, &on, live);
		cr_expect_str_eq(simulator, live, "world %d: simulate\n%sschedd\n%s", number, simulator, live);
		random_case_free(&random);
	}
}
