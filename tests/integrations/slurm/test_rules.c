/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of Slurm under which schedd places jobs, and what is said about the others. */
#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>

#include "rules.h"

static char cons_tres[] = "select/cons_tres", cons_res[] = "select/cons_res", linear[] = "select/linear",
	    name[] = "main";

/* A cluster under whose rules schedd places jobs; each test changes something. */
static slurm_conf_t conf;
static partition_info_t partition;
static struct error err;

static int check(void)
{
	struct slurm_rules rules = slurm_rules_of(&conf);

	err = (struct error){0};
	rules = slurm_rules_in(rules, &partition);
	return slurm_rules_check(&rules, &partition, 2, &err);
}

#define SUPPORTED() cr_assert_eq(check(), 0, "line %d: %s", __LINE__, err.text)
#define REFUSED(reason) cr_assert(check() == -ENOTSUP && strstr(err.text, reason), "line %d: %s", __LINE__, err.text)

static void make_cluster(void)
{
	conf = (slurm_conf_t){.select_type = cons_tres, .select_type_param = CR_CPU};
	partition = (partition_info_t){.name = name,
				       .flags = PART_FLAG_DEFAULT,
				       .state_up = PARTITION_UP,
				       .total_nodes = 2,
				       .max_nodes = INFINITE,
				       .max_cpus_per_node = INFINITE,
				       .max_share = 1};
}

TestSuite(slurm_rules, .init = make_cluster);

Test(slurm_rules, slurm_allocates_single_cpus)
{
	SUPPORTED();
	conf.select_type = cons_res;
	conf.select_type_param = CR_CORE | CR_LLN;
	SUPPORTED();
	conf.select_type_param = CR_SOCKET;
	REFUSED("set SelectType=select/cons_tres and SelectTypeParameters=CR_CPU, CR_Core, CR_CPU_Memory");
	partition.cr_type = CR_CORE;
	SUPPORTED();
	conf.select_type_param = CR_CORE;
	partition.cr_type = CR_SOCKET;
	REFUSED("does not allocate single CPUs");
	partition.cr_type = 0;
	conf.select_type_param = CR_MEMORY;
	REFUSED("does not allocate single CPUs");
	conf.select_type = linear;
	conf.select_type_param = CR_CORE;
	REFUSED("does not allocate single CPUs");
	conf.select_type = NULL;
	REFUSED("does not allocate single CPUs");
}

#define LIMITS "a limit of memory without a default, or below it"

Test(slurm_rules, limits_of_memory_are_at_least_the_default)
{
	const uint64_t kinds[] = {0, MEM_PER_CPU}; /* by node, by CPU */

	conf.select_type_param = CR_CPU | CR_MEMORY;
	SUPPORTED();
	for (int c = 0; c < 2; c++) {
		conf.select_type_param = c == 0 ? CR_CPU | CR_MEMORY : CR_CPU; /* the limits hold all the same */
		for (int kind = 0; kind < 4; kind++) {
			conf.def_mem_per_cpu = 0;
			conf.max_mem_per_cpu = 100 | kinds[kind / 2];
			REFUSED(LIMITS);
			conf.def_mem_per_cpu = 100 | kinds[kind % 2];
			SUPPORTED();
			conf.max_mem_per_cpu = 99 | kinds[kind / 2];
			REFUSED(LIMITS);
			partition.max_mem_per_cpu = 100 | kinds[kind / 2];
			SUPPORTED();
			partition.def_mem_per_cpu = 101 | kinds[kind % 2];
			REFUSED(LIMITS);
			partition.max_mem_per_cpu = partition.def_mem_per_cpu = 0;
			conf.max_mem_per_cpu = 0;
			SUPPORTED();
		}
	}
}

/* Slurm 22.05: "Can't use Partition SelectType unless using CR_Socket or CR_Core". */
Test(slurm_rules, a_partition_replaces_only_what_slurm_lets_it_replace)
{
	partition.cr_type = CR_CORE;
	conf.select_type_param = CR_CPU | CR_MEMORY;
	cr_assert_eq(slurm_rules_in(slurm_rules_of(&conf), &partition).consumes, CR_CPU | CR_MEMORY);
	conf.select_type_param = CR_CORE | CR_MEMORY;
	cr_assert_eq(slurm_rules_in(slurm_rules_of(&conf), &partition).consumes, CR_CORE);
}

