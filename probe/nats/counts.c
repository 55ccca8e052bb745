/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/nats/bus.h>

#include <inttypes.h>

void mesh_collect_counts_print(const struct mesh_collect_counts *counts, FILE *out)
{
	fprintf(out, "%" PRIu64 " rows stored, %" PRIu64 " not newer and ignored, %" PRIu64 " dropped messages\n",
		counts->taken, counts->old, counts->dropped);
	for (int i = MESH_REFUSAL_NONE + 1; i < MESH_REFUSALS; i++)
		if (counts->refused[i])
			fprintf(out, "refused, %s: %" PRIu64 "\n", mesh_refusal_names[i], counts->refused[i]);
}

json_t *mesh_publish_to_json(uint64_t rows)
{
	return json_pack("{s:s, s:I}", "schema", "nomora.mesh_publish/1", "published", (json_int_t)rows);
}

json_t *mesh_collect_counts_to_json(const struct mesh_collect_counts *counts)
{
	json_t *refused = json_object();

	for (int i = MESH_REFUSAL_NONE + 1; i < MESH_REFUSALS; i++)
		json_object_set_new(refused, mesh_refusal_names[i], json_integer((json_int_t)counts->refused[i]));
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "schema", "nomora.mesh_collect/1", "taken",
			 (json_int_t)counts->taken, "not_newer", (json_int_t)counts->old, "statuses",
			 (json_int_t)counts->statuses, "dropped", (json_int_t)counts->dropped, "refused", refused);
}
