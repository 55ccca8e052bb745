/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parser of memcached's text protocol for a client. Parses the answers to `get` of one key and to `set`; these may
 * arrive in fragments of any size, or several at a time. It stores only the sizes of values, not the values. One parser
 * per connection; pure.
 */
#ifndef LOAD_REPLY_H
#define LOAD_REPLY_H

#include <stddef.h>
#include <stdint.h>

enum reply_kind {
	REPLY_HIT,    /* VALUE ... END */
	REPLY_MISS,   /* END */
	REPLY_STORED, /* STORED */
	REPLY_NOT_STORED,
	REPLY_ERROR, /* ERROR, CLIENT_ERROR, SERVER_ERROR */
};

struct reply {
	enum reply_kind kind;
	size_t value_bytes; /* of a hit */
};

enum { REPLY_LINE_BYTES = 512 };

struct reply_parser {
	char line[REPLY_LINE_BYTES]; /* the part of the line received so far; after a reply: its last line; after
					-EPROTO: the invalid line */
	size_t line_bytes;
	size_t skip_bytes; /* bytes of the value and its CRLF that have not arrived yet */
	size_t value_bytes;
	int has_value; /* a VALUE was received; END must follow */
};

void reply_parser_init(struct reply_parser *parser);

/*
 * Parses bytes until one reply is complete or all bytes are used. Sets *used to the number of bytes used. Returns 1 if
 * *reply is filled, 0 if more bytes are needed, or -EPROTO if this is not memcached's text protocol.
 */
int reply_parse(struct reply_parser *parser, const char *bytes, size_t count, size_t *used, struct reply *reply);

#endif
