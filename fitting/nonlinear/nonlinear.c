/* SPDX-License-Identifier: BSD-3-Clause */
/* A nonlinear fit, from its starts to its result. */
#include <fitting/linear/linear.h>

#include <errno.h>
#include <float.h>
#include <stdlib.h>

#include "nonlinear_priv.h"

enum { POLISH_STEPS = 200, FURTHER_ITERATIONS = 200, AGREEING_ENOUGH = 3 };

/*
 * Limit of the polish's relative offset at a minimum. Bates & Watts (1981) use 1e-3: the parameters are then within a
 * thousandth of a standard error.
 */
static const long double converged_offset = 1e-3L;
static const long double converged_step = 1e-9L;
/* Costs whose relative difference is below this belong to the same minimum. */
static const long double same_minimum = 1e-6L;
/* A further start is polished only if its cost is below this factor times the best cost. */
static const long double hopeless = 1.01L;
/*
 * Largest condition at which the data count as determining all parameters. A Jacobian in double (columns scaled to
 * length 1) is numerically singular at a condition well below 1/epsilon.
 */
static const long double condition_determined = 1e12L;

struct nonlinear_attempt {
	bool converged, polished;
	enum nonlinear_reason reason;
	long double cost;
	long double values[NONLINEAR_PARAMETERS_MAXIMUM];
};

struct nonlinear_run {
	const struct nonlinear_settings *settings;
	struct objective objective;
	struct trust_region region;
	struct polish polish;
	void *block;
	int iterations;
};

void nonlinear_settings_default(struct nonlinear_settings *settings)
{
	*settings = (struct nonlinear_settings){
		.loss = NONLINEAR_LINEAR,
		.loss_scale = 1,
		.starts = 1,
		.seed = 1,
		.iterations = 500,
		.tolerance = 1e-12,
		.acceleration = true,
		.polish = true,
	};
}

const char *nonlinear_reason_text(enum nonlinear_reason reason)
{
	switch (reason) {
	case NONLINEAR_STEP_SMALL:
		return "converged: the parameters no longer change";
	case NONLINEAR_DECREASE_SMALL:
		return "converged: the sum of squares no longer falls";
	case NONLINEAR_GRADIENT_SMALL:
		return "converged: the gradient is zero";
	case NONLINEAR_EXACT:
		return "converged: the model goes through every point";
	case NONLINEAR_ITERATIONS:
		return "not converged: the maximum number of iterations is reached; try another start";
	case NONLINEAR_STUCK:
		return "not converged: no step lowers the sum of squares, though this is not a minimum; try another "
		       "start";
	case NONLINEAR_UNDETERMINED:
		return "not converged: the data do not determine all parameters there; try another start or fewer "
		       "parameters";
	case NONLINEAR_START_BAD:
		return "not converged: the model has no finite value at the start";
	}
	return "unknown";
}

static bool reason_converged(enum nonlinear_reason reason)
{
	return reason == NONLINEAR_STEP_SMALL || reason == NONLINEAR_DECREASE_SMALL ||
	       reason == NONLINEAR_GRADIENT_SMALL || reason == NONLINEAR_EXACT;
}

static int check_parameter(const struct nonlinear_problem *problem, size_t j, struct error *err)
{
	double low = problem->lower ? problem->lower[j] : -INFINITY,
	       high = problem->upper ? problem->upper[j] : INFINITY;

	if (!isfinite(problem->start[j]))
		return error_set(err, EINVAL, "the start of parameter %zu is not finite", j + 1);
	if (!(low <= high))
		return error_set(err, EINVAL, "parameter %zu: lower bound %g is above upper bound %g", j + 1, low,
				 high);
	if (!(low <= problem->start[j] && problem->start[j] <= high))
		return error_set(err, EINVAL, "the start of parameter %zu, %g, lies outside its bounds %g to %g", j + 1,
				 problem->start[j], low, high);
	return 0;
}

static int check(const struct nonlinear_problem *problem, const struct nonlinear_settings *settings, struct error *err)
{
	size_t used = problem->observations;

	if (problem->parameters > NONLINEAR_PARAMETERS_MAXIMUM)
		return error_set(err, EINVAL, "%zu parameters; at most %d are possible", problem->parameters,
				 NONLINEAR_PARAMETERS_MAXIMUM);
	if (!(settings->loss_scale > 0) || !(settings->tolerance > 0) || settings->starts < 1 ||
	    settings->iterations < 1)
		return error_set(err, EINVAL, "loss scale, tolerance, starts and iterations must be above 0");
	for (size_t i = 0; problem->weights && i < problem->observations; i++) {
		if (!(problem->weights[i] >= 0) || !isfinite(problem->weights[i]))
			return error_set(err, EINVAL,
					 "observation %zu has the weight %g: expected a finite number, 0 or more",
					 i + 1, problem->weights[i]);
		used -= problem->weights[i] == 0;
	}
	for (size_t j = 0; j < problem->parameters; j++) {
		int code = check_parameter(problem, j, err);

		if (code)
			return code;
	}
	return used > 0 ? 0 : error_set(err, EINVAL, "no observation has a positive weight");
}

