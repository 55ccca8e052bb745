/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of the answer. */
#include <predict/prediction/prediction.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <base/number.h>
#include <base/text_stream.h>

static const double tolerances[] = {1.01, 1.02, 1.05};
/* A model whose run time differs from the recorded one by more than this factor is not that of the recording. */
static const double mismatch = 1.1;
enum { TOLERANCES = 3, PAIRS_PRINTED = 8 };

/* The added round trip of a latency, us. */
static double added_us(const struct prediction *prediction, double latency_ns)
{
	return (latency_ns - prediction->settings.model.latency_ns) / 1000 * 2;
}

/* The run time of the run in the middle, of which the pieces are. */
static double own_run_time_s(const struct prediction *prediction, double us)
{
	return runtime_at(&prediction->runtime, prediction->settings.model.latency_ns + us / 2 * 1000) / 1e9;
}

static double tolerance_us(const struct prediction *prediction, double times, bool *beyond)
{
	return added_us(prediction, runtime_tolerance(&prediction->runtime, times, beyond));
}

/* Messages on the longest path at an added round trip: the slope there. */
static double messages_at(const struct prediction *prediction, double us)
{
	const struct runtime *runtime = &prediction->runtime;
	size_t i = 0;

	while (i + 1 < runtime->count && added_us(prediction, runtime->pieces[i + 1].from_ns) <= us)
		i++;
	return runtime->pieces[i].messages;
}

static void print_others(const struct prediction *prediction, FILE *out)
{
	double all_s = 0;

	if (prediction->other_count == 0)
		return;
	fputs("Not modelled, so that their time counts as computation:", out);
	for (size_t i = 0; i < prediction->other_count; i++) {
		double s = prediction->others[i].us / 1e6;

		fprintf(out, "%s %s (%" PRIu64 " call%s, %.3g s in all ranks)", i ? "," : "",
			prediction->others[i].name, prediction->others[i].calls, number_s(prediction->others[i].calls),
			s);
		all_s += s;
	}
	fprintf(out, "; together %.3g %% of the run\n", 100 * all_s / (prediction->recorded_s * prediction->ranks));
}

static void print_collectives(const struct prediction *prediction, FILE *out)
{
	const char *before = "Collectives:", *call;

	for (size_t i = 0; i < COLLECTIVE_ALGORITHMS; i++) {
		const char *name = collective_name(i, &call);

		if (!prediction->collectives[i])
			continue;

		fprintf(out, "%s %" PRIu64 " %s by %s", before, prediction->collectives[i], call, name);
		before = ",";
	}
	if (*before == ',')
		fputc('\n', out);
}

/* Says that the model does not explain the recording. Returns false if it does. */
static bool print_mismatch(const struct prediction *prediction, const char *before, FILE *out)
{
	double share = own_run_time_s(prediction, 0) / prediction->recorded_s;

	if (!(share < 1 / mismatch) && !(share > mismatch))
		return false;
	fprintf(out, "%sWarning: the model's run time is %.3g of the recorded one. ", before, share);
	fputs(share < 1 ? "The rest passed within MPI calls: other processes on the ranks' CPUs, or another latency or "
			  "overhead."
			: "Latency or overhead are too large for the recorded run.",
	      out);
	fputs(" Do not rely on this answer.", out);
	return true;
}

static bool is_capture(const struct prediction *prediction)
{
	return prediction->turns.connection_count > 0;
}

static void print_head(const struct prediction *prediction, FILE *out)
{
	const struct loggps *model = &prediction->settings.model;

	fprintf(out, "%s: %u %s%s, an execution graph of %zu nodes\n", prediction->settings.application,
		prediction->ranks, is_capture(prediction) ? "host" : "rank", number_s(prediction->ranks),
		prediction->nodes);
	if (is_capture(prediction))
		turns_print(&prediction->turns, out);
	else
		fprintf(out, "LogGPS: L %g us, o %g us, G %g ns a byte, rendezvous above %" PRIu64 " bytes\n",
			model->latency_ns / 1000, model->overhead_ns / 1000, model->gap_ns, model->eager_bytes);
	print_collectives(prediction, out);
	if (isfinite(prediction->recorded_s))
		fprintf(out, "Run time %.6g s; recorded were %.6g s\n", own_run_time_s(prediction, 0),
			prediction->recorded_s);
	if (prediction->run_count)
		fprintf(out,
			"%zu runs: medians, and intervals that have the median with a probability of %.3g %%; else the "
			"run in the middle\n",
			prediction->run_count + 1, 100 * prediction_confidence(prediction));
	if (print_mismatch(prediction, "", out))
		fputc('\n', out);
	print_others(prediction, out);
}

