/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the free slots, and predicts the performance of a job's tasks on them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <sched/explain/performance.h>

#include "explain_priv.h"

double explain_performance_at(const struct explain_scene *scene, uint32_t job, double rtt_us)
{
	return rtt_us < 0 ? 0 : performance_at(scene->curve_of_job[job], placer_settings(scene->placer), rtt_us);
}

void vacancies_free(struct vacancies *vacancies)
{
	free(vacancies->items);
	free(vacancies->rtt_us);
}

int vacancies_list(const struct explain_scene *scene, const int32_t *free_slots, struct vacancies *vacancies)
{
	const struct cost_layout *layout = scene->layout;

	*vacancies = (struct vacancies){
		.items = calloc((size_t)layout->column_count + 1, sizeof *vacancies->items),
		.rtt_us = calloc((size_t)layout->column_count + 1, sizeof *vacancies->rtt_us),
	};
	if (!vacancies->items || !vacancies->rtt_us)
		return -ENOMEM;
	for (uint32_t c = 0; c < layout->column_count; c++) {
		uint32_t machine = layout->machine_of_column[c];
		int32_t slots = 0;

		if (machine != COST_NO_MACHINE)
			slots = free_slots ? free_slots[machine] : flownet_free(placer_net(scene->placer), machine);
		if (slots == 0)
			continue;
		vacancies->items[vacancies->count++] = (struct vacancy){c, machine, slots};
		vacancies->slots += slots;
	}
	return 0;
}

double vacancies_mean(const struct explain_scene *scene, struct vacancies *vacancies, uint32_t job, uint32_t root,
		      bool without_roots_slot)
{
	int64_t slots = 0;
	double sum = 0;

	latency_view_row(scene->view, root, 0, scene->layout->column_count, vacancies->rtt_us);
	for (size_t i = 0; i < vacancies->count; i++) {
		const struct vacancy *vacancy = &vacancies->items[i];
		int32_t here = vacancy->slots - (without_roots_slot && vacancy->machine == root);

		sum += here * explain_performance_at(scene, job, (double)vacancies->rtt_us[vacancy->column]);
		slots += here;
	}
	return slots > 0 ? sum / (double)slots : NAN;
}

void vacancies_best(const struct explain_scene *scene, struct vacancies *vacancies, uint32_t job, uint32_t root,
		    int64_t machines[2])
{
	double best[2] = {-1, -1};

	machines[0] = machines[1] = -1;
	latency_view_row(scene->view, root, 0, scene->layout->column_count, vacancies->rtt_us);
	for (size_t i = 0; i < vacancies->count; i++) {
		const struct vacancy *vacancy = &vacancies->items[i];
		double performance = explain_performance_at(scene, job, (double)vacancies->rtt_us[vacancy->column]);

		if (vacancies->rtt_us[vacancy->column] < 0)
			continue; /* unreachable */
		if (performance > best[0]) {
			machines[1] = machines[0];
			best[1] = best[0];
			machines[0] = vacancy->machine;
			best[0] = performance;
		} else if (performance > best[1]) {
			machines[1] = vacancy->machine;
			best[1] = performance;
		}
	}
}
