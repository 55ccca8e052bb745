/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/latency_table.h>

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include <base/json.h>

static void print_figure(double value, FILE *out)
{
	if (isnan(value))
		fprintf(out, " %10s", "-");
	else
		fprintf(out, " %10.1f", value);
}

void latency_series_print(const struct latency_series *series, bool racks, FILE *out)
{
	fprintf(out, "%-24s %10s %10s %10s %8s %10s\n", "at (UTC)", "p50 us", "p99 us", "max us",
		racks ? "pairs" : "loss %", racks ? "" : "state");
	for (size_t i = 0; i < series->count; i++) {
		const struct latency_point *point = &series->items[i];
		time_t seconds = (time_t)(point->at.v / NS_PER_S);
		char when[32];
		struct tm parts;

		strftime(when, sizeof when, "%F %T", gmtime_r(&seconds, &parts));
		fprintf(out, "%s.%03d ", when, (int)(point->at.v % NS_PER_S / NS_PER_MS));
		print_figure(point->rtt_p50_us, out);
		print_figure(point->rtt_p99_us, out);
		print_figure(point->rtt_max_us, out);
		if (racks)
			fprintf(out, " %8" PRIu64 "\n", point->count);
		else
			fprintf(out, " %8.2f %s\n", point->loss * 100, latency_state_names[point->state]);
	}
}

json_t *latency_series_to_json(const struct latency_series *series, bool racks, const char *from, const char *to)
{
	json_t *list = json_array();

	for (size_t i = 0; i < series->count; i++) {
		const struct latency_point *point = &series->items[i];
		json_t *row = json_pack("{s:f,s:o,s:o,s:o}", "at", ns_to_s(point->at), "rtt_p50_us",
					json_number_or_null(point->rtt_p50_us), "rtt_p99_us",
					json_number_or_null(point->rtt_p99_us), "rtt_max_us",
					json_number_or_null(point->rtt_max_us));

		json_object_set_new(row, racks ? "pairs" : "samples", json_integer((json_int_t)point->count));
		if (!racks) {
			json_object_set_new(row, "loss", json_real(point->loss));
			json_object_set_new(row, "state", json_string(latency_state_names[point->state]));
		}
		json_array_append_new(list, row);
	}
	return json_pack("{s:s,s:s,s:s,s:s,s:o}", "schema", "nomora.mesh_history/1", "between",
			 racks ? "racks" : "hosts", "src", from, "dst", to, "points", list);
}
