/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a run of dataflow jobs: the plans of the tasks, routes, ports, faults, reports; and a whole run whose
 * tasks are played by a script in the place of srun. The functions of lab/routes, and those that change links, are
 * replaced by the test's.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lab/dataflow/run.h>
#include <lab/lab.h>
#include <lab/transfer.h>

#include "run_priv.h"

/* The lab: h1, h2 at leaf1, h3, h4 at leaf2. */
static struct lab lab;
static struct dataflow *dataflow;
static struct dataflow_plan *plan;
static struct run_second seconds[8];
static size_t second_count;
static volatile sig_atomic_t stop;

static void take_second(void *context, const struct run_second *second)
{
	(void)context;
	cr_assert_lt(second_count, 8);
	seconds[second_count++] = *second;
}

static struct run_options options = {.program = "nomora",
				     .seconds = 10,
				     .local_MBps = 1000,
				     .tuple_bytes = 1000,
				     .stop = &stop,
				     .each_second = take_second};
static struct run run;

/* lab/routes: nothing but a record of the calls. */

static struct lab_route set[64]; /* the routes that were set last */
static size_t set_count, sets;
static bool is_set_wrong;
static int lossy_link = -1, down_link = -1;
static uint16_t last_port;

struct routes *routes_open(const struct lab *given, struct error *err)
{
	(void)err;
	return (struct routes *)given;
}

void routes_close(struct routes *routes)
{
	(void)routes;
}

int routes_set(struct routes *routes, const struct lab_route *wanted, size_t count, struct routes_changes *changes,
	       struct error *err)
{
	(void)routes;
	(void)changes;
	(void)err;
	cr_assert_leq(count, 64);
	if (count > 0)
		memcpy(set, wanted, count * sizeof *set);
	set_count = count;
	sets++;
	return 0;
}

int routes_check(struct routes *routes, const struct lab_route *wanted, size_t count, struct error *err)
{
	(void)routes;
	(void)wanted;
	(void)count;
	return is_set_wrong ? error_set(err, EXDEV, "wrong") : 0;
}

/* The second port that is tried is right. */
int routes_find_port(struct routes *routes, const struct lab_route *route, struct routes_packet *packet, uint16_t last,
		     struct error *err)
{
	(void)routes;
	(void)err;
	cr_assert(route->from == packet->from && route->to == packet->to);
	last_port = last;
	packet->source_port++;
	return 0;
}

struct watch *watch_open(const struct lab *given, struct error *err)
{
	(void)err;
	return (struct watch *)given;
}

void watch_close(struct watch *watch)
{
	(void)watch;
}

int watch_descriptor(const struct watch *watch)
{
	(void)watch;
	return -1;
}

static int blink_link = -1, updates, gate = -1;

/* A link goes down in the first update, and comes back in the second; in the third, srun goes on. */
int watch_update(struct watch *watch, struct error *err)
{
	(void)watch;
	(void)err;
	if (gate < 0)
		return 0;
	updates++;
	down_link = updates == 1 ? blink_link : -1;
	if (updates == 3)
		cr_assert_eq(write(gate, "\n", 1), 1);
	return 0;
}

bool watch_is_up(const struct watch *watch, int link)
{
	(void)watch;
	return link != down_link;
}

struct probes *probes_open(const struct lab *given, struct error *err)
{
	(void)err;
	return (struct probes *)given;
}

void probes_close(struct probes *probes)
{
	(void)probes;
}

int probes_descriptor(const struct probes *probes)
{
	(void)probes;
	return -1;
}

int probes_update(struct probes *probes, struct error *err)
{
	(void)probes;
	(void)err;
	return 0;
}

void probes_skip(struct probes *probes, int link)
{
	(void)probes;
	cr_assert_eq(link, down_link);
}

bool probes_is_lossy(const struct probes *probes, int link)
{
	(void)probes;
	return link == lossy_link;
}

double probes_notice_windows(const struct probes *probes, int link)
{
	(void)probes;
	(void)link;
	return 0.75;
}

/* The links that were changed, also by child processes. */
static struct changed {
	int count, code;
	char text[16][64];
} * changed;

struct guard *__wrap_guard_start(void (*action)(void *context), void *context, struct error *err);
void __wrap_guard_release(struct guard *guard);
int __wrap_lab_change_link(const char *name, const char *a, const char *b, const struct lab_link_change *change,
			   struct error *err);

struct guard *__wrap_guard_start(void (*action)(void *context), void *context, struct error *err)
{
	(void)action;
	(void)err;
	return context;
}

void __wrap_guard_release(struct guard *guard)
{
	(void)guard;
}

int __wrap_lab_change_link(const char *name, const char *a, const char *b, const struct lab_link_change *change,
			   struct error *err)
{
	(void)err;
	cr_assert(changed->count < 16 && change->keep_routes);
	snprintf(changed->text[changed->count++], sizeof changed->text[0], "%s %s-%s %s", name, a, b,
		 change->action == LAB_LINK_DOWN ? "down" : "up");
	return changed->code;
}

/* lab/transfer: each transfer ends after a time of its own. */

static struct transfer transfers[16];
static double rates[16];
static uint64_t volumes[16];
static int hosts_of[16][2];
static uint32_t transfer_count;
static int polls;
static bool fails;

struct transfers *__wrap_transfers_create(const struct lab *given, uint32_t count, struct error *err);
void __wrap_transfers_destroy(struct transfers *all);
void __wrap_transfers_set_hosts(struct transfers *all, uint32_t number, int from, int to);
int __wrap_transfers_set_rates(struct transfers *all, const double *MBps, struct error *err);
int __wrap_transfers_start(struct transfers *all, uint32_t number, uint64_t bytes, struct error *err);
int __wrap_transfers_poll(struct transfers *all, struct ns timeout, struct error *err);
const struct transfer *__wrap_transfers_get(const struct transfers *all, uint32_t number);