/* The steps of the table after 0: 1, 2 and 5 times the powers of ten. */
static double table_step(int i, double *step)
{
	double us = *step * (i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 5);

	*step *= i % 3 == 2 ? 10 : 1;
	return us;
}

static void print_row(const struct prediction *prediction, double us, FILE *out)
{
	struct prediction_range s = prediction_run_time_s(prediction, us);
	struct prediction_range p = prediction_performance(prediction, us);

	fprintf(out, "%13.6g us %9.6g s", us, s.median);
	if (prediction->run_count)
		fprintf(out, " %12.6g to %-12.6g", s.low, s.high);
	fprintf(out, " %12.4f", p.median);
	if (prediction->run_count)
		fprintf(out, " %.4f to %.4f", p.low, p.high);
	fprintf(out, " %29.0f\n", messages_at(prediction, us));
}

static void print_table(const struct prediction *prediction, FILE *out)
{
	double end_us = prediction->settings.longest_us, us = 0, step = 1;

	fprintf(out, "\nadded round trip    run time%s  performance%s  messages on the longest path\n",
		prediction->run_count ? "  interval                    " : "",
		prediction->run_count ? "  interval        " : "");
	for (int i = 0;; i++) {
		print_row(prediction, us, out);
		if (us >= end_us)
			break;
		us = fmin(table_step(i, &step), end_us);
	}
}

/* Returns the pair with the most messages after `last`, or after none if that is NULL; NULL at the end. */
static const struct runtime_pair *next_pair(const struct prediction *prediction, const struct runtime_pair *last)
{
	const struct runtime_pair *next = NULL;

	for (size_t i = 0; i < prediction->pair_count; i++) {
		const struct runtime_pair *pair = &prediction->pairs[i];
		bool printed =
			last && (pair->messages > last->messages || (pair->messages == last->messages && pair <= last));

		if (!printed && (!next || pair->messages > next->messages))
			next = pair;
	}
	return next;
}

static void print_pairs(const struct prediction *prediction, FILE *out)
{
	const struct runtime_pair *pair = next_pair(prediction, NULL);

	if (!pair)
		return;
	fputs("Messages on the longest path, most first:", out);
	for (size_t i = 0; pair && i < PAIRS_PRINTED; i++) {
		fprintf(out, "%s %u to %u: %" PRIu64, i ? "," : "", pair->from, pair->to, pair->messages);
		pair = next_pair(prediction, pair);
	}
	if (prediction->pair_count > PAIRS_PRINTED)
		fprintf(out, ", and %zu more pairs", prediction->pair_count - PAIRS_PRINTED);
	fputs("\n", out);
}

void prediction_print(const struct prediction *prediction, FILE *out)
{
	print_head(prediction, out);
	print_table(prediction, out);
	fputs("\nTolerates", out);
	for (int i = 0; i < TOLERANCES; i++) {
		bool beyond;
		double us = tolerance_us(prediction, tolerances[i], &beyond);

		fprintf(out, "%s %s%.6g us for %.0f %%", i ? "," : "", beyond ? "over " : "", us,
			(tolerances[i] - 1) * 100);
	}
	fputs(" more run time\n", out);
	print_pairs(prediction, out);
}

static json_t *pieces_json(const struct prediction *prediction)
{
	json_t *array = json_array();

	for (size_t i = 0; i < prediction->runtime.count; i++) {
		const struct runtime_piece *piece = &prediction->runtime.pieces[i];
		double us = added_us(prediction, piece->from_ns);

		json_array_append_new(array, json_pack("{s:f, s:f, s:I}", "added_rtt_us", us, "run_time_s",
						       own_run_time_s(prediction, us), "messages",
						       (json_int_t)piece->messages));
	}
	return array;
}

static json_t *tolerances_json(const struct prediction *prediction)
{
	json_t *array = json_array();

	for (int i = 0; i < TOLERANCES; i++) {
		bool beyond;
		double us = tolerance_us(prediction, tolerances[i], &beyond);

		json_array_append_new(array, json_pack("{s:f, s:f, s:b}", "share", tolerances[i] - 1, "added_rtt_us",
						       us, "beyond", beyond));
	}
	return array;
}

