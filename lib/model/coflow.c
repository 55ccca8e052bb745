/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads traces of the coflow benchmark, and makes a scenario of the coflows that are active at a given second. */
#include <model/recovery.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/number.h>

#include "files_priv.h"

enum { PORTS_MAXIMUM = 100000, COFLOWS_MAXIMUM = 10000000, LINE_BYTES = 64 << 20 };

/* The words of a line, which are read in order; the first bad word sets err. */
struct words {
	const char *file;
	long line;
	char *at;
	struct error *err;
	bool failed;
};

static void fail(struct words *words, const char *field, const char *expected, const char *found)
{
	if (!words->failed)
		error_at(words->err, (struct error_place){words->file, words->line, field}, EINVAL,
			 "found '%.40s', expected %s", found ? found : "the end of the line", expected);
	words->failed = true;
}

static char *next_word(struct words *words)
{
	char *word = words->at + strspn(words->at, " \t");
	size_t length = strcspn(word, " \t");

	if (length == 0)
		return NULL;
	words->at = word + length;
	if (*words->at)
		*words->at++ = '\0';
	return word;
}

static int64_t integer(struct words *words, char *word, const char *field, int64_t low, int64_t high)
{
	int64_t value = low;

	if (!words->failed && (!word || number_parse_i64(word, &value) != 0 || value < low || value > high)) {
		char expected[80];

		snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)low,
			 (long long)high);
		fail(words, field, expected, word);
		return low;
	}
	return value;
}

static bool add_mapper(struct coflow_trace *trace, uint32_t port)
{
	uint32_t *all = array_grow(trace->mappers, trace->mapper_count, &trace->mapper_capacity, sizeof *all);

	if (!all)
		return false;
	trace->mappers = all;
	all[trace->mapper_count++] = port;
	return true;
}

static bool add_reducer(struct coflow_trace *trace, struct coflow_reducer reducer)
{
	struct coflow_reducer *all =
		array_grow(trace->reducers, trace->reducer_count, &trace->reducer_capacity, sizeof *all);

	if (!all)
		return false;
	trace->reducers = all;
	all[trace->reducer_count++] = reducer;
	return true;
}

static struct coflow_reducer read_reducer(struct words *words, char *word, uint32_t port_count)
{
	char *colon = word ? strchr(word, ':') : NULL;
	struct coflow_reducer reducer = {0};

	if (!colon) {
		fail(words, "reducer", "PORT:MB", word);
		return reducer;
	}
	*colon = '\0';
	reducer.port = (uint32_t)integer(words, word, "reducer", 0, port_count);
	if (!words->failed && (number_parse_double(colon + 1, &reducer.MB) != 0 || reducer.MB < 0 || reducer.MB > 1e12))
		fail(words, "reducer", "MB from 0 to 1e12", colon + 1);
	return reducer;
}

static void read_coflow(struct words *words, struct coflow_trace *trace)
{
	struct coflow coflow = {.first_mapper = trace->mapper_count, .first_reducer = trace->reducer_count};
	struct coflow *all = array_grow(trace->coflows, trace->coflow_count, &trace->coflow_capacity, sizeof *all);
	bool memory = all != NULL;

	if (all)
		trace->coflows = all;
	coflow.id = integer(words, next_word(words), "id", 0, INT64_MAX);
	coflow.arrival_s = (double)integer(words, next_word(words), "arrival", 0, (int64_t)1 << 40) / 1000;
	coflow.mapper_count = (size_t)integer(words, next_word(words), "mappers", 1, COFLOWS_MAXIMUM);
	for (size_t i = 0; i < coflow.mapper_count && !words->failed && memory; i++) {
		int64_t port = integer(words, next_word(words), "mapper", 0, trace->port_count);

		memory = add_mapper(trace, (uint32_t)port);
		trace->first_port = port < trace->first_port ? (uint32_t)port : trace->first_port;
	}
	coflow.reducer_count = (size_t)integer(words, next_word(words), "reducers", 1, COFLOWS_MAXIMUM);
	for (size_t i = 0; i < coflow.reducer_count && !words->failed && memory; i++) {
		struct coflow_reducer reducer = read_reducer(words, next_word(words), trace->port_count);

		memory = add_reducer(trace, reducer);
		trace->first_port = reducer.port < trace->first_port ? reducer.port : trace->first_port;
	}
	if (!memory && !words->failed) {
		error_set(words->err, ENOMEM, "out of memory");
		words->failed = true;
	}
	if (words->failed)
		return;
	all[trace->coflow_count++] = coflow;
	trace->flow_count += (uint64_t)coflow.mapper_count * coflow.reducer_count;
}

