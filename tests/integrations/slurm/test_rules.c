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

Test(slurm_rules, memory_is_that_of_a_cpu)
{
	struct slurm_rules rules;

	conf.select_type_param = CR_CPU | CR_MEMORY;
	REFUSED("set DefMemPerCPU");
	conf.def_mem_per_cpu = 100; /* DefMemPerNode */
	REFUSED("set DefMemPerCPU");
	conf.def_mem_per_cpu = 100 | MEM_PER_CPU;
	SUPPORTED();
	conf.max_mem_per_cpu = 100 | MEM_PER_CPU;
	SUPPORTED();
	conf.max_mem_per_cpu = 99 | MEM_PER_CPU;
	REFUSED("MaxMemPerCPU without DefMemPerCPU, or below it");
	conf.max_mem_per_cpu = 400; /* MaxMemPerNode */
	REFUSED("MaxMemPerNode limits");
	partition.max_mem_per_cpu = 200 | MEM_PER_CPU;
	partition.def_mem_per_cpu = 150 | MEM_PER_CPU;
	SUPPORTED();
	rules = slurm_rules_of(&conf);
	cr_assert_eq(slurm_rules_task_memory(&rules), 100);
	rules = slurm_rules_in(rules, &partition);
	cr_assert_eq(slurm_rules_task_memory(&rules), 150);
	conf.select_type_param = CR_CPU; /* memory is not allocated */
	conf.def_mem_per_cpu = 100;
	conf.max_mem_per_cpu = partition.max_mem_per_cpu = partition.def_mem_per_cpu = 0;
	SUPPORTED();
	conf.max_mem_per_cpu = 100 | MEM_PER_CPU; /* the limits hold all the same */
	REFUSED("MaxMemPerCPU without DefMemPerCPU");
	conf.max_mem_per_cpu = 400;
	REFUSED("MaxMemPerNode limits");
	rules = slurm_rules_of(&conf);
	cr_assert_eq(slurm_rules_task_memory(&rules), 0);
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
