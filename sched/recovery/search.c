/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Solves the decision problem: finds a placement within the limits, or proves that there is none. Searches depth-first
 * over groups.
 */
#include "search_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * An option is a group of a block with a server for it. Blocks with at least this many options count as having equally
 * many. Of blocks with equally many options, the search branches on the one with the highest bound.
 */
enum { OPTIONS_COUNTED = 32 };

/* A node takes about as long as this many options. */
enum { NODE_WORK = 32 };

struct option {
	double load;
	uint32_t c;
};

struct grouping {
	double cost; /* the larger of the cost of `set` and the least cost of the remaining tasks */
	uint32_t set;
};

static bool are_mates(const struct search *s, const struct block *a, const struct block *b)
{
	return a != b && s->p->failed[a->task[0]].application == s->p->failed[b->task[0]].application;
}

/*
 * Adds to *egress the load of the flows from the tasks of set_a to those of set_b, and to *ingress the load of the
 * flows from set_b to set_a.
 */
static void add_flows(const struct search *s, const struct block *a, uint32_t set_a, const struct block *b,
		      uint32_t set_b, double *egress, double *ingress)
{
	const struct problem *p = s->p;

	for (; set_a; set_a &= set_a - 1) {
		size_t f = a->task[__builtin_ctz(set_a)];

		for (uint32_t rest = set_b; rest; rest &= rest - 1) {
			size_t g = b->task[__builtin_ctz(rest)];

			*egress += p->pair_out_load[f * p->F + g];
			*ingress += p->pair_out_load[g * p->F + f];
		}
	}
}

static bool is_open(const struct search *s, uint32_t b, uint32_t c)
{
	return s->remaining[b] && !s->block_on[(size_t)b * s->C + c];
}

/* Adds the part of a group's load on c that vanishes if unplaced tasks of its application's other blocks join it. */
static void add_cross_relief(const struct search *s, const struct block *block, uint32_t set, uint32_t c,
			     double *egress, double *ingress)
{
	for (uint32_t b = 0; b < s->block_count && block->split; b++) {
		const struct block *other = &s->blocks[b];

		if (is_open(s, b, c) && are_mates(s, block, other))
			add_flows(s, block, set, other, s->remaining[b], egress, ingress);
	}
}

/*
 * Adds the load that unplaced tasks of b could still remove from c, also by joining placed tasks of their application.
 */
static void add_block_relief(const struct search *s, uint32_t b, uint32_t c, double *egress, double *ingress)
{
	const struct block *block = &s->blocks[b];

	if (!is_open(s, b, c))
		return;
	*egress += block->relief_egress[c];
	*ingress += block->relief_ingress[c];
	for (uint32_t i = 0; i < s->block_count && block->split && s->tasks_on[c]; i++) {
		const struct block *other = &s->blocks[i];
		uint32_t placed = 0;

		for (uint32_t k = 0; k < other->count && are_mates(s, block, other); k++)
			placed |= s->place[other->task[k]] == c ? 1u << k : 0;
		add_flows(s, other, placed, block, s->remaining[b], egress, ingress);
	}
}

/*
 * Computes the load that unplaced tasks could still remove from c. skip: number of a block that is left out;
 * block_count: none is.
 */
static void relief_at(const struct search *s, uint32_t c, uint32_t skip, double *egress, double *ingress)
{
	*egress = *ingress = 0;
	for (uint32_t b = 0; b < s->block_count; b++) {
		if (b != skip)
			add_block_relief(s, b, c, egress, ingress);
	}
}

/*
 * The load that a group saves by being on c: its flows with surviving peers there, and with placed tasks of the
 * application's other blocks there.
 */
static double local_load(const struct search *s, const struct block *block, uint32_t set, uint32_t c)
{
	double local = 0;

	for (; set; set &= set - 1) {
		uint32_t f = block->task[__builtin_ctz(set)];

		local += s->local[(size_t)f * s->C + c];
		for (uint32_t g = 0; block->split && g < s->p->F; g++) {
			if (s->place[g] == c)
				local += s->p->pair_load[(size_t)f * s->p->F + g];
		}
	}
	return local;
}

/*
 * True if the group may be placed on c: c may take its tasks, and c's load is within the limit or unplaced tasks could
 * still lower it to the limit. *load: c's relative load with the group.
 */
