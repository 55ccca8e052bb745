/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the rounds and writes the flow network of the last one. */
#include <sched/place/place.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/log.h>
#include <base/number.h>

/*
 * THRESHOLD_NONE: the maximum cost, so this threshold keeps every arc. TASKS_NAMED: maximum number of tasks that a
 * warning names.
 */
enum { THRESHOLD_NONE = 1000, TASKS_NAMED = 3 };

static int64_t count_free(const struct place_world *world)
{
	int64_t slots = 0;

	for (uint32_t m = 0; m < world->cluster->machine_count; m++)
		slots += flownet_free(placer_net(world->placer), m);
	return slots;
}

static int write_dimacs(const struct place_world *world, const struct flownet_network *network, const int32_t *flow,
			FILE *out)
{
	struct flownet_names names = place_names(world);

	(void)flow;
	return flownet_network_write_dimacs(network, placer_net(world->placer), &names, out);
}

static int write_drawing(const struct place_world *world, const struct flownet_network *network, const int32_t *flow,
			 FILE *out)
{
	struct flownet_names names = place_names(world);
	const char *ending = strrchr(world->settings->draw, '.');
	bool json = ending && strcasecmp(ending, ".json") == 0;

	return (json ? flownet_network_write_json : flownet_network_write_dot)(network, placer_net(world->placer),
									       &names, flow, out);
}

/* Writes a complete file or none. After -EIO from write(), file_writer_commit() reports the error. */
static int write_file(const struct place_world *world, const struct flownet_network *network, const int32_t *flow,
		      const char *path,
		      int (*write)(const struct place_world *, const struct flownet_network *, const int32_t *, FILE *),
		      struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);
	int code;

	if (!writer)
		return error_code(err, EIO);
	code = write(world, network, flow, file_writer_stream(writer));
	if (code == 0 || code == -EIO)
		return file_writer_commit(writer, err);
	file_writer_discard(writer);
	return error_set(err, -code, "cannot write %s: %s", path, strerror(-code));
}

/*
 * Writes the files of --dump-dimacs and --draw. network: as it was before the last solve. Its flow is computed from the
 * tasks' machines after the solve.
 */
static int write_network(const struct place_world *world, const struct flownet_network *network, struct error *err)
{
	const struct place_settings *settings = world->settings;
	int32_t *flow = calloc((size_t)network->problem.arc_count + 1, sizeof *flow);
	int code = flow ? flownet_network_route(network, placer_net(world->placer), flow) : -ENOMEM;

	if (code != 0)
		error_set(err, -code, "out of memory");
	if (code == 0 && settings->dump_dimacs)
		code = write_file(world, network, flow, settings->dump_dimacs, write_dimacs, err);
	if (code == 0 && settings->draw)
		code = write_file(world, network, flow, settings->draw, write_drawing, err);
	free(flow);
	return code;
}

static void note_capped(const struct place_world *world, struct place_outcome *outcome)
{
	double longest_s;
	uint64_t tasks = flownet_capped_tasks(placer_net(world->placer), &longest_s);

	if (tasks < outcome->capped_tasks)
		return;
	outcome->capped_tasks = tasks;
	outcome->longest_wait_s = longest_s;
}

/*
 * Warns of tasks for which the thresholds left only the arc to X (the cluster). Such a task got any free slot, perhaps
 * far from its root.
 */
static void warn_of_thresholds(const struct place_world *world, const struct place_outcome *outcome)
{
	const struct place_settings *settings = world->settings;
	struct explain_scene scene = place_scene(world);
	struct flownet_names names = place_names(world);
	char text[160] = "";
	size_t count = 0, length = 0;

	if (strcmp(placer_policy(world->placer)->name, "nomora") != 0 ||
	    (settings->p_m >= THRESHOLD_NONE && settings->p_r >= THRESHOLD_NONE))
		return;
	for (size_t i = 0; i < outcome->explanation.task_count; i++) {
		const struct explain_task *task = &outcome->explanation.tasks[i];
		struct placement_task named;

		if (task->state != PLACEMENT_PLACED || task->arc != FLOWNET_ARC_CLUSTER || count++ >= TASKS_NAMED)
			continue;
		named = explain_placement(&scene, &names, task);
		length += (size_t)snprintf(text + length, sizeof text - length, "%s%.24s.%.24s", length ? ", " : "",
					   named.job, named.task);
	}
	if (count > 0)
		log_warning("--p-m %lld, --p-r %lld: %zu task%s found no machine or rack with a free slot within these "
			    "thresholds and took any slot (%s%s)",
			    (long long)settings->p_m, (long long)settings->p_r, count, number_s((uint64_t)count), text,
			    count > TASKS_NAMED ? ", ..." : "");
}

