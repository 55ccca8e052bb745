/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include <base/json.h>
#include <probe/plan/plan.h>

#include "fuzz_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every accepted plan can be rotated, listed and written, and reads back as the same plan. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct mesh_budget budget = {.interval_s = 1, .host_pps = 20, .epoch_s = 1, .refresh_s = 10};
	struct error err = {0};
	json_t *root = json_read_text("fuzz", 0, (const char *)data, size, &err), *again;
	struct mesh_plan *plan = root ? mesh_plan_from_json("fuzz", root, &err) : NULL, *copy;
	uint32_t *peers;

	json_decref(root);
	if (!plan) {
		law(err.code > 0);
		return 0;
	}
	peers = calloc(mesh_plan_hosts(plan) + 1, sizeof *peers);
	mesh_plan_rotate(plan, &budget, NULL);
	for (uint32_t i = 0; peers && i < mesh_plan_hosts(plan); i++)
		law(mesh_plan_list(plan, i, peers) < mesh_plan_hosts(plan));
	free(peers);
	again = mesh_plan_to_json(plan);
	copy = again ? mesh_plan_from_json("again", again, &err) : NULL;
	law(copy && mesh_plan_hosts(copy) == mesh_plan_hosts(plan));
	json_decref(again);
	mesh_plan_destroy(copy);
	mesh_plan_destroy(plan);
	return 0;
}
