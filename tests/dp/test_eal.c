/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <dp/eal.h>
#include <dp/port.h>

static int note_lcore(void *argument)
{
	*(unsigned int *)argument = rte_lcore_id();
	return 0;
}

Test(eal, starts_without_pci_and_runs_workers)
{
	struct dp_eal_options options = {.workers = 2, .memory_MiB = 64};
	struct error err = {0};
	unsigned int seen[2] = {0};

	cr_assert_eq(dp_eal_start(&options, &err), 0, "%s", err.text);
	cr_assert_eq(rte_lcore_count(), 3);
	for (unsigned int i = 0; i < 2; i++)
		cr_assert_eq(rte_eal_remote_launch(note_lcore, &seen[i], dp_eal_worker(i)), 0);
	rte_eal_mp_wait_lcore();
	cr_assert_eq(seen[0], dp_eal_worker(0));
	cr_assert_eq(seen[1], dp_eal_worker(1));
	cr_assert_neq(seen[0], seen[1]);
	cr_assert_eq(dp_eal_start(&options, &err), -EALREADY);
	dp_eal_stop();
}

Test(eal, leaves_no_runtime_folder)
{
	struct dp_eal_options options = {.memory_MiB = 64};
	struct error err = {0};
	char folder[512];

	cr_assert_eq(dp_eal_start(&options, &err), 0, "%s", err.text);
	snprintf(folder, sizeof folder, "%s", rte_eal_get_runtime_dir());
	cr_assert_neq(access(folder, F_OK), 0, "%s", folder);
	dp_eal_stop();
}

Test(eal, passes_the_users_arguments_and_quotes_what_it_refuses)
{
	static char option[] = "--no-such-option";
	char *extra[] = {option};
	struct dp_eal_options options = {.memory_MiB = 64, .extra = extra, .extra_count = 1};
	struct error err = {0};

	cr_assert_lt(dp_eal_start(&options, &err), 0);
	cr_assert_not_null(strstr(err.text, "--no-such-option"), "%s", err.text);
}

Test(eal, the_users_virtual_devices_are_ports)
{
	static char option[] = "--vdev", device[] = "net_null7";
	char *extra[] = {option, device};
	struct dp_eal_options options = {.memory_MiB = 64, .extra = extra, .extra_count = 2};
	struct dp_port_options port_options = {.name = "net_null7"};
	struct dp_port *port;
	struct error err = {0};

	cr_assert_eq(dp_eal_start(&options, &err), 0, "%s", err.text);
	port_options.pool = dp_pool_create("pool", 2047, 2048, &err);
	port = dp_port_open(&port_options, &err);
	cr_assert_not_null(port, "%s", err.text);
	dp_port_close(port);
	dp_pool_free(port_options.pool);
	dp_eal_stop();
}

Test(eal, refuses_cpus_that_are_not_there)
{
	struct dp_eal_options options = {.workers = 1, .cpus = "4000"};
	struct error err = {0};

	cr_assert_eq(dp_eal_start(&options, &err), -EINVAL);
}
