/* SPDX-License-Identifier: BSD-3-Clause */
/* The paper's testbed (section V-A, figures 5 to 11) as tables. */
#include "recovery_world.h"

#include <stdio.h>
#include <string.h>

enum { SERVERS = 8, LINK_MBPS = 10, CPU = 4 };

struct testbed_application {
	const char *name, *senders, *receivers; /* one digit per task */
	const char *servers;                    /* one digit per task: its server */
	double MB;                              /* of each flow */
	char failed;                            /* the task on S0, whose flows carry failed_MB */
	double failed_MB;
	const char *backups; /* of the failed task */
};

static const struct testbed_application applications[] = {
	{"A", "13", "245", "05226", 30, '1', 60, "346"},
	{"B", "13", "24", "0253", 40, '1', 80, "1346"},
	{"C", "13", "245", "16015", 50, '3', 100, "4567"},
	{"D", "13", "2", "773", 60, 0, 0, ""},
	{"E", "13", "2", "714", 70, 0, 0, ""},
};

static bool add_tasks(struct recovery_scenario *s, const struct testbed_application *a)
{
	for (size_t i = 0; a->servers[i]; i++) {
		char name[2] = {(char)('1' + i)};
		struct recovery_task task = {.name = name,
					     .cpu = 1,
					     .stage = strchr(a->senders, name[0]) ? 1 : 2,
					     .server = (uint32_t)(a->servers[i] - '0')};
		int64_t number = recovery_add_task(s, &task);

		if (number < 0)
			return false;
		for (const char *b = a->backups; name[0] == a->failed && *b; b++) {
			if (recovery_add_backup(s, (uint32_t)number, (uint32_t)(*b - '0')) < 0)
				return false;
		}
	}
	return true;
}

static bool add_flows(struct recovery_scenario *s, const struct testbed_application *a, uint32_t first)
{
	for (const char *from = a->senders; *from; from++) {
		for (const char *to = a->receivers; *to; to++) {
			struct recovery_flow flow = {.from = first + (uint32_t)(*from - '1'),
						     .to = first + (uint32_t)(*to - '1'),
						     .MB = *from == a->failed ? a->failed_MB : a->MB};

			if (recovery_add_flow(s, &flow) < 0)
				return false;
		}
	}
	return true;
}

struct recovery_scenario *recovery_testbed(double weight_B)
{
	struct recovery_scenario *s = recovery_create();
	bool good = s != NULL;

	for (uint32_t n = 0; n < SERVERS && good; n++) {
		char name[4];
		struct recovery_server server = {
			.name = name, .cpu = CPU, .egress_MBps = LINK_MBPS, .ingress_MBps = LINK_MBPS};

		snprintf(name, sizeof name, "S%u", n % SERVERS);
		good = recovery_add_server(s, &server) >= 0;
	}
	for (size_t k = 0; k < sizeof applications / sizeof *applications && good; k++) {
		const struct testbed_application *a = &applications[k];
		uint32_t first = s->task_count;

		good = recovery_add_application(s, a->name, a->name[0] == 'B' ? weight_B : 1) >= 0 && add_tasks(s, a) &&
		       add_flows(s, a, first);
	}
	if (good) {
		recovery_fail_server(s, 0);
		return s;
	}
	recovery_destroy(s);
	return NULL;
}
