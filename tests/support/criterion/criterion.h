/* SPDX-License-Identifier: BSD-3-Clause */
/* The macros of Criterion 2.4 that the tests use, over a runner that forks. Debian's Criterion executes the program
 * again for each test, and each time loads 23 libraries and reads the system's CA certificates: 50 ms of CPU a test,
 * 190 ms with ASan, where a fork takes 3 and 60. A leak or a report of a sanitizer fails the test.
 *
 * Each test is a process of its own: the suite's .init, the test's .init, the test, and both .fini in reverse order,
 * also after an assertion that failed. cr_assert...() ends the test, cr_expect...() does not. A message is a format and
 * its arguments. Assertions belong to the test's main thread. */
#ifndef CRITERION_CRITERION_H
#define CRITERION_CRITERION_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cr_options {
	void (*init)(void);
	void (*fini)(void);
	unsigned int timeout; /* seconds; 0: none */
};

struct cr_parameters {
	const void *items;
	size_t size, count;
};

/* A test; a suite where .name is NULL. */
struct cr_entry {
	const char *suite, *name;
	struct cr_options options;
	void (*run)(void *parameter);
	struct cr_parameters (*parameters)(void); /* NULL: the test has none */
	struct cr_entry *next;
};

void cr_register(struct cr_entry *entry);
void cr_fail(bool ends_test, const char *file, int line, const char *expression, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#define CR_ENTRY_(id, ...)                                                                                             \
	__attribute__((constructor)) static void id##_register(void)                                                   \
	{                                                                                                              \
		static struct cr_entry entry = {__VA_ARGS__};                                                          \
                                                                                                                       \
		cr_register(&entry);                                                                                   \
	}

#define TestSuite(suite_, ...)                                                                                         \
	CR_ENTRY_(suite_##_suite, .suite = #suite_, .options = {__VA_ARGS__})                                          \
	_Static_assert(true, "takes the semicolon")

#define Test(suite_, name_, ...)                                                                                       \
	static void suite_##_##name_##_test(void *);                                                                   \
	CR_ENTRY_(suite_##_##name_, .suite = #suite_, .name = #name_, .run = suite_##_##name_##_test,                  \
		  .options = {__VA_ARGS__})                                                                            \
	static void suite_##_##name_##_test(void *cr_unused __attribute__((unused)))

#define ParameterizedTestParameters(suite_, name_) static struct cr_parameters suite_##_##name_##_parameters(void)

#define cr_make_param_array(type, array, length) ((struct cr_parameters){array, sizeof(type), length})

#define ParameterizedTest(parameter_, suite_, name_, ...)                                                              \
	static void suite_##_##name_##_body(parameter_);                                                               \
	static void suite_##_##name_##_test(void *parameter)                                                           \
	{                                                                                                              \
		suite_##_##name_##_body(parameter);                                                                    \
	}                                                                                                              \
	CR_ENTRY_(suite_##_##name_, .suite = #suite_, .name = #name_, .run = suite_##_##name_##_test,                  \
		  .parameters = suite_##_##name_##_parameters, .options = {__VA_ARGS__})                               \
	static void suite_##_##name_##_body(parameter_)

#define CR_CHECK_(ends, condition, text, ...)                                                                          \
	((condition) ? (void)0 : cr_fail(ends, __FILE__, __LINE__, text, " " __VA_ARGS__))
#define CR_COMPARE_(ends, a, relation, b, ...) CR_CHECK_(ends, (a)relation(b), #a " " #relation " " #b, __VA_ARGS__)
#define CR_STRINGS_(ends, a, relation, b, ...)                                                                         \
	CR_CHECK_(ends, strcmp((a), (b)) relation 0, "strings " #a " " #relation " " #b, __VA_ARGS__)
#define CR_BYTES_(ends, a, b, size, ...)                                                                               \
	CR_CHECK_(ends, memcmp((a), (b), (size)) == 0, "bytes " #a " == " #b, __VA_ARGS__)
#define CR_NEAR_(ends, a, b, tolerance, ...)                                                                           \
	CR_CHECK_(ends, fabsl((a) - (b)) <= (tolerance), #a " == " #b " +- " #tolerance, __VA_ARGS__)

#define cr_assert(a, ...) CR_CHECK_(true, a, #a, __VA_ARGS__)
#define cr_assert_not(a, ...) CR_CHECK_(true, !(a), "!" #a, __VA_ARGS__)
#define cr_assert_null(a, ...) CR_CHECK_(true, (a) == NULL, #a " == NULL", __VA_ARGS__)
#define cr_assert_not_null(a, ...) CR_CHECK_(true, (a) != NULL, #a " != NULL", __VA_ARGS__)
#define cr_assert_eq(a, b, ...) CR_COMPARE_(true, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) CR_COMPARE_(true, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) CR_COMPARE_(true, a, <, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) CR_COMPARE_(true, a, >, b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) CR_COMPARE_(true, a, <=, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) CR_COMPARE_(true, a, >=, b, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) CR_STRINGS_(true, a, ==, b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) CR_STRINGS_(true, a, !=, b, __VA_ARGS__)
#define cr_assert_str_empty(a, ...) CR_STRINGS_(true, a, ==, "", __VA_ARGS__)
#define cr_assert_arr_eq(a, b, size, ...) CR_BYTES_(true, a, b, size, __VA_ARGS__)
#define cr_assert_float_eq(a, b, t, ...) CR_NEAR_(true, a, b, t, __VA_ARGS__)

#define cr_expect(a, ...) CR_CHECK_(false, a, #a, __VA_ARGS__)
#define cr_expect_not(a, ...) CR_CHECK_(false, !(a), "!" #a, __VA_ARGS__)
#define cr_expect_null(a, ...) CR_CHECK_(false, (a) == NULL, #a " == NULL", __VA_ARGS__)
#define cr_expect_not_null(a, ...) CR_CHECK_(false, (a) != NULL, #a " != NULL", __VA_ARGS__)
#define cr_expect_eq(a, b, ...) CR_COMPARE_(false, a, ==, b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...) CR_COMPARE_(false, a, !=, b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...) CR_COMPARE_(false, a, <, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...) CR_COMPARE_(false, a, >, b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...) CR_COMPARE_(false, a, <=, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...) CR_COMPARE_(false, a, >=, b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) CR_STRINGS_(false, a, ==, b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...) CR_STRINGS_(false, a, !=, b, __VA_ARGS__)
#define cr_expect_str_empty(a, ...) CR_STRINGS_(false, a, ==, "", __VA_ARGS__)
#define cr_expect_arr_eq(a, b, size, ...) CR_BYTES_(false, a, b, size, __VA_ARGS__)
#define cr_expect_float_eq(a, b, t, ...) CR_NEAR_(false, a, b, t, __VA_ARGS__)

#define cr_log_info(...) (printf("# " __VA_ARGS__), printf("\n"))

#endif