struct transfers *__wrap_transfers_create(const struct lab *given, uint32_t count, struct error *err)
{
	(void)given;
	(void)err;
	cr_assert_leq(count, 16);
	transfer_count = count;
	polls = 0;
	memset(transfers, 0, sizeof transfers);
	return (struct transfers *)transfers;
}

void __wrap_transfers_destroy(struct transfers *all)
{
	(void)all;
}

void __wrap_transfers_set_hosts(struct transfers *all, uint32_t number, int from, int to)
{
	(void)all;
	hosts_of[number][0] = from;
	hosts_of[number][1] = to;
}

int __wrap_transfers_set_rates(struct transfers *all, const double *MBps, struct error *err)
{
	(void)all;
	(void)err;
	memcpy(rates, MBps, transfer_count * sizeof *rates);
	return 0;
}

int __wrap_transfers_start(struct transfers *all, uint32_t number, uint64_t bytes, struct error *err)
{
	(void)all;
	(void)err;
	volumes[number] = bytes;
	transfers[number].state = TRANSFER_RUNNING;
	return 0;
}

/* Transfer N ends in the Nth poll, after N + 2 seconds, with 3 MB. */
int __wrap_transfers_poll(struct transfers *all, struct ns timeout, struct error *err)
{
	struct transfer *transfer = &transfers[polls];

	(void)all;
	(void)timeout;
	(void)err;
	transfer->state = fails ? TRANSFER_FAILED : TRANSFER_DONE;
	transfer->bytes = 3000000;
	transfer->started.v = NS_PER_S;
	transfer->ended.v = (polls + 3) * NS_PER_S;
	polls++;
	return 0;
}

const struct transfer *__wrap_transfers_get(const struct transfers *all, uint32_t number)
{
	(void)all;
	return &transfers[number];
}

static uid_t user;
static bool is_unlimited;

uid_t __wrap_geteuid(void);
int __wrap_lab_read(const char *name, struct lab *read, struct error *err);
int __wrap_lab_check_links(const struct lab *read, struct error *err);

uid_t __wrap_geteuid(void)
{
	return user;
}

int __wrap_lab_read(const char *name, struct lab *read, struct error *err)
{
	*read = lab;
	return strcmp(name, "lab0") == 0 ? 0 : error_set(err, EIO, "no such lab");
}

int __wrap_lab_check_links(const struct lab *read, struct error *err)
{
	(void)read;
	return is_unlimited ? error_set(err, ENOENT, "no limits") : 0;
}

static uint32_t node(const char *name)
{
	for (uint32_t n = 0; n < dataflow->topology->node_count; n++)
		if (strcmp(dataflow->topology->nodes[n].name, name) == 0)
			return n;
	cr_assert_fail("no node %s", name);
	return 0;
}

static uint32_t link_between(const char *a, const char *b)
{
	for (uint32_t l = 0; l < dataflow->topology->link_count; l++) {
		const struct topology_link *link = &dataflow->topology->links[l];

		if ((link->a == node(a) && link->b == node(b)) || (link->a == node(b) && link->b == node(a)))
			return l;
	}
	cr_assert_fail("no link %s-%s", a, b);
	return 0;
}

/* Two sources on h1 and h2 divide their tuples among two counters on h3 and h4, which both send all to a sink on h3. */
static void add_count(void)
{
	static const char *const hosts[] = {"h1", "h2", "h3", "h4", "h3"};
	struct dataflow_job *job = dataflow_add_job(dataflow, "count", 0);
	struct dataflow_edge *edge;

	dataflow_add_component(job, "words", 2);
	dataflow_add_component(job, "sum", 2);
	dataflow_add_component(job, "sink", 1);
	job->components[0].MBps = 50;
	job->components[0].MB = 300;
	job->components[1].cpu_s_per_MB = 0.01;
	edge = dataflow_add_edge(job, 0, 1, DATAFLOW_KEY);
	edge->skew = 1;
	edge->selectivity = 0.5;
	dataflow_add_edge(job, 1, 2, DATAFLOW_ALL);
	dataflow_place_nowhere(job);
	for (uint32_t t = 0; t < 5; t++)
		job->hosts[t] = node(hosts[t]);
}

static void free_tasks(void)
{
	run_end_tasks(&run);
	run.tasks = NULL;
	run.task_count = 0;
}

static void free_plan(void)
{
	free_tasks();
	fabric_clear(&run.fabric);
	dataflow_plan_destroy(plan);
}

static void make_plan(void)
{
	struct topology_paths_options paths = {.k = 4, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1};
	struct engine_options engine = engine_defaults();
	struct error err = {0};

	if (plan)
		free_plan();
	plan = dataflow_plan_create(dataflow, engine_find("rate"), &engine, &paths, 0, &err);
	cr_assert(plan, "%s", err.text);
	run = (struct run){.lab = &lab, .dataflow = dataflow, .plan = plan, .options = &options};
	cr_assert_eq(fabric_init(&run.fabric, &lab, plan->network, &err), 0, "%s", err.text);
	cr_assert_eq(fabric_list_routes(&run.fabric, plan->network, &err), 0);
}

