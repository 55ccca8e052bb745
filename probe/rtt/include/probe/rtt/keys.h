/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of authenticated STAMP sessions, one for each session identifier: a text file with lines "SSID KEY", the key in
 * hexadecimal; '#' begins a comment. Only the owner may have access to the file. Uses HMAC-SHA-256 truncated to 16
 * bytes (RFC 8762 section 4.4), from nettle.
 */
#ifndef RTT_KEYS_H
#define RTT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/file.h>

enum { STAMP_KEY_MINIMUM = 16, STAMP_KEY_MAXIMUM = 64, STAMP_HMAC_BYTES = 16, STAMP_KEYS_MAXIMUM = 4096 };

struct stamp_key {
	uint16_t session; /* SSID, not 0 */
	uint8_t bytes[STAMP_KEY_MAXIMUM];
	size_t length;
};

struct stamp_keys {
	size_t count, capacity;
	struct stamp_key *items;
};

/*
 * Reads a file of keys. Returns 0, or -errno with err set if the file has no key, others have access to it, a line is
 * bad or a session occurs twice. Free with stamp_keys_free().
 */
int stamp_keys_read(const char *path, struct stamp_keys *keys, struct error *err);
int stamp_keys_parse(struct file_lines *lines, struct stamp_keys *keys, struct error *err);
void stamp_keys_free(struct stamp_keys *keys);
const struct stamp_key *stamp_keys_find(const struct stamp_keys *keys, uint16_t session); /* or NULL */

/*
 * Returns the companion of a session: a second session, whose identifier differs in the lowest bit, by which a prober
 * looks for paths. A session without a key of its own uses that of its companion: this is safe because the HMAC covers
 * the identifier.
 */
static inline uint16_t stamp_companion(uint16_t session)
{
	return session ^ 1;
}

/* Returns the key of the session, or else that of its companion, or else NULL. */
const struct stamp_key *stamp_keys_for(const struct stamp_keys *keys, uint16_t session);

/* Computes the HMAC over `head` followed by `tail`, which may be empty. */
void stamp_hmac(const struct stamp_key *key, const uint8_t *head, size_t head_bytes, const uint8_t *tail,
		size_t tail_bytes, uint8_t out[STAMP_HMAC_BYTES]);
/* Compares in constant time. */
bool stamp_hmac_equal(const uint8_t *a, const uint8_t *b);

#endif
