/* SPDX-License-Identifier: BSD-3-Clause */
/* The faults of a run, as faults of single links, and their execution. */
#include "run_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/rng.h>

static void add(struct run *run, const struct simulate_fault *like, uint32_t link)
{
	run->faults[run->fault_count] = *like;
	run->faults[run->fault_count].kind = SIMULATE_LINK;
	run->faults[run->fault_count++].subject = link;
}

/* Draws the fault's share of the links in use, at least one. links[]: work space, by link. */
static int draw(struct run *run, const struct simulate_fault *fault, struct rng *rng, uint32_t *links)
{
	int in_use = network_links_in_use(run->plan->network, links);
	uint32_t count;

	if (in_use < 0)
		return in_use;
	count = ((uint32_t)in_use * fault->subject + 50) / 100;
	if (count == 0 && in_use > 0)
		count = 1;
	rng_shuffle(rng, links, (uint64_t)in_use, sizeof *links);
	for (uint32_t i = 0; i < count; i++)
		add(run, fault, links[i]);
	return 0;
}

int run_draw_faults(struct run *run, struct error *err)
{
	const struct run_options *options = run->options;
	size_t links = run->dataflow->topology->link_count;
	uint32_t *drawn = malloc((links + 1) * sizeof *drawn);
	struct rng rng;
	int code = 0;

	rng_seed(&rng, options->seed);
	run->faults = calloc((links + 1) * (options->fault_count + 1), sizeof *run->faults);
	if (!drawn || !run->faults)
		code = -ENOMEM;
	for (uint32_t f = 0; f < options->fault_count && code == 0; f++) {
		const struct simulate_fault *fault = &options->faults[f];

		if (fault->kind == SIMULATE_USED)
			code = draw(run, fault, &rng, drawn);
		else if (fault->kind == SIMULATE_LINK)
			add(run, fault, fault->subject);
		else
			code = -EINVAL;
	}
	free(drawn);
	if (code == -EINVAL)
		return error_set(err, EINVAL,
				 "'nomora dataflow run' can fail links only; expected link:A:B@FROM[-TO] or "
				 "used:PERCENT@FROM[-TO]");
	return code == 0 ? 0 : error_set(err, ENOMEM, "out of memory");
}

/* Runs in a child: the lab's script takes so long that the loop would miss other events. */
static int change(const struct run *run, const struct simulate_fault *fault, bool down, struct error *err)
{
	const struct topology *topology = run->dataflow->topology;
	const struct topology_link *link = &topology->links[fault->subject];
	struct lab_link_change how = {.action = down ? LAB_LINK_DOWN : LAB_LINK_UP, .keep_routes = true};
	pid_t child = fork();

	if (child == 0)
		_exit(lab_change_link(run->lab->name, topology->nodes[link->a].name, topology->nodes[link->b].name,
				      &how, NULL) == 0
			      ? 0
			      : 1);
	return child > 0 ? 0 : error_set(err, errno, "cannot change a link: %s", strerror(errno));
}

static bool is_due(double at_s, double from_s, double to_s)
{
	return at_s > from_s && at_s <= to_s;
}

int run_apply_faults(struct run *run, double from_s, double to_s, struct error *err)
{
	int code = 0;

	for (uint32_t f = 0; f < run->fault_count && code == 0; f++) {
		const struct simulate_fault *fault = &run->faults[f];

		if (is_due(fault->fail_s, from_s, to_s))
			code = change(run, fault, true, err);
		if (code == 0 && is_due(fault->repair_s, from_s, to_s))
			code = change(run, fault, false, err);
	}
	return code;
}

void run_return_links(const struct run *run)
{
	const struct topology *topology = run->dataflow->topology;
	const struct lab_link_change how = {.action = LAB_LINK_UP, .keep_routes = true};

	for (uint32_t f = 0; f < run->fault_count; f++) {
		const struct topology_link *link = &topology->links[run->faults[f].subject];

		lab_change_link(run->lab->name, topology->nodes[link->a].name, topology->nodes[link->b].name, &how,
				NULL);
	}
}
