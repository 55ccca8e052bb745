/* SPDX-License-Identifier: BSD-3-Clause */
#include "command.h"
#include "fit_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>

void fit_compare(const struct curve *first, const struct curve *second, struct fit_difference *difference)
{
	size_t count = first->table_count > second->table_count ? first->table_count : second->table_count;
	double squares = 0;

	*difference = (struct fit_difference){.difference = -1};
	for (size_t i = 0; i < count; i++) {
		double x = CURVE_STEP_US * (double)i, a = curve_eval(first, x), b = curve_eval(second, x);

		squares += (a - b) * (a - b);
		if (fabs(a - b) > difference->difference)
			*difference = (struct fit_difference){x, a, b, fabs(a - b), 0};
	}
	difference->rms = sqrt(squares / (double)count);
}

static int print_comparison(const struct curve *first, const struct curve *second, const char *first_path,
			    const char *second_path, bool json, struct error *err)
{
	struct fit_difference at;
	json_t *root;
	int rc;

	fit_compare(first, second, &at);
	if (!json) {
		printf("greatest difference %.4g at %g us: %s %.4g (cost %ld), %s %.4g (cost %ld)\n", at.difference,
		       at.x_us, first->application, at.first, curve_cost(first, at.x_us), second->application,
		       at.second, curve_cost(second, at.x_us));
		printf("root mean square    %.4g over 0 to %g us\n", at.rms,
		       fmax(first->domain_high_us, second->domain_high_us));
		if (first->domain_high_us != second->domain_high_us)
			printf("domains differ      %g and %g us; beyond its own a curve keeps its smallest value\n",
			       first->domain_high_us, second->domain_high_us);
		return 0;
	}
	root = json_pack("{s:s, s:[s, s], s:{s:f, s:f, s:f, s:f}, s:f}", "schema", "nomora.curve_comparison/1",
			 "curves", first_path, second_path, "greatest_difference", "x_us", at.x_us, "difference",
			 at.difference, "first", at.first, "second", at.second, "rms_difference", at.rms);
	rc = root ? json_write_file("-", root, err) : error_set(err, ENOMEM, "out of memory");
	json_decref(root);
	return rc;
}

int fit_compare_files(const char *first_path, const char *second_path, const char *plot, bool json)
{
	struct error err = {0};
	struct curve *first = curve_load(first_path, &err);
	struct curve *second = first ? curve_load(second_path, &err) : NULL;
	const struct curve *both[2] = {first, second};
	int rc = second ? 0 : -1;

	if (rc == 0 && plot)
		rc = fit_plot(both, 2, plot, &err);
	if (rc == 0)
		rc = print_comparison(first, second, first_path, second_path, json, &err);
	curve_destroy(first);
	curve_destroy(second);
	return rc == 0 ? COMMAND_OK : command_fail(&err, COMMAND_FAILED);
}
