/* SPDX-License-Identifier: BSD-3-Clause */
#include "round_priv.h"

static uint64_t free_slots(const struct flownet *net)
{
	uint64_t slots = 0;

	for (uint32_t m = 0; m < flownet_cluster(net)->machine_count; m++)
		slots += (uint64_t)flownet_free(net, m);
	return slots;
}

int round_gangs_try(struct flownet *net, const struct round_options *options)
{
	uint64_t slots = options->gang_count > 0 ? free_slots(net) : 0;
	int code = 0;

	for (size_t g = 0; g < options->gang_count; g++) {
		struct round_gang *gang = &options->gangs[g];

		gang->tried = !gang->started && gang->minimum <= slots && code == 0;
		slots -= gang->tried ? gang->minimum : 0;
		for (uint32_t t = 0; gang->tried && t < gang->tasks && code == 0; t++)
			code = flownet_task_arrived(
				net, gang->job, t,
				options->waited_s ? options->waited_s(options->context, gang->job, t) : 0);
	}
	return code;
}

static bool has_enough(const struct flownet *net, const struct round_gang *gang)
{
	uint32_t placed = 0;

	for (uint32_t t = 0; t < gang->tasks; t++)
		placed += flownet_task_machine(net, gang->job, t) != FLOWNET_NONE;
	return placed >= gang->minimum && flownet_root_machine(net, gang->job) != FLOWNET_NONE;
}

static int take_out(struct flownet *net, const struct round_gang *gang)
{
	int32_t origin;
	int code = 0;

	for (uint32_t t = 0; t < gang->tasks && code == 0; t++) {
		if (flownet_task_in_transit(net, gang->job, t, &origin))
			code = flownet_fail(net, gang->job, t);
		if (code == 0 && flownet_task_present(net, gang->job, t))
			code = flownet_task_ended(net, gang->job, t);
	}
	return code;
}

static void forget_moves(struct round_outcome *outcome, uint32_t job)
{
	size_t kept = 0, roots = outcome->root_moves;

	for (size_t i = 0; i < outcome->move_count; i++) {
		if (outcome->moves[i].job != job) {
			outcome->moves[kept++] = outcome->moves[i];
			continue;
		}
		outcome->root_moves -= i < roots;
		outcome->roots_placed -= i < roots && outcome->moves[i].to != FLOWNET_NONE;
	}
	outcome->move_count = kept;
}

int round_gangs_settle(struct flownet *net, const struct round_options *options, bool failed,
		       struct round_outcome *outcome)
{
	int code = 0;

	for (size_t g = 0; g < options->gang_count; g++) {
		struct round_gang *gang = &options->gangs[g];
		int taken;

		if (!gang->tried)
			continue;
		gang->started = !failed && has_enough(net, gang);
		if (gang->started)
			continue;
		taken = take_out(net, gang);
		code = code == 0 ? taken : code;
		forget_moves(outcome, gang->job);
		outcome->withdrawn++;
	}
	return code;
}
