/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files and builds the flow network from them. */
#include <sched/place/place.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/log.h>
#include <base/number.h>
#include <sched/mcf/algorithms.h>

/* Hosts' clocks may differ by this much. */
#define CLOCK_SLACK_NS INT64_C(10000000000)

static int load_curves(struct place_world *world, struct error *err)
{
	world->library = curve_library_create(world->settings->curves);
	world->curve_of_job = calloc(world->jobs->count + 1, sizeof *world->curve_of_job);
	world->curve_number_of_job = calloc(world->jobs->count + 1, sizeof *world->curve_number_of_job);
	if (!world->library || !world->curve_of_job || !world->curve_number_of_job)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t j = 0; j < world->jobs->count; j++) {
		const struct job *job = &world->jobs->items[j];
		struct error_place place = {.file = world->jobs->file, .line = job->line, .field = "curve"};
		struct error reason = {0};
		int64_t number = curve_library_find(world->library, job->curve, &reason);

		if (number < 0)
			return error_at(err, place, (int)-number, "job '%s' needs curve '%s': %s", job->id, job->curve,
					reason.text);
		world->curve_number_of_job[j] = (int32_t)number;
		world->curve_of_job[j] = curve_library_at(world->library, (size_t)number);
	}
	for (size_t i = 0; i < curve_library_count(world->library); i++) {
		const struct curve *curve = curve_library_at(world->library, i);

		if (curve->disturbed_runs > 0)
			log_warning("curve %s: %ld disturbed run%s in its sweep; measure the curve again before you "
				    "rely on it",
				    curve_library_name(world->library, i), curve->disturbed_runs,
				    number_s((uint64_t)curve->disturbed_runs));
	}
	return 0;
}

static void warn_of_latency(const struct place_settings *settings, const struct latency_view_load *loaded)
{
	if (loaded->unknown > 0)
		log_warning("%s: ignored %llu row%s with machines outside the cluster (the first is '%s')",
			    settings->latency, (unsigned long long)loaded->unknown, number_s(loaded->unknown),
			    loaded->unknown_name);
	if (loaded->unanswered > 0)
		log_warning("%s: %llu pair%s never answered: unreachable", settings->latency,
			    (unsigned long long)loaded->unanswered, number_s(loaded->unanswered));
	if (loaded->old > 0)
		log_warning("%s: %llu row%s older than %g s (--max-age): not measured", settings->latency,
			    (unsigned long long)loaded->old, number_s(loaded->old), settings->max_age_s);
	if (loaded->future > 0)
		log_warning("%s: %llu row%s dated in the future: not measured; set the clocks of the "
			    "hosts, or use --max-age 0",
			    settings->latency, (unsigned long long)loaded->future, number_s(loaded->future));
}

/* Loads the matrix into the view, which has one round trip per pair. */
static int load_matrix(struct place_world *world, const struct latency_matrix *matrix, struct error *err)
{
	const struct place_settings *settings = world->settings;
	struct ns oldest = {0}, newest = {INT64_MAX};
	int code;

	if (settings->max_age_s > 0) {
		struct ns now = ns_now_wall();

		newest.v = now.v + CLOCK_SLACK_NS;
		oldest.v = now.v - (int64_t)(settings->max_age_s * 1e9);
	}
	code = latency_view_load(world->view, matrix, (enum latency_statistic)settings->statistic, oldest, newest,
				 &world->loaded, err);
	progress_clear(world->progress);
	if (code == 0)
		warn_of_latency(settings, &world->loaded);
	world->loaded.unknown_name = NULL;
	return code;
}

/* Creates the view. Without a matrix, reads the settings' one, if any, and frees it: it is much larger than the view.
 */
