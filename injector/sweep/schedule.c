/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>
#include <base/rng.h>
#include <injector/sweep/plan.h>
#include <model/sweep.h>

enum { CURVE_DELAYS = 3 };

struct delay_list {
	double *us;
	int count;
};

/* Adds a delay, rounded to the injector's step, 0.1 us. */
static int add_rounded(struct delay_list *list, double delay_us, struct error *err)
{
	delay_us = round(delay_us * 10) / 10;
	if (!(delay_us >= 0 && delay_us <= SWEEP_SCHEDULE_DELAY_MAXIMUM_US))
		return error_set(err, ERANGE, "delays: %.10g us is out of range: expected 0 to %g", delay_us,
				 SWEEP_SCHEDULE_DELAY_MAXIMUM_US);
	for (int i = 0; i < list->count; i++)
		if (list->us[i] == delay_us)
			return 0;
	if (list->count == SWEEP_SCHEDULE_DELAYS_MAXIMUM)
		return error_set(err, E2BIG, "delays: expected at most %d", SWEEP_SCHEDULE_DELAYS_MAXIMUM);
	list->us[list->count++] = delay_us;
	return 0;
}

/*
 * Adds a delay that the user wrote. A delay between two of the injector's steps is refused, not rounded. `word` is for
 * messages.
 */
static int add_exact(struct delay_list *list, double delay_us, const char *word, struct error *err)
{
	static const double arithmetic_us = 1e-6; /* tolerance: multiples of 0.1 are not exact in binary */

	if (fabs(delay_us - round(delay_us * 10) / 10) > arithmetic_us)
		return error_set(err, EINVAL, "delays: '%s': %.10g us: expected steps of 0.1", word, delay_us);
	return add_rounded(list, delay_us, err);
}

static int bad_word(const char *word, struct error *err)
{
	return error_set(err, EINVAL, "delays: '%s': expected a number, FROM..TO/STEP or log:FROM..TO*COUNT", word);
}

/* Parses "FROM..TO" + separator + "LAST"; modifies `text`. Returns 0 or -EINVAL. */
static int parse_range(char *text, char separator, double *from, double *to, double *last)
{
	char *dots = strstr(text, ".."), *mark = strrchr(text, separator);

	if (!dots || !mark || mark < dots)
		return -EINVAL;
	*dots = *mark = '\0';
	if (number_parse_double(text, from) != 0 || number_parse_double(dots + 2, to) != 0 ||
	    number_parse_double(mark + 1, last) != 0)
		return -EINVAL;
	return 0;
}

static int add_logarithmic(struct delay_list *list, char *text, const char *word, struct error *err)
{
	double from, to, count;

	if (parse_range(text, '*', &from, &to, &count) != 0)
		return bad_word(word, err);
	if (!(from > 0 && to > from && count >= 2 && count <= SWEEP_SCHEDULE_DELAYS_MAXIMUM && count == floor(count)))
		return error_set(err, EINVAL, "delays: '%s': expected 0 < FROM < TO and a COUNT of 2 to %d", word,
				 SWEEP_SCHEDULE_DELAYS_MAXIMUM);
	for (int i = 0; i < (int)count; i++) {
		int code = add_rounded(list, from * pow(to / from, i / (count - 1)), err);

		if (code)
			return code;
	}
	return 0;
}

static int add_linear(struct delay_list *list, char *text, const char *word, struct error *err)
{
	double from, to, step;

	if (parse_range(text, '/', &from, &to, &step) != 0)
		return bad_word(word, err);
	if (!(to >= from && step >= 0.1 && (to - from) / step < SWEEP_SCHEDULE_DELAYS_MAXIMUM))
		return error_set(err, EINVAL, "delays: '%s': expected FROM <= TO and a STEP of at least 0.1 us", word);
	for (int i = 0; from + i * step <= to + 1e-9; i++) {
		int code = add_exact(list, from + i * step, word, err);

		if (code)
			return code;
	}
	return 0;
}

static int add_word(struct delay_list *list, char *text, struct error *err)
{
	char word[64];
	double value;

	snprintf(word, sizeof word, "%s", text);
	if (strncmp(text, "log:", 4) == 0)
		return add_logarithmic(list, text + 4, word, err);
	if (strstr(text, ".."))
		return add_linear(list, text, word, err);
	if (number_parse_double(text, &value) != 0)
		return bad_word(word, err);
	return add_exact(list, value, word, err);
}

