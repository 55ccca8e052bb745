/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Numbers of sessions selected so far: sent by each host (out), answered by each host (in) and carried by each rack's
 * link; and the cap of each.
 */
struct rotation {
	struct mesh_plan *plan;
	const struct mesh_budget *budget;
	uint32_t *out, *in, *link;
	double host_cap, reflector_cap, link_cap; /* sessions */
};

static double cap(double pps, const struct mesh_budget *budget)
{
	return pps > 0 ? floor(pps * budget->interval_s + 1e-9) : INFINITY;
}

/*
 * Returns the number of pairs of hosts that are probed at a time between two groups: so many that all pairs have had
 * their turn in half of the refresh time.
 */
static uint64_t width(const struct mesh_budget *budget, const struct plan_group *from, const struct plan_group *to)
{
	uint64_t pairs = (uint64_t)from->active * to->active;
	double wanted = ceil(2 * (double)pairs * budget->epoch_s / budget->refresh_s);

	return wanted < (double)pairs ? (uint64_t)wanted : pairs;
}

/*
 * True if pairs are selected between these two racks; false if they are selected between the pods of the racks, or if
 * both racks are the same.
 */
static bool by_racks(const struct rotation *rotation, size_t from, size_t to)
{
	const struct plan_group *racks = rotation->plan->racks.items;

	return from != to && (!rotation->budget->pods || racks[from].pod == racks[to].pod);
}

/* --- is the budget large enough? --- */

struct need {
	double sessions; /* the largest number of sessions that one host, reflector or link needs */
	const char *name;
};

static void raise(struct need *need, double sessions, const char *name)
{
	if (sessions > need->sessions)
		*need = (struct need){sessions, name};
}

/*
 * Returns the number of sessions from this rack to all others (outward) or from all others to it. A pod's sessions are
 * divided among its racks in proportion to their hosts.
 */
static double between(const struct rotation *rotation, size_t rack, bool outward)
{
	const struct plan_groups *racks = &rotation->plan->racks, *pods = &rotation->plan->pods;
	const struct plan_group *own = &racks->items[rack], *pod = &pods->items[own->pod];
	double sum = 0;

	for (size_t i = 0; i < racks->count; i++)
		if (by_racks(rotation, rack, i))
			sum += (double)(outward ? width(rotation->budget, own, &racks->items[i])
						: width(rotation->budget, &racks->items[i], own));
	for (size_t i = 0; rotation->budget->pods && i < pods->count; i++)
		if (i != own->pod && pod->active)
			sum += (double)(outward ? width(rotation->budget, pod, &pods->items[i])
						: width(rotation->budget, &pods->items[i], pod)) *
			       own->active / pod->active;
	return sum;
}

static int refuse(const struct rotation *rotation, const char *option, double pps, const struct need *need,
		  const char *why, struct error *err)
{
	double rate = 1 / rotation->budget->interval_s;

	if (need->sessions <= cap(pps, rotation->budget))
		return 0;
	return error_set(err, ERANGE,
			 "%s: %g probes per second are too few: %s '%s' needs %.0f sessions of %g probes per second; "
			 "set at least %g, or a longer --interval-us or --refresh",
			 option, pps, why, need->name, need->sessions, rate, ceil(need->sessions * rate));
}

static int check_budget(const struct rotation *rotation, struct error *err)
{
	const struct mesh_plan *plan = rotation->plan;
	struct need host = {0}, reflector = {0}, link = {0};
	int code;

	for (size_t i = 0; i < plan->racks.count; i++) {
		const struct plan_group *rack = &plan->racks.items[i];
		double out = between(rotation, i, true), in = between(rotation, i, false);

		if (!rack->active)
			continue;
		raise(&host, rack->active - 1 + ceil(out / rack->active), rack->name);
		raise(&reflector, rack->active - 1 + ceil(in / rack->active), rack->name);
		raise(&link, ceil(out + in), rack->name);
	}
	code = refuse(rotation, "--host-pps", rotation->budget->host_pps, &host, "a host of rack", err);
	if (!code)
		code = refuse(rotation, "--reflector-pps", rotation->budget->reflector_pps, &reflector,
			      "a host of rack", err);
	if (!code)
		code = refuse(rotation, "--link-pps", rotation->budget->link_pps, &link, "the link of rack", err);
	return code;
}

/* --- selection --- */

static void advance(struct plan_cursor *cursor, const struct plan_group *from, const struct plan_group *to)
{
	if (++cursor->step >= from->capacity) {
		cursor->step = 0;
		if (++cursor->turn >= to->capacity)
			cursor->turn = 0;
	}
}

static bool fits(const struct rotation *rotation, struct plan_session session)
{
	const struct plan_host *hosts = rotation->plan->hosts;

	return rotation->out[session.from] < rotation->host_cap && rotation->in[session.to] < rotation->reflector_cap &&
	       rotation->link[hosts[session.from].rack] < rotation->link_cap &&
	       rotation->link[hosts[session.to].rack] < rotation->link_cap;
}

static int take(struct rotation *rotation, struct plan_session session)
{
	const struct plan_host *hosts = rotation->plan->hosts;

	rotation->out[session.from]++;
	rotation->in[session.to]++;
	rotation->link[hosts[session.from].rack]++;
	rotation->link[hosts[session.to].rack]++;
	return plan_add_session(rotation->plan, session);
}

/*
 * Selects the next pairs of two groups. If a cap forbids a pair, this pair and all after it wait for the next rotation.
 */
