/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/stamp.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nettle/hmac.h>
#include <nettle/memops.h>

#include <base/array.h>
#include <base/number.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the key. Returns the first invalid digit, or NULL if all are valid. */
static const char *read_hex(const char *text, struct stamp_key *key)
{
	for (key->length = 0; text[0]; text += 2) {
		int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);

		if (low < 0)
			return high < 0 ? text : text + 1;
		key->bytes[key->length++] = (uint8_t)(high * 16 + low);
	}
	return NULL;
}

static int read_key(struct error_place place, char *line, struct stamp_key *key, struct error *err)
{
	char *rest = NULL, *session = strtok_r(line, " \t\r", &rest), *hex = strtok_r(NULL, " \t\r", &rest);
	const char *bad;
	int64_t number;

	place.field = "session";
	if (number_parse_i64(session, &number) || number < 1 || number > 65535)
		return error_at(err, place, EINVAL, "expected a session identifier from 1 to 65535, found '%.20s'",
				session);
	key->session = (uint16_t)number;
	place.field = "key";
	if (!hex || strtok_r(NULL, " \t\r", &rest))
		return error_at(err, place, EINVAL, "expected 'SSID KEY'");
	/* Errors must not show the key. */
	if (strlen(hex) < 2 * STAMP_KEY_MINIMUM || strlen(hex) > 2 * STAMP_KEY_MAXIMUM || strlen(hex) % 2)
		return error_at(err, place, EINVAL,
				"expected %d to %d bytes in hexadecimal, two digits each, found %zu digits",
				STAMP_KEY_MINIMUM, STAMP_KEY_MAXIMUM, strlen(hex));
	bad = read_hex(hex, key);
	return bad ? error_at(err, place, EINVAL, "expected hexadecimal digits, found another character at place %d",
			      (int)(bad - hex) + 1)
		   : 0;
}

static int add_line(struct file_lines *lines, char *line, struct stamp_keys *keys, struct error *err)
{
	struct error_place place = {file_lines_name(lines), file_lines_number(lines), "session"};
	struct stamp_key key = {0}, *items;
	int code;

	line[strcspn(line, "#")] = '\0';
	if (!line[strspn(line, " \t\r")])
		return 0;
	code = read_key(place, line, &key, err);
	if (code)
		return code;
	if (stamp_keys_find(keys, key.session))
		return error_at(err, place, EEXIST, "session %u has a key already", key.session);
	if (keys->count == STAMP_KEYS_MAXIMUM)
		return error_at(err, place, E2BIG, "more than %d keys", STAMP_KEYS_MAXIMUM);
	items = array_grow(keys->items, keys->count, &keys->capacity, sizeof *items);
	if (!items)
		return error_set(err, ENOMEM, "out of memory");
	keys->items = items;
	keys->items[keys->count++] = key;
	return 0;
}

int stamp_keys_parse(struct file_lines *lines, struct stamp_keys *keys, struct error *err)
{
	char *line;
	int code;

	*keys = (struct stamp_keys){0};
	while ((code = file_lines_next(lines, &line, err)) > 0)
		if ((code = add_line(lines, line, keys, err)))
			break;
	if (code == 0 && keys->count == 0)
		code = error_at(err, (struct error_place){file_lines_name(lines), 0, NULL}, EINVAL,
				"expected lines 'SSID KEY', found no key");
	if (code)
		stamp_keys_free(keys);
	return code;
}

int stamp_keys_read(const char *path, struct stamp_keys *keys, struct error *err)
{
	struct file_lines *lines;
	struct stat status;
	int code;

	*keys = (struct stamp_keys){0};
	if (stat(path, &status))
		return error_set(err, errno, "%s: cannot open: %s", path, strerror(errno));
	if (S_ISREG(status.st_mode) && status.st_mode & 077)
		return error_set(err, EPERM,
				 "%s: users other than its owner have access (mode %04o); run 'chmod 600 %s'", path,
				 status.st_mode & 07777, path);
	lines = file_lines_open(path, err);
	if (!lines)
		return error_code(err, EIO);
	code = stamp_keys_parse(lines, keys, err);
	file_lines_close(lines);
	return code;
}

void stamp_keys_free(struct stamp_keys *keys)
{
	if (keys->items)
		explicit_bzero(keys->items, keys->count * sizeof *keys->items);
	free(keys->items);
	*keys = (struct stamp_keys){0};
}

const struct stamp_key *stamp_keys_find(const struct stamp_keys *keys, uint16_t session)
{
	for (size_t i = 0; i < keys->count; i++)
		if (keys->items[i].session == session)
			return &keys->items[i];
	return NULL;
}

const struct stamp_key *stamp_keys_for(const struct stamp_keys *keys, uint16_t session)
{
	const struct stamp_key *key = stamp_keys_find(keys, session);

	return key ? key : stamp_keys_find(keys, stamp_companion(session));
}

void stamp_hmac(const struct stamp_key *key, const uint8_t *head, size_t head_bytes, const uint8_t *tail,
		size_t tail_bytes, uint8_t out[STAMP_HMAC_BYTES])
{
	struct hmac_sha256_ctx context;

	hmac_sha256_set_key(&context, key->length, key->bytes);
	hmac_sha256_update(&context, head_bytes, head);
	hmac_sha256_update(&context, tail_bytes, tail);
	hmac_sha256_digest(&context, STAMP_HMAC_BYTES, out);
}

bool stamp_hmac_equal(const uint8_t *a, const uint8_t *b)
{
	return memeql_sec(a, b, STAMP_HMAC_BYTES);
}
