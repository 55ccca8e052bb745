/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's plan and report: written and read back, defaults, and the field named when a bad one is refused. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <model/worker.h>

#define PLAN "{\"schema\": \"nomora.worker/1\", \"task\": \"t.0\", \"address\": \"10.0.0.1\", \"port\": 7800"
#define REPORT                                                                                                         \
	"{\"schema\": \"nomora.worker-report/1\", \"task\": \"t.0\", \"s\": 0.25, \"received\": 1, \"sent\": 0, "      \
	"\"received_MBps\": 0.5, \"lost\": 0, \"duplicated\": 0, \"sent_MBps\": "

static struct worker_plan *parse(const char *text)
{
	struct error err = {0};
	struct worker_plan *plan = worker_plan_parse("plan", text, strlen(text), &err);

	cr_assert(plan, "%s", err.text);
	return plan;
}

Test(worker, a_plan_of_few_fields_gets_the_defaults)
{
	struct worker_plan *plan = parse(PLAN "}");

	cr_assert_str_eq(plan->task, "t.0");
	cr_assert_eq(plan->port, 7800);
	cr_assert_eq(plan->number, 0);
	cr_assert_eq(plan->inputs, 0);
	cr_assert_eq(plan->tuple_bytes, 1000);
	cr_assert(isinf(plan->MBps) && isinf(plan->MB));
	cr_assert_eq(plan->cpu_us, 0);
	cr_assert_eq(plan->edge_count, 0);
	worker_plan_destroy(plan);
}

Test(worker, a_plan_is_read_as_it_was_written)
{
	struct worker_target targets[] = {{.port = 1, .source_port = 40000, .share = 0.25},
					  {.port = 65535, .share = 0.75}};
	struct worker_edge edges[] = {{.selectivity = 0.5, .targets = targets, .target_count = 2},
				      {.to_all = true, .selectivity = 2, .targets = targets, .target_count = 1}};
	struct worker_plan plan = {.task = "count.sum.0",
				   .number = 7,
				   .port = 0,
				   .inputs = 3,
				   .tuple_bytes = 64,
				   .MBps = 0.5,
				   .MB = 0.125,
				   .cpu_us = 2.5,
				   .edges = edges,
				   .edge_count = 2};
	struct worker_plan *again;
	json_t *json;
	char *text;

	cr_assert_eq(address_parse("10.0.0.9", &plan.address), 0);
	cr_assert_eq(address_parse("10.0.0.1", &targets[0].address), 0);
	cr_assert_eq(address_parse("2001:db8::2", &targets[1].address), 0);
	json = worker_plan_to_json(&plan);
	text = json_dumps(json, 0);
	json_decref(json);
	again = parse(text);
	free(text);
	cr_assert_str_eq(again->task, plan.task);
	cr_assert(again->address == plan.address);
	cr_assert_eq(again->number, 7);
	cr_assert_eq(again->port, 0);
	cr_assert_eq(again->inputs, 3);
	cr_assert_eq(again->tuple_bytes, 64);
	cr_assert_eq(again->MBps, 0.5);
	cr_assert_eq(again->MB, 0.125);
	cr_assert_eq(again->cpu_us, 2.5);
	cr_assert_eq(again->edge_count, 2);
	for (uint32_t e = 0; e < 2; e++) {
		const struct worker_edge *edge = &again->edges[e];

		cr_assert_eq(edge->to_all, edges[e].to_all);
		cr_assert_eq(edge->selectivity, edges[e].selectivity);
		cr_assert_eq(edge->target_count, edges[e].target_count);
		for (uint32_t t = 0; t < edge->target_count; t++) {
			cr_assert(edge->targets[t].address == targets[t].address);
			cr_assert_eq(edge->targets[t].port, targets[t].port);
			cr_assert_eq(edge->targets[t].source_port, targets[t].source_port);
			cr_assert_eq(edge->targets[t].share, targets[t].share);
		}
	}
	worker_plan_destroy(again);
}

Test(worker, a_report_is_read_as_it_was_written)
{
	const struct worker_report report = {.task = "t.0",
					     .s = 0.5,
					     .received = UINT64_C(1) << 40,
					     .sent = 1,
					     .received_MBps = 0.25,
					     .sent_MBps = 0.125,
					     .lost = 1,
					     .duplicated = 2,
					     .latency_p50_us = 0.5,
					     .latency_p99_us = NAN,
					     .done = true};
	struct worker_report again;
	struct error err = {0};
	json_t *json = worker_report_to_json(&report);
	char *text = json_dumps(json, 0);

	json_decref(json);
	cr_assert_eq(worker_report_parse("report", text, strlen(text), &again, &err), 0, "%s", err.text);
	free(text);
	cr_assert_str_eq(again.task, "t.0");
	cr_assert_eq(again.s, 0.5);
	cr_assert_eq(again.received, report.received);
	cr_assert_eq(again.sent, 1);
	cr_assert_eq(again.received_MBps, 0.25);
	cr_assert_eq(again.sent_MBps, 0.125);
	cr_assert_eq(again.lost, 1);
	cr_assert_eq(again.duplicated, 2);
	cr_assert_eq(again.latency_p50_us, 0.5);
	cr_assert(isnan(again.latency_p99_us));
	cr_assert(again.done);
}

/* A source that is waiting reports zeros. */
Test(worker, a_report_of_nothing_is_accepted)
{
	struct worker_report report;
	struct error err = {0};
	const char *text = REPORT "0}";

	cr_assert_eq(worker_report_parse("report", text, strlen(text), &report, &err), 0, "%s", err.text);
	cr_assert_eq(report.sent_MBps, 0);
	cr_assert(isnan(report.latency_p50_us) && !report.done);
}

Test(worker, refuses)
{
	static const char *const plans[][2] = {
		{PLAN ", \"inputs\": -1}", "inputs: "},
		{PLAN ", \"tuple_bytes\": 63}", "tuple_bytes: "},
		{PLAN ", \"tuple_bytes\": 65537}", "tuple_bytes: "},
		{PLAN ", \"MBps\": 0}", "MBps: "},
		{PLAN ", \"tuple_byte\": 100}", "tuple_byte"},
		{PLAN ", \"edges\": [{\"targets\": []}]}", "edges[0].targets: expected 1 to 10000"},
		{PLAN ", \"edges\": [{\"copies\": \"two\", \"targets\": [{\"address\": \"10.0.0.2\", \"port\": 1}]}]}",
		 "edges[0].copies: expected 'one' or 'all', found 'two'"},
	};
	struct error err = {0};
	struct worker_report report;

	for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
		cr_assert_null(worker_plan_parse("p", plans[i][0], strlen(plans[i][0]), &err), "%s", plans[i][0]);
		cr_assert(strstr(err.text, plans[i][1]), "%s", err.text);
	}
	cr_assert_eq(worker_report_parse("r", REPORT "-0.5}", strlen(REPORT "-0.5}"), &report, &err), -EINVAL);
	cr_assert(strstr(err.text, "r: sent_MBps: "), "%s", err.text);
}