static json_t *pairs_json(const struct prediction *prediction)
{
	json_t *array = json_array();

	for (size_t i = 0; i < prediction->pair_count; i++)
		json_array_append_new(array, json_pack("[i, i, I]", (int)prediction->pairs[i].from,
						       (int)prediction->pairs[i].to,
						       (json_int_t)prediction->pairs[i].messages));
	return array;
}

static json_t *others_json(const struct prediction *prediction)
{
	json_t *array = json_array();

	for (size_t i = 0; i < prediction->other_count; i++)
		json_array_append_new(array, json_pack("{s:s, s:I, s:f}", "name", prediction->others[i].name, "calls",
						       (json_int_t)prediction->others[i].calls, "s",
						       prediction->others[i].us / 1e6));
	return array;
}

static json_t *range_json(struct prediction_range range)
{
	return json_pack("[f, f, f]", range.median, range.low, range.high);
}

/* Several runs: the rows of the table. */
static json_t *runs_json(const struct prediction *prediction)
{
	double end_us = prediction->settings.longest_us, us = 0, step = 1;
	json_t *points;

	if (prediction->run_count == 0)
		return json_null();
	points = json_array();
	for (int i = 0;; i++) {
		json_array_append_new(points,
				      json_pack("{s:f, s:o, s:o}", "added_rtt_us", us, "run_time_s",
						range_json(prediction_run_time_s(prediction, us)), "performance",
						range_json(prediction_performance(prediction, us))));
		if (us >= end_us)
			break;
		us = fmin(table_step(i, &step), end_us);
	}
	return json_pack("{s:I, s:f, s:o}", "count", (json_int_t)prediction->run_count + 1, "confidence",
			 prediction_confidence(prediction), "points", points);
}

static json_t *collectives_json(const struct prediction *prediction)
{
	json_t *array = json_array();

	for (size_t i = 0; i < COLLECTIVE_ALGORITHMS; i++) {
		const char *call, *name = collective_name(i, &call);

		if (prediction->collectives[i])
			json_array_append_new(array, json_pack("{s:s, s:s, s:I}", "call", call, "algorithm", name,
							       "count", (json_int_t)prediction->collectives[i]));
	}
	return array;
}

json_t *prediction_json(const struct prediction *prediction)
{
	const struct loggps *model = &prediction->settings.model;

	return json_pack(
		"{s:s, s:s, s:i, s:I, s:{s:f, s:f, s:f, s:I}, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
		"nomora.predict/1", "application", prediction->settings.application, "ranks", (int)prediction->ranks,
		"nodes", (json_int_t)prediction->nodes, "model", "latency_us", model->latency_ns / 1000, "overhead_us",
		model->overhead_ns / 1000, "gap_ns", model->gap_ns, "eager_bytes", (json_int_t)model->eager_bytes,
		"recorded_s", json_number_or_null(prediction->recorded_s), "run_time_s",
		prediction_run_time_s(prediction, 0).median, "pieces", pieces_json(prediction), "runs",
		runs_json(prediction), "tolerates", tolerances_json(prediction), "pairs", pairs_json(prediction),
		"not_modelled", others_json(prediction), "collectives", collectives_json(prediction), "capture",
		is_capture(prediction) ? turns_json(&prediction->turns) : json_null());
}

/* The edges of the job's graph: pairs without a direction, lower rank first. */
static json_t *edges_json(const struct prediction *prediction)
{
	size_t count = prediction->pair_count;
	struct runtime_pair *pairs = malloc((count ? count : 1) * sizeof *pairs);
	json_t *array = pairs ? json_array() : NULL;

	if (!array) {
		free(pairs);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		pairs[i] = prediction->pairs[i];
		if (pairs[i].from > pairs[i].to)
			pairs[i] = (struct runtime_pair){pairs[i].to, pairs[i].from, pairs[i].messages};
	}
	count = runtime_pairs_merge(pairs, count);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_pack("[i, i, I]", (int)pairs[i].from, (int)pairs[i].to,
						       (json_int_t)pairs[i].messages));
	free(pairs);
	return array;
}

json_t *prediction_job_json(const struct prediction *prediction)
{
	json_t *job = json_pack("{s:s, s:s, s:i, s:i}", "id", prediction->settings.application, "curve",
				prediction->settings.application, "root", 0, "tasks", (int)prediction->ranks);

	/* Without edges, the job is a star, whose messages cost nothing. */
	if (job && prediction->pair_count > 0 && json_object_set_new(job, "graph", edges_json(prediction)) < 0) {
		json_decref(job);
		return NULL;
	}
	return job;
}

