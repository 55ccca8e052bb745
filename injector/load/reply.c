/* SPDX-License-Identifier: BSD-3-Clause */
#include "load_priv.h"

#include <errno.h>
#include <string.h>

#include <base/number.h>

/* Memcached's own limit can be raised to 1 GiB (-I). */
enum { REPLY_BYTES_MAXIMUM = 1 << 30 };

void reply_parser_init(struct reply_parser *parser)
{
	memset(parser, 0, sizeof *parser);
}

/* Parses "VALUE key flags bytes"; takes the size of the value from the fourth word. Returns 0 or -EPROTO. */
static int parse_value_header(struct reply_parser *parser)
{
	char *save = NULL, *word = NULL, copy[REPLY_LINE_BYTES];
	int64_t bytes;

	memcpy(copy, parser->line, parser->line_bytes + 1);
	for (int i = 0; i < 4; i++) {
		word = strtok_r(i ? NULL : copy, " ", &save);
		if (!word)
			return -EPROTO;
	}
	if (number_parse_i64(word, &bytes) != 0 || bytes < 0 || bytes > REPLY_BYTES_MAXIMUM)
		return -EPROTO;
	parser->has_value = 1;
	parser->value_bytes = (size_t)bytes;
	parser->skip_bytes = (size_t)bytes + 2;
	return 0;
}

static int is_error(const char *line)
{
	return strcmp(line, "ERROR") == 0 || strncmp(line, "CLIENT_ERROR", 12) == 0 ||
	       strncmp(line, "SERVER_ERROR", 12) == 0;
}

/* Parses a whole line without its end of line. Returns the same values as reply_parse(). */
static int parse_line(struct reply_parser *parser, struct reply *reply)
{
	const char *line = parser->line;

	reply->value_bytes = 0;
	if (strcmp(line, "END") == 0) {
		reply->kind = parser->has_value ? REPLY_HIT : REPLY_MISS;
		reply->value_bytes = parser->has_value ? parser->value_bytes : 0;
	} else if (parser->has_value) {
		return -EPROTO;
	} else if (strncmp(line, "VALUE ", 6) == 0) {
		return parse_value_header(parser);
	} else if (strcmp(line, "STORED") == 0) {
		reply->kind = REPLY_STORED;
	} else if (strcmp(line, "NOT_STORED") == 0) {
		reply->kind = REPLY_NOT_STORED;
	} else if (is_error(line)) {
		reply->kind = REPLY_ERROR;
	} else {
		return -EPROTO;
	}
	parser->has_value = 0;
	return 1;
}

/*
 * Appends bytes to the line, up to a newline. Returns 1 if the line is complete, 0 if not, or -EPROTO if it is too
 * long.
 */
static int gather_line(struct reply_parser *parser, const char *bytes, size_t count, size_t *taken)
{
	const char *newline = memchr(bytes, '\n', count);
	size_t length = newline ? (size_t)(newline - bytes) : count;

	if (parser->line_bytes + length >= REPLY_LINE_BYTES)
		return -EPROTO;
	memcpy(parser->line + parser->line_bytes, bytes, length);
	parser->line_bytes += length;
	parser->line[parser->line_bytes] = '\0';
	*taken = length + (newline ? 1 : 0);
	if (!newline)
		return 0;
	if (parser->line_bytes > 0 && parser->line[parser->line_bytes - 1] == '\r')
		parser->line[--parser->line_bytes] = '\0';
	return 1;
}

/* Skips bytes of the value and of the CR LF after it. Returns 0, or -EPROTO if CR LF does not follow the value. */
static int skip_value(struct reply_parser *parser, const char *bytes, size_t count, size_t *taken)
{
	size_t length = count < parser->skip_bytes ? count : parser->skip_bytes;

	if (parser->skip_bytes >= 2 && length >= parser->skip_bytes - 1 && bytes[parser->skip_bytes - 2] != '\r')
		return -EPROTO;
	if (length == parser->skip_bytes && bytes[length - 1] != '\n')
		return -EPROTO;
	parser->skip_bytes -= length;
	*taken = length;
	return 0;
}

int reply_parse(struct reply_parser *parser, const char *bytes, size_t count, size_t *used, struct reply *reply)
{
	*used = 0;
	while (*used < count) {
		size_t taken = 0;
		int code;

		if (parser->skip_bytes > 0) {
			code = skip_value(parser, bytes + *used, count - *used, &taken);
		} else {
			code = gather_line(parser, bytes + *used, count - *used, &taken);
			if (code == 1) {
				code = parse_line(parser, reply);
				if (code >= 0)
					parser->line_bytes = 0;
			}
		}
		*used += taken;
		if (code)
			return code;
	}
	return 0;
}