static int load_latency(struct place_world *world, const struct latency_matrix *matrix, struct error *err)
{
	struct latency_matrix *own = NULL;
	int code;

	world->layout = cost_layout_create(world->cluster);
	world->view = world->layout ? latency_view_create(world->layout) : NULL;
	if (!world->view)
		return error_set(err, ENOMEM, "out of memory");
	if (matrix || !world->settings->latency)
		return matrix ? load_matrix(world, matrix, err) : 0;
	own = latency_matrix_read(world->settings->latency, world->progress, err);
	code = own ? load_matrix(world, own, err) : error_code(err, EINVAL);
	latency_matrix_destroy(own);
	return code;
}

static struct policy_settings policy_defaults(bool paper)
{
	struct policy_settings out;

	if (paper)
		policy_settings_paper(&out);
	else
		policy_settings_default(&out);
	return out;
}

void place_settings_default(struct place_settings *settings, bool paper)
{
	struct policy_settings policy = policy_defaults(paper);

	*settings = (struct place_settings){
		.p_m = policy.machine_threshold,
		.p_r = policy.rack_threshold,
		.gamma = policy.flow.gamma,
		.unscheduled_capacity = policy.flow.unscheduled_capacity,
		.reference = (int)policy.reference,
		.statistic = paper ? LATENCY_STATISTIC_MAX : LATENCY_STATISTIC_P99,
		.rounds = 1,
		.seed = 1,
		.round_s = 1,
	};
}

static struct policy_settings policy_settings_from(const struct place_settings *settings)
{
	struct policy_settings out = policy_defaults(settings->paper);

	out.machine_arcs = 0; /* the certificate is about every machine */
	out.machine_threshold = (int32_t)settings->p_m;
	out.rack_threshold = (int32_t)settings->p_r;
	out.reference = (enum latency_reference)settings->reference;
	out.seed = (uint64_t)settings->seed;
	out.weights = (enum policy_weights)settings->weights;
	out.flow.preemption = settings->preemption;
	out.flow.gamma = (int32_t)settings->gamma;
	out.flow.omega_per_s = settings->omega_per_s;
	out.flow.beta_per_s = settings->beta_per_s;
	out.flow.unscheduled_capacity = (int32_t)settings->unscheduled_capacity;
	out.flow.verify = settings->verify;
	/*
	 * With omega, tasks of a job that have waited for different times are in different groups of the solver. The
	 * structured solver does not support a capacity (unscheduled_capacity) that several groups share, so the
	 * simplex is used.
	 */
	if (settings->algorithm_name)
		out.flow.algorithm = mcf_algorithm_find(settings->algorithm_name);
	else if (settings->unscheduled_capacity > 0 && settings->omega_per_s > 0)
		out.flow.algorithm = mcf_algorithm_find("simplex");
	return out;
}

/* True if no task of the job runs, and it starts only with a minimum number of tasks: the rounds add its tasks. */
static bool is_gang(const struct job *job)
{
	for (uint32_t t = 0; t < job->task_count; t++)
		if (job->tasks[t].machine != JOB_NO_MACHINE)
			return false;
	return job->limits.minimum_tasks > 1;
}

static int add_job(struct place_world *world, uint32_t number, struct error *err)
{
	const struct job *job = &world->jobs->items[number];
	struct flownet *net = placer_net(world->placer);
	int code = placer_job_arrived(world->placer, number, world->curve_number_of_job[number], job->root,
				      job->task_count);

	if (code == 0)
		placer_job_graph(world->placer, number, job->graph);
	if (is_gang(job)) {
		world->gangs[world->gang_count++] = (struct round_gang){
			.job = number, .tasks = job->task_count, .minimum = job->limits.minimum_tasks};
		return code == 0 ? 0 : error_set(err, -code, "job '%s': %s", job->id, strerror(-code));
	}
	for (uint32_t t = 0; t < job->task_count && code == 0; t++) {
		const struct job_task *task = &job->tasks[t];

		if (task->machine == JOB_NO_MACHINE)
			code = flownet_task_arrived(net, number, t, task->waited_s);
		else
			code = flownet_task_found(net, number, t, (uint32_t)task->machine, task->running_s);
	}
	return code == 0 ? 0 : error_set(err, -code, "job '%s': %s", job->id, strerror(-code));
}

