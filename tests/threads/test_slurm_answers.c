/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread sets schedd's availability and curves while two threads of slurmctld query the agent's answering thread.
 * Each answer must be possible at some moment of the query.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "answers.h"

enum { QUESTIONS = 200 };

static char path[64];

/* Sends one line and reads its answer; false: no answer came. */
static int ask(const char *line, char answer[static 256])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t got = -1;

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
	    send(fd, line, strlen(line), MSG_NOSIGNAL) > 0)
		got = recv(fd, answer, 255, MSG_WAITALL);
	close(fd);
	answer[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static bool place(void *context, const struct slurm_request *request, uint32_t tasks, char answer[static ANSWER_BYTES])
{
	(void)context;
	(void)request;
	(void)tasks;
	strcpy(answer, "PLACE");
	return true;
}

static void *ask_often(void *context)
{
	char answer[256];

	for (int q = 0; q < QUESTIONS; q++) {
		if (!ask("SUBMIT 3 - nomora:curve=memcached\n", answer))
			continue; /* the answering thread exceeded its own limit */
		if (strcmp(answer, "PLACE\n") != 0 && strcmp(answer, "PASS\n") != 0 &&
		    strcmp(answer, "REFUSE nomora: comment: unknown curve 'memcached'\n") != 0) {
			fprintf(stderr, "unexpected answer: %s\n", answer);
			*(int *)context = 1;
		}
	}
	return NULL;
}

/* Before schedd has answered once, jobs pass; a bad comment is refused even then. */
static int check_beginning(void)
{
	char answer[256];

	if (ask("SUBMIT 3 - nomora:curve=memcached\n", answer) && strcmp(answer, "PASS\n") != 0)
		return 1;
	if (ask("SUBMIT 3 - nomora:curve=memcached,root=3\n", answer) && strncmp(answer, "REFUSE ", 7) != 0)
		return 1;
	return ask("nonsense\n", answer) && strcmp(answer, "PASS\n") != 0;
}

/* Sends a byte each 50 ms. Returns true if the agent closes the connection within 1 s, and answers another client. */
static bool survives_a_slow_client(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), passed;
	struct timespec begun, ended;
	char answer[256];

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
		return false;
	for (passed = 0; passed < 1000 && send(fd, "x", 1, MSG_NOSIGNAL) == 1; passed += 50)
		usleep(50000);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	ask("SUBMIT 3 - nomora:curve=memcached\n", answer);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	close(fd);
	return passed < 1000 && strcmp(answer, "PASS\n") == 0 && ended.tv_sec - begun.tv_sec < 2;
}

int main(void)
{
	char folder[] = "/tmp/nomora-answers.XXXXXX";
	struct error err = {0};
	struct answers *answers, *second;
	int failures[2] = {0, 0}, failed;
	pthread_t threads[2];

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof path, "%s/socket", folder);
	answers = answers_create(path, place, NULL, &err);
	if (!answers) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	second = answers_create(path, place, NULL, &err);
	failed = second != NULL || check_beginning() || !survives_a_slow_client();
	for (int t = 0; t < 2; t++)
		pthread_create(&threads[t], NULL, ask_often, &failures[t]);
	for (int turn = 0; turn < QUESTIONS; turn++) {
		answers_offer(answers, turn % 2 ? json_pack("[s, s]", "spark", "memcached") : json_pack("[s]", "spark"),
			      "main", turn % 3 == 0);
		usleep(200);
	}
	for (int t = 0; t < 2; t++)
		pthread_join(threads[t], NULL);
	answers_destroy(answers);
	failed = failed || failures[0] || failures[1] || access(path, F_OK) == 0;
	rmdir(folder);
	return failed;
}
