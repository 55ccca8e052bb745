/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
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