static void make_lab(void)
{
	struct lab_spec spec = {.name = "lab0", .hosts = 4, .racks = 2, .slots = 4, .mtu_bytes = 1500, .spines = 2};
	struct error err = {0};

	cr_assert_eq(lab_plan(&spec, &lab, &err), 0, "%s", err.text);
	for (int l = 0; l < lab.link_count; l++)
		lab.links[l].MBps = lab.links[l].back_MBps = 100;
	dataflow = dataflow_create(lab_topology(&lab), 4);
	changed = mmap(NULL, sizeof *changed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	add_count();
	make_plan();
}

static char *text;

static void free_lab(void)
{
	free_plan();
	free(run.flows);
	dataflow_destroy(dataflow);
	munmap(changed, sizeof *changed);
	free(text);
}

TestSuite(lab_dataflow, .init = make_lab, .fini = free_lab);

static void make_tasks(void)
{
	struct error err = {0};

	cr_assert_eq(run_make_tasks(&run, &err), 0, "%s", err.text);
}

static void check_address(ip_address address, const char *expected)
{
	char printed[ADDRESS_TEXT_BYTES];

	address_print(address, printed);
	cr_assert_str_eq(printed, expected);
}

Test(lab_dataflow, each_task_has_a_plan)
{
	static const char *const names[] = {"count.words.0", "count.words.1", "count.sum.0", "count.sum.1",
					    "count.sink.0"};
	static const char *const addresses[] = {"10.77.1.1", "10.77.1.2", "10.77.2.1", "10.77.2.2", "10.77.2.1"};
	static const uint32_t inputs[] = {0, 0, 2, 2, 2};

	options.local_MBps = 40;
	make_tasks();
	cr_assert_eq(run.task_count, 5);
	for (uint32_t t = 0; t < 5; t++) {
		const struct task_process *task = &run.tasks[t];
		const struct worker_plan *of = task->plan;

		cr_assert(task->task == t && task->job == &plan->jobs[0]);
		cr_assert_str_eq(of->task, names[t]);
		cr_assert(of->number == t && of->port == 7800 + t && of->tuple_bytes == 1000);
		check_address(of->address, addresses[t]);
		cr_assert_eq(of->inputs, inputs[t], "task %u", t);
		cr_assert_eq(of->MBps, 40, "the lower of 50 and local_MBps");
		cr_assert_eq(of->MB, t < 2 ? 300 : INFINITY);
		cr_assert_float_eq(of->cpu_us, t == 2 || t == 3 ? 10 : 0, 1e-9,
				   "0.01 s per MB are 10 us per 1000 bytes");
		cr_assert_eq(run_is_source(task), t < 2);
		cr_assert_eq(run_is_sink(task), t == 4);
		cr_assert_eq(of->edge_count, t < 4);
		if (t == 4)
			continue;
		cr_assert_eq(of->edges[0].to_all, t >= 2);
		cr_assert_eq(of->edges[0].selectivity, t < 2 ? 0.5 : 1);
		cr_assert_eq(of->edges[0].target_count, t < 2 ? 2 : 1);
		cr_assert_eq(of->edges[0].targets[0].port, t < 2 ? 7802 : 7804);
		check_address(of->edges[0].targets[0].address, "10.77.2.1");
	}
	cr_assert_eq(run.tasks[0].plan->edges[0].targets[1].port, 7803);
	check_address(run.tasks[0].plan->edges[0].targets[1].address, "10.77.2.2");
	cr_assert_float_eq(run.tasks[0].plan->edges[0].targets[0].share, 2.0 / 3, 1e-12);
	cr_assert_float_eq(run.tasks[0].plan->edges[0].targets[1].share, 1.0 / 3, 1e-12);
}

/* Two jobs: the tasks of the second one are numbered after those of the first. */
Test(lab_dataflow, tasks_are_numbered_over_all_jobs)
{
	add_count();
	dataflow->jobs[1].components[0].MBps = 5;
	make_plan();
	make_tasks();
	cr_assert_eq(run.task_count, 10);
	cr_assert(run.tasks[5].plan->number == 5 && run.tasks[5].plan->port == 7805 && run.tasks[5].task == 0);
	cr_assert_eq(run.tasks[5].plan->MBps, 5);
	cr_assert_eq(run.tasks[5].plan->edges[0].targets[0].port, 7807);
}

static void add_cycle(uint32_t tasks)
{
	struct dataflow_job *job = dataflow_add_job(dataflow, "loop", 0);

	dataflow_add_component(job, "a", tasks);
	dataflow_add_component(job, "b", 1);
	dataflow_add_component(job, "c", 1);
	dataflow_add_component(job, "d", 1);
	dataflow_add_edge(job, 0, 1, DATAFLOW_SHUFFLE)->selectivity = 0.5;
	dataflow_add_edge(job, 1, 2, DATAFLOW_SHUFFLE)->selectivity = 0.5;
	dataflow_add_edge(job, 2, 3, DATAFLOW_SHUFFLE)->selectivity = 0.5;
	dataflow_place_nowhere(job);
	for (uint32_t t = 0; t < job->task_count; t++)
		job->hosts[t] = node("h1");
	dataflow->slots[node("h1")] = 2000;
}

Test(lab_dataflow, cycles_and_too_many_tasks_are_refused)
{
	struct error err = {0};

	add_cycle(1);
	make_plan();
	make_tasks();
	dataflow_add_edge(&dataflow->jobs[1], 2, 1, DATAFLOW_SHUFFLE)->selectivity = 0.5;
	free_tasks();
	cr_assert_eq(run_make_tasks(&run, &err), -EINVAL);
	cr_assert_str_eq(err.text, "job 'loop' has a cycle: its bounded queues can deadlock");
	dataflow->jobs[1].edge_count--;
	add_cycle(988);
	make_plan();
	make_tasks();
	cr_assert_eq(run.task_count, 1000);
	add_cycle(1);
	make_plan();
	cr_assert_eq(run_make_tasks(&run, &err), -EINVAL);
	cr_assert_str_eq(err.text, "1004 tasks: a run has at most 1000");
}

static bool is_linked(int a, int b)
{
	for (int l = 0; l < lab.link_count; l++)
		if ((lab.links[l].a == a && lab.links[l].b == b) || (lab.links[l].a == b && lab.links[l].b == a))
			return true;
	return false;
}

/* Routes of both directions, for each two hosts between which data flows: 1-3, 1-4, 2-3, 2-4 and 4-3. */
Test(lab_dataflow, routes_lead_from_host_to_host)
{
	const struct fabric *fabric = &run.fabric;
	struct error err = {0};
	struct fabric other;

	cr_assert_eq(fabric->route_count, 10);
	for (size_t r = 0; r < fabric->route_count; r++) {
		const struct lab_route *route = &fabric->routes[r], *back = NULL;

		cr_assert(route->from < 4 && route->to < 4 && route->from != route->to);
		cr_assert(route->from >= 2 || route->to >= 2, "h1 and h2 do not talk");
		cr_assert_eq(route->node_count, route->from >= 2 && route->to >= 2 ? 1 : 3);
		cr_assert(is_linked(route->from, route->nodes[0]));
		cr_assert(is_linked(route->nodes[route->node_count - 1], route->to));
		for (size_t n = 1; n < route->node_count; n++)
			cr_assert(is_linked(route->nodes[n - 1], route->nodes[n]));
		for (size_t b = 0; b < fabric->route_count; b++)
			if (fabric->routes[b].from == route->to && fabric->routes[b].to == route->from)
				back = &fabric->routes[b];
		cr_assert_not_null(back);
		for (size_t n = 0; n < route->node_count; n++)
			cr_assert_eq(route->nodes[n], back->nodes[route->node_count - 1 - n]);
	}
	strcpy(lab.hosts[2].name, "x");
	cr_assert_eq(fabric_init(&other, &lab, plan->network, &err), -EINVAL);
	fabric_clear(&other);
	cr_assert_str_eq(err.text, "lab 'lab0' lacks a host of the scenario's network: 'h3'");
	strcpy(lab.hosts[2].name, "h3");
	strcpy(lab.switches[1].name, "x");
	cr_assert_eq(fabric_init(&other, &lab, plan->network, &err), -EINVAL);
	fabric_clear(&other);
	cr_assert_str_eq(err.text, "lab 'lab0' lacks a switch of the scenario's network: 'spine2'");
}

/* The connections of a host have different ports; those within a host none. */
Test(lab_dataflow, connections_between_hosts_get_source_ports)
{
	struct error err = {0};
	uint16_t first;

	make_tasks();
	cr_assert_eq(run_choose_ports(&run, &err), 0);
	cr_assert_eq(run.flow_count, 5);
	first = run.flows[0].source_port;
	cr_assert(first > 16384 && first <= 16384 + 8192);
	cr_assert_str_eq(run.flows[0].from, "h1");
	cr_assert_str_eq(run.flows[0].to, "h3");
	cr_assert_eq(run.flows[0].port, 7802);
	cr_assert_eq(run.tasks[0].plan->edges[0].targets[0].source_port, first);
	cr_assert_eq(run.flows[1].source_port, first + 2, "the next one of h1 after first + 1");
	cr_assert_str_eq(run.flows[1].to, "h4");
	cr_assert_eq(run.flows[2].source_port, first, "of h2");
	cr_assert_str_eq(run.flows[4].from, "h4");
	cr_assert_str_eq(run.flows[4].to, "h3");
	cr_assert_eq(run.flows[4].port, 7804);
	cr_assert_eq(run.tasks[2].plan->edges[0].targets[0].source_port, 0);
	cr_assert_eq(last_port, first - 1 + 1023);
}

static void draw_again(void)
{
	free(run.faults);
	run.faults = NULL;
	run.fault_count = 0;
}

Test(lab_dataflow, faults_of_links_in_use_are_drawn)
{
	struct simulate_fault faults[] = {{SIMULATE_LINK, 0, 2, INFINITY}, {SIMULATE_USED, 50, 3, 4}};
	uint32_t used[64];
	int in_use = network_links_in_use(plan->network, used);
	struct error err = {0};

	cr_assert_eq(in_use % 2, 0);
	faults[0].subject = link_between("h1", "leaf1");
	options.faults = faults;
	options.fault_count = 2;
	cr_assert_eq(run_draw_faults(&run, &err), 0);
	cr_assert_eq(run.fault_count, 1 + (uint32_t)in_use / 2);
	cr_assert(run.faults[0].link == faults[0].subject && run.faults[0].fail_s == 2 &&
		  run.faults[0].repair_s == INFINITY && run.faults[0].state == RUN_FAULT_AHEAD);
	for (uint32_t f = 1; f < run.fault_count; f++) {
		int found = 0;

		cr_assert(run.faults[f].fail_s == 3 && run.faults[f].repair_s == 4);
		for (int u = 0; u < in_use; u++)
			found += used[u] == run.faults[f].link;
		cr_assert_eq(found, 1);
		for (uint32_t g = 1; g < f; g++)
			cr_assert_neq(run.faults[f].link, run.faults[g].link);
	}
	faults[1].subject = 1; /* at least one link */
	draw_again();
	cr_assert_eq(run_draw_faults(&run, &err), 0);
	cr_assert_eq(run.fault_count, 2);
	faults[1].subject = 100;
	draw_again();
	cr_assert_eq(run_draw_faults(&run, &err), 0);
	cr_assert_eq(run.fault_count, 1 + (uint32_t)in_use);
	faults[1].kind = SIMULATE_HOST;
	draw_again();
	cr_assert_eq(run_draw_faults(&run, &err), -EINVAL);
	cr_assert(strstr(err.text, "can fail links only"), "%s", err.text);
	faults[1] = (struct simulate_fault){SIMULATE_LINK, 0, 10, 11};
	draw_again();
	cr_assert_eq(run_draw_faults(&run, &err), -EINVAL);
	cr_assert_str_eq(err.text, "a fault begins at 10 s, but the run ends at 10 s");
	faults[1].fail_s = 9.99;
	draw_again();
	cr_assert_eq(run_draw_faults(&run, &err), 0);
	draw_again();
}

static void apply_faults(double s)
{
	struct error err = {0};

	cr_assert_eq(run_apply_faults(&run, s, &err), 0, "%s", err.text);
	cr_assert_eq(run_await_faults(&run, &err), 0, "%s", err.text);
}

Test(lab_dataflow, links_go_down_and_up_in_time)
{
	struct run_fault faults[] = {{.link = link_between("leaf1", "spine1"), .fail_s = 1, .repair_s = 2},
				     {.link = link_between("h1", "leaf1"), .fail_s = 3, .repair_s = INFINITY}};
	struct error err = {0};

	run.faults = faults;
	run.fault_count = 2;
	apply_faults(0.99);
	cr_assert_eq(changed->count, 0);
	apply_faults(1);
	cr_assert_eq(changed->count, 1);
	cr_assert_str_eq(changed->text[0], "lab0 leaf1-spine1 down");
	apply_faults(1.99);
	cr_assert_eq(changed->count, 1);
	apply_faults(2);
	cr_assert_str_eq(changed->text[1], "lab0 leaf1-spine1 up");
	apply_faults(100);
	cr_assert_eq(changed->count, 3);
	cr_assert_str_eq(changed->text[2], "lab0 h1-leaf1 down");
	cr_assert(faults[0].state == RUN_FAULT_REPAIRED && faults[1].state == RUN_FAULT_DOWN);
	run_return_links(&run);
	cr_assert_eq(changed->count, 5);
	cr_assert_str_eq(changed->text[3], "lab0 leaf1-spine1 up");
	cr_assert_str_eq(changed->text[4], "lab0 h1-leaf1 up");
	faults[0].state = RUN_FAULT_AHEAD;
	changed->code = -EIO;
	cr_assert_eq(run_apply_faults(&run, 1, &err), 0);
	cr_assert_eq(run_await_faults(&run, &err), -EIO);
	cr_assert_str_eq(err.text, "cannot set the link between 'leaf1' and 'spine1' down");
}

/* The whole run, with tasks that a script plays. */

static char folder[64], path[128];

static FILE *create(const char *name)
{
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	file = fopen(path, "w");
	cr_assert_not_null(file);
	return file;
}

static void write_report(FILE *file, const struct worker_report *report)
{
	json_t *json = worker_report_to_json(report);

	json_dumpf(json, file, 0);
	fputc('\n', file);
	json_decref(json);
}

/* The reports of a task: after one second, and at the end. Its connections lost and repeated some tuples. */
static void write_reports(FILE *file, const char *task, uint64_t sent, uint64_t received, uint64_t lost)
{
	struct worker_report report = {.s = 1,
				       .sent = sent / 4,
				       .received = received / 4,
				       .sent_MBps = 3,
				       .received_MBps = 2,
				       .latency_p50_us = 10,
				       .latency_p99_us = received > 0 ? (double)received : NAN,
				       .gap_ms = 7};

	snprintf(report.task, sizeof report.task, "%s", task);
	write_report(file, &report);
	report.s = 3;
	report.sent = sent;
	report.received = received;
	report.lost = lost;
	report.duplicated = lost / 2;
	report.gap_ms = 5;
	report.done = true;
	write_report(file, &report);
}

static char *read_all(const char *name)
{
	static char content[8192];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	file = fopen(path, "r");
	cr_assert(file, "%s", path);
	content[fread(content, 1, sizeof content - 1, file)] = '\0';
	fclose(file);
	return content;
}

/* `code`: exit status of srun. */
static void make_srun(int code)
{
	FILE *file;
	static char paths[1024];

	strcpy(folder, "/tmp/nomora-run.XXXXXX");
	cr_assert(mkdtemp(folder));
	file = create("srun");
	fprintf(file,
		"#!/bin/sh\nfor word; do echo \"[$word]\"; done >%s/words\nls %s/run.* >%s/plans\ncat "
		"%s/run.*/h3.1.task "
		">%s/plan\ncat %s/reports\nexit %d\n",
		folder, folder, folder, folder, folder, folder, code);
	fclose(file);
	cr_assert_eq(chmod(path, 0755), 0);
	snprintf(paths, sizeof paths, "%s:%s", folder, getenv("PATH"));
	setenv("PATH", paths, 1);
	options.slurm_folder = folder;
}

static void remove_srun(void)
{
	static const char *const names[] = {"srun", "words", "plans", "plan", "reports"};

	for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[n]);
		unlink(path);
	}
	cr_assert_eq(rmdir(folder), 0, "the run has left files in its folder");
}

