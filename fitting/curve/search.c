/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profile search: threshold and shape constants on a grid, the rest by QR; what is continuous is then refined by a
 * simplex (Nelder & Mead 1965). A jump's threshold cannot be told within the gap between two levels: its candidates
 * are the gaps' middles. The free residual of a member is a lower bound of its lawful one, so members are held to the
 * law in the order of their free residuals, until no other can win.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit_priv.h"

enum {
	THRESHOLDS_MAXIMUM = 64,
	SCALES = 16,
	EXPONENTS = 6,
	MEMBERS_MAXIMUM = THRESHOLDS_MAXIMUM * SCALES,
	REFINE_STEPS = 90,
	DIMENSIONS = 3,
};

static const double exponents[EXPONENTS] = {0.7, 1, 1.5, 2.2, 3.3, 5};
static const double exponent_least = 0.4, exponent_most = 12;

struct scored {
	struct member member;
	double rss; /* free */
};

struct search {
	const struct problem *problem;
	double *storage; /* of one design */
	struct scored *members;
	size_t count;
	/* Leaving a level out: best residual without it over the members, and that member's error there. */
	double *rss_without, *error_without;
};

static double scale_least(const struct problem *problem)
{
	return problem->end_us / 400;
}

static double scale_most(const struct problem *problem)
{
	return problem->end_us * 20;
}

/* Fills thresholds for a form; a flat part needs a level before it, the rest enough of them behind. */
static size_t list_thresholds(const struct problem *problem, enum fit_family family, enum curve_form form,
			      double forced_us, double *thresholds)
{
	struct member member = {.family = family, .form = CURVE_FORM_NONE, .shape = {1, 1}};
	size_t behind = member_columns(problem, &member), n = problem->count, count = 0, every;
	double last;

	if (form == CURVE_FORM_NONE) {
		thresholds[0] = 0;
		return 1;
	}
	if (!isnan(forced_us)) {
		thresholds[0] = forced_us;
		return 1;
	}
	if (n < behind + 1)
		return 0;
	if (form == CURVE_FORM_JUMP) {
		every = (n - behind + THRESHOLDS_MAXIMUM - 1) / THRESHOLDS_MAXIMUM;
		for (size_t i = 1; i + behind <= n && count < THRESHOLDS_MAXIMUM; i += every)
			thresholds[count++] = (problem->x[i - 1] + problem->x[i]) / 2;
		return count;
	}
	/* Hinge: the corner may lie anywhere in front of the levels that its rest needs. */
	last = problem->x[n - behind];
	for (size_t i = 0; i < THRESHOLDS_MAXIMUM / 2; i++)
		thresholds[count++] = last * ((double)i + 0.5) / (THRESHOLDS_MAXIMUM / 2);
	return count;
}

static size_t list_shapes(const struct problem *problem, enum fit_family family, double (*shapes)[2])
{
	double ratio = pow(250, 1.0 / (SCALES - 1)), scale = problem->end_us / 50;
	size_t count = 0;

	if (family == FIT_HILL) {
		ratio = pow(80, 1.0 / (SCALES / 2 - 1));
		for (size_t i = 0; i < SCALES / 2; i++, scale *= ratio)
			for (size_t j = 0; j < EXPONENTS; j++) {
				shapes[count][0] = scale;
				shapes[count++][1] = exponents[j];
			}
		return count;
	}
	if (family_shapes(family) > 0) {
		for (size_t i = 0; i < SCALES; i++, scale *= ratio) {
			shapes[count][0] = scale;
			shapes[count++][1] = 1;
		}
		return count;
	}
	shapes[0][0] = shapes[0][1] = 1;
	return 1;
}

/* The closed form of leaving one level out: error e / (1 - h), residual less w e^2 / (1 - h). */
static void note_without(struct search *search, const struct design *design, const struct solution *solution)
{
	const struct problem *problem = search->problem;
	size_t n = problem->count;

	for (size_t i = 0; i < n; i++) {
		double error = (problem->y[i] - design->target_offset[i]) * problem->root_weight[i], leverage = 0, rss;

		for (size_t k = 0; k < design->columns; k++) {
			double q = design->q[k * n + i];

			error -= q * solution->c[k];
			leverage += q * q;
		}
		if (leverage > 1 - 1e-9)
			continue;
		rss = solution->rss - error * error / (1 - leverage);
		if (rss < search->rss_without[i]) {
			search->rss_without[i] = rss;
			search->error_without[i] = error / (1 - leverage) / problem->root_weight[i];
		}
	}
}

static void score(struct search *search, const struct member *member)
{
	struct design design;
	struct solution solution;

	if (search->count == MEMBERS_MAXIMUM)
		return;
	design_make(search->problem, member, &design, search->storage);
	design_solve(search->problem, &design, search->problem->y, &solution);
	if (!isfinite(solution.rss))
		return;
	search->members[search->count++] = (struct scored){*member, solution.rss};
	if (search->rss_without)
		note_without(search, &design, &solution);
}

