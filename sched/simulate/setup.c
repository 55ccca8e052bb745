/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings and workload from the options. */
#include "simulate_priv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/log.h>
#include <base/number.h>
#include <model/curve_library.h>

static const double second_us = 1e6;

static int parse_topology(const char *text, struct sim_settings *settings, struct error *err)
{
	int used = 0;

	if (sscanf(text, "%ux%u%n", &settings->racks_per_pod, &settings->machines_per_rack, &used) == 2 &&
	    text[used] == '\0' && settings->racks_per_pod > 0 && settings->machines_per_rack > 0 &&
	    settings->racks_per_pod <= 100000 && settings->machines_per_rack <= 100000)
		return 0;
	return error_set(err, EINVAL,
			 "--topology '%s': expected RACKSxMACHINES, racks of a pod and machines of a rack, as "
			 "16x48",
			 text);
}

static int parse_solver_time(const char *text, struct sim_settings *settings, struct error *err)
{
	static const struct {
		const char *name;
		enum sim_solver_time time;
	} names[] = {{"zero", SIM_SOLVER_ZERO},
		     {"work", SIM_SOLVER_WORK},
		     {"measured", SIM_SOLVER_MEASURED},
		     {"published", SIM_SOLVER_PUBLISHED}};
	double seconds;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(text, names[i].name) == 0) {
			settings->solver_time = names[i].time;
			return 0;
		}
	}
	if (number_parse_double(text, &seconds) != 0 || seconds < 0 || seconds > 1e6)
		return error_set(err, EINVAL, "--solver-time '%s': expected zero, work, measured, published or seconds",
				 text);
	settings->solver_time = SIM_SOLVER_FIXED;
	settings->solver_us = (int64_t)(seconds * second_us);
	return 0;
}

/* Sets one parameter of a policy, KEY[=VALUE]. */
static int set_parameter(struct sim_settings *settings, const char *key, const char *value, struct error *err)
{
	struct policy_settings *policy = &settings->policy_settings;
	double number = 1;

	if (value && number_parse_double(value, &number) != 0)
		return error_set(err, EINVAL, "policy parameter %s: '%s' is not a number", key, value);
	if (strcmp(key, "p_m") == 0 && number >= 0 && number <= 1000)
		policy->machine_threshold = (int32_t)number;
	else if (strcmp(key, "p_r") == 0 && number >= 0 && number <= 1000)
		policy->rack_threshold = (int32_t)number;
	else if (strcmp(key, "preemption") == 0 && (number == 0 || number == 1))
		policy->flow.preemption = number != 0;
	else if (strcmp(key, "beta") == 0 && number >= 0 && number <= 1e5)
		policy->flow.beta_per_s = number;
	else if (strcmp(key, "round_s") == 0 && number >= 0 && number <= 1e6)
		settings->round_us = (int64_t)(number * second_us);
	else
		return error_set(
			err, EINVAL,
			"policy parameter '%s%s%s': expected p_m or p_r (0 to 1000), preemption, beta or round_s", key,
			value ? "=" : "", value ? value : "");
	return 0;
}

static int unknown_policy(const char *name, struct error *err)
{
	char known[256] = "";
	size_t at = 0;

	for (size_t p = 0; policies[p] && at < sizeof known; p++)
		at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", p > 0 ? ", " : "", policies[p]->name);
	return error_set(err, EINVAL, "--policy '%s': expected one of %s, with parameters as in nomora:p_m=105,p_r=110",
			 name, known);
}

/* Parses a policy, NAME[:KEY=VALUE,...]. */
static int parse_policy(const char *text, struct simulate_policy *policy, struct error *err)
{
	char copy[SIMULATE_NAME_BYTES], *parameters, *item, *save = NULL;
	int code = 0;

	if (strlen(text) >= sizeof copy)
		return error_set(err, EINVAL, "--policy '%.40s...' is longer than %zu bytes", text, sizeof copy - 1);
	memcpy(copy, text, strlen(text) + 1);
	memcpy(policy->name, text, strlen(text) + 1);
	parameters = strchr(copy, ':');
	if (parameters)
		*parameters++ = '\0';
	policy->settings.policy = policy_find(copy);
	if (!policy->settings.policy)
		return unknown_policy(copy, err);
	for (item = parameters ? strtok_r(parameters, ",", &save) : NULL; item && code == 0;
	     item = strtok_r(NULL, ",", &save)) {
		char *value = strchr(item, '=');

		if (value)
			*value++ = '\0';
		code = set_parameter(&policy->settings, item, value, err);
	}
	if (code == 0 && policy->settings.moves.mode != MIGRATION_OFF &&
	    policy->settings.policy_settings.flow.preemption)
		code = error_set(err, EINVAL, "policy parameter preemption cannot be used with --migrate");
	return code;
}