/* A node of four CPUs and 400 MB with 3 free CPUs and this memory; the number of tasks that Slurm could start. */
static uint32_t startable(uint64_t default_memory, uint64_t free_memory, uint64_t job_memory)
{
	struct slurm_rules rules = {.by_cpu = true, .consumes = CR_CORE | CR_MEMORY, .default_memory = default_memory};
	struct slurm_node node = {.memory = 400, .free_memory = free_memory, .job_memory = job_memory};

	return slurm_rules_startable(&rules, &node, 3);
}

Test(slurm_rules, a_job_takes_memory_by_cpu_by_node_or_all)
{
	struct slurm_rules rules = {.by_cpu = true, .consumes = CR_CORE, .default_memory = 401};
	struct slurm_node node = {.memory = 400};

	cr_assert_eq(startable(100 | MEM_PER_CPU, 250, 150), 2);
	cr_assert_eq(startable(80 | MEM_PER_CPU, 250, 150), 3);
	cr_assert_eq(startable(401 | MEM_PER_CPU, 400, 0), 0);
	cr_assert_eq(startable(100, 250, 150), 3);
	cr_assert_eq(startable(250, 250, 150), 3);
	cr_assert_eq(startable(251, 250, 150), 0);
	cr_assert_eq(startable(401, 400, 0), 0);
	cr_assert_eq(startable(0, 350, 0), 3, "the rest is for the system");
	cr_assert_eq(startable(0, 399, 1), 0);
	cr_assert_eq(startable(0 | MEM_PER_CPU, 399, 1), 0, "as 0");
	cr_assert_eq(slurm_rules_startable(&rules, &node, 3), 0, "without allocation, the node must have the memory");
	rules.default_memory = 400;
	cr_assert_eq(slurm_rules_startable(&rules, &node, 3), 3);
}

Test(slurm_rules, memory_by_node_limits_the_number_of_nodes)
{
	struct slurm_rules rules = {.by_cpu = true, .consumes = CR_CORE | CR_MEMORY, .default_memory = 300};

	cr_assert(slurm_rules_allow(&rules, 4, 4, 1) && !slurm_rules_allow(&rules, 4, 4, 2));
	cr_assert(slurm_rules_allow(&rules, 4, 5, 2) && !slurm_rules_allow(&rules, 4, 5, 3));
	cr_assert(slurm_rules_allow(&rules, 2, 5, 3) && !slurm_rules_allow(&rules, 0, 5, 1));
	cr_assert(slurm_rules_count_nodes(&rules));
	rules.default_memory = 0;
	cr_assert(slurm_rules_allow(&rules, 4, 4, 1) && !slurm_rules_allow(&rules, 4, 4, 2));
	rules.consumes = CR_CORE;
	cr_assert(slurm_rules_allow(&rules, 4, 4, 4) && !slurm_rules_count_nodes(&rules));
	rules.default_memory = 100 | MEM_PER_CPU;
	rules.most_memory = 300; /* three tasks on a node, on average */
	cr_assert(slurm_rules_allow(&rules, 4, 3, 1) && !slurm_rules_allow(&rules, 4, 4, 1));
	cr_assert(slurm_rules_allow(&rules, 4, 6, 2) && !slurm_rules_allow(&rules, 4, 7, 2));
	cr_assert(slurm_rules_count_nodes(&rules));
	rules.most_memory = 100 | MEM_PER_CPU;
	cr_assert(slurm_rules_allow(&rules, 4, 9, 1) && !slurm_rules_count_nodes(&rules));
}

Test(slurm_rules, the_default_partition_has_no_limits)
{
	partition.state_up = PARTITION_DRAIN;
	REFUSED("PartitionName=main: State is not UP; the default partition must be up, have all nodes and no such "
		"limit");
	partition.state_up = PARTITION_UP;
	partition.total_nodes = 1;
	REFUSED("it lacks nodes of the cluster");
	partition.total_nodes = 2;
	partition.max_nodes = 1;
	REFUSED("MinNodes or MaxNodes");
	partition.max_nodes = 2;
	partition.min_nodes = 1;
	SUPPORTED();
	partition.min_nodes = 2;
	REFUSED("MinNodes or MaxNodes");
	partition.min_nodes = 0;
	partition.max_cpus_per_node = 3;
	REFUSED("MaxCPUsPerNode");
	partition.max_cpus_per_node = 0; /* not set */
	SUPPORTED();
	partition.max_share = 0;
	REFUSED("OverSubscribe=EXCLUSIVE");
	partition.max_share = 4 | SHARED_FORCE;
	SUPPORTED();
	partition.flags |= PART_FLAG_EXCLUSIVE_USER;
	REFUSED("ExclusiveUser");
}
