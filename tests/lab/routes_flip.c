/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * routes_flip LAB KILLS: a child keeps changing the lab's routes from one random set of long paths to another. It is
 * killed before a random change that is not the first one of an update, KILLS times; each time, every pair of hosts
 * must be connected, without a loop. Then a new process takes over the routes and removes them. Exit 0, or 1 with the
 * reason.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include <base/rng.h>
#include <lab/lab.h>
#include <lab/routes/routes.h>

enum { PAIRS = 24, CHANGES_MOST = 400 };

struct paths {
	struct lab_route routes[PAIRS];
	int nodes[PAIRS][LAB_SWITCHES_MAXIMUM];
};

static struct lab lab;
static uint64_t changes_left; /* before the process kills itself; 0: never */
static bool first_change;     /* of an update */

ssize_t __real_mnl_socket_sendto(const struct mnl_socket *socket, const void *message, size_t bytes);
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *socket, const void *message, size_t bytes);

/* The linker puts it in the place of the library's function. */
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *socket, const void *message, size_t bytes)
{
	int type = ((const struct nlmsghdr *)message)->nlmsg_type;

	if (type == RTM_NEWRULE || type == RTM_DELRULE || type == RTM_NEWROUTE || type == RTM_DELROUTE) {
		changes_left -= changes_left > 1;
		if (changes_left == 1 && !first_change)
			kill(getpid(), SIGKILL);
		first_change = false;
	}
	return __real_mnl_socket_sendto(socket, message, bytes);
}

static int switch_of(int host)
{
	for (int l = 0; l < lab.link_count; l++)
		if (lab.links[l].a == host)
			return lab.links[l].b;
	return -1;
}

static int random_neighbour(struct rng *rng, int node)
{
	for (;;) {
		const struct lab_link *link = &lab.links[rng_below(rng, (uint64_t)lab.link_count)];

		if (link->a >= lab.host_count && (link->a == node || link->b == node))
			return link->a == node ? link->b : link->a;
	}
}

/* A random walk, with its loops removed. */
static size_t draw_path(struct rng *rng, int from, int to, int *nodes)
{
	size_t count = 0;
	int node = from;

	for (;;) {
		for (size_t i = 0; i < count; i++)
			if (nodes[i] == node)
				count = i;
		nodes[count++] = node;
		if (node == to)
			return count;
		node = random_neighbour(rng, node);
	}
}

static void draw(struct rng *rng, struct paths *paths)
{
	for (int i = 0; i < PAIRS; i++) {
		/* Tests other pairs in each round: the distance between the two numbers grows. */
		int from = i % lab.host_count, to = (from + 1 + i / lab.host_count) % lab.host_count;

		paths->routes[i] = (struct lab_route){.from = from, .to = to, .nodes = paths->nodes[i]};
		paths->routes[i].node_count = draw_path(rng, switch_of(from), switch_of(to), paths->nodes[i]);
	}
}

static void change_until_killed(uint64_t seed)
{
	static struct paths paths;
	struct error err = {0};
	struct routes *routes;
	struct rng rng;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rng_seed(&rng, seed);
	routes = routes_open(&lab, &err);
	changes_left = 2 + rng_below(&rng, CHANGES_MOST);
	while (routes) {
		draw(&rng, &paths);
		first_change = true;
		if (routes_set(routes, paths.routes, rng_below(&rng, PAIRS + 1), NULL, &err) != 0)
			break;
	}
	fprintf(stderr, "%s\n", err.text);
	_exit(1);
}

static int walk_all(struct routes *routes, struct error *err)
{
	int nodes[LAB_SWITCHES_MAXIMUM];

	for (int from = 0; from < lab.host_count; from++)
		for (int to = 0; to < lab.host_count; to++) {
			struct routes_packet packet = {.from = from, .to = to};

			if (from != to && routes_trace(routes, &packet, nodes, err) < 0)
				return error_code(err, EIO);
		}
	return 0;
}

static int kill_and_walk(struct routes *routes, struct rng *rng, struct error *err)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		change_until_killed(rng_below(rng, UINT32_MAX));
	waitpid(child, &status, 0);
	rng_below(rng, 2); /* so that the next child draws from another seed */
	if (!WIFSIGNALED(status))
		return error_set(err, EIO, "the child ended by itself");
	return walk_all(routes, err);
}

int main(int argc, char **argv)
{
	static struct paths paths;
	struct error err = {0};
	struct routes *routes = NULL;
	struct routes_changes changes;
	struct rng rng;
	int code = argc == 3 ? lab_read(argv[1], &lab, &err) : error_set(&err, EINVAL, "usage: LAB KILLS");

	if (code == 0)
		routes = routes_open(&lab, &err);
	code = routes ? 0 : error_code(&err, EIO);
	rng_seed(&rng, 1);
	for (int i = 0; i < (routes ? atoi(argv[2]) : 0) && code == 0; i++)
		code = kill_and_walk(routes, &rng, &err);
	draw(&rng, &paths);
	if (code == 0)
		code = routes_set(routes, paths.routes, PAIRS, NULL, &err);
	if (code == 0)
		code = routes_check(routes, paths.routes, PAIRS, &err);
	if (code == 0)
		code = routes_set(routes, paths.routes, PAIRS, &changes, &err);
	if (code == 0 && changes.set + changes.cleared != 0)
		code = error_set(&err, EIO, "the same routes once more changed %u entries", changes.set);
	if (code == 0)
		code = routes_set(routes, NULL, 0, &changes, &err);
	if (code == 0)
		code = walk_all(routes, &err);
	routes_close(routes);
	if (code != 0)
		fprintf(stderr, "%s\n", err.text);
	return code == 0 ? 0 : 1;
}
