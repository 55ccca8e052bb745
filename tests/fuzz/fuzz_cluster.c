/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster.json: an accepted file is consistent. */
#include <stdint.h>
#include <stdlib.h>

#include <model/cluster.h>

#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	char *text = fuzz_text(data, size);
	struct cluster *cluster = cluster_parse("fuzz", text, size, &err);
	uint32_t machines = 0;

	free(text);
	if (!cluster) {
		if (err.code == 0 || err.text[0] == '\0')
			abort(); /* a refusal says why */
		return 0;
	}
	for (uint32_t r = 0; r < cluster->rack_count; r++) {
		if (cluster->racks[r].machine_count == 0 || cluster->racks[r].pod >= cluster->pod_count)
			abort();
		machines += cluster->racks[r].machine_count;
	}
	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		if (cluster->machines[m].rack >= cluster->rack_count ||
		    cluster_find_machine(cluster, cluster->machines[m].name) != (int64_t)m)
			abort();
	}
	if (machines != cluster->machine_count || machines == 0 || cluster_slots(cluster) < 0)
		abort();
	cluster_destroy(cluster);
	return 0;
}
