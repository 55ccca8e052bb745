/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/progress.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/ns.h>

enum { BAR_CELLS = 24 };

struct progress {
	FILE *out;
	char *label;
	uint64_t total, done;
	struct ns started, drawn;
	bool on_screen;
};

struct progress *progress_create(FILE *out, const char *label, uint64_t total)
{
	struct progress *progress;

	if (!out || !isatty(fileno(out)))
		return NULL; /* no bar in a log file; the functions below accept NULL */
	progress = calloc(1, sizeof *progress);
	if (!progress)
		return NULL;
	progress->label = strdup(label);
	if (!progress->label) {
		free(progress);
		return NULL;
	}
	progress->out = out;
	progress->total = total;
	progress->started = ns_now_monotonic();
	return progress;
}

static void draw(struct progress *progress, double elapsed_s, const char *note)
{
	char bar[BAR_CELLS + 1], left[32] = "";

	if (progress->total > 0) {
		double share = progress->done >= progress->total ? 1 : (double)progress->done / (double)progress->total;
		int full = (int)(share * BAR_CELLS);

		for (int i = 0; i < BAR_CELLS; i++)
			bar[i] = i < full ? '#' : '.';
		bar[BAR_CELLS] = '\0';
		if (share > 0)
			snprintf(left, sizeof left, " %.0f s left", elapsed_s * (1 - share) / share);
		fprintf(progress->out, "\r\033[K%s [%s] %3.0f %%%s%s%s", progress->label, bar, share * 100, left,
			note ? "  " : "", note ? note : "");
	} else {
		fprintf(progress->out, "\r\033[K%s %.0f s%s%s", progress->label, elapsed_s, note ? "  " : "",
			note ? note : "");
	}
	fflush(progress->out);
	progress->on_screen = true;
}

void progress_update(struct progress *progress, uint64_t done, const char *note)
{
	struct ns now;

	if (!progress)
		return;
	progress->done = done;
	now = ns_now_monotonic();
	if (now.v - progress->started.v < NS_PER_S || now.v - progress->drawn.v < NS_PER_S / 10)
		return;
	progress->drawn = now;
	draw(progress, ns_to_s(ns_sub(now, progress->started)), note);
}

void progress_clear(struct progress *progress)
{
	if (!progress || !progress->on_screen)
		return;
	fputs("\r\033[K", progress->out);
	fflush(progress->out);
	progress->on_screen = false;
}

void progress_destroy(struct progress *progress)
{
	if (!progress)
		return;
	progress_clear(progress);
	free(progress->label);
	free(progress);
}
