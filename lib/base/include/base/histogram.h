/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log-linear histogram with HDR semantics (Tene, HdrHistogram): values lowest..highest are kept to a number of
 * significant decimal digits, in constant time and memory. Values are integers in whatever unit the owner says (usually
 * nanoseconds). One thread at a time: if one thread records and another one reads, the owner must provide a lock. All
 * counts are exact; values over `highest` are clamped to it and counted in `saturated`, values under 0 to 0.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>

struct histogram;

/*
 * lowest (at least 1): smallest value that is distinguished from 0; highest: at least 2 * lowest; digits: 1..5. Returns
 * NULL with errno EINVAL or ENOMEM on failure. Free with histogram_destroy().
 */
struct histogram *histogram_create(int64_t lowest, int64_t highest, int digits);
/*
 * Creates a histogram that takes little memory while it has few different values. It begins as a sorted list of the
 * slots that have counts, 8 bytes each, and becomes an array once the list has a quarter of all slots. Recording into
 * the list takes a binary search, and for a new slot may allocate memory. If no memory is left, the count goes to the
 * next higher slot in the list, or to the highest. room (at least 1): number of list entries allocated before any value
 * is recorded.
 */
struct histogram *histogram_create_compact(int64_t lowest, int64_t highest, int digits, uint32_t room);
/* Returns the memory in use, in bytes. */
size_t histogram_bytes(const struct histogram *histogram);
void histogram_destroy(struct histogram *histogram); /* NULL is legal */
void histogram_reset(struct histogram *histogram);

void histogram_record(struct histogram *histogram, int64_t value);
void histogram_record_many(struct histogram *histogram, int64_t value, uint64_t count);

/* Adds every count of `from` to `into`; -EINVAL if their range or digits differ. */
int histogram_merge(struct histogram *into, const struct histogram *from);

uint64_t histogram_count(const struct histogram *histogram);
int64_t histogram_minimum(const struct histogram *histogram); /* exact; 0 if empty */
int64_t histogram_maximum(const struct histogram *histogram); /* exact, also above `highest`; 0 if empty */
double histogram_mean(const struct histogram *histogram);     /* exact, from the sum of the recorded values */
double histogram_deviation(const struct histogram *histogram);

/*
 * Finds the lowest slot such that at least `percentile` % (0..100) of the values are in it or in lower slots. Returns
 * its upper bound, but at most the largest recorded value; 0 if the histogram is empty.
 */
int64_t histogram_percentile(const struct histogram *histogram, double percentile);

/*
 * histogram_next() goes through the non-empty slots in ascending order: low and high are the slot's inclusive bounds.
 * Returns 0 at the end.
 */
struct histogram_cursor {
	size_t index;
	int64_t low, high;
	uint64_t count;
};
int histogram_next(const struct histogram *histogram, struct histogram_cursor *cursor);

/*
 * Lossless text, one line: "nomora-histogram/1 lowest highest digits count minimum maximum sum sum_of_squares
 * saturated index:count ...". histogram_read() gives back an equal histogram, or NULL with err set.
 */
int histogram_print(const struct histogram *histogram, FILE *out);
struct histogram *histogram_read(const char *text, struct error *err);

#endif
