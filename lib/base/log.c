/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/log.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int highest = LOG_LEVEL_INFO;
static const char *program_name = "nomora"; /* guarded by lock */
static FILE *chosen_sink;                   /* guarded by lock */
static bool sink_chosen;                    /* guarded by lock */

void log_set_level(enum log_level level)
{
	atomic_store(&highest, (int)level);
}

void log_set_program(const char *program)
{
	pthread_mutex_lock(&lock);
	program_name = program;
	pthread_mutex_unlock(&lock);
}

void log_set_sink(FILE *sink)
{
	pthread_mutex_lock(&lock);
	chosen_sink = sink;
	sink_chosen = true;
	pthread_mutex_unlock(&lock);
}

void log_write(enum log_level level, const char *format, ...)
{
	static const char *const words[] = {"error: ", "warning: ", ""};
	char text[2048];
	va_list arguments;
	FILE *sink;

	if ((int)level > atomic_load(&highest))
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	/* Messages may quote text from files: escape sequences in it must not reach the terminal. */
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = *at == '\t' ? ' ' : '?';
	pthread_mutex_lock(&lock);
	sink = sink_chosen ? chosen_sink : stderr;
	if (sink) {
		fprintf(sink, "%s: %s%s\n", program_name, words[level], text);
		fflush(sink);
	}
	pthread_mutex_unlock(&lock);
}
