/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log lines for people, "nomora: warning: ...", one per call, to a sink that the program chooses (by default stderr).
 * Thread-safe: a line is written whole. Never call from a hot loop.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdio.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO };

/* Drops lines that are less important than `level`, i.e. later in the enum. The default is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

/* `program` is not copied: pass a string that lives as long as the process. */
void log_set_program(const char *program);

/* With sink NULL, no line is written. */
void log_set_sink(FILE *sink);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)

#endif
