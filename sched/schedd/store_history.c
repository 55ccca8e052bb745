/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and reads the decisions and the journal. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/text_stream.h>

#include "store_priv.h"

void store_put_decision(struct store *store, const struct live_decision *decision, double offset_s)
{
	sqlite3_stmt *statement = store_begin(store, PUT_DECISION);

	sqlite3_bind_int64(statement, 1, (sqlite3_int64)decision->sequence);
	sqlite3_bind_double(statement, 2, decision->at_s + offset_s);
	store_bind_text(store, statement, 3, live_decision_kind_name(decision->kind));
	store_bind_text(store, statement, 4, decision->job);
	store_bind_text(store, statement, 5, decision->task);
	store_bind_text(store, statement, 6, decision->from);
	store_bind_text(store, statement, 7, decision->to);
	store_bind_real(statement, 8, decision->rtt_us);
	store_bind_real(statement, 9, decision->performance);
	store_bind_real(statement, 10, decision->gain);
	store_bind_text(store, statement, 11, decision->is_root ? NULL : latency_origin_name(decision->origin));
	store_bind_real(statement, 12, decision->measured);
	store_run(store, statement);
}

void store_put_journal(struct store *store, double at_s, double checkpoint_origin_s, const char *lines)
{
	sqlite3_stmt *statement = store_begin(store, PUT_JOURNAL);

	sqlite3_bind_double(statement, 1, at_s);
	sqlite3_bind_int64(statement, 2, (sqlite3_int64)checkpoint_origin_s);
	store_bind_text(store, statement, 3, lines);
	store_run(store, statement);
}

void store_cut_journal(struct store *store, double before_s)
{
	for (int which = 0; which < 2; which++) {
		sqlite3_stmt *statement = store_begin(store, which == 0 ? CUT_JOURNAL : CUT_DECISIONS);

		sqlite3_bind_double(statement, 1, before_s);
		store_run(store, statement);
	}
}

static double real_or_nan(sqlite3_stmt *row, int column)
{
	return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN : sqlite3_column_double(row, column);
}

/* Returns the n in 0..last for which name(n) is this text; 0 if there is none. */
static int find_name(const char *text, const char *(*name)(int number), int last)
{
	for (int n = 0; text && n <= last; n++)
		if (strcmp(name(n), text) == 0)
			return n;
	return 0;
}

static const char *kind_name(int kind)
{
	return live_decision_kind_name((enum live_decision_kind)kind);
}

static const char *origin_name(int origin)
{
	return latency_origin_name((enum latency_origin)origin);
}

void store_each_decision(struct store *store, const char *job, const char *task, int most,
			 void (*each)(void *context, const struct live_decision *decision, double wall_s),
			 void *context)
{
	sqlite3_stmt *row = store->statements[DECISIONS_OF];

	store_bind_text(store, row, 1, job);
	store_bind_text(store, row, 2, task);
	sqlite3_bind_int(row, 3, most);
	while (sqlite3_step(row) == SQLITE_ROW) {
		struct live_decision decision = {
			.sequence = (uint64_t)sqlite3_column_int64(row, 0),
			.kind = (enum live_decision_kind)find_name((const char *)sqlite3_column_text(row, 2), kind_name,
								   LIVE_ADVICE),
			.job = (char *)job,
			.task = (char *)task,
			.from = (char *)sqlite3_column_text(row, 3),
			.to = (char *)sqlite3_column_text(row, 4),
			.is_root = sqlite3_column_type(row, 5) == SQLITE_NULL,
			.rtt_us = real_or_nan(row, 5),
			.performance = real_or_nan(row, 6),
			.gain = real_or_nan(row, 7),
			.origin = (enum latency_origin)find_name((const char *)sqlite3_column_text(row, 8), origin_name,
								 LATENCY_ORIGIN_SAME_MACHINE),
			.measured = real_or_nan(row, 9)};

		each(context, &decision, sqlite3_column_double(row, 1));
	}
	sqlite3_reset(row);
	sqlite3_clear_bindings(row);
}

void store_journal_range(struct store *store, double *origin_s, double *last_s)
{
	*origin_s = (double)store_pragma(store, "SELECT coalesce(max(checkpoint), 0) FROM journal");
	*last_s = (double)store_pragma(store, "SELECT coalesce(max(at), 0) + 1 FROM journal");
}

char *store_journal_page(struct store *store, uint64_t after, size_t bytes_most, uint64_t *next)
{
	sqlite3_stmt *statement = store->statements[JOURNAL_PAGE];
	char *text = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&text, &bytes);
	size_t written = 0;
	int code = SQLITE_ROW;

	*next = after;
	if (!out)
		return NULL;
	sqlite3_bind_int64(statement, 1, (sqlite3_int64)after);
	while (code == SQLITE_ROW && written < bytes_most && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *line = (const char *)sqlite3_column_text(statement, 1);

		*next = (uint64_t)sqlite3_column_int64(statement, 0);
		if (!line || fputs(line, out) == EOF)
			code = SQLITE_NOMEM;
		else
			written += strlen(line);
	}
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	if (fclose(out) == 0 && (code == SQLITE_ROW || code == SQLITE_DONE))
		return text;
	free(text);
	return NULL;
}