/* Reports of tasks that send 2 * 800, pass on 2 * 400 and receive 800, of which `lost` are lost at the sink. */
static void write_all_reports(uint64_t lost)
{
	FILE *file = create("reports");

	write_reports(file, "count.words.0", 800, 0, 0);
	write_reports(file, "count.words.1", 800, 0, 0);
	write_reports(file, "count.sum.0", 400, 800, 0);
	write_reports(file, "count.sum.1", 400, 800, 0);
	write_reports(file, "count.sink.0", 0, 800 - lost, lost);
	fclose(file);
}

Test(lab_dataflow, a_run_adds_up_the_reports)
{
	struct run_result result;
	struct error err = {0};
	const char *words;

	make_srun(0);
	write_all_reports(0);
	lossy_link = 0;
	down_link = 1;
	options.seconds = 2.5;
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), 0, "%s", err.text);
	cr_assert(result.sent == 2400 && result.received == 2400 && result.lost == 0 && result.duplicated == 0 &&
		  result.complete && result.faults_missed == 0);
	cr_assert_eq(run_result_check(&result, &err), 0);
	cr_assert_eq(result.sink_count, 1);
	cr_assert_str_eq(result.sinks[0].job, "count");
	cr_assert_eq(result.sinks[0].task, 4);
	cr_assert_float_eq(result.sinks[0].predicted_MBps, 0, 1e-6, "both sources have lost their link: %g",
			   result.sinks[0].predicted_MBps);
	cr_assert_float_eq(result.sinks[0].measured_MBps, 600 * 1000 / 1e6 / 2, 1e-12, "in the last two seconds");
	cr_assert_eq(second_count, 1);
	cr_assert(seconds[0].source_MBps == 6 && seconds[0].sink_MBps == 2, "of both sources; of the sink");
	cr_assert(seconds[0].latency_p99_us == 800 && seconds[0].gap_ms == 7 && seconds[0].lost == 0);
	cr_assert(seconds[0].links_down == 1 && seconds[0].links_lossy == 1 && seconds[0].notice_windows == 0.75);
	cr_assert_not(
		dataflow->topology
			->links[link_between(lab_node_name(&lab, lab.links[0].a), lab_node_name(&lab, lab.links[0].b))]
			.up);
	cr_assert(sets >= 3 && set_count == 0, "at the start, after a link went down, and at the end");
	words = read_all("words");
	cr_assert(strstr(words, "[--job-name=nomora-dataflow]\n[-N1]\n[-n]\n[1]\n[-w]\n[h1]\n[sh]\n[-c]\n"), "%s",
		  words);
	cr_assert(strstr(words, "[nomora]\n[2.500]\n[:]\n[-N1]\n[-n]\n[2]\n[-w]\n[h3]\n"), "%s", words);
	cr_assert(strstr(words, "[:]\n[-N1]\n[-n]\n[1]\n[-w]\n[h4]\n"), "%s", words);
	cr_assert_str_eq(read_all("plans"), "h1.0.source\nh2.0.source\nh3.0.task\nh3.1.task\nh4.0.task\n");
	cr_assert(strstr(read_all("plan"), "count.sink.0"));
	run_result_clear(&result);
	remove_srun();
}

