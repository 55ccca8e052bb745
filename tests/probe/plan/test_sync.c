/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan follows the list of peers, the racks of the cluster, and the states of the hosts in the live matrix. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <model/latency_live.h>
#include <probe/plan/plan.h>

enum { HOSTS = 40 };

static struct peer items[HOSTS];
static struct peers peers = {.items = items, .count = HOSTS};
static struct mesh_plan *plan;
static char folder[64], path[128];

/* Hosts h0 to h39, four to a rack. */
static void set_up(void)
{
	for (int i = 0; i < HOSTS; i++) {
		items[i] = (struct peer){.address = 0x0a000001 + (ip_address)(unsigned)i};
		snprintf(items[i].name, sizeof items[i].name, "h%d", i);
		snprintf(items[i].rack, sizeof items[i].rack, "r%d", i / 4);
	}
	plan = mesh_plan_create();
	strcpy(folder, "/tmp/nomora-sync.XXXXXX");
	cr_assert(mkdtemp(folder));
}

static void tear_down(void)
{
	mesh_plan_destroy(plan);
	cr_assert_eq(rmdir(folder), 0);
}

TestSuite(mesh_sync, .init = set_up, .fini = tear_down);

static void follow(const struct cluster *cluster, const struct latency_matrix *live)
{
	struct error err = {0};

	cr_assert_eq(mesh_plan_follow(plan, &peers, cluster, live, &err), 0, "%s", err.text);
}

static bool has(const char *name)
{
	return mesh_plan_find(plan, name) >= 0;
}

static const char *rack_of(const char *name)
{
	return mesh_plan_rack(plan, (uint32_t)mesh_plan_find(plan, name));
}

Test(mesh_sync, peers_join_and_leave)
{
	follow(NULL, NULL);
	cr_assert(has("h0") && has("h39"));
	cr_assert_str_eq(rack_of("h39"), "r9");
	peers.count = 30;
	follow(NULL, NULL);
	for (int i = 0; i < HOSTS; i++) {
		char name[16];

		snprintf(name, sizeof name, "h%d", i);
		cr_assert_eq(has(name), i < 30, "%s", name);
	}
	strcpy(items[29].rack, "r1");
	follow(NULL, NULL);
	cr_assert_str_eq(rack_of("h29"), "r1");
	cr_assert_str_eq(rack_of("h28"), "r7");
	peers.count = HOSTS;
	follow(NULL, NULL);
	cr_assert(has("h39"));
	peers.items = items + 1;
	peers.count = HOSTS - 1;
	follow(NULL, NULL);
	cr_assert(!has("h0") && has("h1"));
}

/* Hosts that are drained in the live matrix probe nobody; others do, whether the matrix has them or not. */
Test(mesh_sync, drained_hosts_are_drained)
{
	const struct latency_live_size size = {.hosts = 8, .racks = 8, .pairs = 64};
	struct latency_matrix *live;
	struct error err = {0};
	char file[96];

	snprintf(file, sizeof file, "%s/live", folder);
	live = latency_live_open(file, &size, &err);
	cr_assert(live, "%s", err.text);
	latency_live_begin(live, &err);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(latency_live_add_host(live, items[i].name, items[i].rack, ""), i);
	latency_live_set_status(live, 1, LATENCY_HOST_DRAINED);
	latency_live_end(live);
	follow(NULL, live);
	cr_assert_eq(mesh_plan_load(plan).drained, 1);
	latency_live_set_status(live, 1, LATENCY_HOST_ACTIVE);
	follow(NULL, live);
	cr_assert_eq(mesh_plan_load(plan).drained, 0);
	latency_matrix_destroy(live);
	unlink(file);
	strcat(file, ".lock");
	unlink(file);
}

static int lines_of(const char *name, char *text, size_t bytes)
{
	FILE *file;
	int lines = 0;

	snprintf(path, sizeof path, "%s/%s.peers", folder, name);
	file = fopen(path, "r");
	cr_assert(file, "%s", path);
	text[fread(text, 1, bytes - 1, file)] = '\0';
	fclose(file);
	unlink(path);
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	return lines;
}

/* Each list begins with the host itself. In a small rack, every host probes all others. */
Test(mesh_sync, lists_of_peers_are_written)
{
	static const char *const lists[] = {
		"# name address mac rack\nh0 10.0.0.1 - r0\nh1 10.0.0.2 - r0\nh2 10.0.0.3 - r0\n",
		"# name address mac rack\nh1 10.0.0.2 - r0\nh0 10.0.0.1 - r0\nh2 10.0.0.3 - r0\n",
		"# name address mac rack\nh2 10.0.0.3 - r0\nh0 10.0.0.1 - r0\nh1 10.0.0.2 - r0\n",
	};
	struct error err = {0};
	char text[4096];

	peers.count = 3;
	follow(NULL, NULL);
	cr_assert_eq(mesh_plan_write_lists(plan, &peers, folder, &err), 0, "%s", err.text);
	for (int i = 0; i < 3; i++) {
		char name[16];
		int lines;

		snprintf(name, sizeof name, "h%d", i);
		lines = lines_of(name, text, sizeof text);
		cr_assert_eq(lines, 4);
		cr_assert_str_eq(text, lists[i], "%s", text);
	}
	cr_assert_eq(mesh_plan_write_lists(plan, &peers, "/nonexistent/folder", &err), -ENOENT);
	cr_assert(strstr(err.text, "/nonexistent/folder: cannot create"), "%s", err.text);
}

Test(mesh_sync, a_plan_is_written_and_read)
{
	struct error err = {0};
	struct mesh_plan *again;
	char file[96];

	snprintf(file, sizeof file, "%s/plan", folder);
	again = mesh_plan_read(file, &err);
	cr_assert(again && mesh_plan_hosts(again) == 0, "there is none yet");
	mesh_plan_destroy(again);
	follow(NULL, NULL);
	cr_assert_eq(mesh_plan_write(plan, file, &err), 0, "%s", err.text);
	again = mesh_plan_read(file, &err);
	cr_assert(again, "%s", err.text);
	cr_assert(mesh_plan_hosts(again) == HOSTS && mesh_plan_find(again, "h39") >= 0);
	mesh_plan_destroy(again);
	unlink(file);
}
