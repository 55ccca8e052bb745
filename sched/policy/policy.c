/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "policy_priv.h"

/* each defined in its own file */
extern const struct policy policy_nomora, policy_quincy, policy_random, policy_load_spreading, policy_first_fit;

const struct policy *const policies[] = {
	&policy_nomora, &policy_random, &policy_load_spreading, &policy_quincy, &policy_first_fit, NULL,
};

const char *const policy_weights_names[] = {"task", "job", NULL};

const struct policy *policy_find(const char *name)
{
	for (const struct policy *const *row = policies; *row; row++) {
		if (strcmp((*row)->name, name) == 0)
			return *row;
	}
	return NULL;
}

void policy_settings_default(struct policy_settings *settings)
{
	*settings = (struct policy_settings){
		.machine_threshold = COST_MAXIMUM,
		.rack_threshold = COST_MAXIMUM,
		.machine_arcs = POLICY_MACHINE_ARCS,
		.lookup = COST_LOOKUP_INTERPOLATED,
		.spill = POLICY_SPILL_BEST,
		.reference = LATENCY_REFERENCE_ADDED,
		.seed = 1,
		.flow = {.gamma = COST_GAMMA},
	};
}

void policy_settings_paper(struct policy_settings *settings)
{
	policy_settings_default(settings);
	settings->machine_threshold = 105;
	settings->rack_threshold = 110;
	settings->machine_arcs = 0;
	settings->lookup = COST_LOOKUP_NEAREST;
	settings->spill = POLICY_SPILL_ANY;
	settings->reference = LATENCY_REFERENCE_ABSOLUTE;
	settings->flow.unscheduled_capacity = 1;
}

static const struct cost_row *row_for_net(void *context, uint32_t job, int32_t root)
{
	struct placer *placer = context;

	return placer->policy->row(placer, job, root);
}

static void fetch_for_net(void *context, uint32_t job, int32_t root, enum cost_fetch step)
{
	const struct placer *placer = context;

	if (job < placer->job_room) /* the job has a curve */
		cost_rows_fetch(placer->rows, (uint32_t)root, step);
}

static void root_for_net(void *context, uint32_t job, uint32_t machine, bool runs)
{
	struct placer *placer = context;

	if (job >= placer->job_room)
		return; /* the job has no curve */
	if (runs)
		cost_rows_root_came(placer->rows, placer->curve_of_job[job], machine);
	else
		cost_rows_root_left(placer->rows, placer->curve_of_job[job], machine);
}

static int32_t at_for_net(void *context, uint32_t job, int32_t root, uint32_t machine)
{
	struct placer *placer = context;

	return placer->policy->at(placer, job, root, machine);
}

static uint32_t choose_for_net(void *context, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack)
{
	struct placer *placer = context;

	return placer->policy->choose(placer, net, job, task, rack);
}

static void present_for_net(void *context, uint32_t machine, bool present)
{
	struct placer *placer = context;

	cost_rows_set_present(placer->rows, machine, present);
	placer->dense_job = -1;
}

static void moved_for_net(void *context, const struct cost_moved *moved)
{
	struct placer *placer = context;

	if (moved)
		cost_rows_latency_moved(placer->rows, moved);
	else
		cost_rows_all_moved(placer->rows);
	placer->dense_job = -1;
}

void placer_latency_moved(struct placer *placer, const struct cost_moved *moved)
{
	moved_for_net(placer, moved);
}