static int common_settings(const struct simulate_options *options, struct sim_settings *settings, struct error *err)
{
	struct policy_settings *policy = &settings->policy_settings;
	struct sim_latency_settings *latency = &settings->latency;
	int code;

	sim_settings_default(settings);
	settings->round_us = (int64_t)(options->round_s * second_us);
	settings->moves = options->moves;
	settings->migration_cost_us = (int64_t)(options->migration_cost_s * second_us);
	settings->one_solve = options->workers == 1;
	settings->lose_work = options->lose_work;
	settings->seed = (uint64_t)options->seed;
	settings->check = options->check;
	settings->bound = options->gap;
	policy->root_anywhere = options->roots == 0;
	policy->root_first = options->roots == 2;
	policy->root_solver = options->roots == 3;
	policy->spill = options->spill == 0 ? POLICY_SPILL_ANY : POLICY_SPILL_BEST;
	policy->weights = (enum policy_weights)options->weights;
	policy->lookup = options->interpolate  ? COST_LOOKUP_INTERPOLATED
			 : options->two_digits ? COST_LOOKUP_TWO_DIGITS
					       : COST_LOOKUP_NEAREST;
	policy->machine_arcs = (uint32_t)options->machine_arcs;
	policy->flow.gamma = (int32_t)options->gamma;
	policy->flow.omega_per_s = options->omega_per_s;
	policy->flow.beta_per_s = options->beta_per_s;
	policy->flow.unscheduled_capacity = options->omega_per_s > 0 ? 0 : (int32_t)options->unscheduled_capacity;
	*latency = (struct sim_latency_settings){
		.spread = options->spread,
		.drift = options->drift,
		.noise = options->noise,
		.spike_chance = options->spike_chance,
		.spike_factor = 5,
		.seed = (uint64_t)options->seed,
		.age_s = (uint32_t)options->latency_age_s,
		.error = options->measurement_error,
	};
	code = parse_topology(options->topology, settings, err);
	if (code == 0 && options->windows)
		code = windows_parse(options->windows, &settings->windows, err) ? error_prefix(err, "--migrate-window")
										: 0;
	return code == 0 ? parse_solver_time(options->solver_time, settings, err) : code;
}

/* Parses the mix of curves, NAME=SHARE,...; the shares are divided by their sum. */
static int parse_mix(struct simulate *simulate, const char *text, struct sim_settings *settings, struct error *err)
{
	char *copy = strdup(text), *item, *save = NULL;
	double total = 0;
	int code = copy ? 0 : error_set(err, ENOMEM, "out of memory");

	for (item = copy ? strtok_r(copy, ",", &save) : NULL; item && code == 0; item = strtok_r(NULL, ",", &save)) {
		char *value = strchr(item, '=');
		double share = 1;
		int64_t number;

		if (value)
			*value++ = '\0';
		if (settings->curve_count == SIM_CURVES_MAXIMUM ||
		    (value && (number_parse_double(value, &share) != 0 || share <= 0))) {
			code = error_set(err, EINVAL, "--curve-mix: expected up to %d NAME=SHARE with shares above 0",
					 SIM_CURVES_MAXIMUM);
			break;
		}
		number = curve_library_find(simulate->library, item, err);
		if (number < 0) {
			code = (int)number;
			break;
		}
		settings->curves[settings->curve_count] = curve_library_at(simulate->library, (size_t)number);
		settings->curve_names[settings->curve_count] = curve_library_name(simulate->library, (size_t)number);
		settings->curve_shares[settings->curve_count++] = share;
		total += share;
	}
	for (uint32_t c = 0; c < settings->curve_count; c++)
		settings->curve_shares[c] /= total;
	free(copy);
	return code;
}

/*
 * Adds the curves that a journal or --job-curves names for jobs and that the mix does not have. Their share is 0, so
 * that jobs without a named curve never get them.
 */