/* The only link of the sink's host, h4, is down. */
Test(lab_dataflow, the_prediction_is_that_of_the_present_links)
{
	struct run_result result;
	struct error err = {0};

	make_srun(0);
	write_all_reports(0);
	for (int l = 0; l < lab.link_count; l++)
		if (strcmp(lab_node_name(&lab, lab.links[l].a), "h4") == 0 ||
		    strcmp(lab_node_name(&lab, lab.links[l].b), "h4") == 0)
			down_link = l;
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), 0, "%s", err.text);
	cr_assert_eq(result.sink_count, 1);
	cr_assert_float_eq(result.sinks[0].predicted_MBps, 0, 1e-6, "%g", result.sinks[0].predicted_MBps);
	run_result_clear(&result);
	remove_srun();
}

/* Every route over the link is replaced, and comes back with the link; then the prediction is that of the plan. */
Test(lab_dataflow, routes_follow_a_link_down_and_up)
{
	struct run_result result;
	struct error err = {0};
	const int *nodes = run.fabric.routes[0].nodes;
	uint32_t over = 0;
	char gate_path[96];
	FILE *file;

	blink_link = 0;
	while (lab.links[blink_link].a != nodes[0] || lab.links[blink_link].b != nodes[1])
		blink_link++;
	for (size_t r = 0; r < run.fabric.route_count; r++)
		for (size_t n = 0; n + 1 < run.fabric.routes[r].node_count; n++)
			over += run.fabric.routes[r].nodes[n] == nodes[0] &&
				run.fabric.routes[r].nodes[n + 1] == nodes[1];
	cr_assert_gt(over, 0);
	make_srun(0);
	write_all_reports(0);
	snprintf(gate_path, sizeof gate_path, "%s/gate", folder);
	cr_assert_eq(mkfifo(gate_path, 0600), 0);
	gate = open(gate_path, O_RDWR | O_CLOEXEC);
	file = create("srun");
	fprintf(file, "#!/bin/sh\nread word <%s\ncat %s/reports\n", gate_path, folder);
	fclose(file);
	options.keep_routes = true;
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), 0, "%s", err.text);
	cr_assert_eq(second_count, 1);
	cr_assert_eq(seconds[0].rerouted, 2 * over, "%u", seconds[0].rerouted);
	cr_assert_gt(seconds[0].reroute_ms, 0);
	cr_assert(seconds[0].links_down == 0 && set_count == 10);
	cr_assert_eq(sets, 3);
	cr_assert_float_eq(result.sinks[0].predicted_MBps, 50, 1e-6, "half of what both sources send");
	run_result_clear(&result);
	close(gate);
	unlink(gate_path);
	remove_srun();
}