static int choose(struct rotation *rotation, struct plan_groups *groups, size_t from_number, size_t to_number)
{
	const struct plan_group *from = &groups->items[from_number], *to = &groups->items[to_number];
	struct plan_cursor *cursor = &groups->cursors[from_number * groups->cursor_side + to_number];
	uint64_t wanted = width(rotation->budget, from, to);
	uint64_t steps = (uint64_t)from->capacity * to->capacity;
	int code = 0;

	for (; wanted && steps && !code; steps--, advance(cursor, from, to)) {
		struct plan_session session = {
			from->places[(cursor->step + to_number) % from->capacity],
			to->places[((uint64_t)cursor->step + cursor->turn + from_number) % to->capacity],
		};

		if (!plan_is_active(rotation->plan, session.from) || !plan_is_active(rotation->plan, session.to))
			continue;
		if (!fits(rotation, session)) {
			rotation->plan->deferred += wanted;
			return 0;
		}
		code = take(rotation, session);
		wanted--;
	}
	return code;
}

/* Begins with another pair of groups in each rotation, so that the caps postpone different pairs. */
static int choose_all(struct rotation *rotation, struct plan_groups *groups)
{
	size_t count = groups->count * groups->count, start = count ? hash_mix(rotation->plan->epoch) % count : 0;
	int code = 0;

	for (size_t i = 0; i < count && !code; i++) {
		size_t from = (start + i) % count / groups->count, to = (start + i) % groups->count;

		if (groups == &rotation->plan->racks ? by_racks(rotation, from, to) : from != to)
			code = choose(rotation, groups, from, to);
	}
	return code;
}

static int compare_sessions(const void *a, const void *b)
{
	const struct plan_session *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return (left->to > right->to) - (left->to < right->to);
}

static void count_racks(struct rotation *rotation)
{
	const struct mesh_plan *plan = rotation->plan;

	for (uint32_t i = 0; i < plan->host_count; i++)
		if (plan_is_active(plan, i))
			rotation->out[i] = rotation->in[i] = plan->racks.items[plan->hosts[i].rack].active - 1;
}

static void release(struct rotation *rotation)
{
	free(rotation->out);
	free(rotation->in);
	free(rotation->link);
}

static int prepare(struct rotation *rotation, struct mesh_plan *plan, const struct mesh_budget *budget)
{
	*rotation = (struct rotation){
		.plan = plan,
		.budget = budget,
		.out = calloc(plan->host_count + 1, sizeof(uint32_t)),
		.in = calloc(plan->host_count + 1, sizeof(uint32_t)),
		.link = calloc(plan->racks.count + 1, sizeof(uint32_t)),
		.host_cap = cap(budget->host_pps, budget),
		.reflector_cap = cap(budget->reflector_pps, budget),
		.link_cap = cap(budget->link_pps, budget),
	};
	return rotation->out && rotation->in && rotation->link ? 0 : -ENOMEM;
}

int mesh_plan_rotate(struct mesh_plan *plan, const struct mesh_budget *budget, struct error *err)
{
	struct rotation rotation;
	int code = prepare(&rotation, plan, budget);

	if (code)
		error_set(err, ENOMEM, "out of memory");
	else
		code = check_budget(&rotation, err);
	if (!code) {
		plan->session_count = 0;
		plan->deferred = 0;
		plan->epoch++;
		count_racks(&rotation);
		code = choose_all(&rotation, &plan->racks);
		if (!code && budget->pods)
			code = choose_all(&rotation, &plan->pods);
		if (code)
			error_set(err, -code, "%s", strerror(-code));
		if (plan->session_count)
			qsort(plan->sessions, plan->session_count, sizeof *plan->sessions, compare_sessions);
	}
	release(&rotation);
	return code;
}

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void load_of_groups(const struct mesh_plan *plan, struct mesh_plan_load *load)
{
	for (size_t i = 0; i < plan->racks.count; i++) {
		const struct plan_group *rack = &plan->racks.items[i];

		load->racks += rack->active > 0;
		load->in_racks += (uint64_t)rack->active * (rack->active ? rack->active - 1 : 0);
	}
	for (size_t i = 0; i < plan->pods.count; i++)
		load->pods += plan->pods.items[i].active > 0;
	for (size_t i = 0; i < plan->host_count; i++) {
		load->hosts += plan->hosts[i].state == PLAN_ACTIVE;
		load->drained += plan->hosts[i].state == PLAN_DRAINED;
	}
}

struct mesh_plan_load mesh_plan_load(const struct mesh_plan *plan)
{
	const struct mesh_budget none = {.interval_s = 1};
	struct mesh_plan_load load = {.epoch = plan->epoch, .between = plan->session_count, .deferred = plan->deferred};
	struct rotation counted;

	load_of_groups(plan, &load);
	if (prepare(&counted, (struct mesh_plan *)plan, &none) == 0) {
		count_racks(&counted);
		for (size_t i = 0; i < plan->session_count; i++) {
			const struct plan_session *session = &plan->sessions[i];

			counted.out[session->from]++;
			counted.in[session->to]++;
			counted.link[plan->hosts[session->from].rack]++;
			counted.link[plan->hosts[session->to].rack]++;
		}
		for (size_t i = 0; i < plan->host_count; i++) {
			load.host_most = most(load.host_most, counted.out[i]);
			load.reflector_most = most(load.reflector_most, counted.in[i]);
		}
		for (size_t i = 0; i < plan->racks.count; i++)
			load.link_most = most(load.link_most, counted.link[i]);
	}
	release(&counted);
	return load;
}