static bool is_option(struct search *s, uint32_t b, uint32_t set, uint32_t c, double *load)
{
	const struct block *block = &s->blocks[b];
	double local, egress, ingress, relief_egress = 0, relief_ingress = 0;

	s->work++;
	if (block->cpu[set] > s->space[c] + RECOVERY_CPU_TOLERANCE || s->block_on[(size_t)b * s->C + c])
		return false;
	for (uint32_t tasks = set; tasks && s->p->allowed; tasks &= tasks - 1) {
		if (!recovery_problem_allows(s->p, block->task[__builtin_ctz(tasks)], s->n[c]))
			return false;
	}
	local = s->plain[c] && !block->split ? 0 : local_load(s, block, set, c);
	egress = s->egress[c] + block->egress[set] - local;
	ingress = s->ingress[c] + block->ingress[set] - local;
	*load = search_relative(s, c, egress, ingress);
	if (*load <= s->limit)
		return true;
	/*
	 * This quick test uses the tables of relief. The tables omit the flows between placed and unplaced tasks of a
	 * split application, although these flows may still vanish. So the test is skipped if the block or a task on c
	 * may belong to such an application.
	 */
	if (!block->split && !(s->has_split && s->tasks_on[c]) &&
	    search_relative(s, c, egress - s->relief_egress[c], ingress - s->relief_ingress[c]) >
		    s->limit * (1 + RECOVERY_TOLERANCE))
		return false;
	s->work += s->block_count;
	relief_at(s, c, b, &relief_egress, &relief_ingress);
	add_cross_relief(s, block, set, c, &relief_egress, &relief_ingress);
	return search_relative(s, c, egress - relief_egress, ingress - relief_ingress) <= s->limit;
}

/* True if the bounds allow this group of unplaced tasks, and some partition of the block's other unplaced tasks. */
static bool allows_group(const struct search *s, const struct block *block, uint32_t remaining, uint32_t set)
{
	return block->cost[set] <= s->limit && block->best[remaining ^ set] <= s->limit;
}

static uint32_t count_options(struct search *s, uint32_t b, uint32_t most)
{
	const struct block *block = &s->blocks[b];
	uint32_t remaining = s->remaining[b], first = remaining & -remaining, others = remaining ^ first, count = 0;
	double ignored;

	for (uint32_t sub = others;; sub = (sub - 1) & others) {
		uint32_t set = first | sub;

		if (allows_group(s, block, remaining, set)) {
			for (uint32_t c = 0; c < s->C && count < most; c++)
				count += is_option(s, b, set, c, &ignored);
		}
		if (sub == 0 || count >= most)
			break;
	}
	return count;
}

/* Returns the block with the fewest options, or block_count if some block has none. */
static uint32_t choose_block(struct search *s)
{
	uint32_t best = s->block_count, fewest = OPTIONS_COUNTED + 1;
	double highest = -1;

	for (uint32_t b = 0; b < s->block_count; b++) {
		const struct block *block = &s->blocks[b];
		uint32_t count;
		double bound;

		if (!s->remaining[b])
			continue;
		bound = block->best[s->remaining[b]];
		/* Counts above `fewest` make no difference: counting stops at fewest + 1. */
		count = count_options(s, b, fewest < OPTIONS_COUNTED ? fewest + 1 : OPTIONS_COUNTED);
		if (count == 0)
			return s->block_count;
		if (count < fewest || (count == fewest && bound > highest)) {
			best = b;
			fewest = count;
			highest = bound;
		}
	}
	return best;
}

static bool is_hot(const struct search *s, uint32_t c)
{
	return search_relative(s, c, s->egress[c], s->ingress[c]) > (s->tasks_on[c] ? s->limit : s->untouched_limit);
}

static int compare_gains(const void *a, const void *b)
{
	const struct gain *x = a, *y = b;
	double left = x->load * y->cpu, right = y->load * x->cpu;

	return (left < right) - (left > right);
}

/*
 * Upper bound of the load that unplaced tasks can remove from one direction of c within its remaining CPU: the
 * fractional knapsack. A task removes its flows with peers there and with placed tasks of its application's other
 * blocks, and adds at least its flows with surviving tasks.
 */