/* Grows the arrays that are indexed by machine or by rack, after the layout has grown. */
static int grow_arrays(struct placer *placer)
{
	size_t machines = (size_t)placer->layout->machine_count + 1, racks = (size_t)placer->layout->rack_count + 1;

	placer->dense_job = -1;
	placer->reserved_round = UINT64_MAX;
	placer->spread_count = 0;
	if (array_resize(&placer->dense, machines, sizeof *placer->dense) != 0 ||
	    array_resize(&placer->spread, machines, sizeof *placer->spread) != 0 ||
	    array_resize(&placer->candidates, machines + racks, policy_candidate_bytes()) != 0 ||
	    array_resize(&placer->siblings, machines, sizeof *placer->siblings) != 0 ||
	    array_resize(&placer->sibling_list, machines, sizeof *placer->sibling_list) != 0 ||
	    array_resize(&placer->reserved, racks, sizeof *placer->reserved) != 0 ||
	    array_resize(&placer->claimed, machines, sizeof *placer->claimed) != 0 ||
	    array_resize(&placer->distance_row.racks, racks, sizeof *placer->distance_row.racks) != 0)
		return -ENOMEM;
	memset(placer->siblings, 0, machines * sizeof *placer->siblings);
	return 0;
}

static int create_rows(struct placer *placer, struct cost_source source)
{
	struct cost_rows_settings thresholds = {placer->settings.machine_threshold, placer->settings.rack_threshold,
						placer->settings.machine_arcs, placer->settings.lookup};
	const struct cluster *cluster = placer->layout->cluster;

	placer->rows = cost_rows_create(placer->layout, source, thresholds);
	placer->rest = rest_costs_create(placer->layout);
	if (!placer->rows || !placer->rest || grow_arrays(placer) != 0)
		return -ENOMEM;
	for (uint32_t m = 0; m < cluster->machine_count; m++)
		cost_rows_set_present(placer->rows, m, false); /* until flownet_machine_added() */
	return 0;
}

int placer_grow(struct placer *placer)
{
	if (cost_rows_grow(placer->rows) != 0 || rest_costs_grow(placer->rest) != 0 || grow_arrays(placer) != 0)
		return -ENOMEM;
	return flownet_grow(placer->net);
}

int placer_forget_machine(struct placer *placer, uint32_t machine)
{
	if (flownet_machine_is_reference(placer->net, machine))
		return -EBUSY;
	cost_rows_forget(placer->rows, machine);
	rest_costs_forget(placer->rest);
	placer->dense_job = -1;
	return 0;
}

