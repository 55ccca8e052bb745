/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>

static const char *const sample = "{\"schema\": \"nomora.test/1\", \"n\": 3, \"x\": 2.5, \"s\": \"text\", \"empty\": "
				  "\"\", \"b\": true,\n \"a\": [1], "
				  "\"nothing\": null}";

Test(json, values_come_with_type_and_range)
{
	struct error err = {0};
	json_t *root = json_read_text("f.json", 0, sample, strlen(sample), &err);
	struct json_reader reader = {"f.json", 0, &err, false};

	json_need_schema(&reader, root, "nomora.test/1");
	cr_assert_eq(json_need_integer(&reader, root, "", "n", 0, 3), 3);
	cr_assert_eq(json_need_number(&reader, root, "", "x", 0, 3), 2.5);
	cr_assert_str_eq(json_need_string(&reader, root, "", "s"), "text");
	cr_assert(json_may_boolean(&reader, root, "", "b", false));
	cr_assert_eq(json_may_number(&reader, root, "", "absent", 0, 9, 7), 7);
	cr_assert_eq(json_may_integer(&reader, root, "", "nothing", 0, 9, 8), 8);
	cr_assert_eq(json_array_size(json_need_array(&reader, root, "", "a")), 1);
	cr_assert_null(json_may_array(&reader, root, "", "absent"));
	cr_assert_not(reader.failed, "%s", err.text);
	json_decref(root);
}

enum trouble { MISSING, NOTHING, WRONG_TYPE, OUT_OF_RANGE, EMPTY, FRACTION, SCHEMA, TROUBLES };

static void provoke(enum trouble trouble, struct json_reader *reader, const json_t *root)
{
	switch (trouble) {
	case MISSING:
		json_need_number(reader, root, "servers[3]", "absent", 0, 1);
		break;
	case NOTHING:
		json_need_number(reader, root, "servers[3]", "nothing", 0, 1);
		break;
	case WRONG_TYPE:
		json_need_number(reader, root, "servers[3]", "s", 0, 1);
		break;
	case OUT_OF_RANGE:
		json_need_number(reader, root, "servers[3]", "x", 0, 1);
		break;
	case EMPTY:
		json_need_string(reader, root, "servers[3]", "empty");
		break;
	case FRACTION:
		json_need_integer(reader, root, "servers[3]", "x", 0, 9);
		break;
	default:
		json_need_schema(reader, root, "nomora.other/1");
	}
}

Test(json, first_trouble_stays_and_names_file_and_field)
{
	for (int trouble = 0; trouble < TROUBLES; trouble++) {
		struct error err = {0};
		json_t *root = json_read_text("f.json", 0, sample, strlen(sample), &err);
		struct json_reader reader = {"f.json", 4, &err, false};

		provoke(trouble, &reader, root);
		cr_assert(reader.failed);
		json_fail(&reader, "later", "x", "a second trouble");
		cr_assert_null(strstr(err.text, "second"));
		cr_assert(strstr(err.text, "f.json:4: "), "%s", err.text);
		cr_assert_eq(!strstr(err.text, "missing"), trouble != MISSING, "%s", err.text);
		cr_assert_eq(!strstr(err.text, "found null"), trouble != NOTHING, "%s", err.text);
		cr_assert(strstr(err.text, trouble == SCHEMA ? "schema: " : "servers[3]."), "%s", err.text);
		json_decref(root);
	}
}

Test(json, damaged_text_names_its_line)
{
	struct error err = {0};

	cr_assert_null(json_read_text("f.json", 0, sample, 60, &err));
	cr_assert(strstr(err.text, "f.json:"), "%s", err.text);
	cr_assert_null(json_read_text("f.json", 0, "{\"a\": 1,\n \"a\": 2}", 18, &err));
	cr_assert(strstr(err.text, "f.json:2:"), "%s", err.text);
	cr_assert_null(json_read_file("/no/such/file", &err));
}

