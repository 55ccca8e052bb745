/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/sweep/plan.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/name.h>
#include <base/number.h>
#include <base/text_stream.h>

#define PLACEHOLDER "{server}"
static const size_t placeholder_bytes = sizeof PLACEHOLDER - 1;

/*
 * Compared with the output of the real programs (tests/data/benchmarks), except memtier_benchmark's, which is by its
 * documentation. Numbers with a unit that changes (12.3k, 941 Mbits/sec) are converted by metric.c. The last match
 * counts, the total of the run; `only` is for programs that can run several tests, each with a result of its own.
 */
const struct sweep_benchmark sweep_benchmarks[] = {
	{"redis-benchmark", "rate 1/s higher only:([0-9.]+) requests per second", NULL},
	{"wrk", "rate 1/s higher regex:Requests/sec: +([0-9.]+)", NULL},
	{"hey", "rate 1/s higher regex:Requests/sec:[[:space:]]+([0-9.]+)", NULL},
	{"fio", "iops 1/s higher only:IOPS=([0-9.]+)", NULL},
	{"memtier_benchmark", "rate 1/s higher regex:^Totals +([0-9.]+)", NULL},
	{"sysbench", "transactions 1/s higher regex:transactions: +[0-9]+ +\\(([0-9.]+) per sec", NULL},
	{"pgbench", "tps 1/s higher regex:tps = ([0-9.]+)", NULL},
	{"dnsperf", "queries 1/s higher regex:Queries per second: +([0-9.]+)", NULL},
	{"iperf3", "throughput Mbits/sec higher regex:Bytes +([0-9.]+)", NULL},
	/* 'check perf' exits with 1 if the throughput is below its own limit */
	{"etcdctl", "throughput 1/s higher regex:Throughput [a-z :]*([0-9.]+) writes", "grep Throughput"},
	{NULL, NULL, NULL},
};

/* Writes the text with the variable in place of each {server}. `quoted`: it is one word, which the shell must not
 * change. */
static void print_text(FILE *out, const char *text, bool quoted)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";

	do {
		const char *found = strstr(text, PLACEHOLDER);
		size_t length = found ? (size_t)(found - text) : strlen(text);
		bool plain = !quoted || (strspn(text, safe) >= length && (length > 0 || found));

		if (plain)
			fwrite(text, 1, length, out);
		else if (length > 0 || !found)
			shell_print(out, text, length);
		if (found)
			fputs(quoted ? "\"$NOMORA_SERVER\"" : "$NOMORA_SERVER", out);
		text = found ? found + placeholder_bytes : "";
	} while (*text);
}

/* Returns the words as a line for the shell, or a text that is such a line already; NULL if out of memory. */
static char *make_line(int count, char *const *words, bool quoted)
{
	char *line = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&line, &bytes);

	for (int i = 0; out && i < count; i++) {
		if (i > 0)
			fputc(' ', out);
		print_text(out, words[i], quoted);
	}
	if (out)
		fclose(out);
	return line;
}

/* Returns the words as a line for the shell, with the benchmark's filter (may be NULL); NULL if out of memory. */
static char *make_client(int count, char *const *words, const char *filter)
{
	char *line = make_line(count, words, true), *filtered = NULL;

	if (!line || !filter)
		return line;
	if (asprintf(&filtered, "%s | %s", line, filter) < 0)
		filtered = NULL;
	free(line);
	return filtered;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct sweep_benchmark *find_benchmark(const char *program)
{
	const struct sweep_benchmark *benchmark = sweep_benchmarks;

	while (benchmark->program && strcmp(benchmark->program, program) != 0)
		benchmark++;
	return benchmark->program ? benchmark : NULL;
}

static int set_metric(struct sweep_plan *plan, const char *program, struct error *err)
{
	const struct sweep_benchmark *benchmark = find_benchmark(program);
	char names[256] = "";

	if (plan->metrics.count > 0)
		return 0;
	if (benchmark) {
		plan->metrics.items[plan->metrics.count++] = benchmark->metric;
		return 0;
	}
	for (benchmark = sweep_benchmarks; benchmark->program; benchmark++)
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", names[0] ? ", " : "",
			 benchmark->program);
	return error_set(err, EINVAL,
			 "'%s' is not a benchmark whose output is known (%s): add --metric, as in --metric 'rate 1/s "
			 "higher regex:rate: ([0-9.]+)'",
			 program, names);
}

