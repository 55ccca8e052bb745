/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer_glpk.h"

#include <math.h>
#include <stdlib.h>

#include <glpk.h>

#include "recovery_priv.h"

struct model {
	const struct problem *p;
	uint32_t C, pair_count;
	uint32_t *n; /* candidate -> n */
	uint32_t *pair_f, *pair_g;
	glp_prob *lp;
	int *index;
	double *value;
	double least; /* highest relative load of a server that is no candidate */
	int row;
};

static int x_column(const struct model *m, uint32_t f, uint32_t c)
{
	return (int)(2 + f * m->C + c);
}

static int y_column(const struct model *m, uint32_t pair, uint32_t c)
{
	return (int)(2 + m->p->F * m->C + pair * m->C + c);
}

static double local_load(const struct model *m, uint32_t f, uint32_t c)
{
	return recovery_problem_local_MB(m->p, f, m->n[c]) * m->p->failed[f].factor;
}

static void add_columns(struct model *m)
{
	glp_add_cols(m->lp, (int)(1 + (m->p->F + m->pair_count) * m->C));
	glp_set_obj_coef(m->lp, 1, 1);
	glp_set_col_bnds(m->lp, 1, GLP_LO, m->least, 0);
	for (uint32_t f = 0; f < m->p->F; f++) {
		for (uint32_t c = 0; c < m->C; c++) {
			glp_set_col_kind(m->lp, x_column(m, f, c), GLP_BV);
			if (!recovery_problem_allows(m->p, f, m->n[c]))
				glp_set_col_bnds(m->lp, x_column(m, f, c), GLP_FX, 0, 0);
		}
	}
	for (uint32_t q = 0; q < m->pair_count; q++)
		for (uint32_t c = 0; c < m->C; c++)
			glp_set_col_bnds(m->lp, y_column(m, q, c), GLP_DB, 0, 1);
}

static void add_row(struct model *m, int count, int kind, double low, double high)
{
	glp_set_mat_row(m->lp, ++m->row, count, m->index, m->value);
	glp_set_row_bnds(m->lp, m->row, kind, low, high);
}

/* Adds (17) or (18) of a server, with all variables on the left side. */
static void add_link_row(struct model *m, uint32_t c, bool egress)
{
	const struct problem *p = m->p;
	double capacity = egress ? p->BE[m->n[c]] : p->BI[m->n[c]];
	double base = egress ? p->bE[m->n[c]] : p->bI[m->n[c]];
	int count = 0;

	m->index[++count] = 1;
	m->value[count] = -capacity;
	for (uint32_t f = 0; f < p->F; f++) {
		m->index[++count] = x_column(m, f, c);
		m->value[count] = (egress ? p->failed[f].egress : p->failed[f].ingress) - local_load(m, f, c);
	}
	for (uint32_t q = 0; q < m->pair_count; q++) {
		m->index[++count] = y_column(m, q, c);
		m->value[count] = -p->pair_load[(size_t)m->pair_f[q] * p->F + m->pair_g[q]];
	}
	add_row(m, count, GLP_UP, 0, -base);
}

static void add_rows(struct model *m)
{
	const struct problem *p = m->p;

	glp_add_rows(m->lp, (int)(3 * m->C + p->F + 2 * m->pair_count * m->C));
	for (uint32_t c = 0; c < m->C; c++) {
		int count = 0;

		add_link_row(m, c, true);
		add_link_row(m, c, false);
		for (uint32_t f = 0; f < p->F; f++) {
			m->index[++count] = x_column(m, f, c);
			m->value[count] = p->failed[f].cpu;
		}
		add_row(m, count, GLP_UP, 0, p->free_cpu[m->n[c]] + RECOVERY_CPU_TOLERANCE);
	}
	for (uint32_t f = 0; f < p->F; f++) {
		int count = 0;

		for (uint32_t c = 0; c < m->C; c++) {
			m->index[++count] = x_column(m, f, c);
			m->value[count] = 1;
		}
		add_row(m, count, GLP_FX, 1, 1);
	}
	for (uint32_t q = 0; q < m->pair_count; q++) {
		for (uint32_t c = 0; c < 2 * m->C; c++) {
			m->index[1] = y_column(m, q, c / 2);
			m->value[1] = 1;
			m->index[2] = x_column(m, c % 2 ? m->pair_g[q] : m->pair_f[q], c / 2);
			m->value[2] = -1;
			add_row(m, 2, GLP_UP, 0, 0);
		}
	}
}

