/* SPDX-License-Identifier: BSD-3-Clause */
#include "mesh_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <plot/heatmap.h>

enum { COLUMNS_SHOWN = 24, VALUES_PRINTED = 24, NAME_COLUMN_MINIMUM = 8, NAME_COLUMN_MAXIMUM = 24 };

static const char *const units[] = {"RTT p50 (µs)", "RTT p99 (µs)", "largest RTT (µs)", "loss (share of probes)"};
static const char rtt_title[] = "Round-trip times between hosts", loss_title[] = "Probes lost between hosts";

/* Pictures show loss in percent: a cell has room for two decimals. */
static const char loss_unit[] = "loss (% of probes)";
/* Where its colours end when no pair has lost more: a mesh without loss has one colour, not noise. */
static const double loss_scale_percent = 1;

struct drawing {
	double *values;
	const char **labels;
	size_t *groups;
	size_t group_count;
};

/* Pair after pair, not place after place: looking each of a million up takes longer than reading them. */
static int fill_values(const struct mesh_view *view, enum mesh_statistic statistic, double *values)
{
	size_t count = view->count;
	uint32_t *places = calloc(count + 1, sizeof *places);

	if (!places)
		return -ENOMEM;
	for (uint32_t place = 0; place < count; place++)
		places[view->hosts[place]] = place;
	for (size_t i = 0; i < count * count; i++)
		values[i] = NAN;
	for (size_t i = 0; i < latency_matrix_count(view->matrix); i++) {
		const struct latency_entry *entry = latency_matrix_at(view->matrix, i);

		values[places[entry->source] * count + places[entry->destination]] =
			mesh_entry_value(entry, statistic) * (statistic == MESH_LOSS ? 100 : 1);
	}
	free(places);
	return 0;
}

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
	}
	return fill_values(view, statistic, drawing->values);
}

/* 0 when there is none. */
static double largest(const double *values, size_t count)
{
	double found = 0;

	for (size_t i = 0; i < count; i++)
		found = fmax(found, values[i]); /* which passes over NAN */
	return found;
}

static void describe(const struct mesh_view *view, size_t group_count, char *text, size_t bytes)
{
	int used = snprintf(text, bytes, "%u hosts", view->count);

	if (view->cluster)
		used += snprintf(text + used, bytes - (size_t)used, " in %zu rack%s", group_count + 1,
				 group_count ? "s" : "");
	snprintf(text + used, bytes - (size_t)used, "; hatched or grey: not measured, or no answer");
}

int mesh_draw(const struct mesh_view *view, enum mesh_statistic statistic, const char *title, const char *path,
	      struct error *err)
{
	struct drawing drawing = {0};
	char subtitle[120];
	struct heatmap heatmap = {
		.title = title                    ? title
			 : statistic == MESH_LOSS ? loss_title
						  : rtt_title,
		.subtitle = subtitle,
		.unit = statistic == MESH_LOSS ? loss_unit : units[statistic],
		.rows = view->count,
		.columns = view->count,
		.row_title = "from",
		.column_title = "to",
		.logarithmic = statistic != MESH_LOSS,
		.print_values = view->count <= VALUES_PRINTED,
	};
	size_t count = view->count;
	int code;

	if (count == 0)
		return error_set(err, EINVAL, "there are no pairs to draw");
	code = fill_drawing(view, statistic, &drawing);
	if (code) {
		error_set(err, ENOMEM, "no memory to draw %u hosts", view->count);
	} else {
		heatmap.values = drawing.values;
		heatmap.row_labels = heatmap.column_labels = drawing.labels;
		heatmap.row_groups = heatmap.column_groups = drawing.groups;
		heatmap.row_group_count = heatmap.column_group_count = drawing.group_count;
		heatmap.maximum =
			statistic == MESH_LOSS ? fmax(loss_scale_percent, largest(drawing.values, count * count)) : 0;
		describe(view, drawing.group_count, subtitle, sizeof subtitle);
		code = heatmap_save(&heatmap, path, err);
	}
	free(drawing.values);
	free(drawing.labels);
	free(drawing.groups);
	return code;
}

static void print_cell(double value, enum mesh_statistic statistic, int width, FILE *out)
{
	if (isnan(value))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.*f", width, statistic == MESH_LOSS ? 4 : 1, value);
}

/* Room for the longest name, within reason: what is cut off may be what tells two hosts apart. */
static int name_width(const struct mesh_view *view)
{
	size_t width = NAME_COLUMN_MINIMUM;

	for (uint32_t i = 0; i < view->count; i++) {
		size_t length = strlen(mesh_view_name(view, i));

		width = length > width ? length : width;
	}
	return (int)(width < NAME_COLUMN_MAXIMUM ? width : NAME_COLUMN_MAXIMUM);
}

void mesh_print_table(const struct mesh_view *view, enum mesh_statistic statistic, FILE *out)
{
	int width = name_width(view);

	if (view->count == 0) {
		fputs("there are no pairs in it\n", out);
		return;
	}
	if (view->count > COLUMNS_SHOWN) {
		fprintf(out,
			"%u hosts: too many for a table here; 'nomora mesh draw' shows them, 'export' gives them\n",
			view->count);
		return;
	}
	fprintf(out, "%s, from row to column\n%*s", units[statistic], width + 2, "");
	for (uint32_t column = 0; column < view->count; column++)
		fprintf(out, " %*.*s", width, width, mesh_view_name(view, column));
	fputc('\n', out);
	for (uint32_t row = 0; row < view->count; row++) {
		if (view->cluster && (row == 0 || view->racks[row] != view->racks[row - 1]))
			fprintf(out, "%s\n", mesh_view_rack(view, row));
		fprintf(out, "  %-*.*s", width, width, mesh_view_name(view, row));
		for (uint32_t column = 0; column < view->count; column++)
			print_cell(mesh_view_value(view, row, column, statistic), statistic, width, out);
		fputc('\n', out);
	}
}