static int compare_scored(const void *left, const void *right)
{
	double a = ((const struct scored *)left)->rss, b = ((const struct scored *)right)->rss;

	return a < b ? -1 : a > b;
}

/* Lawful residual of a member; its solution goes to *solution. */
static double lawful(const struct search *search, const struct member *member, struct solution *solution)
{
	struct design design;

	design_make(search->problem, member, &design, search->storage);
	design_solve(search->problem, &design, search->problem->y, solution);
	design_hold_to_law(search->problem, &design, solution);
	return solution->rss;
}

static void score_grid(struct search *search, enum fit_family family, enum curve_form form, double forced_us)
{
	double thresholds[THRESHOLDS_MAXIMUM], shapes[SCALES / 2 * EXPONENTS][2];
	size_t threshold_count = list_thresholds(search->problem, family, form, forced_us, thresholds);
	size_t shape_count = list_shapes(search->problem, family, shapes);
	/* Two shapes and a threshold would be thousands of members: a coarse grid suffices for the simplex. */
	size_t every = threshold_count * shape_count > MEMBERS_MAXIMUM / 2 && threshold_count > 1
			       ? 1 + threshold_count * shape_count / (MEMBERS_MAXIMUM / 2)
			       : 1;

	for (size_t i = 0; i < threshold_count; i += every)
		for (size_t j = 0; j < shape_count; j++)
			score(search, &(struct member){family, form, thresholds[i], {shapes[j][0], shapes[j][1]}});
}

/* The simplex lives in (threshold / end, log s, log h); fixed dimensions are left out. */
struct simplex {
	const struct search *search;
	struct member member;
	int kinds[DIMENSIONS]; /* 0 threshold, 1 s, 2 h */
	int dimensions;
	double points[DIMENSIONS + 1][DIMENSIONS], values[DIMENSIONS + 1];
};

static bool to_member(const struct simplex *simplex, const double *point, struct member *member)
{
	const struct problem *problem = simplex->search->problem;

	*member = simplex->member;
	for (int d = 0; d < simplex->dimensions; d++) {
		if (simplex->kinds[d] == 0)
			member->threshold_us = point[d] * problem->end_us;
		else
			member->shape[simplex->kinds[d] - 1] = exp(point[d]);
	}
	return member->threshold_us >= 0 && member->threshold_us < problem->end_us &&
	       (member->family < FIT_LOG ||
		(member->shape[0] >= scale_least(problem) && member->shape[0] <= scale_most(problem))) &&
	       (member->family != FIT_HILL ||
		(member->shape[1] >= exponent_least && member->shape[1] <= exponent_most));
}

static double simplex_value(const struct simplex *simplex, const double *point)
{
	struct member member;
	struct solution solution;

	if (!to_member(simplex, point, &member))
		return INFINITY;
	return lawful(simplex->search, &member, &solution);
}

static void simplex_start(struct simplex *simplex, double forced_us)
{
	static const double steps[DIMENSIONS] = {0.02, 0.25, 0.2};
	const struct member *member = &simplex->member;
	double origin[DIMENSIONS];

	simplex->dimensions = 0;
	if (member->form == CURVE_FORM_HINGE && isnan(forced_us)) {
		origin[simplex->dimensions] = member->threshold_us / simplex->search->problem->end_us;
		simplex->kinds[simplex->dimensions++] = 0;
	}
	if (family_shapes(member->family) > 0) {
		origin[simplex->dimensions] = log(member->shape[0]);
		simplex->kinds[simplex->dimensions++] = 1;
	}
	if (family_shapes(member->family) > 1) {
		origin[simplex->dimensions] = log(member->shape[1]);
		simplex->kinds[simplex->dimensions++] = 2;
	}
	for (int i = 0; i <= simplex->dimensions; i++) {
		memcpy(simplex->points[i], origin, sizeof origin);
		if (i > 0)
			simplex->points[i][i - 1] += steps[simplex->kinds[i - 1]];
		simplex->values[i] = simplex_value(simplex, simplex->points[i]);
	}
}

static void simplex_sort(struct simplex *simplex)
{
	for (int i = 1; i <= simplex->dimensions; i++)
		for (int j = i; j > 0 && simplex->values[j] < simplex->values[j - 1]; j--) {
			double value = simplex->values[j], point[DIMENSIONS];

			memcpy(point, simplex->points[j], sizeof point);
			simplex->values[j] = simplex->values[j - 1];
			memcpy(simplex->points[j], simplex->points[j - 1], sizeof point);
			simplex->values[j - 1] = value;
			memcpy(simplex->points[j - 1], point, sizeof point);
		}
}

/* The worst point goes along the line through the others' centre to `factor` times its distance. */
static double simplex_try(const struct simplex *simplex, double factor, double *point)
{
	int last = simplex->dimensions;

	for (int d = 0; d < simplex->dimensions; d++) {
		double centre = 0;

		for (int i = 0; i < last; i++)
			centre += simplex->points[i][d] / last;
		point[d] = centre + factor * (simplex->points[last][d] - centre);
	}
	return simplex_value(simplex, point);
}