Test(lab_dataflow, a_run_that_loses_tuples_fails)
{
	struct run_result result;
	struct error err = {0};

	make_srun(0);
	write_all_reports(4);
	options.keep_routes = true;
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), 0, "%s", err.text);
	cr_assert(result.lost == 4 && result.duplicated == 2 && !result.complete && result.received == 2396);
	cr_assert(seconds[0].lost == 4 && seconds[0].duplicated == 2);
	cr_assert_eq(run_result_check(&result, &err), -EIO);
	cr_assert_str_eq(err.text, "tuples were lost or duplicated");
	cr_assert_eq(set_count, 10, "the routes stay");
	run_result_clear(&result);
	remove_srun();
}

Test(lab_dataflow, a_run_whose_tasks_fail)
{
	struct run_result result;
	struct error err = {0};
	FILE *file;

	make_srun(3);
	write_all_reports(0);
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), -EIO);
	cr_assert_str_eq(err.text, "srun failed");
	run_result_clear(&result);
	remove_srun();
	make_srun(0);
	file = create("reports");
	write_reports(file, "count.words.9", 800, 0, 0);
	fclose(file);
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), -EBADMSG);
	cr_assert_str_eq(err.text, "srun: a report of an unknown task 'count.words.9'");
	run_result_clear(&result);
	file = create("reports");
	write_reports(file, "count.words.0", 800, 0, 0); /* the others say nothing */
	fclose(file);
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), -EIO);
	run_result_clear(&result);
	is_set_wrong = true;
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), -EXDEV);
	run_result_clear(&result);
	is_set_wrong = false;
	remove_srun();
	options.slurm_folder = "/proc/no/folder";
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), -ENOENT);
	cr_assert_str_eq(err.text, "/proc/no/folder: cannot create a folder in it: No such file or directory");
	run_result_clear(&result);
}

/* Under Slurm, a failed task adds a line to srun's output. The neighbours of a killed task fail, too, perhaps before.
 */