/*
 * Sets first_port: ports are numbered from 0, or from 1 if port number port_count is in use. It is an error if both
 * port 0 and port number port_count are in use.
 */
static int check_ports(struct coflow_trace *trace, const char *file, struct error *err)
{
	uint32_t highest = 0, least = trace->first_port;

	trace->first_port = 0;

	for (size_t i = 0; i < trace->mapper_count; i++)
		highest = trace->mappers[i] > highest ? trace->mappers[i] : highest;
	for (size_t i = 0; i < trace->reducer_count; i++)
		highest = trace->reducers[i].port > highest ? trace->reducers[i].port : highest;
	if (highest < trace->port_count)
		return 0;
	trace->first_port = 1;
	if (least > 0)
		return 0;
	return error_at(err, (struct error_place){file, 1, "ports"}, EINVAL,
			"%u, but the coflows use the ports 0 to %u", trace->port_count, highest);
}

static struct coflow_trace *read_lines(struct file_lines *lines, struct error *err)
{
	struct coflow_trace *trace = calloc(1, sizeof *trace);
	struct words words = {.file = file_lines_name(lines), .err = err};
	int64_t count = 0;
	char *line;
	int code;

	if (!trace) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	file_lines_limit(lines, LINE_BYTES);
	code = file_lines_next(lines, &line, err);
	words.at = code == 1 ? line : (char[]){""};
	words.line = 1;
	words.failed = code < 0;
	trace->port_count = (uint32_t)integer(&words, next_word(&words), "ports", 1, PORTS_MAXIMUM);
	trace->first_port = trace->port_count; /* the smallest port number so far */
	count = integer(&words, next_word(&words), "coflows", 0, COFLOWS_MAXIMUM);
	while (!words.failed && (code = file_lines_next(lines, &line, err)) == 1) {
		words.at = line;
		words.line = file_lines_number(lines);
		if (line[strspn(line, " \t")])
			read_coflow(&words, trace);
		if (!words.failed && next_word(&words))
			fail(&words, "reducer", "the end of the line", "more");
	}
	if (!words.failed && code == 0 && (int64_t)trace->coflow_count != count) {
		error_at(err, (struct error_place){words.file, 1, "coflows"}, EINVAL, "%lld, but the file has %zu",
			 (long long)count, trace->coflow_count);
		words.failed = true;
	}
	if (words.failed || code < 0 || check_ports(trace, words.file, err) < 0) {
		coflow_destroy(trace);
		return NULL;
	}
	return trace;
}

struct coflow_trace *coflow_read(struct file_lines *lines, struct error *err)
{
	struct coflow_trace *trace = lines ? read_lines(lines, err) : NULL;

	file_lines_close(lines);
	return trace;
}

void coflow_destroy(struct coflow_trace *trace)
{
	if (!trace)
		return;
	free(trace->coflows);
	free(trace->mappers);
	free(trace->reducers);
	free(trace);
}

uint32_t coflow_port_count(const struct coflow_trace *trace)
{
	return trace->port_count;
}

uint64_t coflow_flow_count(const struct coflow_trace *trace)
{
	return trace->flow_count;
}

/*
 * Returns the seconds that the coflow's busiest port needs if it carries only this coflow. load: space for 2 *
 * port_count doubles.
 */