static double packed_relief(const struct search *s, uint32_t c, bool egress)
{
	const struct problem *p = s->p;
	double space = s->space[c] + RECOVERY_CPU_TOLERANCE, relief = 0;
	uint32_t count = 0;

	for (uint32_t b = 0; b < s->block_count; b++) {
		for (uint32_t set = is_open(s, b, c) ? s->remaining[b] : 0; set; set &= set - 1) {
			uint32_t f = s->blocks[b].task[__builtin_ctz(set)];
			double load = s->local[(size_t)f * s->C + c] -
				      p->failed[f].factor * (egress ? p->failed[f].out_MB : p->failed[f].in_MB);

			for (uint32_t g = 0; g < p->F && s->blocks[b].split && s->tasks_on[c]; g++) {
				if (s->place[g] == c)
					load += p->pair_out_load[egress ? (size_t)g * p->F + f : (size_t)f * p->F + g];
			}
			if (load > 0 && recovery_problem_allows(p, f, s->n[c]))
				s->gains[count++] = (struct gain){.load = load, .cpu = p->failed[f].cpu};
		}
	}
	qsort(s->gains, count, sizeof *s->gains, compare_gains);
	for (uint32_t i = 0; i < count && space > 0; i++) {
		double cpu = s->gains[i].cpu;

		relief += s->gains[i].load * (cpu > space ? space / cpu : 1);
		space -= cpu;
	}
	return relief;
}

/*
 * Returns false if c is overloaded and the unplaced tasks cannot relieve it. So if all tasks are placed, it returns
 * false for every overloaded server.
 */
static bool can_be_relieved(const struct search *s, uint32_t c)
{
	double egress, ingress;

	if (!is_hot(s, c))
		return true;
	relief_at(s, c, s->block_count, &egress, &ingress);
	if (search_relative(s, c, s->egress[c] - egress, s->ingress[c] - ingress) > s->limit)
		return false;
	return search_relative(s, c, s->egress[c] - packed_relief(s, c, true),
			       s->ingress[c] - packed_relief(s, c, false)) <= s->limit * (1 + RECOVERY_TOLERANCE);
}

/* *hot: an overloaded server, C if there is none. Returns false if some overloaded server cannot be relieved. */
static bool find_hot(const struct search *s, uint32_t *hot)
{
	*hot = s->C;
	for (uint32_t i = 0; i < s->hot_count + s->p->F; i++) {
		uint32_t c = i < s->hot_count ? s->hot[i] : s->place[i - s->hot_count];

		if (c == s->C || !is_hot(s, c))
			continue;
		if (!can_be_relieved(s, c))
			return false;
		if (*hot == s->C)
			*hot = c;
	}
	return true;
}

static void put_group(struct search *s, uint32_t b, uint32_t set, uint32_t c)
{
	const struct block *block = &s->blocks[b];
	double local = local_load(s, block, set, c);

	s->egress[c] += block->egress[set] - local;
	s->ingress[c] += block->ingress[set] - local;
	s->space[c] -= block->cpu[set];
	s->tasks_on[c] += (uint32_t)__builtin_popcount(set);
	s->remaining[b] ^= set;
	s->block_on[(size_t)b * s->C + c] = 1;
	for (; set; set &= set - 1)
		s->place[block->task[__builtin_ctz(set)]] = c;
}

/*
 * Returns the MB that do not cross the network if the group is on c: those of the flows within the group, and of the
 * group's flows with surviving peers and with placed tasks on c.
 */
static double group_saved_MB(const struct search *s, const struct block *block, uint32_t set, uint32_t c)
{
	const struct problem *p = s->p;
	double MB = 0;

	for (uint32_t tasks = set; tasks; tasks &= tasks - 1) {
		uint32_t f = block->task[__builtin_ctz(tasks)];

		MB += s->plain[c] ? 0 : recovery_problem_local_MB(p, f, s->n[c]);
		for (uint32_t others = tasks & (tasks - 1); others; others &= others - 1) {
			uint32_t g = block->task[__builtin_ctz(others)];

			MB += p->pair_MB[(size_t)f * p->F + g] + p->pair_MB[(size_t)g * p->F + f];
		}
		for (uint32_t g = 0; block->split && g < p->F; g++) {
			if (s->place[g] == c)
				MB += p->pair_MB[(size_t)f * p->F + g] + p->pair_MB[(size_t)g * p->F + f];
		}
	}
	return MB;
}

/* Returns an upper bound of the MB that stay within servers in any placement below this node. */
static double most_saved_MB(const struct search *s)
{
	double MB = s->saved_MB;

	for (uint32_t b = 0; b < s->block_count; b++)
		MB += s->blocks[b].best_saved_MB[s->remaining[b]];
	return MB;
}

static bool saves_more(const struct search *s, double MB)
{
	return MB > s->best_saved_MB + RECOVERY_TOLERANCE * (1 + s->best_saved_MB);
}