struct placer *placer_create(const struct policy *policy, const struct cost_layout *layout, struct cost_source source,
			     const struct policy_settings *settings, struct error *err)
{
	struct placer *placer = calloc(1, sizeof *placer);
	struct flownet_policy asked = {
		.context = placer,
		.root_first = policy->root_first,
		.preempts = policy->preempts,
		.by_size = !settings->root_anywhere && !settings->root_first && !settings->root_solver,
		.least_cost = policy->least_cost,
		.row = row_for_net,
		.fetch = policy->cached_rows ? fetch_for_net : NULL,
		.root = policy->cached_rows ? root_for_net : NULL,
		.at = at_for_net,
		.choose = choose_for_net,
		.present = present_for_net,
		.moved = moved_for_net,
	};

	if (!placer) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	placer->policy = policy;
	placer->layout = layout;
	placer->settings = *settings;
	placer->settings.flow.preemption = settings->flow.preemption && policy->preempts;
	placer->dense_job = -1;
	placer->fixed_row.cluster_cost = POLICY_FIXED_COST;
	placer->fixed_row.machine_limit = -1;
	placer->distance_row.machine_limit = 0; /* only an arc to the root's own machine */
	rng_seed(&placer->rng, settings->seed);
	if (create_rows(placer, source) != 0) {
		placer_destroy(placer);
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	placer->net = flownet_create(layout->cluster, &asked, &placer->settings.flow, err);
	if (!placer->net) {
		placer_destroy(placer);
		return NULL;
	}
	return placer;
}

void placer_destroy(struct placer *placer)
{
	if (!placer)
		return;
	flownet_destroy(placer->net);
	cost_rows_destroy(placer->rows);
	free(placer->curve_of_job);
	free(placer->edges_of_job);
	free(placer->dense);
	free(placer->spread);
	policy_root_flow_free(placer->root_flow);
	free(placer->reserved);
	free(placer->claimed);
	rest_costs_destroy(placer->rest);
	free(placer->candidates);
	free(placer->siblings);
	free(placer->sibling_list);
	free(placer->distance_row.racks);
	free(placer);
}

int32_t placer_add_curve(struct placer *placer, const struct curve *curve)
{
	return cost_rows_add_curve(placer->rows, curve, placer->settings.reference);
}

/* After a change of this curve, reports to flownet that the costs of all jobs with the curve have changed. */
static int curve_changed(struct placer *placer, int32_t number)
{
	size_t count;
	const uint32_t *jobs = flownet_jobs(placer->net, &count);
	int code = 0;

	placer->dense_job = -1;
	rest_costs_forget(placer->rest);
	for (size_t i = 0; i < count && code == 0; i++) {
		if (jobs[i] < placer->job_room && placer->curve_of_job[jobs[i]] == number)
			code = flownet_costs_changed(placer->net, jobs[i]);
	}
	return code;
}

int placer_replace_curve(struct placer *placer, int32_t number, const struct curve *curve)
{
	int code = cost_rows_replace_curve(placer->rows, number, curve, placer->settings.reference);

	return code == 0 ? curve_changed(placer, number) : code;
}

int placer_remove_curve(struct placer *placer, int32_t number)
{
	size_t count;
	const uint32_t *jobs = flownet_jobs(placer->net, &count);

	for (size_t i = 0; i < count; i++) {
		if (jobs[i] < placer->job_room && placer->curve_of_job[jobs[i]] == number)
			return -EBUSY;
	}
	cost_rows_remove_curve(placer->rows, number);
	rest_costs_forget(placer->rest);
	return 0;
}

static int reserve_job(struct placer *placer, uint32_t job)
{
	uint32_t before = placer->job_room, room = before ? before : 64;
	struct job_edges *edges;
	int32_t *curves;

	if (job < before)
		return 0;
	while (room <= job)
		room *= 2;
	curves = reallocarray(placer->curve_of_job, room, sizeof *curves);
	placer->curve_of_job = curves ? curves : placer->curve_of_job;
	edges = reallocarray(placer->edges_of_job, room, sizeof *edges);
	placer->edges_of_job = edges ? edges : placer->edges_of_job;
	if (!curves || !edges)
		return -ENOMEM;
	memset(curves + before, 0, (room - before) * sizeof *curves);
	memset(edges + before, 0, (room - before) * sizeof *edges);
	placer->job_room = room;
	return 0;
}

/* The weight of each task of a job of this size. */
static int32_t weight_of(const struct placer *placer, uint32_t tasks)
{
	uint32_t weight = 1024 / (tasks > 0 ? tasks : 1);

	if (placer->settings.weights == POLICY_WEIGHTS_TASK || !placer->policy->cached_rows || weight < 1)
		return 1;
	return weight < FLOWNET_WEIGHT_MAXIMUM ? (int32_t)weight : FLOWNET_WEIGHT_MAXIMUM;
}

int placer_job_arrived(struct placer *placer, uint32_t job, int32_t curve, uint32_t root, uint32_t tasks)
{
	int code = reserve_job(placer, job);

	if (code != 0)
		return code;
	placer->curve_of_job[job] = curve;
	placer_job_graph(placer, job, NULL);
	code = flownet_job_arrived(placer->net, job, root);
	if (code == 0)
		code = flownet_job_weighs(placer->net, job, weight_of(placer, tasks));
	return code == 0 ? flownet_job_expects(placer->net, job, tasks) : code;
}

struct flownet *placer_net(struct placer *placer)
{
	return placer->net;
}

const struct policy *placer_policy(const struct placer *placer)
{
	return placer->policy;
}

const struct policy_settings *placer_settings(const struct placer *placer)
{
	return &placer->settings;
}

uint64_t placer_rows_kept(const struct placer *placer)
{
	return cost_rows_kept(placer->rows);
}
