/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/hash.h>

/* Test vectors of Noll's reference implementation of FNV-1a. */
Test(hash, fnv_1a_of_the_reference)
{
	cr_assert_eq(hash_text(""), UINT64_C(0xcbf29ce484222325));
	cr_assert_eq(hash_text("a"), UINT64_C(0xaf63dc4c8601ec8c));
	cr_assert_eq(hash_text("foobar"), UINT64_C(0x85944171f73967e8));
	cr_assert_eq(hash_fnv_bytes(HASH_FNV_START, "foobar", 6), hash_text("foobar"));
	cr_assert_eq(hash_text("\xff"), hash_fnv_add(HASH_FNV_START, 0xff), "bytes are unsigned");
}

Test(hash, mixing_changes_half_of_the_bits)
{
	for (int bit = 0; bit < 64; bit++) {
		int changed = 0;

		for (uint64_t x = 1; x <= 1000; x++)
			changed += __builtin_popcountll(hash_mix(x) ^ hash_mix(x ^ UINT64_C(1) << bit));
		cr_assert(changed > 31000 && changed < 33000, "bit %d: %d of 64000", bit, changed);
	}
}
