/* SPDX-License-Identifier: BSD-3-Clause */
#include "load_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

static size_t digits_needed(uint64_t number)
{
	size_t count = 1;

	while (number >= 36) {
		number /= 36;
		count++;
	}
	return count;
}

static size_t clamp_bytes(double draw, size_t low, size_t high)
{
	if (!(draw > (double)low))
		return low;
	return draw > (double)high ? high : (size_t)lround(draw);
}

/*
 * Writes the key with this index: the index in base 36, padded with zeros to `bytes` digits, so that keys are unique.
 */
static void write_key(char *key, size_t bytes, uint64_t index)
{
	while (bytes-- > 0) {
		key[bytes] = digits[index % 36];
		index /= 36;
	}
}

static int make_keys(struct workload *workload, struct error *err)
{
	size_t least = digits_needed(workload->key_count - 1), capacity = 0, used = 0;

	workload->offsets = malloc((workload->key_count + 1) * sizeof *workload->offsets);
	if (!workload->offsets)
		return error_set(err, ENOMEM, "no memory for %llu keys", (unsigned long long)workload->key_count);
	for (uint64_t i = 0; i < workload->key_count; i++) {
		size_t bytes = clamp_bytes(etc_gev_draw(&ETC_KEY_BYTES, &workload->rng), least, KEY_BYTES_MAXIMUM);
		char *text = array_reserve(workload->text, used + bytes, &capacity, 1);

		if (!text)
			return error_set(err, ENOMEM, "no memory for %llu keys",
					 (unsigned long long)workload->key_count);
		workload->text = text;
		write_key(workload->text + used, bytes, i);
		workload->offsets[i] = used;
		used += bytes;
	}
	workload->offsets[workload->key_count] = used;
	return 0;
}

int workload_init(struct workload *workload, const struct load_settings *settings, struct error *err)
{
	int code;

	memset(workload, 0, sizeof *workload);
	workload->key_count = settings->keys;
	workload->update_share = settings->update_share;
	workload->skewed = settings->skew > 0;
	if (workload->skewed)
		etc_zipf_init(&workload->zipf, settings->keys, settings->skew);
	rng_seed(&workload->rng, settings->seed);
	code = make_keys(workload, err);
	if (code)
		return code;
	workload->block = malloc(VALUE_BYTES_MAXIMUM);
	if (!workload->block)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < VALUE_BYTES_MAXIMUM; i++)
		workload->block[i] = digits[rng_below(&workload->rng, 36)];
	return 0;
}

void workload_free(struct workload *workload)
{
	free(workload->text);
	free(workload->offsets);
	free(workload->block);
}

uint64_t workload_pick_key(struct workload *workload)
{
	return workload->skewed ? etc_zipf_draw(&workload->zipf, &workload->rng)
				: rng_below(&workload->rng, workload->key_count);
}

bool workload_pick_update(struct workload *workload)
{
	return rng_uniform(&workload->rng) < workload->update_share;
}

size_t workload_pick_value_bytes(struct workload *workload)
{
	return clamp_bytes(etc_gpd_draw(&ETC_VALUE_BYTES, &workload->rng), 1, VALUE_BYTES_MAXIMUM);
}
