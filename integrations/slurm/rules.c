/* SPDX-License-Identifier: BSD-3-Clause */
#include "rules.h"

#include <errno.h>
#include <string.h>

struct slurm_rules slurm_rules_of(const slurm_conf_t *conf)
{
	return (struct slurm_rules){.by_cpu = conf->select_type && strncmp(conf->select_type, "select/cons_", 12) == 0,
				    .consumes = conf->select_type_param,
				    .default_memory = conf->def_mem_per_cpu,
				    .most_memory = conf->max_mem_per_cpu};
}

struct slurm_rules slurm_rules_in(struct slurm_rules rules, const partition_info_t *partition)
{
	/* Slurm ignores a partition's setting where the cluster allocates CPUs. */
	if (partition->cr_type && (rules.consumes & (CR_SOCKET | CR_CORE)))
		rules.consumes = partition->cr_type;
	if (partition->def_mem_per_cpu)
		rules.default_memory = partition->def_mem_per_cpu;
	if (partition->max_mem_per_cpu)
		rules.most_memory = partition->max_mem_per_cpu;
	return rules;
}

/* DefMemPerCPU or DefMemPerNode, in MB. 0: a job takes all memory of its nodes. */
static uint64_t default_of(const struct slurm_rules *rules)
{
	return rules->default_memory & ~MEM_PER_CPU;
}

static bool is_per_cpu(uint64_t memory)
{
	return (memory & MEM_PER_CPU) && (memory & ~MEM_PER_CPU) > 0;
}

uint32_t slurm_rules_startable(const struct slurm_rules *rules, const struct slurm_node *node, uint32_t cpus)
{
	uint64_t memory = default_of(rules);

	if (node->memory < memory)
		return 0;
	if (!(rules->consumes & CR_MEMORY))
		return cpus;
	if (is_per_cpu(rules->default_memory))
		return node->free_memory / memory < cpus ? (uint32_t)(node->free_memory / memory) : cpus;
	return (memory > 0 ? node->free_memory >= memory : node->job_memory == 0) ? cpus : 0;
}

/* True if a job takes the same memory of each of its nodes, whatever its number of tasks there. */
static bool takes_memory_by_node(const struct slurm_rules *rules)
{
	return (rules->consumes & CR_MEMORY) && !is_per_cpu(rules->default_memory);
}

/* True if MaxMemPerNode limits the tasks of a job on a node. */
static bool limits_tasks(const struct slurm_rules *rules)
{
	return is_per_cpu(rules->default_memory) && rules->most_memory && !is_per_cpu(rules->most_memory);
}

bool slurm_rules_count_nodes(const struct slurm_rules *rules)
{
	return takes_memory_by_node(rules) || limits_tasks(rules);
}

bool slurm_rules_allow(const struct slurm_rules *rules, uint32_t largest, uint32_t tasks, uint32_t nodes)
{
	if (takes_memory_by_node(rules))
		return largest > 0 && nodes <= (tasks + largest - 1) / largest;
	/* Slurm divides the tasks by the greatest number of nodes, which slurm_order_place() sets. */
	return !limits_tasks(rules) || (tasks + nodes - 1) / nodes <= rules->most_memory / default_of(rules);
}

/* The limits also hold where memory is not allocated. */
static int check_memory(const struct slurm_rules *rules, struct error *err)
{
	uint64_t memory = default_of(rules), most = rules->most_memory & ~MEM_PER_CPU;

	if (most == 0 || (memory > 0 && memory <= most))
		return 0;
	return error_set(err, ENOTSUP,
			 "a limit of memory without a default, or below it, keeps jobs waiting or gives a task several "
			 "CPUs; set DefMemPerCPU or DefMemPerNode to at most MaxMemPerCPU or MaxMemPerNode");
}

static int check_partition(const partition_info_t *partition, uint32_t node_count, struct error *err)
{
	const char *limit = NULL;

	if (partition->state_up != PARTITION_UP)
		limit = "State is not UP";
	else if (partition->total_nodes != node_count)
		limit = "it lacks nodes of the cluster";
	else if (partition->max_nodes < node_count || partition->min_nodes > 1)
		limit = "MinNodes or MaxNodes limits the nodes of a job";
	else if (partition->max_cpus_per_node && partition->max_cpus_per_node < NO_VAL)
		limit = "MaxCPUsPerNode limits the CPUs of the partition's jobs";
	else if (partition->max_share == 0 || (partition->flags & PART_FLAG_EXCLUSIVE_USER))
		limit = "OverSubscribe=EXCLUSIVE or ExclusiveUser gives jobs more than their CPUs";
	return limit ? error_set(err, ENOTSUP,
				 "PartitionName=%s: %s; the default partition must be up, have all nodes and no such "
				 "limit",
				 partition->name, limit)
		     : 0;
}

int slurm_rules_check(const struct slurm_rules *rules, const partition_info_t *partition, uint32_t node_count,
		      struct error *err)
{
	int code = 0;

	if (!rules->by_cpu || !(rules->consumes & (CR_CPU | CR_CORE)))
		return error_set(err, ENOTSUP,
				 "Slurm does not allocate single CPUs; set SelectType=select/cons_tres and "
				 "SelectTypeParameters=CR_CPU, CR_Core, CR_CPU_Memory or CR_Core_Memory");
	code = check_partition(partition, node_count, err);
	if (code == 0)
		code = check_memory(rules, err);
	return code;
}