static void warn_of_capped(const struct place_world *world, const struct place_outcome *outcome)
{
	double enough = FLOWNET_TIME_COST_MAXIMUM / outcome->longest_wait_s, digit;

	if (outcome->capped_tasks == 0)
		return;
	digit = pow(10, floor(log10(enough)) - 1); /* 10^n, to round to two significant digits */
	progress_clear(world->progress);
	log_warning("--omega-per-s %g: waiting adds at most %d to a task's cost; %llu waiting tasks have reached this "
		    "limit "
		    "(the longest wait is %g s) and now cost the same. Expected --omega-per-s %g or less",
		    world->settings->omega_per_s, FLOWNET_TIME_COST_MAXIMUM, (unsigned long long)outcome->capped_tasks,
		    outcome->longest_wait_s, floor(enough / digit) * digit);
}

/* The context of a round's functions. */
struct round {
	struct place_world *world;
	struct place_outcome *outcome;
};

static int before_others(void *context)
{
	const struct round *round = context;
	struct explain_scene scene = place_scene(round->world);

	progress_update(round->world->progress, 3, "placing the other tasks");
	return explain_before(&scene, &round->outcome->explanation);
}

static double waited_s(void *context, uint32_t job, uint32_t task)
{
	const struct round *round = context;

	return round->world->jobs->items[job].tasks[task].waited_s;
}

/* Runs a round. Of the last one, also prepares the explanation and writes the network. */
static int run_round(struct place_world *world, bool is_last, struct place_outcome *outcome, struct error *err)
{
	struct round round = {world, outcome};
	bool network = is_last && (world->settings->dump_dimacs || world->settings->draw);
	struct round_options options = {.context = &round,
					.before_others = is_last ? before_others : NULL,
					.gangs = world->gangs,
					.gang_count = world->gang_count,
					.waited_s = waited_s,
					.whole_cost = is_last,
					.bound = is_last && world->settings->verify,
					.keep_network = network};
	int code = round_run(world->placer, &options, &outcome->round, err);

	return code == 0 && network ? write_network(world, &outcome->round.network, err) : code;
}

static int run_rounds(struct place_world *world, struct place_outcome *outcome, struct error *err)
{
	const struct place_settings *settings = world->settings;
	int code = 0;

	progress_update(world->progress, 2, "placing roots");
	for (int64_t round = 1; round <= settings->rounds && code == 0; round++) {
		if (round > 1)
			flownet_time_passed(placer_net(world->placer), settings->round_s);
		note_capped(world, outcome);
		code = run_round(world, round == settings->rounds, outcome, err);
		outcome->solves += outcome->round.solves;
		outcome->seconds += outcome->round.seconds;
		if (code == 0 && round == 1 && settings->rounds > 1 && flownet_prepare(placer_net(world->placer)) != 0)
			code = error_set(err, ENOMEM, "out of memory");
	}
	return code;
}

static int list_tasks(const struct place_world *world, struct explanation *explanation)
{
	int code = 0;

	for (uint32_t j = 0; j < world->jobs->count; j++) {
		const struct job *job = &world->jobs->items[j];

		for (uint32_t t = 0; t < job->task_count && code == 0; t++)
			code = explain_add_task(explanation, j, t, job->tasks[t].machine);
	}
	return code;
}

int place_run(struct place_world *world, struct place_outcome *outcome, struct error *err)
{
	struct explain_scene scene = place_scene(world);
	int64_t free_before = count_free(world);
	int code;

	*outcome = (struct place_outcome){0};
	if (list_tasks(world, &outcome->explanation) != 0)
		return error_set(err, ENOMEM, "out of memory");
	code = run_rounds(world, outcome, err);
	if (code != 0)
		return code;
	warn_of_capped(world, outcome);
	progress_update(world->progress, 4, "explaining");
	if (explain_after(&scene, &outcome->explanation, outcome->round.moves, outcome->round.move_count) != 0)
		return error_set(err, ENOMEM, "out of memory");
	outcome->explanation.totals.slots = cluster_slots(world->cluster);
	outcome->explanation.totals.slots_free_before = free_before;
	warn_of_thresholds(world, outcome);
	return 0;
}

void place_outcome_free(struct place_outcome *outcome)
{
	explain_free(&outcome->explanation);
	round_outcome_free(&outcome->round);
}
