/* SPDX-License-Identifier: BSD-3-Clause */
#include "mesh_print.h"

#include <math.h>
#include <string.h>

#include <figures/mesh.h>

enum { COLUMNS_SHOWN = 24, NAME_COLUMN_MINIMUM = 8, NAME_COLUMN_MAXIMUM = 24 };

static void print_cell(double value, enum latency_statistic statistic, int width, FILE *out)
{
	if (isnan(value))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.*f", width, statistic == LATENCY_STATISTIC_LOSS ? 4 : 1, value);
}

/* As wide as the longest name, up to a limit: two names may differ at their ends alone. */
static int name_width(const struct latency_order *order)
{
	size_t width = NAME_COLUMN_MINIMUM;

	for (uint32_t i = 0; i < order->count; i++) {
		size_t length = strlen(latency_order_name(order, i));

		width = length > width ? length : width;
	}
	return (int)(width < NAME_COLUMN_MAXIMUM ? width : NAME_COLUMN_MAXIMUM);
}

void mesh_print_table(const struct latency_order *order, enum latency_statistic statistic, FILE *out)
{
	int width = name_width(order);

	if (order->count == 0) {
		fputs("no pairs\n", out);
		return;
	}
	if (order->count > COLUMNS_SHOWN) {
		fprintf(out,
			"%u hosts: too many for a table here; 'nomora mesh draw' shows them, 'export' gives them\n",
			order->count);
		return;
	}
	fprintf(out, "%s, from row to column\n%*s", figures_mesh_unit(statistic), width + 2, "");
	for (uint32_t column = 0; column < order->count; column++)
		fprintf(out, " %*.*s", width, width, latency_order_name(order, column));
	fputc('\n', out);
	for (uint32_t row = 0; row < order->count; row++) {
		if (order->cluster && (row == 0 || order->racks[row] != order->racks[row - 1]))
			fprintf(out, "%s\n", latency_order_rack(order, row));
		fprintf(out, "  %-*.*s", width, width, latency_order_name(order, row));
		for (uint32_t column = 0; column < order->count; column++)
			print_cell(latency_order_value(order, row, column, statistic), statistic, width, out);
		fputc('\n', out);
	}
}