static void lay_out(struct nonlinear_run *run, struct arena *arena)
{
	struct objective *o = &run->objective;
	const struct nonlinear_problem *problem = o->problem;
	size_t cells = o->rows * problem->parameters;

	o->full = arena_take(arena, problem->parameters, sizeof(double));
	o->raw_jacobian = arena_take(arena, cells, sizeof(double));
	o->root_weights = arena_take(arena, o->rows, sizeof(double));
	o->narrow_residuals = arena_take(arena, o->rows, sizeof(double));
	o->full_extended = arena_take(arena, problem->parameters, sizeof(long double));
	o->raw_jacobian_extended = arena_take(arena, cells, sizeof(long double));
	trust_region_lay_out(&run->region, arena, o->rows, o->free);
	polish_lay_out(&run->polish, arena, o->rows, o->free);
}

static int prepare(struct nonlinear_run *run, const struct nonlinear_problem *problem,
		   const struct nonlinear_settings *settings, struct error *err)
{
	struct objective *o = &run->objective;
	struct arena arena = {0};

	*run = (struct nonlinear_run){.settings = settings};
	o->problem = problem;
	o->loss = settings->loss;
	o->loss_scale = settings->loss_scale;
	o->rows = problem->observations;
	for (size_t j = 0; j < problem->parameters; j++) {
		if (problem->fixed && problem->fixed[j])
			continue;
		o->lower[o->free] = problem->lower ? problem->lower[j] : -INFINITY;
		o->upper[o->free] = problem->upper ? problem->upper[j] : INFINITY;
		o->index[o->free++] = j;
	}
	if (o->free > o->rows)
		return error_set(err, EINVAL, "%zu free parameters need at least as many observations, found %zu",
				 o->free, o->rows);
	lay_out(run, &arena);
	run->block = arena.overflow ? NULL : calloc(1, arena.used + 64);
	if (!run->block)
		return error_set(err, ENOMEM, "not enough memory for %zu observations", o->rows);
	arena = (struct arena){.block = run->block};
	lay_out(run, &arena);
	for (size_t i = 0; problem->weights && i < o->rows; i++)
		o->root_weights[i] = sqrt(problem->weights[i]);
	if (!problem->weights)
		o->root_weights = NULL;
	run->region.objective = o;
	run->polish.objective = o;
	run->region.tolerance = settings->tolerance;
	run->region.acceleration = settings->acceleration && settings->loss == NONLINEAR_LINEAR;
	return 0;
}

/* Checks that the polished point is a minimum; overrides the descent's reason if the two disagree. */
static void judge(const struct polish *polish, struct nonlinear_attempt *found)
{
	bool minimum = found->polished && (polish->relative_offset <= converged_offset ||
					   polish->step_size <= converged_step || polish->active == 0);

	if (minimum && !(polish->condition <= condition_determined))
		found->reason = NONLINEAR_UNDETERMINED;
	else if (minimum && !reason_converged(found->reason))
		found->reason = NONLINEAR_GRADIENT_SMALL;
	else if (!minimum && reason_converged(found->reason))
		found->reason = NONLINEAR_STUCK;
	found->converged = reason_converged(found->reason);
}

/*
 * Makes one descent from `start`. Stores its outcome in *attempt, unless the outcome already there is as good or
 * better. Does not polish an outcome whose cost is `limit` or more.
 */
static void descend(struct nonlinear_run *run, const double *start, bool dogleg, long double limit,
		    struct nonlinear_attempt *attempt)
{
	struct nonlinear_attempt found = {.cost = INFINITY};
	double values[NONLINEAR_PARAMETERS_MAXIMUM];
	size_t free = run->objective.free;

