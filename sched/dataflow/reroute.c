/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces the routes of pairs of hosts when a link of the route fails, and restores them when links return. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "network_priv.h"

/*
 * After this many calls of network_rates(), network_improve_rerouted() tries no other pair. A call takes 3 ms with 160
 * jobs on 1,000 hosts, and 4 us with two jobs on 30 hosts.
 */
enum { IMPROVEMENT_EVALUATIONS = 1000 };

/* A gain below this fraction of the sum of all rates counts as a rounding error. */
static const double rounding = 1e-9;

static void count_use(uint32_t *users, const struct network_pair *pair, int direction)
{
	for (uint32_t r = 0; r < pair->route.count; r++)
		users[network_route_link(&pair->route, r) / 2] += (uint32_t)direction * pair->users;
}

/*
 * For each link of the route, divides the number of flows (users[]) by the link's capacity in MB/s. Returns the largest
 * of these quotients.
 */
static double busiest(const struct network *network, const struct network_route *route, const uint32_t *users)
{
	double worst = 0;

	for (uint32_t r = 0; r < route->count; r++)
		worst = fmax(worst, users[network_route_link(route, r) / 2] /
					    network_capacity(network, network_route_link(route, r)));
	return worst;
}

/*
 * Gives the pair a new route: of the routes with the fewest links, the one whose busiest() is least. This is the `path`
 * heuristic of Alkaff and Gupta's paper. Returns 1 on success, 0 if no route is up, or -ENOMEM.
 */
static int choose(struct network *network, struct network_pair *pair, const uint32_t *users)
{
	struct network_route routes[NETWORK_ROUTES_MAXIMUM];
	uint32_t numbers[NETWORK_ROUTES_MAXIMUM];
	int count = network_routes(network, pair->low, pair->high, routes, numbers);
	double least = INFINITY;

	for (int i = 0; i < count && routes[i].count == routes[0].count; i++) {
		double use = busiest(network, &routes[i], users);

		if (use < least) {
			least = use;
			pair->route = routes[i];
			pair->number = numbers[i];
		}
	}
	return count < 0 ? count : count > 0;
}

/* Restores the route from before the failure. Returns 1 on success, 0 if this route is still down, or -ENOMEM. */
static int give_back(struct network *network, struct network_pair *pair)
{
	int code = network_route(network, pair->low, pair->high, pair->original, &pair->route);

	if (code < 0)
		return code == -ENOENT ? 0 : code;
	pair->number = pair->original;
	pair->rerouted = false;
	return 1;
}

static int leave_failed(struct network *network, struct network_pair *pair, uint32_t *users)
{
	uint32_t before = pair->number;
	int code;

	if (network_route_up(network, &pair->route))
		return 0;
	count_use(users, pair, -1);
	code = choose(network, pair, users);
	count_use(users, pair, 1);
	if (code > 0 && !pair->rerouted) {
		pair->rerouted = true;
		pair->original = before;
	}
	return code;
}

int network_reroute_pairs(struct network *network, bool repaired)
{
	uint32_t *users = calloc(network->topology->link_count + 1, sizeof *users);
	int changed = 0;

	if (!users)
		return -ENOMEM;
	for (uint32_t p = 0; p < network->pair_count; p++)
		count_use(users, &network->pairs[p], 1);
	for (uint32_t p = 0; p < network->pair_count && changed >= 0; p++) {
		struct network_pair *pair = &network->pairs[p];
		int code = !repaired        ? leave_failed(network, pair, users)
			   : pair->rerouted ? give_back(network, pair)
					    : 0;

		changed = code < 0 ? code : changed + code;
	}
	free(users);
	return changed;
}

/* A search for routes that increase the sum of the sources' rates. */
struct improvement {
	double sum;   /* of the rates with the best routes so far, MB/s */
	double *rate; /* by source: work space */
	uint32_t evaluations;
};

/* Returns the sum of the rates, or -ENOMEM. */
static double evaluate(struct network *network, struct improvement *improvement)
{
	int count = network_rates(network, improvement->rate, NULL);
	double sum = 0;

	improvement->evaluations++;
	for (int s = 0; s < count; s++)
		sum += improvement->rate[s];
	return count < 0 ? count : sum;
}

/*
 * Gives a pair the route with the greatest sum of rates. Returns 1 if the route changed, 0 if the pair keeps its route,
 * or -ENOMEM.
 */
static int improve(struct network *network, struct network_pair *pair, struct improvement *improvement)
{
	struct network_route routes[NETWORK_ROUTES_MAXIMUM];
	uint32_t numbers[NETWORK_ROUTES_MAXIMUM], before = pair->number;
	int count = network_routes(network, pair->low, pair->high, routes, numbers);
	struct network_pair best = *pair;

	for (int i = 0; i < count; i++) {
		double sum;

		pair->route = routes[i];
		pair->number = numbers[i];
		sum = evaluate(network, improvement);
		if (sum < 0)
			return -ENOMEM;
		if (sum > improvement->sum * (1 + rounding)) {
			improvement->sum = sum;
			best = *pair;
		}
	}
	*pair = best;
	return count < 0 ? count : best.number != before;
}

/* Makes one pass over the rerouted pairs. Returns 1 if a route changed, 0 if none did, or -ENOMEM. */
static int improve_all(struct network *network, struct improvement *improvement)
{
	int changed = 0;

	for (uint32_t p = 0; p < network->pair_count && changed >= 0; p++)
		if (network->pairs[p].rerouted && improvement->evaluations < IMPROVEMENT_EVALUATIONS) {
			int code = improve(network, &network->pairs[p], improvement);

			changed = code < 0 ? code : changed | code;
		}
	return changed;
}

int network_improve_rerouted(struct network *network)
{
	struct improvement improvement = {0};
	int code = 0, passes = 0;

	improvement.rate = malloc((network_source_count(network) + 1u) * sizeof *improvement.rate);
	if (!improvement.rate || (improvement.sum = evaluate(network, &improvement)) < 0)
		code = -ENOMEM;
	while (code == 0 && (code = improve_all(network, &improvement)) > 0) {
		passes++;
		code = 0;
	}
	free(improvement.rate);
	return code < 0 ? code : passes > 0;
}

int network_links_in_use(const struct network *network, uint32_t *links)
{
	bool *used = calloc(network->topology->link_count + 1, sizeof *used);
	int count = 0;

	if (!used)
		return -ENOMEM;
	for (uint32_t p = 0; p < network->pair_count; p++)
		for (uint32_t r = 1; r + 1 < network->pairs[p].route.count; r++)
			used[network_route_link(&network->pairs[p].route, r) / 2] = true;
	for (uint32_t l = 0; l < network->topology->link_count; l++)
		if (used[l])
			links[count++] = l;
	free(used);
	return count;
}

void network_hold_slots(struct network *network, uint32_t host, bool hold)
{
	if (hold) {
		network->held_slots[host] += network->free_slots[host];
		network->free_slots[host] = 0;
	} else {
		network->free_slots[host] += network->held_slots[host];
		network->held_slots[host] = 0;
	}
}
