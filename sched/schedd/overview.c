/* SPDX-License-Identifier: BSD-3-Clause */
/* The overview page, and the figures that it and nomora top show. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>

#include "schedd_priv.h"

extern const char schedd_page[], schedd_openapi[];

#define SAMPLE_S 10.0
/* Figures older than this, in seconds, are computed again at a request; this takes a pass over all tasks. */
#define FRESH_S 1.0

struct rack_sums {
	uint32_t machines, draining, down, predicted;
	uint64_t slots, tasks;
	double performance;
};

void schedd_sample(struct schedd *schedd, double now_s)
{
	struct series_point *point;
	struct live_totals totals;

	if (now_s < schedd->next_sample_s)
		return;
	schedd->next_sample_s = now_s + SAMPLE_S;
	totals = live_totals(schedd->live);
	point = &schedd->series[schedd->series_count++ % SERIES_POINTS];
	*point = (struct series_point){ns_to_s(ns_now_wall()), totals.running + totals.decided, totals.waiting,
				       totals.moving};
}

static json_t *series_json(const struct schedd *schedd)
{
	size_t first = schedd->series_count > SERIES_POINTS ? schedd->series_count - SERIES_POINTS : 0;
	json_t *list = json_array();

	for (size_t i = first; i < schedd->series_count; i++) {
		const struct series_point *point = &schedd->series[i % SERIES_POINTS];

		json_array_append_new(list, json_pack("{s:f, s:i, s:i, s:i}", "at", point->at_s, "running",
						      (int)point->running, "waiting", (int)point->waiting, "moving",
						      (int)point->moving));
	}
	return list;
}

static void sum_machines(const struct schedd *schedd, struct rack_sums *sums)
{
	const struct cluster *cluster = live_cluster(schedd->live);

	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		struct rack_sums *sum = &sums[cluster->machines[m].rack];
		enum live_machine_state state;

		if (!cluster->machines[m].name)
			continue;
		state = live_machine_state_of(schedd->live, m);
		sum->machines++;
		sum->slots += cluster->machines[m].slots;
		sum->tasks += live_machine_tasks(schedd->live, m);
		sum->draining += state == LIVE_DRAINING;
		sum->down += state == LIVE_DOWN;
	}
}

static void add_task(void *context, const struct live_job *job, uint32_t machine, double performance)
{
	const struct rack_context {
		const struct cluster *cluster;
		struct rack_sums *sums;
	} *racks = context;
	struct rack_sums *sum = &racks->sums[racks->cluster->machines[machine].rack];

	(void)job;
	sum->predicted++;
	sum->performance += performance;
}

static json_t *racks_json(const struct schedd *schedd)
{
	const struct cluster *cluster = live_cluster(schedd->live);
	struct rack_sums *sums = calloc(cluster->rack_count + 1, sizeof *sums);
	struct {
		const struct cluster *cluster;
		struct rack_sums *sums;
	} context = {cluster, sums};
	json_t *list = json_array();

	if (!sums)
		return list;
	sum_machines(schedd, sums);
	live_each_performance(schedd->live, add_task, &context);
	for (uint32_t r = 0; r < cluster->rack_count; r++)
		if (sums[r].machines > 0)
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:i, s:I, s:I, s:i, s:i, s:o}", "name",
						cluster->racks[r].name, "pod", cluster->pods[cluster->racks[r].pod],
						"machines", (int)sums[r].machines, "slots", (json_int_t)sums[r].slots,
						"tasks", (json_int_t)sums[r].tasks, "draining", (int)sums[r].draining,
						"down", (int)sums[r].down, "performance",
						json_number_or_null(sums[r].performance / sums[r].predicted)));
	free(sums);
	return list;
}

static json_t *totals_json(const struct schedd *schedd)
{
	struct live_totals totals = live_totals(schedd->live);

	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:o}", "jobs", (int)totals.jobs, "waiting",
			 (int)totals.waiting, "decided", (int)totals.decided, "running", (int)totals.running, "moving",
			 (int)totals.moving, "failed", (int)totals.failed, "machines", (int)totals.machines, "slots",
			 (json_int_t)totals.slots, "free_slots", (json_int_t)totals.free_slots, "measured_pairs",
			 (json_int_t)totals.measured_pairs, "performance",
			 json_number_or_null(live_performance(schedd->live)));
}

void schedd_get_overview(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	double now_s = schedd_now_s(schedd);
	struct mesh_totals mesh = {.age_s = -1};
	json_t *root;

	if (!schedd->overview || now_s - schedd->overview_s > FRESH_S) {
		if (schedd->mesh)
			mesh = mesh_totals(schedd->mesh);
		root = json_pack("{s:s, s:o, s:f, s:s, s:I, s:o, s:o}", "schema", "nomora.overview/1", "totals",
				 totals_json(schedd), "mesh_age_s", mesh.age_s, "trouble", schedd->trouble,
				 "last_decision", (json_int_t)live_last_decision(schedd->live), "racks",
				 racks_json(schedd), "series", series_json(schedd));
		free(schedd->overview);
		schedd->overview = json_dump_whole(root, 0);
		schedd->overview_s = now_s;
		json_decref(root);
	}
	serve_reply(call, schedd->overview ? 200 : 500, "application/json", schedd->overview ? schedd->overview : "{}",
		    schedd->overview ? strlen(schedd->overview) : 2);
}

void schedd_get_page(void *context, struct serve_call *call)
{
	(void)context;
	serve_reply(call, 200, "text/html; charset=utf-8", schedd_page, strlen(schedd_page));
}

void schedd_get_openapi(void *context, struct serve_call *call)
{
	(void)context;
	serve_reply(call, 200, "application/json", schedd_openapi, strlen(schedd_openapi));
}
