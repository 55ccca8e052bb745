/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include <fitting/expression/expression.h>

static int read_text(const char *text, struct expression_table *table, struct error *err)
{
	return expression_table_read(file_lines_from_memory("data.csv", text, strlen(text), err), table, err);
}

Test(table, separators_comments_and_headers_are_found)
{
	static const char *const texts[] = {
		"y,x\n1.5,2\n3,4e1\n",
		"# about\ny;x\n\n1.5;2\n3;4e1\n",
		"y\tx\r\n1.5\t2\r\n3\t4e1\r\n",
		"  y   x\n 1.5  2\n# between\n  3 4e1",
		"1.5,2\n3,40\n",
	};

	for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
		struct expression_table table;
		struct error err = {0};

		cr_assert_eq(read_text(texts[k], &table, &err), 0, "%zu: %s", k, err.text);
		cr_assert(table.rows == 2 && table.columns == 2);
		cr_assert(table.values[0] == 1.5L && table.values[1] == 2 && table.values[2] == 3 &&
			  table.values[3] == 40);
		cr_assert_eq(expression_table_find_column(&table, "x"), 1);
		cr_assert_eq(expression_table_find_column(&table, "Y"), 0);
		cr_assert_eq(expression_table_find_column(&table, "2"), 1);
		cr_assert_eq(expression_table_find_column(&table, "z"), -ENOENT);
		cr_assert_eq(expression_table_find_column(&table, "3"), -ENOENT);
		expression_table_free(&table);
	}
}

Test(table, values_keep_more_digits_than_a_double)
{
	struct expression_table table;

	cr_assert_eq(read_text("0.1 -6.860120914\n", &table, NULL), 0);
	cr_assert_eq(table.values[0], 0.1L);
	cr_assert_neq((long double)(double)table.values[0], table.values[0]);
	expression_table_free(&table);
}

Test(table, columns_without_a_header_are_y_and_xs)
{
	struct expression_table table;

	cr_assert_eq(read_text("1 2 3\n", &table, NULL), 0);
	cr_assert_str_eq(table.column[0].name, "y");
	cr_assert_str_eq(table.column[1].name, "x1");
	cr_assert_str_eq(table.column[2].name, "x2");
	expression_table_free(&table);
}

Test(table, text_matters_only_in_columns_that_are_used)
{
	struct expression_table table;
	struct error err = {0};

	cr_assert_eq(read_text("y,x,who\n1,2,me\n3,oops,you\n", &table, &err), 0, "%s", err.text);
	cr_assert_eq(expression_table_check_column(&table, 0, &err), 0);
	cr_assert_eq(expression_table_check_column(&table, 1, &err), -EINVAL);
	cr_assert_str_eq(err.text, "data.csv:3: x: expected a number, found 'oops'");
	cr_assert(isnan(table.values[2]));
	expression_table_free(&table);
}

Test(table, bad_tables_are_refused_with_file_and_line)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "the file is empty"},
		{"# only words\n", "the file is empty"},
		{"y,x\n", "data.csv:1: there are no rows below the header"},
		{"y,x\n1,2\n3\n", "data.csv:3: expected 2 fields as in the first line, found 1"},
		{"y,y\n1,2\n", "data.csv:1: y: two columns have this name"},
		{"y,\"2x\"\n1,2\n", "data.csv:1: 2x: expected the name of a column"},
		{"y,a_name_that_goes_on_and_on_and_on_for_ever\n1,2\n", "longer than 31 letters"},
	};

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		struct expression_table table;
		struct error err = {0};

		cr_assert_lt(read_text(cases[k].text, &table, &err), 0, "%s", cases[k].text);
		cr_assert(strstr(err.text, cases[k].message), "%s, wanted %s", err.text, cases[k].message);
		expression_table_free(&table);
	}
	cr_assert_lt(expression_table_read(file_lines_open("/no/such/file", NULL), &(struct expression_table){0}, NULL),
		     0);
}