static int add_journal_curves(struct simulate *simulate, struct sim_settings *settings, struct error *err)
{
	const struct workload *workload = simulate->workload;

	for (size_t c = 0; c < workload->curve_count; c++) {
		int64_t number = curve_library_find(simulate->library, workload->curves[c], err);
		uint32_t known = 0;

		if (number < 0)
			return (int)number;
		while (known < settings->curve_count && strcmp(settings->curve_names[known], workload->curves[c]) != 0)
			known++;
		if (known < settings->curve_count)
			continue;
		if (known == SIM_CURVES_MAXIMUM)
			return error_set(err, E2BIG, "expected at most %d curves", SIM_CURVES_MAXIMUM);
		settings->curves[known] = curve_library_at(simulate->library, (size_t)number);
		settings->curve_names[known] = curve_library_name(simulate->library, (size_t)number);
		settings->curve_shares[known] = 0;
		settings->curve_count++;
	}
	return 0;
}

static int add_curves(struct simulate *simulate, struct sim_settings *settings, struct error *err)
{
	int code = 0;

	/* If the workload names curves for its jobs, the mix is used only if --curves was given. */
	if (simulate->workload->curve_count == 0 || simulate->options->curves)
		code = parse_mix(simulate, simulate->options->curve_mix, settings, err);
	if (code == 0)
		code = add_journal_curves(simulate, settings, err);
	if (code == 0 && settings->curve_count == 0)
		code = error_set(err, EINVAL, "--curve-mix: expected NAME=SHARE,...");
	return code;
}

static int parse_policies(struct simulate *simulate, const struct sim_settings *common, struct error *err)
{
	static const char *const usual[] = {"random", "load_spreading", "nomora:p_m=110,p_r=115",
					    "nomora:p_m=105,p_r=110"};
	const struct option_list *given = &simulate->options->policies;
	size_t count = given->count ? given->count : sizeof usual / sizeof usual[0];
	int code = 0;

	if (count > SIMULATE_POLICIES_MAXIMUM)
		return error_set(err, EINVAL, "--policy: expected at most %d policies", SIMULATE_POLICIES_MAXIMUM);
	if (simulate->options->record && count != 1)
		return error_set(err, EINVAL, "--record: expected one --policy, found %zu", count);
	for (size_t i = 0; i < count && code == 0; i++) {
		struct simulate_policy *policy = &simulate->policies[simulate->policy_count++];

		*policy = (struct simulate_policy){.settings = *common};
		code = parse_policy(given->count ? given->items[i] : usual[i], policy, err);
	}
	return code;
}

int simulate_check(const struct simulate_options *options, struct error *err)
{
	struct simulate simulate = {.options = options};
	struct sim_settings settings;
	int code = common_settings(options, &settings, err);

	if (code == 0 && !!options->trace + !!options->journal + !!options->swf + !!options->sacct + !!options->csv > 1)
		return error_set(err, EINVAL, "--trace, --journal, --swf, --sacct and --csv are mutually exclusive");
	if (code == 0 && options->interpolate && options->two_digits)
		return error_set(err, EINVAL, "--interpolate and --two-significant-digits are mutually exclusive");
	if (code == 0 && options->job_curves && options->journal)
		return error_set(err, EINVAL,
				 "--job-curves cannot be used with --journal: its jobs have their curves already");
	if (code == 0 && options->journal && (options->latency_age_s > 0 || options->measurement_error > 0))
		return error_set(err, EINVAL,
				 "--latency-age and --measurement-error cannot be used with --journal: its round trips "
				 "are those that were known");
	if (code == 0)
		code = simulate_check_window(options, err);
	return code == 0 ? parse_policies(&simulate, &settings, err) : code;
}

static void warn_of_batch_problems(const struct batch_report *report, enum batch_format format)
{
	for (int k = 0; k < BATCH_PROBLEMS; k++) {
		if (report->problems[k])
			log_warning("%llu %s; the first: %s", (unsigned long long)report->problems[k],
				    batch_problem_name((enum batch_problem)k), report->first[k]);
	}
	if (report->partial > 0)
		log_warning("%llu rows of partial executions (status 2 to 4) are skipped",
			    (unsigned long long)report->partial);
	if (report->repeated > 0)
		log_warning("%llu rows repeat the id of an earlier row: %s", (unsigned long long)report->repeated,
			    format == BATCH_SWF ? "each is another job" : "they are further attempts of one job");
}