	memcpy(values, start, free * sizeof *values);
	run->region.dogleg = dogleg;
	found.reason = trust_region_minimise(&run->region, values);
	run->iterations += run->region.iterations;
	for (size_t j = 0; j < free; j++)
		found.values[j] = values[j];
	if (found.reason != NONLINEAR_START_BAD) {
		bool worthwhile = run->settings->polish && run->region.cost < limit;

		found.polished = polish_run(&run->polish, found.values, worthwhile ? POLISH_STEPS : 0);
		found.cost = found.polished ? run->polish.cost : (long double)INFINITY;
	}
	judge(&run->polish, &found);
	if (attempt->polished && (attempt->converged > found.converged ||
				  (attempt->converged == found.converged && attempt->cost <= found.cost)))
		return;
	*attempt = found;
}

static struct nonlinear_attempt attempt_from(struct nonlinear_run *run, const double *start,
					     const struct nonlinear_attempt *best)
{
	struct nonlinear_attempt attempt = {.cost = INFINITY, .reason = NONLINEAR_START_BAD};
	int iterations = run->settings->iterations;

	run->region.iterations_maximum = best && iterations > FURTHER_ITERATIONS ? FURTHER_ITERATIONS : iterations;
	descend(run, start, false, best && best->converged ? best->cost * hopeless : (long double)INFINITY, &attempt);
	if (!best && !attempt.converged && attempt.reason != NONLINEAR_START_BAD)
		descend(run, start, true, INFINITY, &attempt);
	return attempt;
}

static bool better(const struct nonlinear_attempt *challenger, const struct nonlinear_attempt *best)
{
	if (challenger->converged != best->converged)
		return challenger->converged;
	return challenger->cost < best->cost * (1 - same_minimum);
}

static struct nonlinear_attempt search(struct nonlinear_run *run, struct nonlinear_result *result)
{
	const struct objective *o = &run->objective;
	double given[NONLINEAR_PARAMETERS_MAXIMUM], start[NONLINEAR_PARAMETERS_MAXIMUM];
	struct nonlinear_attempt best;
	struct rng rng;

	rng_seed(&rng, run->settings->seed);
	for (size_t j = 0; j < o->free; j++)
		given[j] = o->problem->start[o->index[j]];
	best = attempt_from(run, given, NULL);
	result->starts_tried = result->starts_agreeing = 1;
	for (int k = 1; k < run->settings->starts && o->free > 0; k++) {
		struct nonlinear_attempt other;

		if (best.converged && result->starts_agreeing >= AGREEING_ENOUGH)
			break;
		nonlinear_further_start(&run->region, &rng, k, given, start);
		other = attempt_from(run, start, &best);
		result->starts_tried++;
		if (better(&other, &best)) {
			best = other;
			result->start_used = k;
			result->starts_agreeing = 1;
		} else if (other.converged && other.cost <= best.cost * (1 + same_minimum)) {
			result->starts_agreeing++;
		}
	}
	return best;
}

static int allocate_result(struct nonlinear_result *result, const struct nonlinear_problem *problem, struct error *err)
{
	size_t n = problem->parameters, m = problem->observations;

	/* all arrays are in one block, which begins at the first array */
	for (int pass = 0; pass < 2; pass++) {
		struct arena arena = {.block = (char *)result->extended_values};

		result->extended_values = arena_take(&arena, n, sizeof(long double));
		result->values = arena_take(&arena, n, sizeof(double));
		result->standard_errors = arena_take(&arena, n, sizeof(double));
		result->covariance = arena_take(&arena, n * n, sizeof(double));
		result->at_bound = arena_take(&arena, n, sizeof(bool));
		result->residuals = arena_take(&arena, m, sizeof(double));
		if (pass == 0) {
			result->extended_values = arena.overflow ? NULL : calloc(1, arena.used + 64);
			if (!result->extended_values)
				return error_set(err, ENOMEM, "not enough memory for a result of %zu observations", m);
		}
	}
	result->parameters = n;
	result->observations = m;
	return 0;
}

void nonlinear_result_free(struct nonlinear_result *result)
{
	free(result->extended_values);
	*result = (struct nonlinear_result){0};
}

/*
 * Returns the factor by which (J'J)^-1 is multiplied to get the covariance; J is weighted, but without the loss. For
 * the plain loss the factor is chi2/dof. For a robust loss it is Huber's (1973): sum psi^2 / dof / (mean psi')^2, with
 * psi = rho'(z) r, where r are the weighted residuals. With absolute_sigma it is 1.
 */
