/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <probe/rtt/stamp.h>

static int parse(const char *text, struct stamp_keys *keys, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("keys", text, strlen(text), err);
	int code = stamp_keys_parse(lines, keys, err);

	file_lines_close(lines);
	return code;
}

#define KEY16 "000102030405060708090a0b0c0d0e0f"

Test(keys, are_read_and_found)
{
	struct stamp_keys keys;
	struct error err = {0};

	cr_assert_eq(parse("# ours\n\n 7 " KEY16 " # a comment\n65535\t" KEY16 "FF\r\n", &keys, &err), 0, "%s",
		     err.text);
	cr_assert_eq(keys.count, 2);
	cr_assert_eq(stamp_keys_find(&keys, 65535)->length, 17);
	cr_assert_eq(stamp_keys_find(&keys, 65535)->bytes[16], 0xff);
	cr_assert_eq(stamp_keys_find(&keys, 7)->bytes[15], 15);
	cr_assert_null(stamp_keys_find(&keys, 8));
	stamp_keys_free(&keys);
}

Test(keys, bad_files_are_refused_without_showing_a_key)
{
	const struct {
		const char *text, *message;
	} cases[] = {
		{"", "keys: expected lines 'SSID KEY', found no key"},
		{"7\n", "keys:1: key: expected 'SSID KEY'"},
		{"7 " KEY16 " x\n", "keys:1: key: expected 'SSID KEY'"},
		{"0 " KEY16 "\n", "keys:1: session: expected a session identifier from 1 to 65535, found '0'"},
		{"x " KEY16 "\n", "keys:1: session: expected a session identifier from 1 to 65535, found 'x'"},
		{"1 " KEY16 "\n1 " KEY16 "\n", "keys:2: session: session 1 has a key already"},
		{"1 0011\n", "keys:1: key: expected 16 to 64 bytes in hexadecimal, two digits each, found 4 digits"},
		{"1 " KEY16 "0\n",
		 "keys:1: key: expected 16 to 64 bytes in hexadecimal, two digits each, found 33 digits"},
		{"1 " KEY16 "g0\n", "keys:1: key: expected hexadecimal digits, found another character at place 33"},
		{"1 " KEY16 "0z\n", "keys:1: key: expected hexadecimal digits, found another character at place 34"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct stamp_keys keys;
		struct error err = {0};

		cr_assert_lt(parse(cases[i].text, &keys, &err), 0, "%zu", i);
		cr_assert_str_eq(err.text, cases[i].message);
		cr_assert_eq(keys.count, 0);
	}
}

Test(keys, a_file_that_others_may_use_is_refused)
{
	char path[] = "/tmp/nomora-keys-XXXXXX";
	int fd = mkstemp(path);
	struct stamp_keys keys;
	struct error err = {0};

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "1 " KEY16 "\n", 35), 35);
	for (unsigned int mode = 0601; mode <= 0640; mode += mode == 0601 ? 3 : 4) {
		fchmod(fd, mode);
		cr_assert_eq(stamp_keys_read(path, &keys, &err), -EPERM, "%o", mode);
	}
	fchmod(fd, 0600);
	cr_assert_eq(stamp_keys_read(path, &keys, &err), 0, "%s", err.text);
	stamp_keys_free(&keys);
	close(fd);
	unlink(path);
	cr_assert_eq(stamp_keys_read(path, &keys, &err), -ENOENT);
}

Test(keys, hmac_is_that_of_rfc_4231)
{
	/* Test case 1, truncated; and its input in two parts. */
	struct stamp_key key = {.length = 20};
	const uint8_t expected[] = {0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53,
				    0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b, 0xf1, 0x2b};
	uint8_t hmac[STAMP_HMAC_BYTES];

	memset(key.bytes, 0x0b, key.length);
	stamp_hmac(&key, (const uint8_t *)"Hi There", 8, NULL, 0, hmac);
	cr_assert(stamp_hmac_equal(hmac, expected));
	stamp_hmac(&key, (const uint8_t *)"Hi ", 3, (const uint8_t *)"There", 5, hmac);
	cr_assert(stamp_hmac_equal(hmac, expected));
	hmac[15] ^= 1;
	cr_assert(!stamp_hmac_equal(hmac, expected));
}