static int build_network(struct place_world *world, struct error *err)
{
	struct policy_settings settings = policy_settings_from(world->settings);
	int code = 0;

	world->placer = placer_create(policies[world->settings->policy], world->layout,
				      cost_source_from_view(world->view), &settings, err);
	if (!world->placer)
		return -ENOMEM;
	world->gangs = calloc(world->jobs->count + 1, sizeof *world->gangs);
	if (!world->gangs)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < curve_library_count(world->library); i++) {
		if (placer_add_curve(world->placer, curve_library_at(world->library, i)) != (int32_t)i)
			return error_set(err, ENOMEM, "out of memory");
	}
	for (uint32_t m = 0; m < world->cluster->machine_count && code == 0; m++)
		code = flownet_machine_added(placer_net(world->placer), m, (int32_t)world->cluster->machines[m].slots);
	if (code != 0)
		return error_set(err, -code, "%s", strerror(-code));
	for (uint32_t j = 0; j < world->jobs->count && code == 0; j++)
		code = add_job(world, j, err);
	return code;
}

int place_world_build(struct place_world *world, const struct place_settings *settings, struct cluster *cluster,
		      struct jobs *jobs, const struct latency_matrix *matrix, struct error *err)
{
	int code;

	*world = (struct place_world){
		.settings = settings, .progress = world->progress, .cluster = cluster, .jobs = jobs};
	code = jobs_resolve(jobs, cluster, true, err);
	if (code == 0)
		code = load_curves(world, err);
	if (code == 0)
		code = load_latency(world, matrix, err);
	progress_update(world->progress, 1, "building the network");
	return code == 0 ? build_network(world, err) : code;
}

int place_world_restart(struct place_world *world, const struct place_settings *settings, struct error *err)
{
	placer_destroy(world->placer);
	world->placer = NULL;
	free(world->gangs);
	world->gangs = NULL;
	world->gang_count = 0;
	world->settings = settings;
	return build_network(world, err);
}

int place_world_load(struct place_world *world, const struct place_settings *settings, struct error *err)
{
	struct cluster *cluster;

	*world = (struct place_world){.settings = settings, .progress = world->progress};
	progress_update(world->progress, 0, "reading");
	cluster = world->cluster = cluster_read(settings->cluster, err);
	if (!cluster)
		return -EINVAL;
	world->jobs = jobs_read(settings->jobs, err);
	if (!world->jobs)
		return -EINVAL;
	return place_world_build(world, settings, cluster, world->jobs, NULL, err);
}

void place_world_free(struct place_world *world)
{
	placer_destroy(world->placer);
	free(world->gangs);
	curve_library_destroy(world->library);
	free(world->curve_of_job);
	free(world->curve_number_of_job);
	latency_view_destroy(world->view);
	cost_layout_destroy(world->layout);
	jobs_destroy(world->jobs);
	cluster_destroy(world->cluster);
	*world = (struct place_world){0};
}

static const char *job_name(const void *context, uint32_t job)
{
	const struct place_world *world = context;

	return world->jobs->items[job].id;
}

static const char *task_name(const void *context, uint32_t job, uint32_t task)
{
	const struct place_world *world = context;

	return world->jobs->items[job].tasks[task].name;
}

struct flownet_names place_names(const struct place_world *world)
{
	return (struct flownet_names){.context = world, .job = job_name, .task = task_name};
}

static uint32_t minimum_of_job(const void *context, uint32_t job)
{
	const struct place_world *world = context;

	return world->jobs->items[job].limits.minimum_tasks;
}

struct explain_scene place_scene(const struct place_world *world)
{
	return (struct explain_scene){world->placer,       world->layout,  world->view,
				      world->curve_of_job, minimum_of_job, world};
}