Test(json, a_byte_order_mark_is_no_trouble_and_figures_are_quoted)
{
	static const char text[] = "\xef\xbb\xbf{\"n\": 1.5, \"whole\": 4.0, \"huge\": 1e300}";
	struct error err = {0};
	json_t *root = json_read_text("f.json", 0, text, sizeof text - 1, &err);
	struct json_reader reader = {"f.json", 0, &err, false};

	cr_assert_not_null(root, "%s", err.text);
	cr_assert_eq(json_need_integer(&reader, root, "", "whole", 0, 9), 4);
	cr_assert_not(reader.failed);
	json_need_integer(&reader, root, "", "n", 0, 9);
	cr_assert_str_eq(err.text, "f.json: n: found 1.5, expected a whole number");
	reader.failed = false;
	json_need_integer(&reader, root, "", "huge", INT64_MIN, INT64_MAX);
	cr_assert_str_eq(err.text, "f.json: huge: found 1e+300, expected a whole number");
	json_decref(root);
}

Test(json, reals_are_as_short_as_they_can_be)
{
	static const double values[] = {0.95, 0.1,        1.0 / 3, 1, -2.5e-9, 5e-324, 1.7976931348623157e308,
					1e22, 123456.789, -0.0};
	json_t *array = json_pack("[s, s, i]", "a \\\"0.94999999999999996\"", "0.94999999999999996", 12345678), *back;
	char *text;

	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
		json_array_append_new(array, json_real(values[i]));
	text = json_to_text(array);
	cr_assert(strstr(text, " 0.95,") && strstr(text, " 1.0,") && strstr(text, " 0.1,") &&
			  strstr(text, " 12345678,"),
		  "%s", text);
	back = json_loads(text, 0, NULL);
	cr_assert(json_equal(array, back), "%s", text);
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
		cr_assert(json_is_real(json_array_get(back, i + 3)));
	json_decref(array);
	json_decref(back);
	free(text);
}

static int significant_digits(const char *text)
{
	int digits = 0, zeros = 0;

	for (; *text && *text != 'e'; text++) {
		if (*text < '0' || *text > '9' || (digits == 0 && *text == '0'))
			continue;
		zeros = *text == '0' ? zeros + 1 : 0;
		digits++;
	}
	return digits - zeros;
}

static void check_real(double value)
{
	char text[JSON_REAL_BYTES], shortest[JSON_REAL_BYTES];
	int digits = 15; /* 15 digits: every decimal of that length survives the round trip */

	cr_assert_eq(json_real_text(value, text), strlen(text));
	double back = strtod(text, NULL);

	cr_assert(back == value && signbit(back) == signbit(value), "%.17g became %s", value, text);
	cr_assert(strpbrk(text, ".e"), "%s is no real", text);
	while (snprintf(shortest, sizeof shortest, "%.*g", digits, value) > 0 && strtod(shortest, NULL) != value)
		digits++;
	cr_assert_leq(significant_digits(text), digits, "%.17g became %s", value, text);
}

Test(json, a_real_reads_back_and_has_no_digit_too_many)
{
	static const double edges[] = {
		0,    -0.0,  0.000001, 1.1e-6, 4.5e-7,           1e-7, -0.25, 0.1 + 0.2, 8999999999.999999, 9e9, 9e15,
		1e22, 1e300, 5e-324,   0.3,    1763700025.506902};
	static const double parts[] = {1e3, 1e6, 7, 1e7};
	uint64_t state = 7;

	for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
		check_real(edges[i]);
	for (size_t i = 0; i < 20000; i++) {
		double any;

		state = state * 6364136223846793005 + 1442695040888963407;
		memcpy(&any, &state, sizeof any);
		if (isfinite(any))
			check_real(any);
		check_real((double)(state >> 44) / parts[i % 4]);
	}
}

Test(json, a_real_as_json_has_it)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {{20, "20.0"}, {26.974, "26.974"}, {0, "0.0"}, {1e30, "1e+30"}, {NAN, "null"}, {-INFINITY, "null"}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[JSON_REAL_BYTES];

		json_real_text(cases[i].value, text);
		cr_assert_str_eq(text, cases[i].text);
	}
}

Test(json, a_member_is_one_line)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	cr_assert(json_print_member(out, ", \"x\": ", json_pack("{s:f,s:[i,n]}", "a", 0.95, "b", 1)));
	cr_assert_not(json_print_member(out, "nothing", NULL));
	fclose(out);
	cr_assert_str_eq(text, ", \"x\": {\"a\": 0.95, \"b\": [1, null]}");
	free(text);
}

Test(json, a_message_need_not_be_utf8)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {{"", ""}, {"a \xc2\xb5s", "a \xc2\xb5s"}, {"cut: \xc2", "cut: ?"}, {"\xff\xfe", "??"}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *message = json_message(cases[i].text);

		cr_expect_str_eq(json_string_value(message), cases[i].expected);
		json_decref(message);
	}
}

