/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy_priv.h"

const struct policy *const policies[] = {
	&policy_nomora, &policy_random, &policy_load_spreading, &policy_quincy, &policy_first_fit, NULL,
};

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
		.machine_threshold = 105,
		.rack_threshold = 110,
		.reference = LATENCY_REFERENCE_ADDED,
		.seed = 1,
		.flow = {.gamma = COST_GAMMA},
	};
}

static const struct cost_row *row_for_net(void *context, uint32_t job, int32_t root)
{
	struct placer *placer = context;

	return placer->policy->row(placer, job, root);
}

static void fetch_for_net(void *context, uint32_t job, int32_t root, enum cost_fetch step)
{
	const struct placer *placer = context;

	if (job < placer->job_room) /* it has a curve */
		cost_rows_fetch(placer->rows, placer->curve_of_job[job], (uint32_t)root, step);
}

static void root_for_net(void *context, uint32_t job, uint32_t machine, bool runs)
{
	struct placer *placer = context;

	if (job >= placer->job_room)
		return; /* it has no curve */
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

static void moved_for_net(void *context, uint32_t a, uint32_t b, enum latency_moved moved)
{
	struct placer *placer = context;

	cost_rows_latency_moved(placer->rows, a, b, moved);
	placer->dense_job = -1;
}

static int create_rows(struct placer *placer, struct cost_source source)
{
	struct cost_rows_settings thresholds = {placer->settings.machine_threshold, placer->settings.rack_threshold};
	const struct cluster *cluster = placer->layout->cluster;

	placer->rows = cost_rows_create(placer->layout, source, thresholds);
	placer->dense = calloc((size_t)cluster->machine_count + 1, sizeof *placer->dense);
	placer->reserved = calloc((size_t)cluster->rack_count + 1, sizeof *placer->reserved);
	placer->distance_row.racks = calloc((size_t)cluster->rack_count + 1, sizeof *placer->distance_row.racks);
	placer->rest = rest_costs_create(placer->layout);
	placer->candidates = policy_candidates_create(cluster->machine_count);
	if (!placer->rows || !placer->dense || !placer->reserved || !placer->distance_row.racks || !placer->rest ||
	    !placer->candidates)
		return -ENOMEM;
	placer->most_slots = 1;
	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		cost_rows_set_present(placer->rows, m, false); /* until it is added */
		if (cluster->machines[m].slots > placer->most_slots)
			placer->most_slots = cluster->machines[m].slots;
	}
	return 0;
}

struct placer *placer_create(const struct policy *policy, const struct cost_layout *layout, struct cost_source source,
			     const struct policy_settings *settings, struct error *err)
{
	struct placer *placer = calloc(1, sizeof *placer);
	struct flownet_policy asked = {
		.context = placer,
		.root_first = policy->root_first,
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
	placer->distance_row.machine_limit = 0; /* the root's own machine */
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
	free(placer->dense);
	free(placer->reserved);
	rest_costs_destroy(placer->rest);
	free(placer->candidates);
	free(placer->distance_row.racks);
	free(placer);
}

int32_t placer_add_curve(struct placer *placer, const struct curve *curve)
{
	return cost_rows_add_curve(placer->rows, curve, placer->settings.reference);
}

int placer_set_job_curve(struct placer *placer, uint32_t job, int32_t curve)
{
	if (job >= placer->job_room) {
		uint32_t room = placer->job_room ? placer->job_room : 64;
		int32_t *larger;

		while (room <= job)
			room *= 2;
		larger = reallocarray(placer->curve_of_job, room, sizeof *larger);
		if (!larger)
			return -ENOMEM;
		memset(larger + placer->job_room, 0, (room - placer->job_room) * sizeof *larger);
		placer->curve_of_job = larger;
		placer->job_room = room;
	}
	placer->curve_of_job[job] = curve;
	return 0;
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

int32_t placer_latency_cost(struct placer *placer, uint32_t job, uint32_t root, uint32_t machine)
{
	return cost_rows_at(placer->rows, placer->curve_of_job[job], root, machine);
}

const struct cost_row *policy_fixed_row(struct placer *placer, uint32_t job, int32_t root)
{
	(void)job;
	(void)root;
	return &placer->fixed_row;
}

int32_t policy_fixed_at(struct placer *placer, uint32_t job, int32_t root, uint32_t machine)
{
	(void)placer;
	(void)job;
	(void)root;
	(void)machine;
	return POLICY_FIXED_COST;
}

void policy_columns(const struct placer *placer, int32_t rack, uint32_t *first, uint32_t *end)
{
	*first = rack == FLOWNET_NONE ? 0 : placer->layout->rack_first[rack];
	*end = rack == FLOWNET_NONE ? placer->layout->column_count : placer->layout->rack_first[rack + 1];
}
