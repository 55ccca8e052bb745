/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target without libFuzzer, in the build with sanitizers: replay RUNS KEPT [FILE...] runs the target on
 * each initial input, then on RUNS random changes of these. The random numbers are always the same. The file KEPT has
 * the input of the current run; it remains if the target fails.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/error.h>
#include <base/file.h>
#include <base/rng.h>

enum {
	INPUT_MAXIMUM = 4096,
	CHANGES_MAXIMUM = 5,
	PIECE_MAXIMUM = 64,
	FRESH = 4, /* one run in FRESH changes an initial input, the others the input of the run before */
};

struct input {
	size_t size;
	uint8_t *bytes; /* INPUT_MAXIMUM of them */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rng rng;

static size_t below(size_t limit)
{
	return (size_t)rng_below(&rng, limit);
}

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(2);
}

/* On a copy of the exact size, so that ASan finds a read beyond the end. */
static void run(const struct input *input, FILE *kept)
{
	uint8_t *copy = malloc(input->size ? input->size : 1);

	check(copy, "malloc");
	memcpy(copy, input->bytes, input->size);
	rewind(kept);
	fwrite(copy, 1, input->size, kept);
	check(fflush(kept) == 0 && ftruncate(fileno(kept), (off_t)input->size) == 0, "kept input");
	LLVMFuzzerTestOneInput(copy, input->size);
	free(copy);
}

/* Replaces `cut` bytes at `at` by `count` others, as many as fit. */
static void replace(struct input *input, size_t at, size_t cut, const void *bytes, size_t count)
{
	size_t rest = input->size - at - cut;

	if (count > INPUT_MAXIMUM - at - rest)
		count = INPUT_MAXIMUM - at - rest;
	memmove(input->bytes + at + count, input->bytes + at + cut, rest);
	memcpy(input->bytes + at, bytes, count);
	input->size = at + count + rest;
}

/* A piece of the input itself, or of an initial one, is inserted or replaces as many bytes. */
static void splice(struct input *input, const struct input *from, size_t at)
{
	uint8_t piece[PIECE_MAXIMUM];
	size_t start = below(from->size + 1), count = below(PIECE_MAXIMUM + 1), cut;

	if (count > from->size - start)
		count = from->size - start;
	memcpy(piece, from->bytes + start, count);
	cut = below(2) ? 0 : count < input->size - at ? count : input->size - at;
	replace(input, at, cut, piece, count);
}

static void put_number(struct input *input, size_t at)
{
	static const char *const numbers[] = {
		"0",   "-1",    "1",     "65536",      "4294967295", "9223372036854775807",
		"1.5", "1e308", "1e-30", "1000000000", "nan",        "18446744073709551616"};
	const char *number = numbers[below(sizeof numbers / sizeof numbers[0])];
	size_t cut = 0;

	while (at + cut < input->size && strchr("0123456789.", input->bytes[at + cut]) && input->bytes[at + cut])
		cut++;
	replace(input, at, cut, number, strlen(number));
}

static void change(struct input *input, const struct input *initial, size_t initials)
{
	static const uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xff, '\n', ' ', ',', '"', '{', '}', '[', ']', ':', '-', '#'};
	size_t at = below(input->size + 1), left = input->size - at;
	uint8_t byte = below(2) ? (uint8_t)below(256) : bytes[below(sizeof bytes)];

	switch (below(6)) {
	case 0:
		replace(input, at, left > 0, &byte, 1);
		break;
	case 1:
		replace(input, at, 0, &byte, 1);
		break;
	case 2:
		replace(input, at, below((left < PIECE_MAXIMUM ? left : PIECE_MAXIMUM) + 1), "", 0);
		break;
	case 3:
		splice(input, initials > 0 && below(2) ? &initial[below(initials)] : input, at);
		break;
	case 4:
		put_number(input, at);
		break;
	default:
		if (left > 0)
			input->bytes[at] ^= (uint8_t)(1U << below(8));
	}
}

static void run_changes(size_t runs, const struct input *initial, size_t initials, FILE *kept)
{
	uint8_t bytes[INPUT_MAXIMUM];
	struct input input = {0, bytes};

	for (size_t i = 0; i < runs; i++) {
		if (below(FRESH) == 0) {
			input.size = 0;
			if (initials > 0) {
				const struct input *from = &initial[below(initials)];

				replace(&input, 0, 0, from->bytes, from->size);
			}
		}
		for (size_t left = 1 + below(CHANGES_MAXIMUM); left > 0; left--)
			change(&input, initial, initials);
		run(&input, kept);
	}
}

int main(int count, char **arguments)
{
	size_t initials = count > 3 ? (size_t)count - 3 : 0;
	struct input *initial = calloc(initials + 1, sizeof *initial);
	struct error err = {0};
	FILE *kept;

	check(count >= 3 && initial, "replay RUNS KEPT [FILE...]");
	kept = fopen(arguments[2], "w");
	check(kept, arguments[2]);
	rng_seed(&rng, 1);
	for (size_t i = 0; i < initials; i++) {
		initial[i].bytes = (uint8_t *)file_read_all(arguments[3 + i], SIZE_MAX, &initial[i].size, &err);
		check(initial[i].bytes, arguments[3 + i]);
		run(&initial[i], kept);
	}
	run_changes(strtoul(arguments[1], NULL, 10), initial, initials, kept);
	for (size_t i = 0; i < initials; i++)
		free(initial[i].bytes);
	free(initial);
	fclose(kept);
	unlink(arguments[2]);
	return 0;
}
