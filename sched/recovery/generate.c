/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/recovery/recovery.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>
#include <base/rng.h>

enum { RACK_SERVERS = 40, COUNT_MAXIMUM = 1000000, MBPS_PER_GBPS = 125, PLACE_ATTEMPTS = 1000 };

static int bad(struct error *err, const char *word, const char *expected)
{
	return error_set(err, EINVAL, "--generate: found '%s', expected %s", word, expected);
}

static int read_range(const char *value, char separator, double *low, double *high)
{
	char copy[64], *at;

	snprintf(copy, sizeof copy, "%s", value);
	at = strchr(copy, separator);
	if (!at)
		return -EINVAL;
	*at = '\0';
	if (number_parse_double(copy, low) != 0 || number_parse_double(at + 1, high) != 0 || *low <= 0 || *high < *low)
		return -EINVAL;
	return 0;
}

static int read_failure(const char *value, enum recovery_failure *failure)
{
	static const char *const names[] = {"tasks", "servers", "rack"};

	for (int i = 0; i < 3; i++) {
		if (strcmp(value, names[i]) == 0) {
			*failure = (enum recovery_failure)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_word(const char *word, char *value, struct recovery_recipe *recipe, struct error *err)
{
	struct {
		const char *name;
		uint32_t *to;
		int64_t low;
	} counts[] = {{"servers", &recipe->servers, 2},
		      {"apps", &recipe->applications, 1},
		      {"tasks", &recipe->tasks, 2},
		      {"failed", &recipe->failed, 1},
		      {"backups", &recipe->backups, 1}};
	double low, high;
	int64_t number;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		if (strcmp(word, counts[i].name) != 0)
			continue;
		if (number_parse_i64(value, &number) != 0 || number < counts[i].low || number > COUNT_MAXIMUM)
			return bad(err, value, "a whole number from 1 (servers and tasks: 2) to 1000000");
		*counts[i].to = (uint32_t)number;
		return 0;
	}
	if (strcmp(word, "seed") == 0) {
		if (number_parse_i64(value, &number) != 0 || number < 0)
			return bad(err, value, "a whole number, 0 or more");
		recipe->seed = (uint64_t)number;
	} else if (strcmp(word, "demand") == 0) {
		if (number_parse_double(value, &recipe->demand) != 0 || !(recipe->demand > 0 && recipe->demand < 1e6))
			return bad(err, value, "a factor above 0");
	} else if (strcmp(word, "fail") == 0) {
		if (read_failure(value, &recipe->failure) != 0)
			return bad(err, value, "tasks, servers or rack");
	} else if (strcmp(word, "cpu") == 0) {
		if (strcmp(value, "tight") != 0)
			return bad(err, value, "tight");
		recipe->tight = true;
	} else if (strcmp(word, "weights") == 0) {
		if (read_range(value, '-', &low, &high) != 0 || low < 1 || high > 1000)
			return bad(err, value, "LOW-HIGH, as in 1-4");
		recipe->weight_low = (uint32_t)low;
		recipe->weight_high = (uint32_t)high;
	} else if (strcmp(word, "links") == 0) {
		if (read_range(value, ':', &recipe->link_low_gbps, &recipe->link_high_gbps) != 0)
			return bad(err, value, "two rates in Gbit/s, as in 1:10");
	} else {
		return bad(err, word,
			   "servers, apps, tasks, failed, seed, demand, fail, cpu, backups, weights, links or dense");
	}
	return 0;
}

int recovery_recipe_parse(const char *text, struct recovery_recipe *recipe, struct error *err)
{
	char *copy = strdup(text), *rest = copy, *word;
	int code = copy ? 0 : error_set(err, ENOMEM, "out of memory");

	*recipe = (struct recovery_recipe){.servers = 500,
					   .applications = 10,
					   .tasks = 20,
					   .failed = 8,
					   .seed = 1,
					   .demand = 1,
					   .weight_low = 1,
					   .weight_high = 1,
					   .link_low_gbps = 1,
					   .link_high_gbps = 1};
	while (code == 0 && (word = strsep(&rest, ","))) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		if (strcmp(word, "dense") == 0 && !value) {
			recipe->dense = true;
			recipe->weight_high = 4;
			recipe->demand = 4;
		} else if (!value) {
			code = bad(err, word, "NAME=VALUE or dense");
		} else {
			code = read_word(word, value, recipe, err);
		}
	}
	free(copy);
	return code;
}

struct making {
	const struct recovery_recipe *r;
	struct recovery_scenario *s;
	struct rng rng;
	double *used; /* CPU in use, by server */
};

static double round_robin_cpu(const struct recovery_recipe *r)
{
	double per_server = (double)r->applications * r->tasks / r->servers;

	/*
	 * The CPU of a server. If `tight`, task sizes are 1 to 4, 2.5 on average, and 85 % of the CPU is in use.
	 * Otherwise all tasks have size 1, and a server has four times the average CPU in use, but at least 4.
	 */
	return r->tight ? ceil(per_server * 2.5 / 0.85) : fmax(4, ceil(4 * per_server));
}

static bool add_servers(struct making *m)
{
	double cpu = round_robin_cpu(m->r);

	for (uint32_t n = 0; n < m->r->servers; n++) {
		char name[16];
		double gbps = rng_below(&m->rng, 2) ? m->r->link_high_gbps : m->r->link_low_gbps;
		struct recovery_server server = {.name = name,
						 .cpu = fmax(cpu, m->r->tight ? 4 : 0),
						 .egress_MBps = gbps * MBPS_PER_GBPS,
						 .ingress_MBps = gbps * MBPS_PER_GBPS};

		snprintf(name, sizeof name, "s%u", n);
		if (recovery_add_server(m->s, &server) < 0)
			return false;
	}
	return true;
}

/*
 * Tries random servers, of the application's two racks if a rack is to fail. If none of them has enough free CPU, takes
 * the first server that has. Returns the server's number, or the number of servers if there is none.
 */
static uint32_t draw_server(struct making *m, double cpu, const uint32_t racks[2])
{
	uint32_t count = m->r->servers;

	for (int i = 0; i < PLACE_ATTEMPTS; i++) {
		uint32_t n = (uint32_t)rng_below(&m->rng, count);

		if (m->r->failure == RECOVERY_FAIL_RACK)
			n = racks[rng_below(&m->rng, 2)] * RACK_SERVERS + (uint32_t)rng_below(&m->rng, RACK_SERVERS);
		if (n < count && m->used[n] + cpu <= m->s->servers[n].cpu)
			return n;
	}
	for (uint32_t n = 0; n < count; n++) {
		if (m->used[n] + cpu <= m->s->servers[n].cpu)
			return n;
	}
	return count;
}

static bool add_backups(struct making *m, uint32_t task)
{
	uint32_t wanted = m->r->backups < m->r->servers - 1 ? m->r->backups : m->r->servers - 1;

	while (m->s->tasks[task].backup_count < wanted) {
		uint32_t n = (uint32_t)rng_below(&m->rng, m->r->servers);
		bool taken = n == m->s->tasks[task].server;

		for (uint32_t b = 0; b < m->s->tasks[task].backup_count; b++)
			taken = taken || m->s->tasks[task].backups[b] == n;
		if (!taken && recovery_add_backup(m->s, task, n) < 0)
			return false;
	}
	return true;
}

static bool add_tasks(struct making *m)
{
	uint32_t rack_count = m->r->servers / RACK_SERVERS ? m->r->servers / RACK_SERVERS : 1;
	uint32_t racks[2] = {(uint32_t)rng_below(&m->rng, rack_count), (uint32_t)rng_below(&m->rng, rack_count)};

	while (rack_count > 1 && racks[1] == racks[0])
		racks[1] = (uint32_t)rng_below(&m->rng, rack_count);
	for (uint32_t i = 0; i < m->r->tasks; i++) {
		char name[16];
		struct recovery_task task = {.name = name,
					     .cpu = m->r->tight ? 1 + (double)rng_below(&m->rng, 4) : 1,
					     .stage = i < (m->r->tasks + 1) / 2 ? 1 : 2};

		snprintf(name, sizeof name, "t%u", i);
		task.server = draw_server(m, task.cpu, racks);
		if (task.server == m->r->servers)
			return false;
		m->used[task.server] += task.cpu;
		if (recovery_add_task(m->s, &task) < 0)
			return false;
		if (m->r->backups && task.stage == 1 && !add_backups(m, m->s->task_count - 1))
			return false;
	}
	return true;
}

static bool add_flows(struct making *m, uint32_t first)
{
	double sent = 0.9 * rng_uniform(&m->rng);

	for (uint32_t i = first; i < m->s->task_count; i++) {
		for (uint32_t j = first; j < m->s->task_count; j++) {
			struct recovery_flow flow = {.from = i, .to = j};
			bool talk = m->s->tasks[i].stage == 1 && m->s->tasks[j].stage == 2;

			if (m->r->dense)
				talk = i != j && rng_below(&m->rng, 10) < 3;
			if (!talk)
				continue;
			flow.MB = 10 + 90 * rng_uniform(&m->rng);
			flow.sent_MB = sent * flow.MB;
			if (recovery_add_flow(m->s, &flow) < 0)
				return false;
		}
	}
	return true;
}

static void fail_tasks(struct making *m)
{
	uint32_t among = m->r->dense ? 2 * m->r->tasks : m->s->task_count, failed = 0;

	among = among < m->s->task_count ? among : m->s->task_count;
	while (failed < m->r->failed && failed < among) {
		struct recovery_task *task = &m->s->tasks[rng_below(&m->rng, among)];

		failed += !task->failed;
		task->failed = true;
	}
}

/* Fails servers of the first rack, or of all racks, but never all servers. */
static void fail_servers(struct making *m)
{
	uint32_t among = m->r->servers, failed = 0;

	if (m->r->failure == RECOVERY_FAIL_RACK && among > RACK_SERVERS)
		among = RACK_SERVERS;
	while (failed < m->r->failed && failed < among && failed < m->r->servers - 1) {
		uint32_t n = (uint32_t)rng_below(&m->rng, among);

		failed += !m->s->servers[n].failed;
		if (!m->s->servers[n].failed)
			recovery_fail_server(m->s, n);
	}
}

static bool make(struct making *m)
{
	if (!m->s || !m->used || !add_servers(m))
		return false;
	for (uint32_t k = 0; k < m->r->applications; k++) {
		uint32_t first = m->s->task_count;
		char name[16];
		double weight = m->r->weight_low + (double)rng_below(&m->rng, m->r->weight_high - m->r->weight_low + 1);

		snprintf(name, sizeof name, "a%u", k);
		if (recovery_add_application(m->s, name, weight) < 0 || !add_tasks(m) || !add_flows(m, first))
			return false;
	}
	if (m->r->failure == RECOVERY_FAIL_TASKS)
		fail_tasks(m);
	else
		fail_servers(m);
	for (uint32_t f = 0; f < m->s->flow_count; f++) {
		struct recovery_flow *flow = &m->s->flows[f];

		if (m->s->tasks[flow->from].failed || m->s->tasks[flow->to].failed) {
			flow->MB *= m->r->demand;
			flow->sent_MB *= m->r->demand;
		}
	}
	return true;
}

struct recovery_scenario *recovery_generate(const struct recovery_recipe *recipe, struct error *err)
{
	struct making m = {.r = recipe, .s = recovery_create(), .used = calloc(recipe->servers, sizeof *m.used)};
	bool made;

	rng_seed(&m.rng, recipe->seed);
	made = make(&m);
	free(m.used);
	if (made)
		return m.s;
	recovery_destroy(m.s);
	error_set(err, ENOSPC, "--generate: %u applications of %u tasks do not fit on %u servers, or out of memory",
		  recipe->applications, recipe->tasks, recipe->servers);
	return NULL;
}
