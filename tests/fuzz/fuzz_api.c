/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes arbitrary requests to a schedd in place of lib/serve: "METHOD PATH[?NAME=VALUE&...]", then the body; a leading
 * '*' means a user who is no admin. Each request is answered, errors with a reason. One daemon receives all requests.
 */
#include "fuzz_schedd.h"

enum { USER = 12345 };

static void ask(struct schedd *schedd, const char *text)
{
	char *copy = strdup(text), *line = copy, *body = strchr(copy, '\n'), *path;

	if (body)
		*body++ = '\0';
	line += *line == '*';
	path = line + strcspn(line, " ");
	if (*path)
		*path++ = '\0';
	schedd_ask(schedd, *copy == '*' ? USER : 0, line, path, body);
	free(copy);
}

static struct schedd *start(void)
{
	struct schedd *schedd = schedd_start();

	ask(schedd, "PUT /v1/machines/m1\n{\"rack\": \"r1\", \"slots\": 4}");
	ask(schedd, "PUT /v1/machines/m2\n{\"rack\": \"r2\", \"slots\": 4}");
	ask(schedd, "POST /v1/jobs\n{\"id\": \"web\", \"curve\": \"memcached\", \"root\": 0, \"tasks\": 3}");
	return schedd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct schedd *schedd;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!schedd)
		schedd = start();
	ask(schedd, text);
	free(text);
	return 0;
}