static void warn_of_problems(const struct google_trace_report *report)
{
	for (int k = 0; k < GOOGLE_TRACE_PROBLEMS; k++) {
		if (report->problems[k])
			log_warning("%llu %s; the first: %s", (unsigned long long)report->problems[k],
				    google_trace_problem_name((enum google_trace_problem)k), report->first[k]);
	}
}

static int read_trace(struct simulate *simulate, struct error *err)
{
	/* Reads the trace beyond the simulated time, as the run time of a task is known only from its end. */
	struct google_trace_options trace = {.until_us = INT64_MAX, .strict = simulate->options->strict};
	int code =
		google_trace_read(simulate->workload, simulate->options->trace, &trace, &simulate->trace_report, err);

	simulate->seen_us = simulate->trace_report.last_us;
	warn_of_problems(&simulate->trace_report);
	return code;
}

static int read_journal(struct simulate *simulate, struct error *err)
{
	struct file_lines *lines = file_lines_open(simulate->options->journal, err);
	int code = lines ? journal_read_workload(simulate->workload, simulate->library, lines,
						 &simulate->journal_counts, err)
			 : error_code(err, ENOENT);

	simulate->seen_us = simulate->journal_counts.last_us;
	if (simulate->journal_counts.origin_s > 0)
		simulate->origin_s = simulate->journal_counts.origin_s;
	if (code == 0 && simulate->journal_counts.is_cut)
		log_warning("%s: the last line is incomplete and was left out", simulate->options->journal);
	file_lines_close(lines);
	return code;
}

/*
 * Adds machines: the number given with --machines, else the number in the trace's header, else as many as the peak
 * number of running tasks needs.
 */
static int add_batch_machines(struct simulate *simulate)
{
	const struct batch_report *report = &simulate->batch_report;
	int64_t peak = (int64_t)report->peak_tasks;
	int code = 0;

	simulate->slots = simulate->options->slots ? simulate->options->slots
			  : report->slots          ? report->slots
						   : simulate->slots;
	simulate->machines = simulate->options->machines ? simulate->options->machines : report->machines;
	if (simulate->machines == 0)
		simulate->machines = (peak + simulate->slots - 1) / simulate->slots;
	for (int64_t m = 0; m < simulate->machines && code == 0; m++)
		code = workload_add_machine_event(simulate->workload, 0, (uint64_t)m, WORKLOAD_MACHINE_ADDED, -1);
	return code;
}

static int read_job_curves(struct simulate *simulate, struct error *err)
{
	struct file_lines *lines = file_lines_open(simulate->options->job_curves, err);
	int code = lines ? job_curves_read(simulate->workload, lines, err) : error_code(err, ENOENT);

	file_lines_close(lines);
	return code;
}

static int read_batch(struct simulate *simulate, enum batch_format format, const char *path, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	int code = lines ? batch_trace_read(simulate->workload, format, lines, simulate->options->strict,
					    &simulate->batch_report, err)
			 : error_code(err, ENOENT);

	warn_of_batch_problems(&simulate->batch_report, format);
	simulate->origin_s = simulate->batch_report.origin_s;
	file_lines_close(lines);
	if (code == 0 && add_batch_machines(simulate) != 0)
		return error_set(err, ENOMEM, "out of memory");
	return code;
}

static bool is_batch(const struct simulate_options *options)
{
	return options->swf || options->sacct || options->csv;
}

static struct workload *generate(const struct simulate *simulate)
{
	const struct simulate_options *options = simulate->options;
	struct sim_generate_settings settings;

	sim_generate_settings_default(&settings);
	settings.machines = (uint32_t)simulate->machines;
	settings.slots = (uint32_t)simulate->slots;
	settings.hours = (double)(simulate->begin_us + simulate->end_us) / (3600 * second_us);
	settings.load = options->load;
	settings.seed = (uint64_t)options->seed;
	return sim_generate(&settings);
}