static bool build(struct model *m, const bool *candidate)
{
	const struct problem *p = m->p;
	size_t columns;

	m->lp = glp_create_prob();
	m->n = calloc(p->N + 1u, sizeof *m->n);
	m->pair_f = calloc((size_t)p->F * p->F + 1, sizeof *m->pair_f);
	m->pair_g = calloc((size_t)p->F * p->F + 1, sizeof *m->pair_g);
	if (!m->n || !m->pair_f || !m->pair_g)
		return false;
	for (uint32_t n = 0; n < p->N; n++) {
		if (candidate[n])
			m->n[m->C++] = n;
		else
			m->least = fmax(m->least, recovery_problem_relative(p, n, p->bE[n], p->bI[n]));
	}
	for (uint32_t f = 0; f < p->F; f++) {
		for (uint32_t g = f + 1; g < p->F; g++) {
			if (p->pair_load[(size_t)f * p->F + g] <= 0)
				continue;
			m->pair_f[m->pair_count] = f;
			m->pair_g[m->pair_count++] = g;
		}
	}
	columns = 2 + (size_t)(p->F + m->pair_count) * m->C;
	m->index = calloc(columns + 2, sizeof *m->index);
	m->value = calloc(columns + 2, sizeof *m->value);
	if (!m->index || !m->value)
		return false;
	glp_set_obj_dir(m->lp, GLP_MIN);
	add_columns(m);
	add_rows(m);
	return true;
}

static void clear(struct model *m)
{
	glp_delete_prob(m->lp);
	free(m->n);
	free(m->pair_f);
	free(m->pair_g);
	free(m->index);
	free(m->value);
}

static struct glpk_answer solve(const struct model *m, double deadline_ms)
{
	glp_iocp control;
	int status;

	glp_term_out(GLP_OFF);
	glp_init_iocp(&control);
	control.presolve = GLP_ON;
	control.gmi_cuts = control.mir_cuts = control.cov_cuts = control.clq_cuts = GLP_ON;
	control.fp_heur = GLP_ON;
	control.br_tech = GLP_BR_PCH;
	if (deadline_ms > 0)
		control.tm_lim = (int)fmin(deadline_ms, 1e9);
	glp_intopt(m->lp, &control);
	status = glp_mip_status(m->lp);
	if (status != GLP_OPT && status != GLP_FEAS)
		return (struct glpk_answer){.status = RECOVERY_UNKNOWN};
	return (struct glpk_answer){.status = status == GLP_OPT ? RECOVERY_OPTIMAL : RECOVERY_FEASIBLE,
				    .p = glp_mip_obj_val(m->lp)};
}

bool glpk_solve(const struct recovery_scenario *scenario, double deadline_ms, struct glpk_answer *answer)
{
	const struct recovery_options options = {.filter = RECOVERY_FILTER_EXACT};
	struct problem problem;
	bool *candidate = NULL, made = recovery_problem_create(scenario, &problem) == 0;
	struct model m = {.p = &problem};

	if (made)
		candidate = calloc(problem.N + 1u, sizeof *candidate);
	made = candidate && recovery_filter_apply(&problem, &options, candidate) == 0 && build(&m, candidate);
	if (made)
		*answer = solve(&m, deadline_ms);
	if (m.lp)
		clear(&m);
	free(candidate);
	recovery_problem_free(&problem);
	return made;
}
