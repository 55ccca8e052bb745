/* SPDX-License-Identifier: BSD-3-Clause */
#include "mesh_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const mesh_statistic_names[] = {"p50", "p99", "max", "loss", NULL};

/* -1 = the cluster does not know the host; 0 without a cluster. */
static int64_t rack_of(const struct mesh_view *view, uint32_t host)
{
	int64_t machine;

	if (!view->cluster)
		return 0;
	machine = cluster_find_machine(view->cluster, latency_matrix_host(view->matrix, host));
	return machine < 0 ? -1 : (int64_t)view->cluster->machines[machine].rack;
}

/* qsort_r()'s context is the view: order by rack number, unknown racks last, then as people count (h2 before h10). */
static int compare_hosts(const void *a, const void *b, void *context)
{
	const struct mesh_view *view = context;
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
	uint64_t racks[] = {(uint64_t)rack_of(view, first), (uint64_t)rack_of(view, second)};

	if (racks[0] != racks[1])
		return racks[0] < racks[1] ? -1 : 1;
	return strverscmp(latency_matrix_host(view->matrix, first), latency_matrix_host(view->matrix, second));
}

static int order_hosts(struct mesh_view *view)
{
	view->count = (uint32_t)latency_matrix_hosts(view->matrix);
	view->hosts = calloc((size_t)view->count + 1, sizeof *view->hosts);
	view->racks = calloc((size_t)view->count + 1, sizeof *view->racks);
	if (!view->hosts || !view->racks)
		return -ENOMEM;
	for (uint32_t i = 0; i < view->count; i++)
		view->hosts[i] = i;
	qsort_r(view->hosts, view->count, sizeof *view->hosts, compare_hosts, view);
	for (uint32_t i = 0; i < view->count; i++)
		view->racks[i] = rack_of(view, view->hosts[i]);
	return 0;
}

int mesh_view_open(struct mesh_view *view, const char *matrix_path, const char *cluster_path, struct progress *bar,
		   struct error *err)
{
	*view = (struct mesh_view){0};
	view->matrix = latency_matrix_read(matrix_path, bar, err);
	if (view->matrix && cluster_path)
		view->cluster = cluster_read(cluster_path, err);
	if (!view->matrix || (cluster_path && !view->cluster)) {
		mesh_view_close(view);
		return -err->code;
	}
	if (order_hosts(view)) {
		mesh_view_close(view);
		return error_set(err, ENOMEM, "%s: out of memory", matrix_path);
	}
	return 0;
}

void mesh_view_close(struct mesh_view *view)
{
	latency_matrix_destroy(view->matrix);
	cluster_destroy(view->cluster);
	free(view->hosts);
	free(view->racks);
	*view = (struct mesh_view){0};
}

const char *mesh_view_name(const struct mesh_view *view, uint32_t place)
{
	return latency_matrix_host(view->matrix, view->hosts[place]);
}

const char *mesh_view_rack(const struct mesh_view *view, uint32_t place)
{
	if (!view->cluster)
		return "";
	return view->racks[place] < 0 ? "(unknown)" : view->cluster->racks[view->racks[place]].name;
}

double mesh_entry_value(const struct latency_entry *entry, enum mesh_statistic statistic)
{
	switch (statistic) {
	case MESH_P50:
		return entry->rtt_p50_us;
	case MESH_P99:
		return entry->rtt_p99_us;
	case MESH_MAXIMUM:
		return entry->rtt_max_us;
	case MESH_LOSS:
		return entry->loss;
	}
	return NAN;
}

double mesh_view_value(const struct mesh_view *view, uint32_t row, uint32_t column, enum mesh_statistic statistic)
{
	const struct latency_entry *entry = latency_matrix_get(view->matrix, view->hosts[row], view->hosts[column]);

	return entry ? mesh_entry_value(entry, statistic) : NAN;
}