static int make_workload(struct simulate *simulate, struct error *err)
{
	const struct simulate_options *options = simulate->options;
	struct workload_filter filter = {
		.fraction = options->fraction,
		.speed_up = options->speed_up,
		.keep_single = options->keep_single,
	};
	int code = 0;

	if (!options->trace && !options->journal && !is_batch(options))
		code = simulate_set_window(simulate, &filter, err);
	if (code != 0)
		return code;
	simulate->workload =
		options->trace || options->journal || is_batch(options) ? workload_create() : generate(simulate);
	if (!simulate->workload)
		return error_set(err, ENOMEM, "out of memory");
	if (is_batch(options) && simulate_window_is_known(options)) {
		code = simulate_set_window(simulate, &filter, err);
		simulate->workload->early = &filter;
	}
	if (code == 0 && options->trace)
		code = read_trace(simulate, err);
	else if (code == 0 && options->journal)
		code = read_journal(simulate, err);
	else if (code == 0 && options->swf)
		code = read_batch(simulate, BATCH_SWF, options->swf, err);
	else if (code == 0 && options->sacct)
		code = read_batch(simulate, BATCH_SACCT, options->sacct, err);
	else if (code == 0 && options->csv)
		code = read_batch(simulate, BATCH_CSV, options->csv, err);
	simulate->workload->early = NULL;
	if (code == 0 && options->job_curves)
		code = read_job_curves(simulate, err);
	if (code == 0)
		code = simulate_set_window(simulate, &filter, err);
	if (code == 0 && workload_finish(simulate->workload, &filter) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	for (size_t j = 0; j < simulate->workload->job_count && code == 0 && options->workers == 1; j++) {
		if (simulate->workload->jobs[j].gang > 0)
			code = error_set(err, EINVAL,
					 "the trace has gangs, whose roots and workers are placed in one "
					 "round; expected --workers same-round");
	}
	if (code == 0 && (simulate->workload->job_count == 0 || simulate->workload->machine_count == 0))
		code = error_set(err, EINVAL,
				 "nothing to simulate: %zu jobs, %zu machines; are --fraction and --hours too "
				 "small, or is --from too large?",
				 simulate->workload->job_count, simulate->workload->machine_count);
	return code;
}

/*
 * Sets the levels of the round trips: each from its option, else from the journal's default round trips, else the
 * default of the simulation.
 */
static void set_levels(const struct simulate *simulate, struct sim_latency_settings *latency)
{
	const struct simulate_options *options = simulate->options;
	const double given[SIM_DISTANCES] = {options->rack_us, options->pod_us, options->across_us};
	struct sim_latency_settings usual;

	sim_latency_settings_default(&usual);
	if (simulate->workload->has_default_rtt) {
		const struct cluster_default_rtt *rtt = &simulate->workload->places->default_rtt;

		usual.same_machine_us = rtt->same_machine_us;
		usual.level_us[SIM_SAME_RACK] = rtt->same_rack_us;
		usual.level_us[SIM_SAME_POD] = rtt->same_pod_us;
		usual.level_us[SIM_OTHER_POD] = rtt->other_pod_us;
	}
	latency->same_machine_us = usual.same_machine_us;
	for (int d = 0; d < SIM_DISTANCES; d++)
		latency->level_us[d] = isnan(given[d]) ? usual.level_us[d] : given[d];
}

int simulate_setup(struct simulate *simulate, const struct simulate_options *options, struct error *err)
{
	struct sim_settings common;
	int code;

	*simulate = (struct simulate){
		.options = options,
		.origin_s = NAN,
		.machines = options->machines ? options->machines : 12500,
		.slots = options->slots ? options->slots : 12,
	};
	code = common_settings(options, &common, err);
	if (code == 0) {
		simulate->library = curve_library_create(options->curves);
		code = simulate->library ? make_workload(simulate, err) : error_set(err, ENOMEM, "out of memory");
	}
	common.slots = (uint32_t)simulate->slots;
	common.end_us = simulate->end_us;
	common.begin_us = simulate->begin_us;
	if (code == 0)
		set_levels(simulate, &common.latency);
	if (code == 0 && options->series) {
		simulate->series = rtt_series_read(options->series, err);
		common.latency.recorded = simulate->series;
		code = simulate->series ? 0 : error_code(err, ENOENT);
	}
	if (code == 0)
		code = add_curves(simulate, &common, err);
	return code == 0 ? parse_policies(simulate, &common, err) : code;
}

void simulate_free(struct simulate *simulate)
{
	for (size_t i = 0; i < simulate->policy_count; i++)
		sim_result_free(&simulate->policies[i].result);
	workload_destroy(simulate->workload);
	curve_library_destroy(simulate->library);
	rtt_series_destroy(simulate->series);
	*simulate = (struct simulate){0};
}
