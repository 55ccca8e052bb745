/* SPDX-License-Identifier: BSD-3-Clause */
#include <figures/figures.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <plot/chart.h>

enum { VALUES_PRINTED = 24, HOSTS_DRAWN = 300 };

static const char rtt_title[] = "Round-trip times between hosts", loss_title[] = "Probes lost between hosts";

/* Pictures show loss in percent: then two decimals are enough, and the value fits in a cell. */
static const char loss_unit[] = "loss (% of probes)";
/* The colour scale of loss ends here if no pair lost more, so that a mesh without loss has one colour. */
static const double loss_scale_percent = 1;

const char *figures_mesh_unit(enum latency_statistic statistic)
{
	switch (statistic) {
	case LATENCY_STATISTIC_MAX:
		return "largest RTT (µs)";
	case LATENCY_STATISTIC_P99:
		return "RTT p99 (µs)";
	case LATENCY_STATISTIC_P50:
		return "RTT p50 (µs)";
	case LATENCY_STATISTIC_LOSS:
		return "loss (share of probes)";
	}
	return "";
}

struct drawing {
	double *values;
	const char **labels;
	size_t *groups;
	size_t group_count, side; /* number of groups (racks) after the first; number of rows and of columns */
};

/*
 * Fills the cells by a loop over the matrix's pairs, not over the cells: looking up a million cells takes longer than
 * one pass over the pairs.
 */
static int fill_values(const struct latency_table *order, enum latency_statistic statistic, double *values)
{
	size_t count = order->count;
	uint32_t *places = calloc(count + 1, sizeof *places);

	if (!places)
		return -ENOMEM;
	for (uint32_t place = 0; place < count; place++)
		places[order->hosts[place]] = place;
	for (size_t i = 0; i < count * count; i++)
		values[i] = NAN;
	for (size_t i = 0; i < latency_matrix_count(order->matrix); i++) {
		const struct latency_entry *entry = latency_matrix_at(order->matrix, i);

		values[places[entry->source] * count + places[entry->destination]] =
			latency_entry_value(entry, statistic) * (statistic == LATENCY_STATISTIC_LOSS ? 100 : 1);
	}
	free(places);
	return 0;
}

static int fill_drawing(const struct latency_table *order, enum latency_statistic statistic, struct drawing *drawing)
{
	size_t count = order->count;

	drawing->side = count;
	drawing->values = calloc(count * count + 1, sizeof *drawing->values);
	drawing->labels = calloc(count + 1, sizeof *drawing->labels);
	drawing->groups = calloc(count + 1, sizeof *drawing->groups);
	if (!drawing->values || !drawing->labels || !drawing->groups)
		return -ENOMEM;
	for (uint32_t row = 0; row < count; row++) {
		drawing->labels[row] = latency_table_name(order, row);
		if (row > 0 && order->racks[row] != order->racks[row - 1])
			drawing->groups[drawing->group_count++] = row;
	}
	return fill_values(order, statistic, drawing->values);
}

/*
 * Makes the drawing of a matrix with more than HOSTS_DRAWN hosts: its rows and columns are racks. The value of a pair
 * of racks is the largest value of the pairs of their hosts.
 */
static int fold_racks(const struct latency_table *order, enum latency_statistic statistic, struct drawing *drawing)
{
	size_t racks = 0;
	uint32_t *rack_of = calloc(latency_matrix_hosts(order->matrix) + 1, sizeof *rack_of);

	drawing->labels = calloc(order->count + 1, sizeof *drawing->labels);
	if (!rack_of || !drawing->labels) {
		free(rack_of);
		return -ENOMEM;
	}
	for (uint32_t place = 0; place < order->count; place++) {
		if (place == 0 || order->racks[place] != order->racks[place - 1])
			drawing->labels[racks++] = latency_table_rack(order, place);
		rack_of[order->hosts[place]] = (uint32_t)racks - 1;
	}
	drawing->values = calloc(racks * racks + 1, sizeof *drawing->values);
	for (size_t i = 0; drawing->values && i < racks * racks; i++)
		drawing->values[i] = NAN;
	for (size_t i = 0; drawing->values && i < latency_matrix_count(order->matrix); i++) {
		const struct latency_entry *entry = latency_matrix_at(order->matrix, i);
		double *value = &drawing->values[rack_of[entry->source] * racks + rack_of[entry->destination]];

		*value = fmax(*value,
			      latency_entry_value(entry, statistic) * (statistic == LATENCY_STATISTIC_LOSS ? 100 : 1));
	}
	free(rack_of);
	drawing->side = racks;
	return drawing->values ? 0 : -ENOMEM;
}

/* Returns the largest value, or 0 if there is none. */
static double largest(const double *values, size_t count)
{
	double found = 0;

	for (size_t i = 0; i < count; i++)
		found = fmax(found, values[i]); /* fmax() ignores NAN */
	return found;
}

static void describe(const struct latency_table *order, size_t group_count, bool by_rack, char *text, size_t bytes)
{
	int used = snprintf(text, bytes, "%u hosts", order->count);

	if (order->cluster)
		used += snprintf(text + used, bytes - (size_t)used, " in %zu rack%s", group_count + 1,
				 group_count ? "s" : "");
	if (by_rack)
		used += snprintf(text + used, bytes - (size_t)used, "; the largest value of each pair of racks");
	snprintf(text + used, bytes - (size_t)used, "; hatched or grey: not measured, or no answer");
}

int figures_mesh_save(const struct latency_table *order, enum latency_statistic statistic, const char *title,
		      const char *path, struct error *err)
{
	struct drawing drawing = {0};
	bool by_rack = order->cluster && order->count > HOSTS_DRAWN;
	char subtitle[160];
	struct heatmap heatmap = {
		.title = title                                 ? title
			 : statistic == LATENCY_STATISTIC_LOSS ? loss_title
							       : rtt_title,
		.subtitle = subtitle,
		.unit = statistic == LATENCY_STATISTIC_LOSS ? loss_unit : figures_mesh_unit(statistic),
		.row_title = by_rack ? "from rack" : "from",
		.column_title = by_rack ? "to rack" : "to",
		.logarithmic = statistic != LATENCY_STATISTIC_LOSS,
	};
	int code;

	if (order->count == 0)
		return error_set(err, EINVAL, "there are no pairs to draw");
	code = by_rack ? fold_racks(order, statistic, &drawing) : fill_drawing(order, statistic, &drawing);
	if (code) {
		error_set(err, ENOMEM, "no memory to draw %u hosts", order->count);
	} else {
		heatmap.rows = heatmap.columns = drawing.side;
		heatmap.print_values = drawing.side <= VALUES_PRINTED;
		heatmap.values = drawing.values;
		heatmap.row_labels = heatmap.column_labels = drawing.labels;
		heatmap.row_groups = heatmap.column_groups = drawing.groups;
		heatmap.row_group_count = heatmap.column_group_count = drawing.group_count;
		heatmap.maximum =
			statistic == LATENCY_STATISTIC_LOSS
				? fmax(loss_scale_percent, largest(drawing.values, drawing.side * drawing.side))
				: 0;
		describe(order, by_rack ? drawing.side - 1 : drawing.group_count, by_rack, subtitle, sizeof subtitle);
		code = heatmap_save(&heatmap, path, err);
	}
	free(drawing.values);
	free(drawing.labels);
	free(drawing.groups);
	return code;
}
