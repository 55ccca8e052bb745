/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/histogram.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bucket b (b >= 1) covers [half << (unit + b), full << (unit + b)) in `half` slots of width 1 << (unit + b), where
 * full = 2 * half is the first power of two that keeps `digits` digits; bucket 0 has all `full` slots of width 1 <<
 * unit. The position of a value's leading bit gives its bucket, and the bits below it give the slot.
 */
struct histogram {
	int64_t lowest, highest;
	int digits;
	int unit_shift; /* log2 of the width of bucket 0's slots */
	int half_shift; /* log2 of half */
	size_t slots;
	uint64_t count, saturated;
	int64_t minimum, maximum;
	long double sum, sum_of_squares;
	uint64_t *counts; /* [slots]; NULL = the entries hold the counts */
	struct entry *entries;
	uint32_t used, room;
};

/* A non-empty slot of a compact histogram. Entries are sorted by slot. */
struct entry {
	uint32_t slot, count;
};

/*
 * A compact histogram has entries for at most a quarter of the slots. If it needs more, it becomes an array. An entry
 * takes as much memory as a slot of the array.
 */
enum { ENTRIES_SHARE = 4 };

static int floor_log2(uint64_t value)
{
	return 63 - __builtin_clzll(value | 1);
}

static size_t slot_of(const struct histogram *histogram, int64_t value)
{
	int full_shift = histogram->half_shift + 1;
	int bucket = floor_log2((uint64_t)value | ((UINT64_C(1) << (full_shift + histogram->unit_shift)) - 1)) + 1 -
		     histogram->unit_shift - full_shift;
	uint64_t position = (uint64_t)value >> (bucket + histogram->unit_shift);

	return ((size_t)bucket << histogram->half_shift) + position;
}

static void slot_bounds(const struct histogram *histogram, size_t slot, int64_t *low, int64_t *high)
{
	size_t half = (size_t)1 << histogram->half_shift;
	size_t bucket = slot < 2 * half ? 0 : (slot >> histogram->half_shift) - 1;
	uint64_t position = slot - (bucket << histogram->half_shift);
	int shift = (int)bucket + histogram->unit_shift;

	*low = (int64_t)(position << shift);
	*high = *low + ((INT64_C(1) << shift) - 1);
}

static int shape(struct histogram *histogram, int64_t lowest, int64_t highest, int digits)
{
	uint64_t needed = 2;

	if (lowest < 1 || digits < 1 || digits > 5 || highest > INT64_MAX / 4 || lowest > highest / 2)
		return -EINVAL;
	for (int i = 0; i < digits; i++)
		needed *= 10;
	histogram->lowest = lowest;
	histogram->highest = highest;
	histogram->digits = digits;
	histogram->unit_shift = floor_log2((uint64_t)lowest);
	histogram->half_shift = floor_log2(needed - 1); /* full is the power of two at or above `needed` */
	if (histogram->unit_shift + histogram->half_shift + 1 > 61)
		return -EINVAL;
	histogram->slots = slot_of(histogram, highest) + 1;
	return 0;
}

/* room: as for histogram_create_compact(); 0: makes a histogram that is not compact */
static struct histogram *create(int64_t lowest, int64_t highest, int digits, uint32_t room)
{
	struct histogram *histogram = calloc(1, sizeof *histogram);

	if (!histogram)
		return NULL;
	if (shape(histogram, lowest, highest, digits) < 0) {
		free(histogram);
		errno = EINVAL;
		return NULL;
	}
	if (room)
		histogram->entries = malloc(room * sizeof *histogram->entries);
	else
		histogram->counts = calloc(histogram->slots, sizeof *histogram->counts);
	histogram->room = room;
	if (histogram->counts || histogram->entries)
		return histogram;
	free(histogram);
	errno = ENOMEM;
	return NULL;
}

struct histogram *histogram_create(int64_t lowest, int64_t highest, int digits)
{
	return create(lowest, highest, digits, 0);
}

struct histogram *histogram_create_compact(int64_t lowest, int64_t highest, int digits, uint32_t room)
{
	return create(lowest, highest, digits, room);
}

void histogram_destroy(struct histogram *histogram)
{
	if (!histogram)
		return;
	free(histogram->counts);
	free(histogram->entries);
	free(histogram);
}

size_t histogram_bytes(const struct histogram *histogram)
{
	return sizeof *histogram + histogram->room * sizeof *histogram->entries +
	       (histogram->counts ? histogram->slots * sizeof *histogram->counts : 0);
}

/* Index of the first entry whose slot is `slot` or later. */
static uint32_t place_of(const struct histogram *histogram, size_t slot)
{
	const struct entry *from = histogram->entries;

	/* Binary search without branches, since branch prediction fails for these comparisons. */
	for (uint32_t count = histogram->used, half; count; count -= half) {
		half = (count + 1) / 2;
		from += from[half - 1].slot < slot ? half : 0;
	}
	return (uint32_t)(from - histogram->entries);
}