static char *text_of(const struct prediction *prediction, void print(const struct prediction *, FILE *))
{
	char *text = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&text, &bytes);

	if (!out)
		return NULL;
	print(prediction, out);
	fclose(out);
	return text;
}

static void print_equation(const struct prediction *prediction, FILE *out)
{
	fprintf(out, "p(x) = T(0)/T(x); T: %zu straight pieces, %.0f to %.0f messages on the longest path",
		prediction->runtime.count, prediction->runtime.pieces[0].messages,
		prediction->runtime.pieces[prediction->runtime.count - 1].messages);
}

static void print_capture_note(const struct prediction *prediction, FILE *out)
{
	const struct turns *turns = &prediction->turns;

	fprintf(out,
		"Predicted from a capture of %s, not measured: %zu turns on %zu connections to port %u, %s loop. "
		"Assumes "
		"that think times and service times do not depend on latency, and that requests that wait for each "
		"other "
		"do so in the recorded order.",
		prediction->run_count ? "each of several runs" : "one run", turns->turn_count, turns->connection_count,
		turns->port, turns->loop == TURNS_OPEN ? "open" : "closed");
}

static void print_note(const struct prediction *prediction, FILE *out)
{
	const struct loggps *model = &prediction->settings.model;

	if (is_capture(prediction)) {
		print_capture_note(prediction, out);
	} else {
		fprintf(out,
			"Predicted from %s, not measured. Assumes that the computation between messages does not "
			"depend "
			"on latency, that %s, and LogGPS with L %g us, o %g us, G %g ns a byte, rendezvous above "
			"%" PRIu64 " bytes.",
			prediction->run_count ? "several recorded runs" : "one recorded run",
			model->hosts ? "the ranks are on the stated hosts" : "each rank is on a host of its own",
			model->latency_ns / 1000, model->overhead_ns / 1000, model->gap_ns, model->eager_bytes);
		print_mismatch(prediction, " ", out);
	}
	if (prediction->run_count)
		fprintf(out, " Medians of %zu runs; the band has the median with a probability of %.3g %%.",
			prediction->run_count + 1, 100 * prediction_confidence(prediction));
}

static void set_run_time(const struct prediction *prediction, struct curve *curve)
{
	curve->predicted = true;
	curve->better = SWEEP_LOWER;
	curve->baseline_value = prediction_run_time_s(prediction, 0).median;
	curve->baseline_deviation = NAN;
	curve->baseline_rtt_us = 2 * prediction->settings.model.latency_ns / 1000;
	curve->domain_low_us = 0;
	curve->domain_high_us = prediction->settings.longest_us;
}

static bool replace(char **text, char *by)
{
	free(*text);
	*text = by;
	return by != NULL;
}

/* Returns a curve with its table, and with a band if there are several runs; or NULL with err set. */
static struct curve *curve_of_table(const struct prediction *prediction, struct error *err)
{
	size_t count = (size_t)(prediction->settings.longest_us / CURVE_STEP_US) + 1;
	double *p = malloc(count * sizeof *p), *low = malloc(count * sizeof *low), *high = malloc(count * sizeof *high);
	struct curve *curve = NULL;

	for (size_t i = 0; p && low && high && i < count; i++) {
		struct prediction_range range = prediction_performance(prediction, CURVE_STEP_US * (double)i);

		p[i] = range.median;
		low[i] = range.low;
		high[i] = range.high;
	}
	if (p && low && high)
		curve = curve_from_table(prediction->settings.application, p, count, err);
	else
		error_set(err, ENOMEM, "out of memory");
	free(p);
	if (!curve || prediction->run_count == 0) {
		free(low);
		free(high);
		return curve;
	}
	curve->band_low = low;
	curve->band_high = high;
	curve->band_confidence = prediction_confidence(prediction);
	return curve;
}

struct curve *prediction_curve(const struct prediction *prediction, struct error *err)
{
	struct curve *curve = curve_of_table(prediction, err);
	bool complete;

	if (!curve)
		return NULL;
	complete = replace(&curve->metric, strdup("run_time"));
	complete = replace(&curve->unit, strdup("s")) && complete;
	complete = replace(&curve->model, strdup("longest-path")) && complete;
	complete = replace(&curve->equation, text_of(prediction, print_equation)) && complete;
	complete = replace(&curve->note, text_of(prediction, print_note)) && complete;
	set_run_time(prediction, curve);
	if (!complete)
		error_set(err, ENOMEM, "out of memory");
	if (complete && curve_prepare(curve, err) == 0)
		return curve;
	curve_destroy(curve);
	return NULL;
}