Test(json, bounds_belong_to_the_range)
{
	static const struct {
		const char *text;
		bool fits;
	} cases[] = {{"-3", true}, {"5", true}, {"-4", false}, {"6", false}, {"5.0", true}, {"5.5", false}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		json_t *root = json_pack("{s:o}", "x", json_loads(cases[i].text, JSON_DECODE_ANY, NULL));
		struct error err = {0};
		struct json_reader whole = {"f", 0, &err, false}, real = {"f", 0, &err, false};
		int64_t n = json_need_integer(&whole, root, "", "x", -3, 5);
		double x = json_need_number(&real, root, "", "x", -3, 5);

		cr_expect_eq(!whole.failed, cases[i].fits, "%s", cases[i].text);
		cr_expect_eq(!real.failed, cases[i].fits, "%s", cases[i].text);
		cr_expect_eq(n, cases[i].fits ? atoi(cases[i].text) : -3);
		cr_expect_eq(x, cases[i].fits ? atof(cases[i].text) : -3);
		json_decref(root);
	}
}

Test(json, a_value_of_another_type_is_named_by_its_kind)
{
	static const char *const cases[][2] = {
		{"{}", "an object"}, {"[]", "an array"},        {"\"\"", "a string"},       {"1", "a number"},
		{"1.5", "a number"}, {"true", "true or false"}, {"false", "true or false"}, {"null", "null"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		json_t *root = json_pack("{s:o}", "x", json_loads(cases[i][0], JSON_DECODE_ANY, NULL));
		struct error err = {0};
		struct json_reader reader = {"f", 0, &err, false};
		char expected[80];

		if (i == 0)
			cr_expect_null(json_need_array(&reader, root, "", "x"));
		else
			cr_expect_null(json_need_object(&reader, root, "", "x"));
		snprintf(expected, sizeof expected, "f: x: found %s, expected an %s", cases[i][1],
			 i == 0 ? "array" : "object");
		cr_expect_str_eq(err.text, expected);
		json_decref(root);
	}
}

Test(json, a_misspelt_key_is_an_error_and_a_foreign_one_is_not)
{
	static const char *const known[] = {"name", "weight", NULL};
	json_t *misspelt = json_pack("{s:i, s:i}", "name", 1, "wieght", 2);
	json_t *foreign = json_pack("{s:i, s:i}", "name", 1, "colour", 2);
	struct error err = {0};
	struct json_reader reader = {"f", 0, &err, false};

	cr_expect_str_eq(json_misspelt_key(misspelt, known), "wieght");
	cr_expect_null(json_misspelt_key(foreign, known));
	json_need_known(&reader, foreign, "jobs[1]", known);
	cr_expect(!reader.failed && reader.foreign_told);
	json_need_known(&reader, misspelt, "jobs[1]", known);
	cr_expect_str_eq(err.text,
			 "f: jobs[1].wieght: unknown key, did you mean 'weight'? Expected one of name, weight");
	json_decref(misspelt);
	json_decref(foreign);
}

Test(json, text_may_be_absent_or_empty_but_has_no_control_characters)
{
	json_t *root = json_pack("{s:s, s:s, s:s, s:b}", "empty", "", "lines", "a\tb\nc", "bad",
				 "a\x1b"
				 "b",
				 "no", 0);
	struct error err = {0};
	struct json_reader reader = {"f", 0, &err, false};

	cr_expect_str_eq(json_may_string(&reader, root, "", "absent", "else"), "else");
	cr_expect_str_eq(json_may_string(&reader, root, "", "empty", "else"), "");
	cr_expect_str_eq(json_need_string(&reader, root, "", "lines"), "a\tb\nc");
	cr_expect_not(json_may_boolean(&reader, root, "", "no", true));
	cr_expect(json_may_boolean(&reader, root, "", "absent", true));
	cr_expect_not(reader.failed);
	cr_expect_null(json_need_string(&reader, root, "", "bad"));
	cr_expect_str_eq(err.text, "f: bad: expected text without control characters");
	json_decref(root);
	root = json_number_or_null(1.5);
	cr_expect_eq(json_real_value(root), 1.5);
	json_decref(root);
	cr_expect(json_is_null(json_number_or_null(NAN)) && json_is_null(json_number_or_null(INFINITY)));
}
