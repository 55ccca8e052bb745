/* SPDX-License-Identifier: BSD-3-Clause */
/* Refuses requests by their headers, before their bodies are read. */
#include "serve_priv.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct refusal bad_length = {MHD_HTTP_BAD_REQUEST, "more than one Content-Length or Transfer-Encoding"},
			    no_host = {MHD_HTTP_BAD_REQUEST, "expected one Host header"},
			    foreign_host = {MHD_HTTP_FORBIDDEN,
					    "the Host is not local; use localhost or an IP address"},
			    foreign_origin = {MHD_HTTP_FORBIDDEN, "the Origin is not this server"},
			    no_token = {MHD_HTTP_UNAUTHORIZED, "missing or wrong token"},
			    not_json = {MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "expected Content-Type: application/json"};

struct headers {
	unsigned hosts, lengths, encodings;
	const char *host, *length;
};

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct headers *headers = context;

	(void)kind;
	if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
		headers->hosts++;
		headers->host = value;
	}
	if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
		headers->lengths++;
		headers->length = value;
	}
	headers->encodings += strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
	return MHD_YES;
}

/* Compares in a time that does not depend on where the texts differ. */
static bool same_secret(const char *given, const char *secret)
{
	size_t bytes = strlen(secret), given_bytes = strlen(given);
	unsigned difference = given_bytes != bytes;

	for (size_t i = 0; i < bytes; i++)
		difference |= (unsigned char)secret[i] ^ (unsigned char)(i < given_bytes ? given[i] : 0);
	return difference == 0;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Clients that cannot set a header send the token as the password of their URL: http://NAME:TOKEN@HOST. */
static bool has_password(const struct serve *serve, struct MHD_Connection *connection)
{
	char *password = NULL, *name = MHD_basic_auth_get_username_password(connection, &password);
	bool same = password && same_secret(password, serve->token);

	MHD_free(password);
	MHD_free(name);
	return same;
}

static bool has_token(const struct serve *serve, struct MHD_Connection *connection)
{
	const char *given = header(connection, MHD_HTTP_HEADER_AUTHORIZATION);

	if (given && strncmp(given, "Bearer ", 7) == 0)
		return same_secret(given + 7, serve->token);
	return given && has_password(serve, connection);
}

/* Returns true for localhost and IP addresses, with or without a port. */
static bool is_local(const char *host)
{
	char name[INET6_ADDRSTRLEN + sizeof "[]"];
	const char *colon = strrchr(host, ':'), *end = host[0] == '[' ? strchr(host, ']') : NULL;
	size_t length = end ? (size_t)(end - host) - 1 : colon ? (size_t)(colon - host) : strlen(host);
	struct in6_addr address;

	if (length >= sizeof name)
		return false;
	memcpy(name, host + (end != NULL), length);
	name[length] = '\0';
	return strcasecmp(name, "localhost") == 0 || inet_pton(end ? AF_INET6 : AF_INET, name, &address) == 1;
}

/* Returns true if only programs of this host reach the server. */
static bool is_private(const struct serve *serve)
{
	return serve->unix_path || strncmp(serve->options.address, "127.", 4) == 0 ||
	       strcmp(serve->options.address, "::1") == 0;
}

/* Returns true if the origin is a page that the client loaded from this server: "http://HOST" or "https://HOST". */
static bool is_own_origin(const char *origin, const char *host)
{
	const char *rest = strstr(origin, "://");

	return rest && host && strncmp(origin, "http", 4) == 0 && strcasecmp(rest + 3, host) == 0;
}

const struct refusal *admit(const struct serve *serve, struct MHD_Connection *connection, const char *version)
{
	struct headers headers = {0};
	const char *origin = header(connection, MHD_HTTP_HEADER_ORIGIN),
		   *type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
	bool has_body;

	MHD_get_connection_values(connection, MHD_HEADER_KIND, count_header, &headers);
	if (headers.lengths + headers.encodings > 1)
		return &bad_length;
	if (headers.hosts > 1 || (headers.hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0))
		return &no_host;
	/* A page whose DNS name was changed to a local address has that name as Host and as Origin. */
	if (headers.host && is_private(serve) && !is_local(headers.host))
		return &foreign_host;
	if (origin && !is_own_origin(origin, headers.host))
		return &foreign_origin;
	if (serve->token && !has_token(serve, connection))
		return &no_token;
	/* Pages of other origins cannot send this type without asking, which is refused by its Origin. */
	has_body = headers.encodings > 0 || (headers.length && strtoull(headers.length, NULL, 10) > 0);
	if (has_body && (!type || strncasecmp(type, "application/json", 16) != 0 || !strchr("; ", type[16])))
		return &not_json;
	return NULL;
}