/* Replaces the entries by an array of all slots. */
static int expand(struct histogram *histogram)
{
	uint64_t *counts = calloc(histogram->slots, sizeof *counts);

	if (!counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < histogram->used; i++)
		counts[histogram->entries[i].slot] = histogram->entries[i].count;
	free(histogram->entries);
	histogram->entries = NULL;
	histogram->used = histogram->room = 0;
	histogram->counts = counts;
	return 0;
}

static int make_room(struct histogram *histogram)
{
	struct entry *entries;
	uint32_t room = histogram->room + histogram->room / 2 + 1;

	if (histogram->used < histogram->room)
		return 0;
	if (room > histogram->slots / ENTRIES_SHARE)
		return expand(histogram);
	entries = realloc(histogram->entries, room * sizeof *entries);
	if (!entries)
		return -ENOMEM;
	histogram->entries = entries;
	histogram->room = room;
	return 0;
}

/*
 * Adds a count to a compact histogram in the cases that add() leaves to it:
 * - the slot has no entry yet: the new entry is inserted at index `at`
 * - the slot's count would not fit in 32 bits: the histogram becomes an array
 *
 * Recording cannot fail. If out of memory, the count is added to the entry at index `at`, or to the last entry.
 */
__attribute__((noinline)) static void add_entry(struct histogram *histogram, uint32_t at, size_t slot, uint64_t count)
{
	bool found = at < histogram->used && histogram->entries[at].slot == slot;

	if ((found || count > UINT32_MAX ? expand(histogram) : make_room(histogram)) && histogram->used) {
		at -= at == histogram->used;
		histogram->entries[at].count += (uint32_t)count;
	} else if (histogram->counts) {
		histogram->counts[slot] += count;
	} else {
		memmove(&histogram->entries[at + 1], &histogram->entries[at],
			(histogram->used - at) * sizeof *histogram->entries);
		histogram->entries[at] = (struct entry){(uint32_t)slot, (uint32_t)count};
		histogram->used++;
	}
}

/*
 * Adds a count. The rare cases are in add_entry(), so that the frequent ones need no stack frame, which saves a tenth
 * of the instructions per recorded value.
 */
static inline void add(struct histogram *histogram, size_t slot, uint64_t count)
{
	struct entry *entry;
	uint32_t at;

	if (histogram->counts) {
		histogram->counts[slot] += count;
		return;
	}
	at = place_of(histogram, slot);
	entry = &histogram->entries[at];
	if (at < histogram->used && entry->slot == slot && count <= UINT32_MAX - entry->count)
		entry->count += (uint32_t)count;
	else
		add_entry(histogram, at, slot, count);
}

/* Finds the next non-empty slot from *index on and moves *index past it. Returns false if there is none. */
static bool next_slot(const struct histogram *histogram, size_t *index, size_t *slot, uint64_t *count)
{
	if (!histogram->counts) {
		if (*index >= histogram->used)
			return false;
		*slot = histogram->entries[*index].slot;
		*count = histogram->entries[(*index)++].count;
		return true;
	}
	while (*index < histogram->slots && histogram->counts[*index] == 0)
		++*index;
	if (*index >= histogram->slots)
		return false;
	*slot = *index;
	*count = histogram->counts[(*index)++];
	return true;
}

void histogram_reset(struct histogram *histogram)
{
	histogram->count = histogram->saturated = 0;
	histogram->minimum = histogram->maximum = 0;
	histogram->sum = histogram->sum_of_squares = 0;
	histogram->used = 0;
	if (histogram->counts)
		memset(histogram->counts, 0, histogram->slots * sizeof histogram->counts[0]);
}

void histogram_record_many(struct histogram *histogram, int64_t value, uint64_t count)
{
	int64_t kept;

	if (count == 0)
		return;
	if (value < 0)
		value = 0;
	kept = value > histogram->highest ? histogram->highest : value;
	if (kept != value)
		histogram->saturated += count;
	add(histogram, slot_of(histogram, kept), count);
	if (histogram->count == 0 || value < histogram->minimum)
		histogram->minimum = value;
	if (value > histogram->maximum)
		histogram->maximum = value;
	histogram->count += count;
	histogram->sum += (long double)value * count;
	histogram->sum_of_squares += (long double)value * value * count;
}

void histogram_record(struct histogram *histogram, int64_t value)
{
	histogram_record_many(histogram, value, 1);
}

int histogram_merge(struct histogram *into, const struct histogram *from)
{
	size_t index = 0, slot;
	uint64_t count;

	if (into->lowest != from->lowest || into->highest != from->highest || into->digits != from->digits)
		return -EINVAL;
	if (from->count == 0)
		return 0;
	if (into->count == 0 || from->minimum < into->minimum)
		into->minimum = from->minimum;
	if (from->maximum > into->maximum)
		into->maximum = from->maximum;
	while (next_slot(from, &index, &slot, &count))
		add(into, slot, count);
	into->count += from->count;
	into->saturated += from->saturated;
	into->sum += from->sum;
	into->sum_of_squares += from->sum_of_squares;
	return 0;
}

uint64_t histogram_count(const struct histogram *histogram)
{
	return histogram->count;
}

int64_t histogram_minimum(const struct histogram *histogram)
{
	return histogram->minimum;
}

int64_t histogram_maximum(const struct histogram *histogram)
{
	return histogram->maximum;
}