static void simplex_replace_worst(struct simplex *simplex, const double *point, double value)
{
	memcpy(simplex->points[simplex->dimensions], point, sizeof simplex->points[0]);
	simplex->values[simplex->dimensions] = value;
}

static void simplex_step(struct simplex *simplex)
{
	double reflected[DIMENSIONS] = {0}, other[DIMENSIONS] = {0};
	int last = simplex->dimensions;
	double value = simplex_try(simplex, -1, reflected), second;

	if (value < simplex->values[0]) {
		second = simplex_try(simplex, -2, other);
		if (second < value)
			simplex_replace_worst(simplex, other, second);
		else
			simplex_replace_worst(simplex, reflected, value);
		return;
	}
	if (value < simplex->values[last - 1]) {
		simplex_replace_worst(simplex, reflected, value);
		return;
	}
	second = simplex_try(simplex, value < simplex->values[last] ? -0.5 : 0.5, other);
	if (second < simplex->values[last]) {
		simplex_replace_worst(simplex, other, second);
		return;
	}
	for (int i = 1; i <= last; i++) {
		for (int d = 0; d < last; d++)
			simplex->points[i][d] = (simplex->points[i][d] + simplex->points[0][d]) / 2;
		simplex->values[i] = simplex_value(simplex, simplex->points[i]);
	}
}

static void refine(const struct search *search, double forced_us, struct found *found)
{
	struct simplex simplex = {.search = search, .member = found->member};
	struct member member;
	struct solution solution;

	simplex_start(&simplex, forced_us);
	if (simplex.dimensions == 0)
		return;
	for (int step = 0; step < REFINE_STEPS; step++) {
		simplex_sort(&simplex);
		if (simplex.values[simplex.dimensions] - simplex.values[0] <= 1e-7 * simplex.values[0])
			break;
		simplex_step(&simplex);
	}
	simplex_sort(&simplex);
	if (!to_member(&simplex, simplex.points[0], &member))
		return;
	if (lawful(search, &member, &solution) < found->solution.rss) {
		found->member = member;
		found->solution = solution;
	}
}

/* With many levels the jump was looked for in every so many gaps: now in those next to the best. */
static void refine_jump(const struct search *search, struct found *found)
{
	const struct problem *problem = search->problem;
	size_t reach = 1 + problem->count / THRESHOLDS_MAXIMUM, middle = 0;

	while (middle + 1 < problem->count && problem->x[middle] < found->member.threshold_us)
		middle++;
	for (size_t i = middle > reach ? middle - reach : 1; i <= middle + reach && i < problem->count; i++) {
		struct member member = found->member;
		struct solution solution;

		member.threshold_us = (problem->x[i - 1] + problem->x[i]) / 2;
		if (lawful(search, &member, &solution) < found->solution.rss) {
			found->member = member;
			found->solution = solution;
		}
	}
}

static double root_mean_square(const struct search *search)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < search->problem->count; i++) {
		if (!isfinite(search->rss_without[i]))
			continue;
		sum += search->problem->weight[i] * search->error_without[i] * search->error_without[i];
		weight += search->problem->weight[i];
	}
	return weight > 0 ? sqrt(sum / weight) : NAN;
}

static bool pick_lawful(struct search *search, struct found *found)
{
	qsort(search->members, search->count, sizeof *search->members, compare_scored);
	found->solution.rss = INFINITY;
	for (size_t i = 0; i < search->count && search->members[i].rss < found->solution.rss; i++) {
		struct solution solution;

		if (lawful(search, &search->members[i].member, &solution) < found->solution.rss) {
			found->member = search->members[i].member;
			found->solution = solution;
		}
	}
	return isfinite(found->solution.rss);
}

bool search_member(const struct problem *problem, enum fit_family family, enum curve_form form,
		   double forced_threshold_us, struct found *found)
{
	struct search search = {.problem = problem};
	size_t n = problem->count;
	bool ok;

	memset(found, 0, sizeof *found);
	search.storage = malloc((design_storage(problem) + 2 * n) * sizeof *search.storage);
	search.members = malloc(MEMBERS_MAXIMUM * sizeof *search.members);
	ok = search.storage && search.members;
	if (ok) {
		search.rss_without = search.storage + design_storage(problem);
		search.error_without = search.rss_without + n;
		for (size_t i = 0; i < n; i++)
			search.rss_without[i] = INFINITY;
		score_grid(&search, family, form, forced_threshold_us);
		found->cross_validation = root_mean_square(&search);
		ok = pick_lawful(&search, found);
	}
	if (ok && form == CURVE_FORM_JUMP && isnan(forced_threshold_us) && n > THRESHOLDS_MAXIMUM)
		refine_jump(&search, found);
	if (ok) {
		refine(&search, forced_threshold_us, found);
		found->evidence = form_evidence(problem, &found->member, !isnan(forced_threshold_us), search.storage);
	}
	free(search.storage);
	free(search.members);
	return ok;
}
