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
	if (partition->cr_type)
		rules.consumes = partition->cr_type;
	if (partition->def_mem_per_cpu)
		rules.default_memory = partition->def_mem_per_cpu;
	if (partition->max_mem_per_cpu)
		rules.most_memory = partition->max_mem_per_cpu;
	return rules;
}

uint64_t slurm_rules_task_memory(const struct slurm_rules *rules)
{
	return rules->consumes & CR_MEMORY ? rules->default_memory & ~MEM_PER_CPU : 0;
}

/*
 * Memory of a node as a whole, rather than of each CPU, depends on the number of the job's nodes: a job that schedd
 * spreads over more nodes than Slurm would takes memory from other jobs. The limits also hold where memory is not
 * allocated.
 */
static int check_memory(const struct slurm_rules *rules, struct error *err)
{
	bool per_cpu = rules->default_memory & MEM_PER_CPU;

	if ((rules->consumes & CR_MEMORY) && !per_cpu)
		return error_set(err, ENOTSUP,
				 "SelectTypeParameters has Memory without DefMemPerCPU, so that a job's memory depends "
				 "on its number of nodes; set DefMemPerCPU");
	if (rules->most_memory && !(rules->most_memory & MEM_PER_CPU))
		return error_set(err, ENOTSUP,
				 "MaxMemPerNode limits the tasks of a job on a node; set MaxMemPerCPU instead");
	if (rules->most_memory && (!per_cpu || rules->most_memory < rules->default_memory))
		return error_set(err, ENOTSUP,
				 "MaxMemPerCPU without DefMemPerCPU, or below it, gives a task several CPUs; set "
				 "DefMemPerCPU to at most MaxMemPerCPU");
	return 0;
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