double histogram_mean(const struct histogram *histogram)
{
	return histogram->count ? (double)(histogram->sum / histogram->count) : 0;
}

double histogram_deviation(const struct histogram *histogram)
{
	long double mean, variance;

	if (histogram->count < 2)
		return 0;
	mean = histogram->sum / histogram->count;
	variance = (histogram->sum_of_squares - mean * histogram->sum) / (histogram->count - 1);
	return variance > 0 ? (double)sqrtl(variance) : 0;
}

int64_t histogram_percentile(const struct histogram *histogram, double percentile)
{
	uint64_t wanted, count, seen = 0;
	size_t index = 0, slot;
	int64_t low, high;

	if (histogram->count == 0)
		return 0;
	if (percentile >= 100)
		return histogram->maximum;
	wanted = (uint64_t)ceil(percentile / 100 * (double)histogram->count - 1e-9);
	if (wanted == 0)
		wanted = 1;
	while (next_slot(histogram, &index, &slot, &count)) {
		seen += count;
		if (seen < wanted)
			continue;
		slot_bounds(histogram, slot, &low, &high);
		return high > histogram->maximum ? histogram->maximum : high;
	}
	return histogram->maximum;
}

int histogram_next(const struct histogram *histogram, struct histogram_cursor *cursor)
{
	size_t slot;

	if (!next_slot(histogram, &cursor->index, &slot, &cursor->count))
		return 0;
	slot_bounds(histogram, slot, &cursor->low, &cursor->high);
	return 1;
}

int histogram_print(const struct histogram *histogram, FILE *out)
{
	size_t index = 0, slot;
	uint64_t count;

	fprintf(out,
		"nomora-histogram/1 %" PRId64 " %" PRId64 " %d %" PRIu64 " %" PRId64 " %" PRId64
		" %.21Lg %.21Lg %" PRIu64,
		histogram->lowest, histogram->highest, histogram->digits, histogram->count, histogram->minimum,
		histogram->maximum, histogram->sum, histogram->sum_of_squares, histogram->saturated);
	while (next_slot(histogram, &index, &slot, &count))
		fprintf(out, " %zu:%" PRIu64, slot, count);
	fputc('\n', out);
	return ferror(out) ? -EIO : 0;
}

/* Reads "index:count" pairs. The counts must add up to histogram->count. */
static int read_counts(struct histogram *histogram, const char *text)
{
	uint64_t sum = 0;

	for (;;) {
		char *end;
		unsigned long long index, count;

		while (*text == ' ')
			text++;
		if (*text == '\0' || *text == '\n')
			return sum == histogram->count ? 0 : -EINVAL;
		if (*text < '0' || *text > '9')
			return -EINVAL;
		index = strtoull(text, &end, 10);
		if (*end != ':' || index >= histogram->slots || end[1] < '0' || end[1] > '9')
			return -EINVAL;
		count = strtoull(end + 1, &end, 10);
		if (histogram->counts[index] || count == 0 || count > histogram->count - sum)
			return -EINVAL;
		histogram->counts[index] = count;
		sum += count;
		text = end;
	}
}

/*
 * Returns true if the header's counters and sums could be the result of recording. Sums that are NAN or infinite could
 * not.
 */
static bool is_plausible(const struct histogram *header)
{
	return header->saturated <= header->count && header->minimum >= 0 && header->minimum <= header->maximum &&
	       header->sum >= 0 && isfinite(header->sum) && header->sum_of_squares >= 0 &&
	       isfinite(header->sum_of_squares);
}

struct histogram *histogram_read(const char *text, struct error *err)
{
	int64_t lowest, highest;
	int digits, used = 0;
	struct histogram header = {0}, *histogram;

	if (sscanf(text,
		   "nomora-histogram/1 %" SCNd64 " %" SCNd64 " %d %" SCNu64 " %" SCNd64 " %" SCNd64 " %Lg %Lg %" SCNu64
		   "%n",
		   &lowest, &highest, &digits, &header.count, &header.minimum, &header.maximum, &header.sum,
		   &header.sum_of_squares, &header.saturated, &used) != 9) {
		error_set(err, EINVAL, "not a histogram: expected \"nomora-histogram/1 lowest highest digits ...\"");
		return NULL;
	}
	/*
	 * The range and the digits in the text need no further limit: even the largest histogram, 5 digits over the
	 * whole range, has only 6 million slots.
	 */
	histogram = histogram_create(lowest, highest, digits);
	if (!histogram) {
		error_set(err, errno, "histogram with an impossible range: %s", strerror(errno));
		return NULL;
	}
	histogram->count = header.count;
	histogram->minimum = header.minimum;
	histogram->maximum = header.maximum;
	histogram->sum = header.sum;
	histogram->sum_of_squares = header.sum_of_squares;
	histogram->saturated = header.saturated;
	if (!is_plausible(&header) || read_counts(histogram, text + used) < 0) {
		error_set(err, EINVAL,
			  "histogram with inconsistent figures, or with counts that do not add up to %" PRIu64,
			  header.count);
		histogram_destroy(histogram);
		return NULL;
	}
	return histogram;
}
