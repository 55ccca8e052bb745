/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <model/curve_library.h>

Test(curve_library, loads_a_curve_once)
{
	struct curve_library *library = curve_library_create(SOURCE_ROOT "/curves");
	struct error err = {0};
	const struct curve *first;

	cr_assert_not_null(library);
	cr_assert_eq(curve_library_find(library, "spark", &err), 0, "%s", err.text);
	first = curve_library_at(library, 0);
	cr_expect_eq(curve_library_find(library, "memcached", &err), 1);
	cr_expect_eq(curve_library_find(library, "spark", &err), 0);
	cr_expect_eq(curve_library_at(library, 0), first);
	cr_expect_eq(curve_library_count(library), 2);
	cr_expect_str_eq(curve_library_name(library, 1), "memcached");
	curve_library_destroy(library);
}

Test(curve_library, a_name_is_no_path)
{
	struct curve_library *library = curve_library_create(SOURCE_ROOT "/curves");
	static const char *const names[] = {"", ".", "..", "../curves/spark", "/etc/passwd", ".spark"};
	struct error err = {0};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		cr_expect_eq(curve_library_find(library, names[i], &err), -EINVAL, "%s", names[i]);
		cr_expect(strstr(err.text, "not a curve name") != NULL, "%s", err.text);
	}
	cr_expect_eq(curve_library_find(library, "absent", &err), -ENOENT);
	cr_expect(strstr(err.text, "absent.json") != NULL, "%s", err.text);
	cr_expect_eq(curve_library_find(library, "absent", NULL), -ENOENT);
	cr_expect_eq(curve_library_count(library), 0);
	curve_library_destroy(library);
}

Test(curve_library, a_definition_replaces_the_curve_of_its_name)
{
	static const char text[] =
		"{\"schema\": \"nomora.curve/1\", \"application\": \"a\", \"metric\": \"m\", \"better\": "
		"\"higher\", \"x\": \"added_rtt_us\", \"baseline\": {}, \"domain_us\": [0, 10], "
		"\"threshold\": null, \"model\": {\"name\": \"table\"}, \"table\": "
		"{\"step_us\": 10, \"p\": [1, %s]}}";
	struct curve_library *library = curve_library_create(NULL);
	struct error err = {0};
	char first[400], second[400];

	snprintf(first, sizeof first, text, "0.5");
	snprintf(second, sizeof second, text, "0.25");
	cr_assert_eq(curve_library_find(library, "b", &err), -ENOENT);
	cr_assert_str_eq(err.text, "unknown curve 'b': no folder of curves was given");
	cr_assert_eq(curve_library_find(library, ".", &err), -EINVAL);
	cr_assert_str_eq(err.text, "'.' is not a curve name; expected NAME for DIR/NAME.json");
	cr_assert_eq(curve_library_define(library, "a", first, &err), 0, "%s", err.text);
	cr_assert_eq(curve_library_define(library, "b", first, &err), 0, "%s", err.text);
	cr_assert_eq(curve_library_define(library, "c", first, &err), 0, "%s", err.text);
	cr_assert_eq(curve_library_define(library, "a", second, &err), 0, "%s", err.text);
	cr_assert_eq(curve_library_define(library, "b", "{}", &err), -EINVAL);
	cr_assert(strstr(err.text, "b: schema: missing"), "%s", err.text);
	cr_assert_eq(curve_library_count(library), 3);
	cr_assert_eq(curve_library_find(library, "a", &err), 0);
	cr_assert_eq(curve_library_find(library, "c", &err), 2);
	cr_assert_eq(curve_library_at(library, 0)->table[1], 0.25);
	cr_assert_eq(curve_library_at(library, 1)->table[1], 0.5, "a bad definition changes nothing");
	cr_assert_str_eq(curve_library_name(library, 1), "b");
	curve_library_destroy(library);
	curve_library_destroy(NULL);
}

Test(curve_library, a_path_that_is_too_long_is_refused)
{
	struct curve_library *library = curve_library_create("/tmp");
	struct error err = {0};
	char name[4096];

	memset(name, 'a', sizeof name);
	name[sizeof name - 1] = '\0';
	cr_assert_eq(curve_library_find(library, name, &err), -ENAMETOOLONG);
	curve_library_destroy(library);
}
