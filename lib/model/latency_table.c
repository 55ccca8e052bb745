/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/latency_table.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>
#include <base/quantile.h>

/* Returns the host's rack, or -1 if the host is not in the cluster; 0 if there is no cluster. */
static int64_t rack_of(const struct latency_matrix *matrix, const struct cluster *cluster, uint32_t host)
{
	int64_t machine;

	if (!cluster)
		return 0;
	machine = cluster_find_machine(cluster, latency_matrix_host(matrix, host));
	return machine < 0 ? -1 : (int64_t)cluster->machines[machine].rack;
}

static void collect(struct latency_group *group, double *p50_us, double *p99_us, const struct latency_entry *entry)
{
	uint64_t answered = group->pairs - group->silent;

	group->pairs++;
	group->samples += entry->samples;
	group->loss += entry->loss;
	if (entry->samples == 0) {
		group->silent++;
		return;
	}
	group->lowest_p50_us = fmin(group->lowest_p50_us, entry->rtt_p50_us);
	group->highest_p50_us = fmax(group->highest_p50_us, entry->rtt_p50_us);
	group->worst_us = fmax(group->worst_us, entry->rtt_max_us);
	p50_us[answered] = entry->rtt_p50_us;
	p99_us[answered] = entry->rtt_p99_us;
}

static enum latency_relation relation(int64_t rack, int64_t other)
{
	if (rack < 0 || other < 0)
		return LATENCY_UNKNOWN_RACK;
	return rack == other ? LATENCY_SAME_RACK : LATENCY_OTHER_RACK;
}

int latency_summarise(const struct latency_matrix *matrix, const struct cluster *cluster,
		      struct latency_group groups[LATENCY_RELATIONS])
{
	size_t count = latency_matrix_count(matrix), hosts = latency_matrix_hosts(matrix);
	int64_t *racks = calloc(hosts + 1, sizeof *racks);
	double *times = calloc(2 * LATENCY_RELATIONS * count + 1, sizeof *times);
	int code = racks && times ? 0 : -ENOMEM;

	for (uint32_t host = 0; !code && host < hosts; host++)
		racks[host] = rack_of(matrix, cluster, host);
	for (size_t i = 0; i < LATENCY_RELATIONS; i++) /* fmin() and fmax() ignore NAN */
		groups[i] = (struct latency_group){.lowest_p50_us = NAN, .highest_p50_us = NAN, .worst_us = NAN};
	for (size_t i = 0; !code && i < count; i++) {
		const struct latency_entry *entry = latency_matrix_at(matrix, i);
		enum latency_relation which = relation(racks[entry->source], racks[entry->destination]);

		if (entry->source != entry->destination)
			collect(&groups[which], times + 2 * which * count, times + (2 * which + 1) * count, entry);
	}
	for (size_t i = 0; !code && i < LATENCY_RELATIONS; i++) {
		size_t answered = groups[i].pairs - groups[i].silent;

		groups[i].p50_us = quantile_median(times + 2 * i * count, answered);
		groups[i].p99_us = quantile_median(times + (2 * i + 1) * count, answered);
		groups[i].loss = groups[i].pairs ? groups[i].loss / (double)groups[i].pairs : NAN;
	}
	free(racks);
	free(times);
	return code;
}

/* Compares by rack number (unknown racks last), then by name in version order (h2 before h10). context: the order. */
static int compare_hosts(const void *a, const void *b, void *context)
{
	const struct latency_table *order = context;
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
	uint64_t racks[] = {(uint64_t)rack_of(order->matrix, order->cluster, first),
			    (uint64_t)rack_of(order->matrix, order->cluster, second)};

	if (racks[0] != racks[1])
		return racks[0] < racks[1] ? -1 : 1;
	return strverscmp(latency_matrix_host(order->matrix, first), latency_matrix_host(order->matrix, second));
}

static int order_hosts(struct latency_table *order)
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
		order->racks[i] = rack_of(order->matrix, order->cluster, order->hosts[i]);
	return 0;
}

