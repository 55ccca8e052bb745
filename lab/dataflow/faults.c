/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns the faults of a run into faults of single links, and carries them out. */
#include "run_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/rng.h>

static void add(struct run *run, const struct simulate_fault *like, uint32_t link)
{
	run->faults[run->fault_count++] =
		(struct run_fault){.link = link, .fail_s = like->fail_s, .repair_s = like->repair_s};
}

/*
 * Draws the fault's percentage of the links in use at random, but at least one link, and adds a fault for each drawn
 * link. links[]: scratch, one element per link of the topology.
 */
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

static int check_times(const struct run_options *options, struct error *err)
{
	for (uint32_t f = 0; f < options->fault_count; f++)
		if (options->faults[f].fail_s >= options->seconds)
			return error_set(err, EINVAL, "a fault begins at %g s, but the run ends at %g s",
					 options->faults[f].fail_s, options->seconds);
	return 0;
}

int run_draw_faults(struct run *run, struct error *err)
{
	const struct run_options *options = run->options;
	size_t links = run->dataflow->topology->link_count;
	uint32_t *drawn = malloc((links + 1) * sizeof *drawn);
	struct rng rng;
	int code = check_times(options, err);

	if (code < 0) {
		free(drawn);
		return code;
	}
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

/*
 * Begins to take the link of the fault down or up, in a child process: the lab's script takes so long that the main
 * loop would miss other events.
 */
static int begin_change(const struct run *run, struct run_fault *fault, struct error *err)
{
	const struct topology *topology = run->dataflow->topology;
	const struct topology_link *link = &topology->links[fault->link];
	struct lab_link_change how = {.action = fault->state == RUN_FAULT_DOWN ? LAB_LINK_DOWN : LAB_LINK_UP,
				      .keep_routes = true};

	fault->changer = fork();
	if (fault->changer == 0)
		_exit(lab_change_link(run->lab->name, topology->nodes[link->a].name, topology->nodes[link->b].name,
				      &how, NULL) == 0
			      ? 0
			      : 1);
	return fault->changer > 0 ? 0 : error_set(err, errno, "cannot change a link: %s", strerror(errno));
}

/*
 * Checks whether the change of a fault's link has ended (`options` WNOHANG), or waits until it has (0). Returns 0, or
 * -EIO with err set if it failed.
 */
static int check_change(const struct run *run, struct run_fault *fault, int options, struct error *err)
{
	const struct topology *topology = run->dataflow->topology;
	const struct topology_link *link = &topology->links[fault->link];
	int status;
	pid_t ended = fault->changer > 0 ? waitpid(fault->changer, &status, options) : 0;

	if (ended <= 0)
		return 0;
	fault->changer = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return error_set(err, EIO, "cannot set the link between '%s' and '%s' %s", topology->nodes[link->a].name,
			 topology->nodes[link->b].name, fault->state == RUN_FAULT_DOWN ? "down" : "up");
}

int run_apply_faults(struct run *run, double s, struct error *err)
{
	int code = 0;

	for (uint32_t f = 0; f < run->fault_count && code == 0; f++) {
		struct run_fault *fault = &run->faults[f];

		code = check_change(run, fault, WNOHANG, err);
		if (code != 0 || fault->changer > 0 || fault->state == RUN_FAULT_REPAIRED ||
		    s < (fault->state == RUN_FAULT_AHEAD ? fault->fail_s : fault->repair_s))
			continue;
		fault->state++;
		code = begin_change(run, fault, err);
	}
	return code;
}

int run_await_faults(struct run *run, struct error *err)
{
	int code = 0;

	for (uint32_t f = 0; f < run->fault_count; f++) {
		int status = check_change(run, &run->faults[f], 0, code == 0 ? err : NULL);

		code = code == 0 ? status : code;
	}
	return code;
}

void run_return_links(const struct run *run)
{
	const struct topology *topology = run->dataflow->topology;
	const struct lab_link_change how = {.action = LAB_LINK_UP, .keep_routes = true};

	for (uint32_t f = 0; f < run->fault_count; f++) {
		const struct topology_link *link = &topology->links[run->faults[f].link];

		lab_change_link(run->lab->name, topology->nodes[link->a].name, topology->nodes[link->b].name, &how,
				NULL);
	}
}
