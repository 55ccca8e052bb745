/* SPDX-License-Identifier: BSD-3-Clause */
#include "mesh_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <plot/heatmap.h>

enum { COLUMNS_SHOWN = 24, VALUES_PRINTED = 24 };

static const char *const units[] = {"RTT p50 (µs)", "RTT p99 (µs)", "largest RTT (µs)", "loss (share of probes)"};

struct drawing {
	double *values;
	const char **labels;
	size_t *groups;
	size_t group_count;
};

static int fill_drawing(const struct mesh_view *view, enum mesh_statistic statistic, struct drawing *drawing)
{
	size_t count = view->count;

	drawing->values = calloc(count * count + 1, sizeof *drawing->values);
	drawing->labels = calloc(count + 1, sizeof *drawing->labels);
	drawing->groups = calloc(count + 1, sizeof *drawing->groups);
	if (!drawing->values || !drawing->labels || !drawing->groups)
		return -ENOMEM;
	for (uint32_t row = 0; row < count; row++) {
		drawing->labels[row] = mesh_view_name(view, row);
		if (row > 0 && view->racks[row] != view->racks[row - 1])
			drawing->groups[drawing->group_count++] = row;
		for (uint32_t column = 0; column < count; column++)
			drawing->values[row * count + column] = mesh_view_value(view, row, column, statistic);
	}
	return 0;
}

int mesh_draw(const struct mesh_view *view, enum mesh_statistic statistic, const char *title, const char *path,
	      struct error *err)
{
	struct drawing drawing = {0};
	struct heatmap heatmap = {
		.title = title,
		.unit = units[statistic],
		.rows = view->count,
		.columns = view->count,
		.row_title = "from",
		.column_title = "to",
		.logarithmic = statistic != MESH_LOSS,
		.print_values = view->count <= VALUES_PRINTED,
	};
	int code;

	if (view->count == 0)
		return error_set(err, EINVAL, "there are no pairs to draw");
	code = fill_drawing(view, statistic, &drawing);
	if (code) {
		error_set(err, ENOMEM, "no memory to draw %u hosts", view->count);
	} else {
		heatmap.values = drawing.values;
		heatmap.row_labels = heatmap.column_labels = drawing.labels;
		heatmap.row_groups = heatmap.column_groups = drawing.groups;
		heatmap.row_group_count = heatmap.column_group_count = drawing.group_count;
		code = heatmap_save(&heatmap, path, err);
	}
	free(drawing.values);
	free(drawing.labels);
	free(drawing.groups);
	return code;
}

static void print_cell(double value, enum mesh_statistic statistic, FILE *out)
{
	if (isnan(value))
		fprintf(out, " %8s", "-");
	else if (statistic == MESH_LOSS)
		fprintf(out, " %8.4f", value);
	else
		fprintf(out, " %8.1f", value);
}

void mesh_print_table(const struct mesh_view *view, enum mesh_statistic statistic, FILE *out)
{
	if (view->count > COLUMNS_SHOWN) {
		fprintf(out,
			"%u hosts: too many for a table here; 'nomora mesh draw' shows them, 'export' gives them\n",
			view->count);
		return;
	}
	fprintf(out, "%s, from row to column\n%-12s", units[statistic], "");
	for (uint32_t column = 0; column < view->count; column++)
		fprintf(out, " %8.8s", mesh_view_name(view, column));
	fputc('\n', out);
	for (uint32_t row = 0; row < view->count; row++) {
		if (view->cluster && (row == 0 || view->racks[row] != view->racks[row - 1]))
			fprintf(out, "%s\n", mesh_view_rack(view, row));
		fprintf(out, "  %-10.10s", mesh_view_name(view, row));
		for (uint32_t column = 0; column < view->count; column++)
			print_cell(mesh_view_value(view, row, column, statistic), statistic, out);
		fputc('\n', out);
	}
}
