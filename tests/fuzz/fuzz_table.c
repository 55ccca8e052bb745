/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>

#include <fitting/expression/expression.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct expression_table table;
	struct error err = {0};

	if (expression_table_read(file_lines_from_memory("fuzz.csv", (const char *)data, size, &err), &table, &err) ==
	    0) {
		for (size_t k = 0; k < table.columns; k++)
			expression_table_check_column(&table, k, &err);
		expression_table_find_column(&table, "x");
	}
	expression_table_free(&table);
	return 0;
}
