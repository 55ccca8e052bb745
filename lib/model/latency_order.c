/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/latency_order.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the host's rack, or -1 if the host is not in the cluster; 0 if there is no cluster. */
static int64_t rack_of(const struct latency_order *order, uint32_t host)
{
	int64_t machine;

	if (!order->cluster)
		return 0;
	machine = cluster_find_machine(order->cluster, latency_matrix_host(order->matrix, host));
	return machine < 0 ? -1 : (int64_t)order->cluster->machines[machine].rack;
}

/* Compares by rack number (unknown racks last), then by name in version order (h2 before h10). context: the order. */
static int compare_hosts(const void *a, const void *b, void *context)
{
	const struct latency_order *order = context;
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
	uint64_t racks[] = {(uint64_t)rack_of(order, first), (uint64_t)rack_of(order, second)};

	if (racks[0] != racks[1])
		return racks[0] < racks[1] ? -1 : 1;
	return strverscmp(latency_matrix_host(order->matrix, first), latency_matrix_host(order->matrix, second));
}

static int order_hosts(struct latency_order *order)
{
	order->count = (uint32_t)latency_matrix_hosts(order->matrix);
	order->hosts = calloc((size_t)order->count + 1, sizeof *order->hosts);
	order->racks = calloc((size_t)order->count + 1, sizeof *order->racks);
	if (!order->hosts || !order->racks)
		return -ENOMEM;
	for (uint32_t i = 0; i < order->count; i++)
		order->hosts[i] = i;
	qsort_r(order->hosts, order->count, sizeof *order->hosts, compare_hosts, order);
	for (uint32_t i = 0; i < order->count; i++)
		order->racks[i] = rack_of(order, order->hosts[i]);
	return 0;
}

int latency_order_read(struct latency_order *order, const char *matrix_path, const char *cluster_path,
		       struct progress *bar, struct error *err)
{
	*order = (struct latency_order){0};
	order->matrix = latency_matrix_read(matrix_path, bar, err);
	if (order->matrix && cluster_path)
		order->cluster = cluster_read(cluster_path, err);
	if (!order->matrix || (cluster_path && !order->cluster)) {
		latency_order_free(order);
		return error_code(err, EIO);
	}
	if (order_hosts(order)) {
		latency_order_free(order);
		return error_set(err, ENOMEM, "%s: out of memory", matrix_path);
	}
	return 0;
}

void latency_order_free(struct latency_order *order)
{
	latency_matrix_destroy(order->matrix);
	cluster_destroy(order->cluster);
	free(order->hosts);
	free(order->racks);
	*order = (struct latency_order){0};
}

const char *latency_order_name(const struct latency_order *order, uint32_t place)
{
	return latency_matrix_host(order->matrix, order->hosts[place]);
}

const char *latency_order_rack(const struct latency_order *order, uint32_t place)
{
	if (!order->cluster)
		return "";
	return order->racks[place] < 0 ? "(unknown)" : order->cluster->racks[order->racks[place]].name;
}

double latency_order_value(const struct latency_order *order, uint32_t row, uint32_t column,
			   enum latency_statistic statistic)
{
	const struct latency_entry *entry = latency_matrix_get(order->matrix, order->hosts[row], order->hosts[column]);

	return entry ? latency_entry_value(entry, statistic) : NAN;
}
