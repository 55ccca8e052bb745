/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The linear programme.
 *
 * Variables (columns):
 * - the rate of each source
 * - for each ordered pair of hosts, the rate on each of its routes
 *
 * Constraints (rows):
 * - for each ordered pair of hosts: the rates on its routes add up to the rate of the data between the two hosts
 * - for each resource: the load is at most the capacity
 */
#include <sched/dataflow/network.h>

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>

#include <glpk.h>

#include <base/array.h>

#include "network_priv.h"

struct bound {
	struct network *network;
	glp_prob *lp;
	int *resource_row; /* by resource: number of its row; 0: it has no row yet */
	struct hash_table pair_rows;
	int *row, *column; /* row, column and value of each matrix element, from index 1 as in GLPK */
	double *value;
	size_t count, row_capacity, column_capacity, value_capacity;
};

static bool add_entry(struct bound *bound, int row, int column, double value)
{
	size_t needed = bound->count + 2;
	int *rows = array_reserve(bound->row, needed, &bound->row_capacity, sizeof *rows);
	int *columns = array_reserve(bound->column, needed, &bound->column_capacity, sizeof *columns);
	double *values = array_reserve(bound->value, needed, &bound->value_capacity, sizeof *values);

	bound->row = rows ? rows : bound->row;
	bound->column = columns ? columns : bound->column;
	bound->value = values ? values : bound->value;
	if (!rows || !columns || !values)
		return false;
	bound->count++;
	rows[bound->count] = row;
	columns[bound->count] = column;
	values[bound->count] = value;
	return true;
}

static int resource_row(struct bound *bound, uint32_t resource)
{
	if (bound->resource_row[resource] == 0) {
		bound->resource_row[resource] = glp_add_rows(bound->lp, 1);
		glp_set_row_bnds(bound->lp, bound->resource_row[resource], GLP_UP, 0,
				 network_capacity(bound->network, resource));
	}
	return bound->resource_row[resource];
}

/*
 * Returns the number of the row of an ordered pair of hosts. Creates the row, with a column for each route, if
 * necessary. Returns 0 and sets *code if the hosts are not connected or memory is short.
 */
static int pair_row(struct bound *bound, uint32_t from, uint32_t to, int *code)
{
	uint64_t key = (uint64_t)from << 32 | to;
	uint32_t known = hash_table_find(&bound->pair_rows, key);
	struct network_route routes[NETWORK_ROUTES_MAXIMUM];
	int row, count;

	if (known != HASH_TABLE_NONE)
		return (int)known;
	count = network_routes(bound->network, from, to, routes, NULL);
	if (count <= 0) {
		*code = count < 0 ? count : -EHOSTUNREACH;
		return 0;
	}
	row = glp_add_rows(bound->lp, 1);
	glp_set_row_bnds(bound->lp, row, GLP_FX, 0, 0);
	*code = hash_table_insert(&bound->pair_rows, key, (uint32_t)row);
	for (int i = 0; i < count && *code == 0; i++) {
		int column = glp_add_cols(bound->lp, 1);

		glp_set_col_bnds(bound->lp, column, GLP_LO, 0, 0);
		if (!add_entry(bound, row, column, -1))
			*code = -ENOMEM;
		for (uint32_t r = 0; r < routes[i].count && *code == 0; r++)
			if (!add_entry(bound, resource_row(bound, network_route_link(&routes[i], r) ^ (from > to)),
				       column, 1))
				*code = -ENOMEM;
	}
	return *code == 0 ? row : 0;
}

static int add_flows(struct bound *bound, const struct network_job *job, int first_column)
{
	const struct dataflow_graph *graph = job->graph;
	int code = 0;

	for (uint32_t f = 0; f < graph->flow_count && code == 0; f++) {
		uint32_t from = job->job->hosts[graph->flows[f].from], to = job->job->hosts[graph->flows[f].to];
		int row = from == to ? 0 : pair_row(bound, from, to, &code);

		for (uint32_t i = graph->carried.first[f]; row && i < graph->carried.first[f + 1]; i++)
			if (!add_entry(bound, row, first_column + (int)graph->carried.source[i],
				       graph->carried.rate[i]))
				return -ENOMEM;
	}
	return code;
}

