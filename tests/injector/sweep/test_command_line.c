/* SPDX-License-Identifier: BSD-3-Clause */
/* The metrics of the known benchmarks, on output of the real programs: tests/data/benchmarks/README.md. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <injector/sweep/plan.h>

static const struct recorded {
	const char *program, *file;
	double value;
} recorded[] = {
	{"redis-benchmark", "redis-benchmark", 16304.35},
	{"redis-benchmark", "redis-benchmark-long", 4680.19},
	{"wrk", "wrk", 116.94},
	{"hey", "hey", 141.1524},
	{"fio", "fio", 4171},
	{"sysbench", "sysbench", 28.01},
	{"pgbench", "pgbench", 235.411667},
	{"pgbench", "pgbench-connect", 5.319200},
	{"dnsperf", "dnsperf", 35603.234753},
	{"iperf3", "iperf3", 1300},
	{"iperf3", "iperf3-parallel", 2160},
	{"iperf3", "iperf3-udp", 10.2},
	{"etcdctl", "etcdctl", 142},
	{"etcdctl", "etcdctl-fail", 103},
};

static const struct sweep_benchmark *find(const char *program)
{
	const struct sweep_benchmark *benchmark = sweep_benchmarks;

	while (benchmark->program && strcmp(benchmark->program, program) != 0)
		benchmark++;
	cr_assert(benchmark->program, "%s", program);
	return benchmark;
}

Test(command_line, the_metrics_are_in_the_output_of_the_real_programs)
{
	for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
		struct sweep_metric_input input = {NULL, 0, 1};
		struct sweep_metric_def metric;
		struct error err = {0};
		double value = NAN;
		char path[200], *output;

		snprintf(path, sizeof path, NOMORA_BENCHMARKS "/%s.txt", recorded[i].file);
		output = file_read_all(path, 1 << 20, NULL, &err);
		cr_assert(output, "%s", err.text);
		input.output = output;
		cr_assert_eq(sweep_metric_parse(find(recorded[i].program)->metric, &metric, &err), 0, "%s", err.text);
		cr_expect_eq(sweep_metric_extract(&metric, &input, &value, &err), 0, "%s: %s", recorded[i].file,
			     err.text);
		cr_expect_float_eq(value, recorded[i].value, 1e-9 * recorded[i].value, "%s: %.9g", recorded[i].file,
				   value);
		sweep_metric_free(&metric);
		free(output);
	}
}

/* fio's reads and writes: none of the two results is the run's. */
Test(command_line, several_results_are_refused)
{
	struct sweep_metric_def metric;
	struct error err = {0};
	double value;
	char *output = file_read_all(NOMORA_BENCHMARKS "/fio-mixed.txt", 1 << 20, NULL, &err);
	struct sweep_metric_input input = {output, 0, 1};

	cr_assert(output, "%s", err.text);
	cr_assert_eq(sweep_metric_parse(find("fio")->metric, &metric, &err), 0, "%s", err.text);
	cr_expect_eq(sweep_metric_extract(&metric, &input, &value, &err), -ENOENT);
	cr_expect_str_eq(err.text,
			 "metric 'iops': 2 results in the output match 'IOPS=([0-9.]+)': expected one; run one "
			 "test of the program, or choose a result with --metric");
	sweep_metric_free(&metric);
	free(output);
}

/* A benchmark that fails although it has measured is filtered, unless the metric is the user's own. */
Test(command_line, a_filter_follows_the_client)
{
	char program[] = "etcdctl", endpoints[] = "--endpoints={server}:2379", check[] = "check", perf[] = "perf";
	char *words[] = {program, endpoints, check, perf};

	for (int own = 0; own < 2; own++) {
		struct sweep_command_texts texts;
		struct sweep_plan plan;
		struct error err = {0};

		sweep_plan_defaults(&plan);
		plan.server = "etcd";
		if (own)
			plan.metrics.items[plan.metrics.count++] = "failed 1 lower exit";
		cr_assert_eq(sweep_plan_from_command(&plan, 4, words, &texts, &err), 0, "%s", err.text);
		cr_expect_str_eq(plan.client, own ? "etcdctl --endpoints=\"$NOMORA_SERVER\":2379 check perf"
						  : "etcdctl --endpoints=\"$NOMORA_SERVER\":2379 check perf | grep "
						    "Throughput");
		cr_expect_str_eq(plan.server_ready, plan.client);
		cr_expect_eq(plan.ready_timeout_s, plan.timeout_s);
		sweep_command_texts_free(&texts);
	}
}
