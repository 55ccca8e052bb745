/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/check/delays.h>

#include <stdint.h>

static const char *const direction_names[] = {"ab", "ba"};
static const char *const direction_labels[] = {"A -> B", "B -> A"};

static bool over_limit(const struct check_direction_report *report, const struct check_limit *limit)
{
	if (limit->limit_us <= 0)
		return false;
	return (double)histogram_percentile(report->deviation_ns, limit->percentile) > limit->limit_us * 1e3 ||
	       report->early || report->missing || report->extra || report->reordered;
}

static json_t *distribution_json(const struct histogram *histogram)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "min", (json_int_t)histogram_minimum(histogram), "p50",
			 (json_int_t)histogram_percentile(histogram, 50), "p99",
			 (json_int_t)histogram_percentile(histogram, 99), "p99_9",
			 (json_int_t)histogram_percentile(histogram, 99.9), "max",
			 (json_int_t)histogram_maximum(histogram), "mean", histogram_mean(histogram));
}

static json_t *direction_json(const struct check_direction_report *report, const struct check_limit *limit)
{
	json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "in", (json_int_t)report->in, "out",
				   (json_int_t)report->out, "matched", (json_int_t)report->matched, "missing",
				   (json_int_t)report->missing, "extra", (json_int_t)report->extra, "reordered",
				   (json_int_t)report->reordered, "early", (json_int_t)report->early, "over_limit",
				   over_limit(report, limit), "delay_ns", distribution_json(report->delay_ns));

	if (histogram_count(report->deviation_ns) > 0)
		json_object_set_new(object, "deviation_ns", distribution_json(report->deviation_ns));
	return object;
}

bool check_report_over_limit(const struct check_report *report, const struct check_limit *limit)
{
	bool over =
		limit->limit_us > 0 && report->direction[CHECK_AB].matched + report->direction[CHECK_BA].matched == 0;

	for (int d = 0; d < CHECK_DIRECTIONS; d++)
		over |= over_limit(&report->direction[d], limit);
	return over;
}

json_t *check_report_to_json(const struct check_report *report, const char *path, const struct check_limit *limit)
{
	json_t *object = json_pack("{s:s, s:s, s:I, s:I, s:b, s:b}", "schema", "nomora.inject-check/1", "file", path,
				   "frames", (json_int_t)report->frames, "lost",
				   (json_int_t)(report->lost <= INT64_MAX ? report->lost : INT64_MAX), "cut_off",
				   report->cut_off, "over_limit", check_report_over_limit(report, limit));

	for (int d = 0; d < CHECK_DIRECTIONS; d++) {
		if (json_object_set_new(object, direction_names[d], direction_json(&report->direction[d], limit)) !=
		    0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static void print_direction(const char *label, const struct check_direction_report *report, FILE *out)
{
	const struct histogram *delay = report->delay_ns, *deviation = report->deviation_ns;

	fprintf(out, "%s: %llu in, %llu out, %llu missing, %llu extra, %llu reordered", label,
		(unsigned long long)report->in, (unsigned long long)report->out, (unsigned long long)report->missing,
		(unsigned long long)report->extra, (unsigned long long)report->reordered);
	if (report->matched)
		fprintf(out, "; delay min %.3f p50 %.3f p99 %.3f max %.3f us", (double)histogram_minimum(delay) / 1e3,
			(double)histogram_percentile(delay, 50) / 1e3, (double)histogram_percentile(delay, 99) / 1e3,
			(double)histogram_maximum(delay) / 1e3);
	if (histogram_count(deviation))
		fprintf(out, "; deviation p50 %lld p99 %lld p99.9 %lld max %lld ns, %llu early",
			(long long)histogram_percentile(deviation, 50), (long long)histogram_percentile(deviation, 99),
			(long long)histogram_percentile(deviation, 99.9), (long long)histogram_maximum(deviation),
			(unsigned long long)report->early);
	fputc('\n', out);
}

void check_report_print(const struct check_report *report, FILE *out)
{
	for (int d = 0; d < CHECK_DIRECTIONS; d++)
		print_direction(direction_labels[d], &report->direction[d], out);
}