Test(lab_dataflow, a_task_that_fails_under_slurm_ends_its_job)
{
	struct run_result result;
	struct error err = {0};
	FILE *file;

	make_srun(0);
	for (int order = 0; order < 2; order++) {
		file = create("reports");
		write_reports(file, "count.words.0", 800, 0, 0);
		fputs(order ? "failed h3.1 1\nfailed h3.0 137\n" : "failed h3.0 137\nfailed h3.1 1\n", file);
		fclose(file);
		cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), 0, "%s", err.text);
		cr_assert_eq(result.failure_count, 1);
		cr_assert_str_eq(result.failures[0].job, "count");
		cr_assert_str_eq(result.failures[0].host, "h3");
		cr_assert_eq(result.failures[0].task, 2);
		cr_assert(WIFSIGNALED(result.failures[0].status) && WTERMSIG(result.failures[0].status) == SIGKILL);
		cr_assert_not(result.complete);
		cr_assert_eq(run_result_check(&result, &err), -EIO);
		cr_assert_str_eq(err.text, "1 job was not run to the end, because the process of a task failed");
		run_result_clear(&result);
	}
	file = create("reports");
	fputs("failed h3.2 1\n", file);
	fclose(file);
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), -EBADMSG);
	cr_assert_str_eq(err.text, "srun: a failure of an unknown task: 'failed h3.2 1'");
	run_result_clear(&result);
	remove_srun();
}

/* With source ports, no routes are set, and none is replaced. A fault after the end of the tasks is missed. */
Test(lab_dataflow, a_run_with_ports)
{
	struct simulate_fault fault = {SIMULATE_LINK, 0, 9, INFINITY};
	struct run_result result;
	struct error err = {0};

	make_srun(0);
	write_all_reports(0);
	options.ports = true;
	options.faults = &fault;
	options.fault_count = 1;
	cr_assert_eq(run_plan(&lab, dataflow, plan, &options, &result, &err), 0, "%s", err.text);
	cr_assert_eq(result.flow_count, 5);
	cr_assert(sets == 2 && set_count == 0);
	cr_assert_eq(result.faults_missed, 1);
	cr_assert_eq(run_result_check(&result, &err), -EIO);
	cr_assert_str_eq(err.text, "the run ended before its fault: 1 link was not taken down");
	result.faults_missed = 2;
	cr_assert_eq(run_result_check(&result, &err), -EIO);
	cr_assert_str_eq(err.text, "the run ended before its fault: 2 links were not taken down");
	result.duplicated = 1;
	cr_assert_eq(run_result_check(&result, &err), -EIO);
	cr_assert_str_eq(err.text, "tuples were lost or duplicated");
	cr_assert_eq(changed->count, 1);
	run_result_clear(&result);
	remove_srun();
}

/* Reports */

static void report(bool json)
{
	static const struct run_second second = {.s = 1.25,
						 .source_MBps = 2.5,
						 .sink_MBps = 3.5,
						 .latency_p99_us = NAN,
						 .gap_ms = 4,
						 .lost = 5,
						 .duplicated = 6,
						 .links_down = 7,
						 .links_lossy = 8,
						 .rerouted = 9,
						 .notice_windows = 0.5,
						 .reroute_ms = 10.5};
	struct run_sink sink = {.job = dataflow->jobs[0].name, .task = 4, .predicted_MBps = 1.5, .measured_MBps = 0.5};
	struct run_flow flow = {.from = "h1", .to = "h3", .source_port = 20000, .port = 7802};
	struct run_result result = {
		.sent = 1, .received = 2, .lost = 3, .duplicated = 4, .sinks = &sink, .sink_count = 1};
	struct run_history history = {0};
	size_t bytes;
	struct run_report to = {.json = json, .out = open_memstream(&text, &bytes), .history = &history};

	run_report_heading(&to);
	run_report_second(&to, &second);
	run_report_result(&to, dataflow, &result);
	result.flows = &flow;
	result.flow_count = 1;
	result.complete = true;
	run_report_result(&to, dataflow, &result);
	fclose(to.out);
	cr_assert(history.count == 1 && history.seconds[0].s == 1.25 && history.seconds[0].sink_MBps == 3.5);
	run_history_clear(&history);
}

Test(lab_dataflow, reports_of_failed_jobs)
{
	struct run_failure failures[] = {
		{.job = dataflow->jobs[0].name, .host = "h3", .task = 4, .s = 1.25, .status = SIGKILL},
		{.job = dataflow->jobs[0].name, .host = "h1", .task = 4, .s = 2, .status = 1 << 8}};
	const struct run_result result = {.failures = failures, .failure_count = 2};
	struct error err = {0};
	size_t bytes;
	struct run_report to = {.out = open_memstream(&text, &bytes)};

	run_report_result(&to, dataflow, &result);
	fclose(to.out);
	cr_assert(strstr(text, "job count ended at 1.2 s: task sink.0 on host h3: killed by signal 9\n"
			       "job count ended at 2.0 s: task sink.0 on host h1: exit status 1 before its end\n"),
		  "%s", text);
	cr_assert_eq(run_result_check(&result, &err), -EIO);
	cr_assert_str_eq(err.text, "2 jobs were not run to the end, because the process of a task failed");
}

#define SINKS                                                                                                          \
	"\nJOB          SINK             PREDICTED MB/s  MEASURED MB/s\n"                                              \
	"count        sink.0                    1.500          0.500\n"                                                \
	"\n1 tuples sent, 2 received, 3 lost, 4 duplicated\n"

Test(lab_dataflow, reports_as_text)
{
	report(false);
	cr_assert_str_eq(text,
			 "      S  SENT MB/s SINKS MB/s       P99 us   GAP ms     LOST  DOUBLED   DOWN  LOSSY  "
			 "REROUTED      IN ms\n"
			 "    1.2      2.500      3.500          nan        4        5        6      7      8         "
			 "9      10.50\n" SINKS "\nFROM             TO               SOURCE PORT  PORT\nh1             "
			 "  h3                     20000  7802\n" SINKS,
			 "%s", text);
}