void sweep_plan_defaults_in_lab(struct sweep_plan *plan)
{
	sweep_plan_defaults(plan);
	plan->lab = "sweep";
	plan->server_host = "h1";
	plan->client_host = "h2";
	plan->rtt_check = true;
	plan->maximum_stall_percent = 4;
	plan->reference_every = 2;
}

int sweep_plan_from_command(struct sweep_plan *plan, int count, char *const *words, struct sweep_command_texts *texts,
			    struct error *err)
{
	char *const server[] = {(char *)plan->server};
	bool own_metric = plan->metrics.count > 0;
	const struct sweep_benchmark *benchmark;
	struct sweep_plan defaults;

	sweep_plan_defaults(&defaults);
	*texts = (struct sweep_command_texts){NULL};
	if (plan->client)
		return error_set(err, EINVAL, "--client and a command after -- are mutually exclusive");
	for (int i = 0; i < count; i++)
		if (strpbrk(words[i], "\r\n"))
			return error_set(err, EINVAL, "the command has a line break; expected one line, or a script");
	snprintf(texts->name, sizeof texts->name, "%s", file_name(words[0]));
	if (set_metric(plan, texts->name, err) != 0)
		return -EINVAL;
	benchmark = find_benchmark(texts->name);
	texts->client = make_client(count, words, benchmark && !own_metric ? benchmark->filter : NULL);
	texts->server = make_line(plan->server ? 1 : 0, server, false);
	if (!texts->client || !texts->server)
		return error_set(err, ENOMEM, "out of memory");
	plan->client = texts->client;
	if (plan->server)
		plan->server = texts->server;
	if (plan->server && !plan->server_ready) {
		plan->server_ready = texts->client;
		plan->ready_timeout_s =
			fmax(plan->ready_timeout_s, plan->timeout_s); /* it runs as long as the client */
	}
	if (strcmp(plan->application, defaults.application) == 0)
		plan->application = texts->name;
	return 0;
}

void sweep_command_texts_free(struct sweep_command_texts *texts)
{
	free(texts->client);
	free(texts->server);
}

/* True for the options that say what to do with the plan: they are not part of it. */
static bool is_of_command(size_t offset)
{
	static const size_t offsets[] = {
		offsetof(struct sweep_plan, output),       offsetof(struct sweep_plan, keep_output),
		offsetof(struct sweep_plan, dry_run),      offsetof(struct sweep_plan, force),
		offsetof(struct sweep_plan, try_once),     offsetof(struct sweep_plan, json),
		offsetof(struct sweep_plan, debug),        offsetof(struct sweep_plan, template),
		offsetof(struct sweep_plan, share_machine)};

	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
		if (offsets[i] == offset)
			return true;
	return false;
}

static void print_row(FILE *out, const struct option_row *row, const void *field)
{
	const struct option_list *list = field;
	char number[32];

	switch (row->kind) {
	case OPTION_KIND_FLAG:
		fprintf(out, "%s = %s\n", row->name, *(const bool *)field ? "true" : "false");
		break;
	case OPTION_KIND_INTEGER:
		fprintf(out, "%s = %" PRId64 "\n", row->name, *(const int64_t *)field);
		break;
	case OPTION_KIND_DOUBLE:
		number_print_double(*(const double *)field, number, sizeof number);
		fprintf(out, "%s = %s\n", row->name, number);
		break;
	case OPTION_KIND_STRING:
		if (*(const char *const *)field)
			fprintf(out, "%s = %s\n", row->name, *(const char *const *)field);
		break;
	case OPTION_KIND_CHOICE:
		fprintf(out, "%s = %s\n", row->name, row->choices[*(const int *)field]);
		break;
	case OPTION_KIND_LIST:
		for (size_t i = 0; i < list->count; i++)
			fprintf(out, "%s = %s\n", row->name, list->items[i]);
		break;
	case OPTION_KIND_END:
	case OPTION_KIND_HEADING:
		break;
	}
}

void sweep_plan_print(const struct sweep_plan *plan, bool all, FILE *out)
{
	struct sweep_plan defaults;

	sweep_plan_defaults(&defaults);
	for (const struct option_row *row = sweep_plan_rows; row->kind != OPTION_KIND_END; row++)
		if (row->kind != OPTION_KIND_HEADING && !is_of_command(row->offset) &&
		    (all || option_is_set(row, plan, &defaults)))
			print_row(out, row, (const char *)plan + row->offset);
}