static enum outcome take_leaf(struct search *s)
{
	memcpy(s->found, s->place, s->p->F * sizeof *s->found);
	s->has_found = true;
	if (!s->least_bytes)
		return SEARCH_FOUND;
	s->best_saved_MB = s->saved_MB;
	return SEARCH_NONE;
}

/* Best fit: the most loaded server first, to keep capacity on the others. */
static int compare_options(const void *a, const void *b)
{
	const struct option *x = a, *y = b;

	if (x->load != y->load)
		return x->load > y->load ? -1 : 1;
	return (x->c > y->c) - (x->c < y->c);
}

static int compare_groupings(const void *a, const void *b)
{
	const struct grouping *x = a, *y = b;
	int size_x = __builtin_popcount(x->set), size_y = __builtin_popcount(y->set);

	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	if (size_x != size_y)
		return size_x < size_y ? -1 : 1;
	return (x->set > y->set) - (x->set < y->set);
}

/*
 * True if it is enough to try one of the two servers: no task is restricted to its backups, no failed task is placed on
 * them or has peers on them, and their loads, links and free CPU are equal.
 */
static bool equals(const struct search *s, uint32_t a, uint32_t b)
{
	const struct problem *p = s->p;

	return !p->allowed && s->plain[a] && s->plain[b] && !s->tasks_on[a] && !s->tasks_on[b] &&
	       s->egress[a] == s->egress[b] && s->ingress[a] == s->ingress[b] && s->space[a] == s->space[b] &&
	       p->BE[s->n[a]] == p->BE[s->n[b]] && p->BI[s->n[a]] == p->BI[s->n[b]];
}

static enum outcome descend(struct search *s);

/* Explores one child: the group on c. Restores the node afterwards. */
static enum outcome try_place(struct search *s, uint32_t b, uint32_t set, uint32_t c)
{
	const struct block *block = &s->blocks[b];
	double egress = s->egress[c], ingress = s->ingress[c], space = s->space[c], saved_MB = s->saved_MB;
	uint32_t remaining = s->remaining[b];
	enum outcome outcome;

	if (s->least_bytes)
		s->saved_MB += group_saved_MB(s, block, set, c);
	put_group(s, b, set, c);
	outcome = descend(s);
	s->egress[c] = egress;
	s->ingress[c] = ingress;
	s->space[c] = space;
	s->saved_MB = saved_MB;
	s->tasks_on[c] -= (uint32_t)__builtin_popcount(set);
	s->remaining[b] = remaining;
	s->block_on[(size_t)b * s->C + c] = 0;
	for (uint32_t tasks = set; tasks; tasks &= tasks - 1)
		s->place[block->task[__builtin_ctz(tasks)]] = s->C;
	return outcome;
}

static enum outcome try_group(struct search *s, uint32_t b, uint32_t set, struct option *options)
{
	const struct block *block = &s->blocks[b];
	double most_MB = 0, saved_MB;
	uint32_t count = 0;

	if (s->least_bytes)
		most_MB = most_saved_MB(s) - block->best_saved_MB[s->remaining[b]] +
			  block->best_saved_MB[s->remaining[b] ^ set];
	for (uint32_t c = 0; c < s->C; c++) {
		double load;

		if (!is_option(s, b, set, c, &load))
			continue;
		if (s->least_bytes) {
			saved_MB = group_saved_MB(s, block, set, c);
			if (!block->split && !saves_more(s, most_MB + saved_MB))
				continue;
			load = saved_MB; /* options are then sorted by saved MB, highest first */
		}
		options[count++] = (struct option){.load = load, .c = c};
	}
	qsort(options, count, sizeof *options, compare_options);
	for (uint32_t i = 0; i < count; i++) {
		enum outcome outcome;

		if (i > 0 && equals(s, options[i].c, options[i - 1].c))
			continue;
		outcome = try_place(s, b, set, options[i].c);
		if (outcome != SEARCH_NONE)
			return outcome;
	}
	return SEARCH_NONE;
}

static enum outcome branch(struct search *s, uint32_t b)
{
	const struct block *block = &s->blocks[b];
	uint32_t remaining = s->remaining[b], first = remaining & -remaining, others = remaining ^ first, count = 0;
	size_t sets = (size_t)1 << __builtin_popcount(others);
	struct grouping *groups = malloc(sets * sizeof *groups);
	struct option *options = malloc((s->C + 1u) * sizeof *options);
	enum outcome outcome = SEARCH_NONE;

