/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>

void client_print_json(const json_t *answer)
{
	char *text = json_to_text(answer);

	if (text)
		puts(text);
	free(text);
}