int sweep_schedule_parse_delays(const char *text, double *delays_us, struct error *err)
{
	struct delay_list list = {delays_us, 0};
	char *copy = strdup(text), *save = NULL;
	int code = copy ? 0 : error_set(err, ENOMEM, "out of memory");

	for (char *word = copy ? strtok_r(copy, " ,\t", &save) : NULL; word && !code;
	     word = strtok_r(NULL, " ,\t", &save))
		code = add_word(&list, word, err);
	free(copy);
	if (!code && list.count == 0)
		code = error_set(err, EINVAL, "delays: expected at least one");
	return code ? code : list.count;
}

static int compare_ascending(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

static int compare_descending(const void *one, const void *other)
{
	return compare_ascending(other, one);
}

static struct sweep_schedule_run *order_runs(const struct sweep_plan *plan, const double *delays_us, size_t delay_count)
{
	struct sweep_schedule_run *runs = calloc(delay_count * (size_t)plan->repetitions, sizeof *runs);
	double *delays = malloc(delay_count * sizeof *delays);
	struct rng rng;

	rng_seed(&rng, (uint64_t)plan->seed);
	if (!runs || !delays) {
		free(runs);
		free(delays);
		return NULL;
	}
	memcpy(delays, delays_us, delay_count * sizeof *delays);
	if (plan->order != SWEEP_PLAN_AS_GIVEN)
		qsort(delays, delay_count, sizeof *delays,
		      plan->order == SWEEP_PLAN_DESCENDING ? compare_descending : compare_ascending);
	for (int64_t repetition = 0; repetition < plan->repetitions; repetition++) {
		if (plan->order == SWEEP_PLAN_RANDOM)
			rng_shuffle(&rng, delays, delay_count, sizeof *delays);
		for (size_t i = 0; i < delay_count; i++)
			runs[(size_t)repetition * delay_count + i] = (struct sweep_schedule_run){delays[i], repetition};
	}
	free(delays);
	return runs;
}

int sweep_plan_check_delays(const double *delays_us, size_t count, struct error *err)
{
	if (count < CURVE_DELAYS)
		return error_set(err, EINVAL,
				 "delays: %zu delay%s: a curve needs at least %d; --any-delays accepts fewer", count,
				 number_s(count), CURVE_DELAYS);
	if (sweep_schedule_smallest(delays_us, count) > 0)
		return error_set(err, EINVAL,
				 "delays: 0 is missing: a curve is relative to the runs without delay; --any-delays "
				 "accepts this");
	return 0;
}

double sweep_schedule_smallest(const double *delays_us, size_t delay_count)
{
	double smallest_us = delays_us[0];

	for (size_t i = 1; i < delay_count; i++)
		smallest_us = fmin(smallest_us, delays_us[i]);
	return smallest_us;
}

size_t sweep_schedule_add_references(const struct sweep_schedule_run *runs, size_t count, double smallest_us,
				     int64_t every, int64_t first_number, struct sweep_schedule_run *to)
{
	size_t made = 0;

	for (size_t i = 0; i <= count; i++) {
		bool due = i % (size_t)every == 0 || i == count;
		bool beside = (i < count && runs[i].delay_us == smallest_us) ||
			      (made > 0 && to[made - 1].delay_us == smallest_us);

		if (due && !beside)
			to[made++] = (struct sweep_schedule_run){smallest_us, first_number + (int64_t)i};
		if (i < count)
			to[made++] = runs[i];
	}
	return made;
}

struct sweep_schedule_run *sweep_schedule_of_plan(const struct sweep_plan *plan, const double *delays_us,
						  size_t delay_count, size_t *run_count)
{
	size_t repetitions = (size_t)plan->repetitions;
	struct sweep_schedule_run *plain = order_runs(plan, delays_us, delay_count), *runs;
	double smallest_us = sweep_schedule_smallest(delays_us, delay_count);

	*run_count = delay_count * repetitions;
	if (!plain || plan->reference_every == 0)
		return plain;
	runs = calloc((2 * delay_count + 1) * repetitions, sizeof *runs);
	*run_count = 0;
	for (size_t i = 0; runs && i < repetitions; i++)
		*run_count += sweep_schedule_add_references(
			plain + i * delay_count, delay_count, smallest_us, plan->reference_every,
			SWEEP_REFERENCE_RUN + (int64_t)i * (SWEEP_SCHEDULE_DELAYS_MAXIMUM + 1), runs + *run_count);
	free(plain);
	return runs;
}