static int add_cpu(struct bound *bound, const struct network_job *job, int first_column)
{
	const struct dataflow_by_source *received = &job->graph->received;

	for (uint32_t t = 0; t < job->graph->task_count; t++) {
		double cost = job->job->components[dataflow_component_of(job->job, t)].cpu_s_per_MB;
		uint32_t resource = 2 * bound->network->topology->link_count + job->job->hosts[t];

		if (cost == 0 || isinf(network_capacity(bound->network, resource)))
			continue;
		for (uint32_t i = received->first[t]; i < received->first[t + 1]; i++)
			if (!add_entry(bound, resource_row(bound, resource), first_column + (int)received->source[i],
				       received->rate[i] * cost))
				return -ENOMEM;
	}
	return 0;
}

static int add_job(struct bound *bound, const struct network_job *job)
{
	int first = glp_add_cols(bound->lp, (int)job->graph->source_count), code;

	for (uint32_t s = 0; s < job->graph->source_count; s++) {
		double most = network_source_MBps(bound->network, job->job, job->graph->sources[s]);

		glp_set_col_bnds(bound->lp, first + (int)s, most > 0 ? GLP_DB : GLP_FX, 0, most);
		glp_set_obj_coef(bound->lp, first + (int)s, 1);
	}
	code = add_flows(bound, job, first);
	return code == 0 ? add_cpu(bound, job, first) : code;
}

/* Adds up the entries with the same row and column, because GLPK refuses duplicates. */
static void merge_entries(struct bound *bound)
{
	struct hash_table seen = {0};
	size_t kept = 0;

	if (hash_table_reserve(&seen, (uint32_t)bound->count) < 0)
		return; /* out of memory: if there are duplicates, GLPK will report an error */
	for (size_t i = 1; i <= bound->count; i++) {
		uint64_t key = (uint64_t)bound->row[i] << 32 | (uint32_t)bound->column[i];
		uint32_t at = hash_table_find(&seen, key);

		if (at != HASH_TABLE_NONE) {
			bound->value[at] += bound->value[i];
			continue;
		}
		kept++;
		bound->row[kept] = bound->row[i];
		bound->column[kept] = bound->column[i];
		bound->value[kept] = bound->value[i];
		hash_table_insert(&seen, key, (uint32_t)kept);
	}
	bound->count = kept;
	hash_table_free(&seen);
}

static int solve(struct bound *bound, double *sum_MBps)
{
	uint32_t jobs;
	const struct network_job *job = network_jobs(bound->network, &jobs);
	int code = 0;
	glp_smcp control;

	glp_set_obj_dir(bound->lp, GLP_MAX);
	for (uint32_t j = 0; j < jobs && code == 0; j++)
		code = add_job(bound, &job[j]);
	if (code < 0)
		return code;
	merge_entries(bound);
	if (bound->count > 0)
		glp_load_matrix(bound->lp, (int)bound->count, bound->row, bound->column, bound->value);
	glp_init_smcp(&control);
	control.msg_lev = GLP_MSG_OFF;
	control.presolve = GLP_ON;
	if (glp_simplex(bound->lp, &control) != 0 || glp_get_status(bound->lp) != GLP_OPT)
		return -EIO;
	*sum_MBps = glp_get_obj_val(bound->lp);
	return 0;
}

/* GLPK calls this function after an error, such as out of memory. It must not return: it jumps to dataflow_bound(). */
static void leave(void *to)
{
	longjmp(*(jmp_buf *)to, 1);
}

int dataflow_bound(struct network *network, double *sum_MBps, struct error *err)
{
	struct bound *bound = calloc(1, sizeof *bound);
	volatile int code = -ENOMEM;
	jmp_buf failed;

	if (bound) {
		bound->network = network;
		bound->resource_row = calloc(network_resource_count(network), sizeof *bound->resource_row);
	}
	if (setjmp(failed) != 0) {
		glp_free_env();
		code = -EIO;
	} else if (bound && bound->resource_row) {
		glp_term_out(GLP_OFF);
		glp_error_hook(leave, &failed);
		bound->lp = glp_create_prob();
		code = solve(bound, sum_MBps);
		glp_error_hook(NULL, NULL);
		glp_delete_prob(bound->lp);
		glp_free_env();
	}
	if (bound) {
		hash_table_free(&bound->pair_rows);
		free(bound->resource_row);
		free(bound->row);
		free(bound->column);
		free(bound->value);
	}
	free(bound);
	if (code < 0)
		error_set(err, -code,
			  code == -EIO            ? "cannot compute the bound: GLPK did not solve the linear programme"
			  : code == -EHOSTUNREACH ? "cannot compute the bound: no route between the hosts of two tasks"
						  : "out of memory");
	return code;
}