static double variance_factor(const struct nonlinear_run *run, const struct nonlinear_result *result)
{
	const struct objective *o = &run->objective;
	long double square = 0, slope = 0, scale = o->loss_scale;
	double counted = 0;

	if (run->settings->absolute_sigma)
		return 1;
	if (result->dof <= 0)
		return INFINITY;
	if (o->loss == NONLINEAR_LINEAR)
		return result->rss / result->dof;
	for (size_t i = 0; i < o->rows; i++) {
		double weight = o->root_weights ? o->root_weights[i] : 1;
		long double r = (long double)result->residuals[i] * weight;
		struct loss_terms terms = loss_terms(o->loss, r * r / (scale * scale));

		if (weight == 0)
			continue;
		square += terms.slope * r * terms.slope * r;
		slope += terms.curvature;
		counted++;
	}
	slope /= counted;
	return slope > 0 ? (double)(square / result->dof / (slope * slope)) : (double)INFINITY;
}

static void fill_covariance(struct nonlinear_run *run, const long double *values, struct nonlinear_result *result)
{
	const struct objective *o = &run->objective;
	struct polish *p = &run->polish;
	size_t n = result->parameters;
	double factor = variance_factor(run, result);

	for (size_t j = 0; j < o->free; j++)
		result->standard_errors[o->index[j]] = NAN;
	if (!polish_covariance_root(p, values))
		return;
	for (size_t a = 0; a < p->active; a++) {
		size_t row = o->index[p->column[a]];

		for (size_t b = 0; b < p->active; b++) {
			long double sum = 0;

			for (size_t c = 0; c < p->qr.rank; c++)
				sum += p->root[a + c * p->active] * p->root[b + c * p->active];
			result->covariance[row * n + o->index[p->column[b]]] = (double)(sum * factor);
		}
	}
	for (size_t k = p->qr.rank; k < p->active; k++)
		result->covariance[o->index[p->column[p->qr.pivot[k]]] * (n + 1)] = INFINITY;
	for (size_t a = 0; a < p->active; a++) {
		size_t row = o->index[p->column[a]];

		result->standard_errors[row] = sqrt(result->covariance[row * (n + 1)]);
	}
}

static void fill(struct nonlinear_run *run, struct nonlinear_attempt *best, struct nonlinear_result *result)
{
	const struct nonlinear_problem *problem = run->objective.problem;
	struct objective *o = &run->objective;
	size_t used = 0;
	long double rss = 0;

	result->converged = best->converged;
	result->reason = best->reason;
	result->iterations = run->iterations;
	for (size_t j = 0; j < problem->parameters; j++)
		result->extended_values[j] = problem->start[j];
	for (size_t j = 0; j < o->free; j++) {
		result->extended_values[o->index[j]] = best->values[j];
		result->at_bound[o->index[j]] = best->values[j] <= o->lower[j] || best->values[j] >= o->upper[j];
	}
	for (size_t j = 0; j < problem->parameters; j++)
		result->values[j] = (double)result->extended_values[j];
	if (!polish_run(&run->polish, best->values, 0)) {
		result->converged = false;
		result->rss = result->condition = INFINITY;
		result->aicc = result->bic = INFINITY;
		for (size_t j = 0; j < o->free; j++)
			result->standard_errors[o->index[j]] = NAN;
		return;
	}
	/* compute residuals and RSS without the robust loss */
	o->loss = NONLINEAR_LINEAR;
	rss = 2 * objective_evaluate_extended(o, best->values, run->polish.residuals, NULL);
	o->loss = run->settings->loss;
	for (size_t i = 0; i < o->rows; i++) {
		double weight = o->root_weights ? o->root_weights[i] : 1;

		result->residuals[i] = weight > 0 ? (double)(run->polish.residuals[i] / weight) : (double)NAN;
		used += weight > 0;
	}
	result->rss = (double)rss;
	result->rank = run->polish.qr.rank;
	result->condition = (double)run->polish.condition;
	result->dof = (double)used - (double)run->polish.active;
	result->aicc = fitting_aicc(result->rss, used, run->polish.active);
	result->bic = fitting_bic(result->rss, used, run->polish.active);
	fill_covariance(run, best->values, result);
}

int nonlinear_fit(const struct nonlinear_problem *problem, const struct nonlinear_settings *settings,
		  struct nonlinear_result *result, struct error *err)
{
	struct nonlinear_attempt best;
	struct nonlinear_run run = {0};
	int code;

	*result = (struct nonlinear_result){0};
	code = check(problem, settings, err);
	if (code)
		return code;
	code = prepare(&run, problem, settings, err);
	if (code)
		goto out;
	code = allocate_result(result, problem, err);
	if (code)
		goto out;
	best = search(&run, result);
	fill(&run, &best, result);
	result->evaluations = run.objective.evaluations;
out:
	free(run.block);
	return code;
}
