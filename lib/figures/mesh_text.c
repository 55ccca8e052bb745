/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix as a table of text. */
#include <figures/figures.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include <model/latency_table.h>

#include <base/number.h>

enum { COLUMNS_SHOWN = 24, NAME_COLUMN_MINIMUM = 8, NAME_COLUMN_MAXIMUM = 24 };

static void print_cell(double value, enum latency_statistic statistic, int width, FILE *out)
{
	if (isnan(value))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.*f", width, statistic == LATENCY_STATISTIC_LOSS ? 4 : 1, value);
}

/*
 * Returns the width of a column for names: that of the longest name, but at least NAME_COLUMN_MINIMUM and at most
 * NAME_COLUMN_MAXIMUM. Names are not shortened more than needed, because they may differ only at their ends.
 */
static int name_width(const struct latency_table *order)
{
	size_t width = NAME_COLUMN_MINIMUM;

	for (uint32_t i = 0; i < order->count; i++) {
		size_t length = strlen(latency_table_name(order, i));

		width = length > width ? length : width;
	}
	return (int)(width < NAME_COLUMN_MAXIMUM ? width : NAME_COLUMN_MAXIMUM);
}

/* Prints the worst pairs, for more hosts than a table can show. */
static void print_worst(const struct latency_table *order, enum latency_statistic statistic, FILE *out)
{
	struct latency_census census;

	if (latency_census_take(order->matrix, statistic, ns_now_wall(), (struct ns){0}, &census))
		return;
	fprintf(out,
		"%u hosts; the worst pairs by %s ('nomora mesh draw' shows all pairs, 'nomora mesh export' prints "
		"them):\n\n",
		order->count, latency_statistic_names[statistic]);
	fprintf(out, "%-24s %-24s %10s %10s %10s %8s\n", "from", "to", "p50 us", "p99 us", "max us", "loss %");
	for (size_t i = 0; i < census.worst_count; i++) {
		const struct latency_entry *entry = &census.worst[i];

		fprintf(out, "%-24.24s %-24.24s %10.1f %10.1f %10.1f %8.2f\n",
			latency_matrix_host(order->matrix, entry->source),
			latency_matrix_host(order->matrix, entry->destination), entry->rtt_p50_us, entry->rtt_p99_us,
			entry->rtt_max_us, entry->loss * 100);
	}
	for (size_t i = 0; i < census.lost_count; i++)
		fprintf(out, "%s: no other host reaches it\n",
			latency_matrix_host(order->matrix, census.lost_hosts[i]));
	latency_census_free(&census);
}

static void print_table(const struct latency_table *order, enum latency_statistic statistic, FILE *out)
{
	int width = name_width(order);

	if (order->count == 0) {
		fputs("no pairs\n", out);
		return;
	}
	if (order->count > COLUMNS_SHOWN) {
		print_worst(order, statistic, out);
		return;
	}
	fprintf(out, "%s, from row to column\n%*s", figures_mesh_unit(statistic), width + 2, "");
	for (uint32_t column = 0; column < order->count; column++)
		fprintf(out, " %*.*s", width, width, latency_table_name(order, column));
	fputc('\n', out);
	for (uint32_t row = 0; row < order->count; row++) {
		if (order->cluster && (row == 0 || order->racks[row] != order->racks[row - 1]))
			fprintf(out, "%s\n", latency_table_rack(order, row));
		fprintf(out, "  %-*.*s", width, width, latency_table_name(order, row));
		for (uint32_t column = 0; column < order->count; column++)
			print_cell(latency_table_value(order, row, column, statistic), statistic, width, out);
		fputc('\n', out);
	}
}

static void print_group(const char *label, const struct latency_group *group, FILE *out)
{
	if (group->pairs == 0)
		return;
	fprintf(out, "%-12s %6llu pairs: ", label, (unsigned long long)group->pairs);
	if (group->silent < group->pairs)
		fprintf(out, "p50 %.1f us, p99 %.1f us (medians), worst %.1f us, ", group->p50_us, group->p99_us,
			group->worst_us);
	fprintf(out, "loss %.4g %%", group->loss * 100);
	if (group->silent)
		fprintf(out, ", %llu pair%s without an answer", (unsigned long long)group->silent,
			number_s(group->silent));
	fputc('\n', out);
}

int figures_mesh_print(const struct latency_table *order, enum latency_statistic statistic, FILE *out,
		       struct error *err)
{
	struct latency_group groups[LATENCY_RELATIONS];

	if (latency_summarise(order->matrix, order->cluster, groups))
		return error_set(err, ENOMEM, "out of memory");
	print_table(order, statistic, out);
	if (order->count > 0)
		fputc('\n', out);
	print_group(order->cluster ? "same rack" : "all", &groups[LATENCY_SAME_RACK], out);
	print_group("other racks", &groups[LATENCY_OTHER_RACK], out);
	print_group("rack unknown", &groups[LATENCY_UNKNOWN_RACK], out);
	return 0;
}
