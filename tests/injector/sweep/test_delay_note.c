/* SPDX-License-Identifier: BSD-3-Clause */
/* The note that a killed sweep leaves about the original delays, and when it is invalid. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweeper_priv.h"

static char control[] = "/tmp/nomora-test-note-XXXXXX";
static FILE *lock;
static struct sweep_plan plan = {.injector = control};
static const struct delay_note note = {{3.1, 4.2}, {50, 50}, {20, 0}};

static void begin(void)
{
	int descriptor = mkstemp(control); /* a file in place of the socket */

	cr_assert_geq(descriptor, 0);
	close(descriptor);
	lock = tmpfile();
	cr_assert_not_null(lock);
}

static void end(void)
{
	unlink(control);
	fclose(lock);
}

TestSuite(delay_note, .init = begin, .fini = end);

Test(delay_note, is_read_as_it_was_written)
{
	struct delay_note read;

	delay_note_write(fileno(lock), &plan, &(struct delay_note){{1.5, 1000.1}, {2000.2, 3000.3}, {1e-1, 1e-1}});
	delay_note_write(fileno(lock), &plan, &note);
	cr_assert(delay_note_read(fileno(lock), &plan, &read));
	cr_assert_eq(read.found.ab_us, 3.1);
	cr_assert_eq(read.found.ba_us, 4.2);
	cr_assert_eq(read.set.ab_us, 50);
	cr_assert_eq(read.before.ab_us, 20);
	cr_assert_eq(read.before.ba_us, 0);
}

Test(delay_note, is_not_valid_for_another_injector)
{
	struct delay_note read;
	char old[sizeof control + 4];

	delay_note_write(fileno(lock), &plan, &note);
	snprintf(old, sizeof old, "%s.old", control);
	cr_assert_eq(rename(control, old), 0); /* keep the file, so that its inode number is not reused */
	cr_assert_not(delay_note_read(fileno(lock), &plan, &read), "no socket");
	fclose(fopen(control, "w"));
	cr_assert_not(delay_note_read(fileno(lock), &plan, &read));
	unlink(old);
}

Test(delay_note, is_not_valid_for_another_rule)
{
	struct delay_note read;

	plan.rule = "udp:53 loss=1";
	delay_note_write(fileno(lock), &plan, &note);
	cr_assert(delay_note_read(fileno(lock), &plan, &read));
	plan.rule = "udp:53";
	cr_assert_not(delay_note_read(fileno(lock), &plan, &read));
	plan.rule = NULL;
	cr_assert_not(delay_note_read(fileno(lock), &plan, &read));
}

Test(delay_note, is_not_read_from_garbage)
{
	static const char texts[][100] = {"",
					  "4711\n",
					  "4711",
					  "found 1 2 set 3 4 before 5 6 at ",
					  "4711\nfound 1 2 set 3 4 before 5\n",
					  "4711\nfound 1 2 set 3 4 before 5 6\n",
					  "\n\n\n",
					  "\377\376\nfound"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct delay_note read;

		cr_assert_eq(ftruncate(fileno(lock), 0), 0);
		cr_assert_eq(pwrite(fileno(lock), texts[i], strlen(texts[i]), 0), (ssize_t)strlen(texts[i]));
		cr_assert_not(delay_note_read(fileno(lock), &plan, &read), "%zu", i);
	}
}

Test(delay_note, refuses_delays_out_of_range)
{
	static const double wrong[] = {-1, 1e10, 0.0 / 0.0, 1 / 0.0};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct delay_note other = note, read;

		other.found.ba_us = wrong[i];
		delay_note_write(fileno(lock), &plan, &other);
		cr_assert_not(delay_note_read(fileno(lock), &plan, &read), "%g", wrong[i]);
	}
}
