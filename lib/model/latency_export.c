/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a matrix for other programs: as nomora.mesh/1, or one statistic as a square CSV. The JSON is printed pair by
 * pair, without jansson. For the million pairs of a thousand hosts, a single JSON value would take 2 GB of memory, and
 * a JSON value per pair would take most of the run time.
 */
#include <model/latency_order.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <base/file.h>
#include <base/json.h>
#include <model/latency_summary.h>

static json_t *json_figure(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *group_to_json(const struct latency_group *group)
{
	return json_pack("{s:I,s:I,s:I,s:o,s:o,s:o,s:o}", "pairs", (json_int_t)group->pairs, "silent",
			 (json_int_t)group->silent, "samples", (json_int_t)group->samples, "median_p50_us",
			 json_figure(group->p50_us), "median_p99_us", json_figure(group->p99_us), "max_us",
			 json_figure(group->worst_us), "mean_loss", json_figure(group->loss));
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

static bool print_hosts(const struct latency_order *order, FILE *out)
{
	bool written = true;

	for (uint32_t i = 0; i < order->count && written; i++)
		written = json_print_member(out, i == 0 ? "\n    " : ",\n    ",
					    json_pack("{s:s,s:s}", "name", latency_order_name(order, i), "rack",
						      latency_order_rack(order, i)));
	return written;
}

static bool print_mesh(const struct latency_order *order, char *const *names, const struct latency_group *groups,
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

int latency_order_write_json(const struct latency_order *order, const char *path, struct error *err)
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

int latency_order_write_table(const struct latency_order *order, enum latency_statistic statistic, const char *path,
			      struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);
	FILE *out;

	if (!writer)
		return error_code(err, EIO);
	out = file_writer_stream(writer);
	fputs("src", out);
	for (uint32_t column = 0; column < order->count; column++)
		fprintf(out, ",%s", latency_order_name(order, column));
	fputc('\n', out);
	for (uint32_t row = 0; row < order->count; row++) {
		fputs(latency_order_name(order, row), out);
		for (uint32_t column = 0; column < order->count; column++) {
			double value = latency_order_value(order, row, column, statistic);

			if (isnan(value))
				fputc(',', out);
			else
				fprintf(out, ",%.10g", value);
		}
		fputc('\n', out);
	}
	return file_writer_commit(writer, err);
}
