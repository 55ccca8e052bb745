/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bin packing with unequal bins: do the failed tasks fit on the servers if only CPU and backups count? Depth-first
 * search, which places the task with the fewest servers first, by best fit. Of equal servers it tries only one. It
 * leaves a branch if the sum of the remaining sizes exceeds the sum of the usable space.
 */
#include "recovery_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of nodes: enough for thousands of tasks that fit easily, and for a proof with a dozen large ones. */
enum { PACK_NODES = 200000 };

struct pack {
	const struct problem *p;
	const bool *candidate, *included;
	double *space;
	uint32_t *place;
	bool *placed;
	uint64_t nodes;
	struct ns deadline;
};

static bool fits(const struct pack *k, uint32_t f, uint32_t n)
{
	return k->candidate[n] && (!k->p->allowed || k->p->allowed[(size_t)f * k->p->N + n]) &&
	       k->p->failed[f].cpu <= k->space[n] + RECOVERY_CPU_TOLERANCE;
}

/*
 * Returns the unplaced task that fits on the fewest servers, or F if all tasks are placed. Sets *count to the number of
 * servers on which it fits.
 */
static uint32_t hardest(const struct pack *k, uint32_t *count)
{
	uint32_t best = k->p->F;

	*count = UINT32_MAX;
	for (uint32_t f = 0; f < k->p->F; f++) {
		uint32_t servers = 0;

		if (k->placed[f] || !k->included[f])
			continue;
		for (uint32_t n = 0; n < k->p->N && servers <= *count; n++)
			servers += fits(k, f, n);
		if (servers < *count ||
		    (servers == *count && best < k->p->F && k->p->failed[f].cpu > k->p->failed[best].cpu)) {
			best = f;
			*count = servers;
		}
		if (servers == 0)
			break;
	}
	return best;
}

/* True if the servers with space for the smallest remaining task have enough space for all remaining tasks together. */
static bool space_suffices(const struct pack *k)
{
	double needed = 0, smallest = 0, space = 0;
	bool any = false;

	for (uint32_t f = 0; f < k->p->F; f++) {
		if (k->placed[f] || !k->included[f])
			continue;
		needed += k->p->failed[f].cpu;
		if (!any || k->p->failed[f].cpu < smallest)
			smallest = k->p->failed[f].cpu;
		any = true;
	}
	for (uint32_t n = 0; n < k->p->N && space < needed; n++) {
		if (k->candidate[n] && k->space[n] + RECOVERY_CPU_TOLERANCE >= smallest)
			space += k->space[n];
	}
	return !any || space + RECOVERY_CPU_TOLERANCE * k->p->F >= needed;
}

static enum pack_result pack_next(struct pack *k);

/* True if a server with the same free CPU as n has been tried for f before n. */
static bool tried(const struct pack *k, uint32_t f, uint32_t n)
{
	if (k->p->allowed) /* servers with equal CPU may still differ in the tasks that they may take */
		return false;
	for (uint32_t m = 0; m < n; m++) {
		if (fits(k, f, m) && k->space[m] == k->space[n])
			return true;
	}
	return false;
}

static enum pack_result pack_one(struct pack *k, uint32_t f)
{
	double below = -1;

	/* Best fit: tries the servers in ascending order of space. */
	for (;;) {
		enum pack_result result;
		uint32_t best = k->p->N;
		double space = 0;

		for (uint32_t n = 0; n < k->p->N; n++) {
			if (fits(k, f, n) && k->space[n] > below && (best == k->p->N || k->space[n] < space)) {
				best = n;
				space = k->space[n];
			}
		}
		if (best == k->p->N)
			return PACK_DOES_NOT;
		below = space;
		for (uint32_t n = best; n < k->p->N; n++) {
			if (!fits(k, f, n) || k->space[n] != space || tried(k, f, n))
				continue;
			k->space[n] -= k->p->failed[f].cpu;
			k->place[f] = n;
			k->placed[f] = true;
			result = pack_next(k);
			k->placed[f] = result == PACK_FITS;
			k->space[n] = space;
			if (result != PACK_DOES_NOT)
				return result;
		}
	}
}

static enum pack_result pack_next(struct pack *k)
{
	uint32_t servers, f;

	if (++k->nodes > PACK_NODES ||
	    (k->deadline.v > 0 && (k->nodes & 255) == 0 && ns_now_monotonic().v > k->deadline.v))
		return PACK_UNKNOWN;
	f = hardest(k, &servers);
	if (f == k->p->F)
		return PACK_FITS;
	if (servers == 0 || !space_suffices(k))
		return PACK_DOES_NOT;
	return pack_one(k, f);
}

enum pack_result recovery_pack_tasks(const struct problem *problem, const bool *candidate, const bool *included,
				     uint32_t *place, struct ns deadline)
{
	struct pack k = {.p = problem,
			 .candidate = candidate,
			 .included = included,
			 .space = malloc((problem->N + 1u) * sizeof *k.space),
			 .place = malloc((problem->F + 1u) * sizeof *k.place),
			 .placed = calloc(problem->F + 1u, sizeof *k.placed),
			 .deadline = deadline};
	enum pack_result result = PACK_UNKNOWN;

	if (k.space && k.place && k.placed) {
		memcpy(k.space, problem->free_cpu, problem->N * sizeof *k.space);
		result = pack_next(&k);
		if (result == PACK_FITS && place)
			memcpy(place, k.place, problem->F * sizeof *place);
	}
	free(k.space);
	free(k.place);
	free(k.placed);
	return result;
}

/* True if the server could take one of the included tasks if no other failed task used it. */
static bool opens_to_any(const struct problem *p, const bool *candidate, const bool *included, uint32_t n)
{
	for (uint32_t f = 0; f < p->F; f++) {
		if (included[f] && candidate[n] && recovery_problem_allows(p, f, n))
			return true;
	}
	return false;
}

int recovery_pack_write_proof(const struct problem *p, const bool *candidate, const bool *included,
			      struct recovery_answer *answer)
{
	answer->proof_tasks = calloc(p->F + 1u, sizeof *answer->proof_tasks);
	answer->proof_servers = calloc(p->N + 1u, sizeof *answer->proof_servers);
	if (!answer->proof_tasks || !answer->proof_servers)
		return -ENOMEM;
	for (uint32_t f = 0; f < p->F; f++) {
		if (included[f])
			answer->proof_tasks[answer->proof_task_count++] = p->failed[f].task;
	}
	for (uint32_t n = 0; n < p->N; n++) {
		if (opens_to_any(p, candidate, included, n))
			answer->proof_servers[answer->proof_server_count++] = p->server[n];
	}
	return 0;
}

int recovery_pack_prove(const struct problem *problem, const bool *candidate, struct recovery_answer *answer,
			struct ns deadline)
{
	bool *included = calloc(problem->F + 1u, sizeof *included);
	int code;

	if (!included)
		return -ENOMEM;
	memset(included, 1, problem->F * sizeof *included);
	/* Leaves out each task in turn, and keeps it out if the remaining tasks still do not fit. */
	for (uint32_t f = 0; f < problem->F; f++) {
		included[f] = false;
		included[f] = recovery_pack_tasks(problem, candidate, included, NULL, deadline) != PACK_DOES_NOT;
	}
	code = recovery_pack_write_proof(problem, candidate, included, answer);
	free(included);
	return code;
}