	for (uint32_t sub = others; groups && options; sub = (sub - 1) & others) {
		uint32_t set = first | sub;

		if (allows_group(s, block, remaining, set))
			groups[count++] = (struct grouping){
				.cost = larger(block->cost[set], block->best[remaining ^ set]), .set = set};
		if (sub == 0)
			break;
	}
	if (!groups || !options)
		outcome = SEARCH_BUDGET; /* out of memory: nothing is proved */
	else
		qsort(groups, count, sizeof *groups, compare_groupings);
	for (uint32_t i = 0; i < count && outcome == SEARCH_NONE; i++)
		outcome = try_group(s, b, groups[i].set, options);
	free(groups);
	free(options);
	return outcome;
}

/*
 * Branches on an overloaded server: the block that could relieve it most puts some of its tasks there, or none. This
 * comes before other branching: few blocks have peers there, so it is soon clear if the server cannot be relieved.
 */
static enum outcome branch_hot(struct search *s, uint32_t c)
{
	const struct block *block;
	uint32_t b = s->block_count, remaining;
	double most = 0;
	enum outcome outcome;

	for (uint32_t i = 0; i < s->block_count; i++) {
		double egress = 0, ingress = 0;

		add_block_relief(s, i, c, &egress, &ingress);
		if (larger(egress, ingress) > most) {
			b = i;
			most = larger(egress, ingress);
		}
	}
	if (b == s->block_count)
		return SEARCH_NONE;
	block = &s->blocks[b];
	remaining = s->remaining[b];
	for (uint32_t set = remaining; set; set = (set - 1) & remaining) {
		double ignored;

		if (!allows_group(s, block, remaining, set) || !is_option(s, b, set, c, &ignored))
			continue;
		outcome = try_place(s, b, set, c);
		if (outcome != SEARCH_NONE)
			return outcome;
	}
	s->block_on[(size_t)b * s->C + c] = 1;
	outcome = descend(s);
	s->block_on[(size_t)b * s->C + c] = 0;
	return outcome;
}

static enum outcome descend(struct search *s)
{
	bool complete = true;
	uint32_t b, hot;

	s->nodes++;
	s->work += NODE_WORK;
	if (s->work_limit && s->work > s->work_limit)
		return SEARCH_BUDGET;
	if (s->deadline.v > 0 && (s->nodes & 15) == 0 && ns_now_monotonic().v > s->deadline.v)
		return SEARCH_DEADLINE;
	if (!find_hot(s, &hot) || (s->least_bytes && !saves_more(s, most_saved_MB(s))))
		return SEARCH_NONE;
	if (hot < s->C)
		return branch_hot(s, hot);
	for (b = 0; b < s->block_count; b++)
		complete = complete && !s->remaining[b];
	if (complete)
		return take_leaf(s);
	b = choose_block(s);
	return b == s->block_count ? SEARCH_NONE : branch(s, b);
}

/* Resets the node to the root: no failed task is placed. */
static void reset(struct search *s)
{
	s->hot_count = 0;
	s->saved_MB = 0;
	memset(s->tasks_on, 0, s->C * sizeof *s->tasks_on);
	memset(s->block_on, 0, (size_t)s->block_count * s->C);
	for (uint32_t c = 0; c < s->C; c++) {
		s->egress[c] = s->p->bE[s->n[c]];
		s->ingress[c] = s->p->bI[s->n[c]];
		s->space[c] = s->p->free_cpu[s->n[c]];
		if (is_hot(s, c))
			s->hot[s->hot_count++] = c;
	}
	for (uint32_t f = 0; f < s->p->F; f++)
		s->place[f] = s->C;
	for (uint32_t b = 0; b < s->block_count; b++)
		s->remaining[b] = s->blocks[b].full;
}

enum outcome recovery_search_decide(struct search *s, double limit, double untouched_limit, uint64_t work)
{
	enum outcome outcome;

	s->limit = limit;
	s->untouched_limit = untouched_limit;
	s->work_limit = work ? s->work + work : 0;
	s->has_found = false;
	if (s->outside > untouched_limit)
		return SEARCH_NONE;
	reset(s);
	if (s->least_bytes)
		recovery_blocks_fill_saved(s);
	outcome = descend(s);
	for (uint32_t f = 0; f < s->p->F && s->has_found; f++)
		s->found[f] = s->n[s->found[f]];
	return outcome;
}
