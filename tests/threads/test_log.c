/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of several threads are not mixed, and none is lost. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/log.h>

enum { THREADS = 4, LINES = 500 };

static void *talk(void *argument)
{
	for (int i = 0; i < LINES; i++) {
		log_info("thread %d line %d", *(int *)argument, i);
		if (i % 100 == 0)
			log_set_level(LOG_LEVEL_INFO);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	int numbers[THREADS], seen = 0, thread, line;
	char *text, *at;
	size_t bytes;
	FILE *sink = open_memstream(&text, &bytes);

	log_set_sink(sink);
	log_set_program("test");
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, talk, &numbers[i]))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	log_set_level(LOG_LEVEL_WARNING);
	log_info("not shown");
	log_set_sink(NULL);
	fclose(sink);
	for (at = text; *at; at = strchr(at, '\n') + 1) {
		if (sscanf(at, "test: thread %d line %d\n", &thread, &line) != 2) {
			fprintf(stderr, "a torn line: %.80s\n", at);
			return 1;
		}
		seen++;
	}
	free(text);
	if (seen != THREADS * LINES)
		fprintf(stderr, "%d lines of %d\n", seen, THREADS * LINES);
	return seen != THREADS * LINES;
}