#define RUN(complete, flows)                                                                                           \
	"{\"schema\": \"nomora.dataflow-run/1\", \"complete\": " complete                                              \
	", \"sent\": 1, \"received\": 2, \"lost\": 3, \"duplicated\": 4, \"failures\": [], \"sinks\": [{\"job\": "     \
	"\"count\", "                                                                                                  \
	"\"task\": \"sink.0\", \"predicted_MBps\": 1.5, \"measured_MBps\": 0.5}], \"flows\": [" flows "]}\n"

Test(lab_dataflow, reports_as_json)
{
	report(true);
	cr_assert_str_eq(
		text,
		"{\"schema\": \"nomora.dataflow-run-second/1\", \"s\": 1.25, \"source_MBps\": 2.5, \"sink_MBps\": 3.5, "
		"\"latency_p99_us\": null, \"gap_ms\": 4.0, \"lost\": 5, \"duplicated\": 6, \"links_down\": 7, "
		"\"links_lossy\": 8, \"rerouted\": 9, \"reroute_ms\": 10.5, \"notice_windows\": 0.5}\n" RUN("false", "")
			RUN("true",
			    "{\"from_host\": \"h1\", \"to_host\": \"h3\", \"source_port\": 20000, \"port\": 7802}"),
		"%s", text);
}

/* The flows between two hosts, with the rates at which the sources send: 50 MB/s each, of which half goes on. */
Test(lab_dataflow, applied_plans_are_measured)
{
	static const double expected[] = {50.0 / 3, 50.0 / 6, 50.0 / 3, 50.0 / 6, 50.0 / 3};
	static const int ends[][2] = {{0, 2}, {0, 3}, {1, 2}, {1, 3}, {3, 2}};
	struct apply_result result;
	struct error err = {0};

	cr_assert_eq(apply_plan(&lab, plan, 2, true, &result, &err), 0, "%s", err.text);
	cr_assert(result.measured && result.flow_count == 5 && transfer_count == 5 && polls == 5);
	cr_assert_eq(set_count, 10, "the routes stay");
	for (uint32_t f = 0; f < 5; f++) {
		const struct applied_flow *flow = &result.flows[f];

		cr_assert_eq(flow->job, &plan->jobs[0]);
		cr_assert(flow->from_host == ends[f][0] && flow->to_host == ends[f][1], "flow %u", f);
		cr_assert(hosts_of[f][0] == ends[f][0] && hosts_of[f][1] == ends[f][1]);
		cr_assert_float_eq(flow->predicted_MBps, expected[f], 1e-6);
		cr_assert_float_eq(rates[f], expected[f], 1e-6);
		cr_assert_eq(volumes[f], (uint64_t)llround(flow->predicted_MBps * 2e6) + 1);
		cr_assert_float_eq(flow->measured_MBps, 3.0 / (f + 2), 1e-12);
	}
	cr_assert(result.flows[4].from_task == 3 && result.flows[4].to_task == 4);
	apply_result_clear(&result);
	cr_assert_eq(apply_plan(&lab, plan, 2, false, &result, &err), 0);
	cr_assert_eq(set_count, 0);
	apply_result_clear(&result);
	fails = true;
	cr_assert_eq(apply_plan(&lab, plan, 2, false, &result, &err), -EIO);
	cr_assert_str_eq(err.text, "the transfer from h1 to h3 failed");
	cr_assert(!result.measured && set_count == 0);
	apply_result_clear(&result);
	is_set_wrong = true;
	cr_assert_eq(apply_plan(&lab, plan, 2, false, &result, &err), -EXDEV);
	apply_result_clear(&result);
}

Test(lab_dataflow, plans_are_applied_to_a_routed_lab)
{
	struct lab other;
	struct error err = {0};

	cr_assert_eq(apply_read_lab("lab0", &other, &err), 0, "%s", err.text);
	cr_assert_eq(other.switch_count, 4);
	is_unlimited = true;
	cr_assert_eq(apply_read_lab("lab0", &other, &err), -ENOENT);
	cr_assert_eq(apply_read_lab("lab1", &other, &err), -EIO);
	lab.switch_count = 0;
	cr_assert_eq(apply_read_lab("lab0", &other, &err), -EINVAL);
	cr_assert(strstr(err.text, "lab 'lab0' has bridges"), "%s", err.text);
	lab.switch_count = 4;
	user = 1000;
	cr_assert_eq(apply_read_lab("lab0", &other, &err), -EPERM);
}

/* A plan whose transfers were measured. */
Test(lab_dataflow, applied_plans_as_text_and_json)
{
	struct applied_flow flows[] = {{&plan->jobs[0], 1, 3, 1, 3, 1.5, 1.25}, {&plan->jobs[0], 3, 4, 3, 2, 2.5, 2}};
	struct apply_result result = {.flows = flows, .flow_count = 2};
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *json = apply_result_to_json(&lab, &result);

	apply_result_print(&lab, &result, out);
	json_dumpf(json, out, 0);
	fclose(out);
	json_decref(json);
	cr_assert_str_eq(
		text,
		"JOB          FROM             TO               HOST     HOST     PREDICTED MB/s  MEASURED MB/s\n"
		"count        words.1          sum.1            h2       h4                1.500          1.250\n"
		"count        sum.1            sink.0           h4       h3                2.500          2.000\n"
		"{\"schema\": \"nomora.dataflow-apply/1\", \"flows\": [{\"job\": \"count\", \"from\": \"words.1\", "
		"\"to\": "
		"\"sum.1\", \"from_host\": \"h2\", \"to_host\": \"h4\", \"predicted_MBps\": 1.5, \"measured_MBps\": "
		"1.25}, "
		"{\"job\": \"count\", \"from\": \"sum.1\", \"to\": \"sink.0\", \"from_host\": \"h4\", \"to_host\": "
		"\"h3\", "
		"\"predicted_MBps\": 2.5, \"measured_MBps\": 2.0}]}",
		"%s", text);
}
