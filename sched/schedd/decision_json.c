/* SPDX-License-Identifier: BSD-3-Clause */
#include "schedd_priv.h"

#include <stdio.h>

#include <base/json.h>

/* Returns the reason of a decision in words, for the overview page. */
static json_t *reason(const struct live_decision *decision)
{
	char text[200];

	if (decision->recovers)
		snprintf(text, sizeof text, "its machine failed: recovery placed all lost tasks together");
	else if (decision->drains)
		snprintf(text, sizeof text, "the machine that it leaves is draining");
	else if (decision->is_root)
		snprintf(text, sizeof text, "the root: the other tasks are placed relative to it");
	else if (decision->kind == LIVE_PLACE)
		snprintf(text, sizeof text, "%.1f us to the root (%s): predicted %.3f", decision->rtt_us,
			 latency_origin_name(decision->origin), decision->performance);
	else
		snprintf(text, sizeof text, "gain %.3f: %.1f us to the root (%s), predicted %.3f", decision->gain,
			 decision->rtt_us, latency_origin_name(decision->origin), decision->performance);
	return json_string(text);
}

json_t *decision_json(const struct live_decision *decision)
{
	json_t *root = json_pack("{s:I, s:s, s:s, s:s, s:s?, s:s, s:b}", "sequence", (json_int_t)decision->sequence,
				 "kind", live_decision_kind_name(decision->kind), "job", decision->job, "task",
				 decision->task, "from", decision->from, "to", decision->to, "root", decision->is_root);

	if (root)
		json_object_set_new(root, "reason", reason(decision));
	if (!root || decision->is_root)
		return root;
	json_object_set_new(root, "rtt_us", json_number_or_null(decision->rtt_us));
	json_object_set_new(root, "performance", json_number_or_null(decision->performance));
	json_object_set_new(root, "origin", json_string(latency_origin_name(decision->origin)));
	json_object_set_new(root, "measured", json_number_or_null(decision->measured));
	if (decision->kind != LIVE_PLACE) {
		json_object_set_new(root, "gain", json_number_or_null(decision->gain));
		json_object_set_new(root, "drain", json_boolean(decision->drains));
	}
	return root;
}