static double time_alone_s(const struct coflow_trace *trace, const struct coflow *coflow, double link_MBps,
			   double *load)
{
	double worst = 0;

	memset(load, 0, 2 * trace->port_count * sizeof *load);
	for (size_t r = 0; r < coflow->reducer_count; r++) {
		const struct coflow_reducer *reducer = &trace->reducers[coflow->first_reducer + r];
		double each = reducer->MB / (double)coflow->mapper_count;

		for (size_t m = 0; m < coflow->mapper_count; m++) {
			uint32_t port = trace->mappers[coflow->first_mapper + m];

			if (port == reducer->port)
				continue;
			load[port - trace->first_port] += each;
			load[trace->port_count + reducer->port - trace->first_port] += each;
		}
	}
	for (uint32_t i = 0; i < 2 * trace->port_count; i++)
		worst = load[i] > worst ? load[i] : worst;
	return worst / link_MBps;
}

/* Adds the coflow as an application. done: share of the coflow's volume that has been sent, 0..1. */
static bool add_coflow(const struct coflow_trace *trace, const struct coflow *coflow, double done,
		       struct recovery_scenario *scenario)
{
	uint32_t first = scenario->task_count;
	char name[40];

	snprintf(name, sizeof name, "c%lld", (long long)coflow->id);
	if (recovery_add_application(scenario, name, 1) < 0)
		return false;
	for (size_t i = 0; i < coflow->mapper_count + coflow->reducer_count; i++) {
		bool maps = i < coflow->mapper_count;
		size_t r = coflow->first_reducer + i - coflow->mapper_count;
		uint32_t port = maps ? trace->mappers[coflow->first_mapper + i] : trace->reducers[r].port;
		struct recovery_task task = {.name = name, .stage = maps ? 1 : 2, .server = port - trace->first_port};

		snprintf(name, sizeof name, "%c%zu", maps ? 'm' : 'r', maps ? i : i - coflow->mapper_count);
		if (recovery_add_task(scenario, &task) < 0)
			return false;
	}
	for (size_t i = 0; i < coflow->mapper_count * coflow->reducer_count; i++) {
		size_t m = i % coflow->mapper_count, r = i / coflow->mapper_count;
		double each = trace->reducers[coflow->first_reducer + r].MB / (double)coflow->mapper_count;
		struct recovery_flow flow = {.from = first + (uint32_t)m,
					     .to = first + (uint32_t)(coflow->mapper_count + r),
					     .MB = each,
					     .sent_MB = each * done};

		if (recovery_add_flow(scenario, &flow) < 0)
			return false;
	}
	return true;
}

struct recovery_scenario *coflow_scenario(const struct coflow_trace *trace, double at_s, double link_MBps,
					  struct error *err)
{
	struct recovery_scenario *scenario = recovery_create();
	double *load = calloc(2 * trace->port_count, sizeof *load);
	bool memory = scenario && load;
	char name[24];

	for (uint32_t n = 0; n < trace->port_count && memory; n++) {
		/* The trace has no CPU data: servers and tasks have cpu 0, so CPU never prevents a placement. */
		struct recovery_server server = {.name = name, .egress_MBps = link_MBps, .ingress_MBps = link_MBps};

		snprintf(name, sizeof name, "port%u", n + trace->first_port);
		memory = recovery_add_server(scenario, &server) >= 0;
	}
	for (size_t i = 0; i < trace->coflow_count && memory; i++) {
		const struct coflow *coflow = &trace->coflows[i];
		double age_s = at_s - coflow->arrival_s, alone_s;

		if (age_s < 0)
			continue;
		alone_s = time_alone_s(trace, coflow, link_MBps, load);
		if (age_s < alone_s)
			memory = add_coflow(trace, coflow, age_s / alone_s, scenario);
	}
	free(load);
	if (memory && scenario->application_count > 0)
		return scenario;
	if (memory)
		error_set(err, ENOENT, "no coflow is active at %g s", at_s);
	else
		error_set(err, ENOMEM, "out of memory");
	recovery_destroy(scenario);
	return NULL;
}