int latency_table_read(struct latency_table *order, const char *matrix_path, const char *cluster_path,
		       struct progress *bar, struct error *err)
{
	*order = (struct latency_table){0};
	order->matrix = latency_matrix_read(matrix_path, bar, err);
	if (order->matrix && cluster_path)
		order->cluster = cluster_read(cluster_path, err);
	if (!order->matrix || (cluster_path && !order->cluster)) {
		latency_table_free(order);
		return error_code(err, EIO);
	}
	if (order_hosts(order)) {
		latency_table_free(order);
		return error_set(err, ENOMEM, "%s: out of memory", matrix_path);
	}
	return 0;
}

void latency_table_free(struct latency_table *order)
{
	latency_matrix_destroy(order->matrix);
	cluster_destroy(order->cluster);
	free(order->hosts);
	free(order->racks);
	*order = (struct latency_table){0};
}

const char *latency_table_name(const struct latency_table *order, uint32_t place)
{
	return latency_matrix_host(order->matrix, order->hosts[place]);
}

const char *latency_table_rack(const struct latency_table *order, uint32_t place)
{
	if (!order->cluster)
		return "";
	return order->racks[place] < 0 ? "(unknown)" : order->cluster->racks[order->racks[place]].name;
}

double latency_table_value(const struct latency_table *order, uint32_t row, uint32_t column,
			   enum latency_statistic statistic)
{
	const struct latency_entry *entry = latency_matrix_get(order->matrix, order->hosts[row], order->hosts[column]);

	return entry ? latency_entry_value(entry, statistic) : NAN;
}

/*
 * nomora.mesh/1 is printed pair by pair, without jansson. For the million pairs of a thousand hosts, a single JSON
 * value would take 2 GB of memory, and a JSON value per pair would take most of the run time.
 */

static json_t *group_to_json(const struct latency_group *group)
{
	return json_pack("{s:I,s:I,s:I,s:o,s:o,s:o,s:o}", "pairs", (json_int_t)group->pairs, "silent",
			 (json_int_t)group->silent, "samples", (json_int_t)group->samples, "median_p50_us",
			 json_number_or_null(group->p50_us), "median_p99_us", json_number_or_null(group->p99_us),
			 "max_us", json_number_or_null(group->worst_us), "mean_loss", json_number_or_null(group->loss));
}

static void names_free(char **names, size_t count)
{
	for (size_t i = 0; names && i < count; i++)
		free(names[i]);
	free(names);
}

/* Returns the names of the matrix's hosts as quoted JSON strings, or NULL if out of memory. */
static char **quote_names(const struct latency_matrix *matrix, size_t count)
{
	char **names = calloc(count + 1, sizeof *names);

	for (size_t i = 0; names && i < count; i++) {
		json_t *name = json_string(latency_matrix_host(matrix, (uint32_t)i));

		names[i] = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
		json_decref(name);
		if (!names[i]) {
			names_free(names, count);
			return NULL;
		}
	}
	return names;
}

static void print_hop(const char *key, ip_address hop, FILE *out)
{
	char text[ADDRESS_TEXT_BYTES];

	if (hop)
		address_print(hop, text);
	fprintf(out, hop ? ", \"%s\": \"%s\"" : ", \"%s\": null", key, text);
}

static void print_pair(const struct latency_entry *entry, char *const *names, FILE *out)
{
	const struct {
		const char *key;
		double value;
	} figures[] = {
		{"rtt_p50_us", entry->rtt_p50_us},
		{"rtt_p99_us", entry->rtt_p99_us},
		{"rtt_max_us", entry->rtt_max_us},
		{"loss", entry->loss},
		{"updated_at", ns_to_s(entry->updated_at)},
		{"disturbed", (double)entry->disturbed},
		{"error_us", (double)entry->error_us},
		{"answered_at", entry->answered_at.v ? ns_to_s(entry->answered_at) : NAN},
		{"peer_stalled", (double)entry->peer_stalled},
		{"peer_stall_us", (double)entry->peer_stall_us},
		{"hop_us", entry->hop ? (double)entry->hop_us : NAN},
		{"hop_loss", entry->hop ? (double)entry->hop_loss : NAN},
	};
	char text[JSON_REAL_BYTES];

	fprintf(out, "{\"src\": %s, \"dst\": %s, \"samples\": %" PRIu64, names[entry->source],
		names[entry->destination], entry->samples);
	for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
		json_real_text(figures[i].value, text);
		fprintf(out, ", \"%s\": %s", figures[i].key, text);
	}
	print_hop("hop", entry->hop, out);
	print_hop("next_hop", entry->next_hop, out);
	fprintf(out, ", \"state\": \"%s\", \"paths\": %u, \"paths_covered\": %u}", latency_state_names[entry->state],
		entry->paths, entry->paths_covered);
}

static bool print_hosts(const struct latency_table *order, FILE *out)
{
	bool written = true;

	for (uint32_t i = 0; i < order->count && written; i++)
		written = json_print_member(out, i == 0 ? "\n    " : ",\n    ",
					    json_pack("{s:s,s:s}", "name", latency_table_name(order, i), "rack",
						      latency_table_rack(order, i)));
	return written;
}

static bool print_mesh(const struct latency_table *order, char *const *names, const struct latency_group *groups,
		       FILE *out)
{
	fputs("{\n  \"schema\": \"nomora.mesh/1\",\n  \"hosts\": [", out);
	if (!print_hosts(order, out))
		return false;
	fputs("\n  ],\n  \"pairs\": [", out);
	for (size_t i = 0; i < latency_matrix_count(order->matrix); i++) {
		fputs(i == 0 ? "\n    " : ",\n    ", out);
		print_pair(latency_matrix_at(order->matrix, i), names, out);
	}
	fputs("\n  ],\n  \"summary\": {", out);
	return json_print_member(out, "\n    \"same_rack\": ", group_to_json(&groups[LATENCY_SAME_RACK])) &&
	       json_print_member(out, ",\n    \"other_rack\": ", group_to_json(&groups[LATENCY_OTHER_RACK])) &&
	       json_print_member(out, ",\n    \"unknown_rack\": ", group_to_json(&groups[LATENCY_UNKNOWN_RACK])) &&
	       fputs("\n  }\n}\n", out) != EOF;
}

int latency_table_write_json(const struct latency_table *order, const char *path, struct error *err)
{
	size_t host_count = latency_matrix_hosts(order->matrix);
	char **names = quote_names(order->matrix, host_count);
	struct latency_group groups[LATENCY_RELATIONS];
	struct file_writer *writer;
	int code;

	if (!names || latency_summarise(order->matrix, order->cluster, groups)) {
		names_free(names, host_count);
		return error_set(err, ENOMEM, "out of memory");
	}
	writer = file_writer_open(path, err);
	if (writer && !print_mesh(order, names, groups, file_writer_stream(writer)) &&
	    !ferror(file_writer_stream(writer))) {
		file_writer_discard(writer);
		code = error_set(err, ENOMEM, "out of memory");
	} else {
		code = writer ? file_writer_commit(writer, err) : error_code(err, EIO);
	}
	names_free(names, host_count);
	return code;
}

int latency_table_write_table(const struct latency_table *order, enum latency_statistic statistic, const char *path,
			      struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);
	FILE *out;

	if (!writer)
		return error_code(err, EIO);
	out = file_writer_stream(writer);
	fputs("src", out);
	for (uint32_t column = 0; column < order->count; column++)
		fprintf(out, ",%s", latency_table_name(order, column));
	fputc('\n', out);
	for (uint32_t row = 0; row < order->count; row++) {
		fputs(latency_table_name(order, row), out);
		for (uint32_t column = 0; column < order->count; column++) {
			double value = latency_table_value(order, row, column, statistic);

			if (isnan(value))
				fputc(',', out);
			else
				fprintf(out, ",%.10g", value);
		}
		fputc('\n', out);
	}
	return file_writer_commit(writer, err);
}
