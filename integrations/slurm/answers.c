/* SPDX-License-Identifier: BSD-3-Clause */
#include "answers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <base/file.h>
#include <base/ns.h>

enum { LINE_BYTES = ANSWER_BYTES, READ_MS = 100, WAKE_MS = 200 };
/* Milliseconds after which accept() is called again if it fails, for example with EMFILE: the plug-in waits for 20 ms.
 */
enum { ACCEPT_AGAIN_MS = 5 };
#define VALID_S 5

struct answers {
	int fd, lock_fd; /* lock_fd: lock file; unlike the socket's name, the lock vanishes when the process ends */
	char path[sizeof((struct sockaddr_un *)0)->sun_path];
	answers_decide *decide;
	void *context;
	pthread_t thread;
	pthread_mutex_t lock; /* protects the fields below */
	json_t *curves;
	char *partition;
	bool queue;
	uint32_t allowed; /* uid that may ask, besides root and the agent's own */
	struct ns until;
	bool stop;
};

static bool has_curve(const json_t *curves, const char *name)
{
	const json_t *curve;
	size_t at;

	json_array_foreach (curves, at, curve)
		if (json_is_string(curve) && strcmp(json_string_value(curve), name) == 0)
			return true;
	return curves == NULL;
}

enum verdict { VERDICT_PASS, VERDICT_DECIDE, VERDICT_UNKNOWN_CURVE };

static enum verdict judge(struct answers *answers, const char *curve, const char *partition)
{
	enum verdict verdict = VERDICT_PASS;

	pthread_mutex_lock(&answers->lock);
	if (ns_now_monotonic().v < answers->until.v && answers->partition &&
	    (strcmp(partition, "-") == 0 || strcmp(partition, answers->partition) == 0))
		verdict = !has_curve(answers->curves, curve) ? VERDICT_UNKNOWN_CURVE
			  : answers->queue                   ? VERDICT_PASS
							     : VERDICT_DECIDE;
	pthread_mutex_unlock(&answers->lock);
	return verdict;
}

static void send_line(int fd, char line[static LINE_BYTES])
{
	size_t length = strlen(line);

	line[length] = '\n';
	send(fd, line, length + 1, MSG_NOSIGNAL);
}

/* Answers "SUBMIT TASKS PARTITION COMMENT" by the protocol. */
static void answer_line(struct answers *answers, int fd, char *line)
{
	static const char submit[] = "SUBMIT ";
	bool known = strncmp(line, submit, strlen(submit)) == 0;
	struct slurm_request request;
	struct error err = {0};
	char *end, *partition, *comment, reply[LINE_BYTES] = "PASS";
	unsigned long tasks = strtoul(line + (known ? strlen(submit) : strlen(line)), &end, 10);
	enum verdict verdict = VERDICT_PASS;
	int code = 0;

	comment = *end == ' ' ? end + 1 : NULL;
	partition = strsep(&comment, " ");
	if (tasks > 0 && tasks <= SLURM_TASKS_MAXIMUM && comment)
		code = slurm_request_parse(comment, (uint32_t)tasks, &request, &err);
	if (code > 0)
		verdict = judge(answers, request.curve, partition);
	if (verdict == VERDICT_DECIDE && !answers->decide(answers->context, &request, (uint32_t)tasks, reply))
		snprintf(reply, LINE_BYTES, "PASS");
	if (code == -EINVAL)
		snprintf(reply, LINE_BYTES - 1, "REFUSE nomora: %s", err.text);
	else if (verdict == VERDICT_UNKNOWN_CURVE)
		snprintf(reply, LINE_BYTES - 1, "REFUSE nomora: comment: unknown curve '%s'", request.curve);
	send_line(fd, reply);
}

static void serve_one(struct answers *answers, int fd)
{
	char line[LINE_BYTES];
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	struct ns until = ns_add(ns_now_monotonic(), ns_from_us(READ_MS * 1e3));
	size_t count = 0;
	char *end = NULL;
	ssize_t got;

	while (!end && count < sizeof line - 1) {
		int64_t left_ms = ns_sub(until, ns_now_monotonic()).v / 1000000;

		if (left_ms <= 0 || poll(&polled, 1, (int)left_ms) != 1)
			return;
		got = recv(fd, line + count, sizeof line - 1 - count, 0);
		if (got <= 0)
			return;
		count += (size_t)got;
		line[count] = '\0';
		end = strchr(line, '\n');
	}
	if (!end)
		return;
	*end = '\0';
	answer_line(answers, fd, line);
}

static bool may_ask(struct answers *answers, int fd)
{
	struct ucred who;
	socklen_t bytes = sizeof who;
	bool may;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) < 0)
		return false;
	pthread_mutex_lock(&answers->lock);
	may = who.uid == 0 || who.uid == geteuid() || who.uid == answers->allowed;
	pthread_mutex_unlock(&answers->lock);
	return may;
}

static bool is_stopped(struct answers *answers)
{
	bool stop;

	pthread_mutex_lock(&answers->lock);
	stop = answers->stop;
	pthread_mutex_unlock(&answers->lock);
	return stop;
}

static void *run(void *context)
{
	struct answers *answers = context;
	const struct timespec pause = {.tv_nsec = ACCEPT_AGAIN_MS * 1000000};
	struct pollfd polled = {.fd = answers->fd, .events = POLLIN};

	while (!is_stopped(answers)) {
		bool asked = poll(&polled, 1, WAKE_MS) == 1;
		int fd = asked ? accept4(answers->fd, NULL, NULL, SOCK_CLOEXEC) : -1;

		if (asked && fd < 0)
			nanosleep(&pause, NULL);
		if (fd < 0)
			continue;
		if (may_ask(answers, fd))
			serve_one(answers, fd);
		close(fd);
	}
	return NULL;
}

/* Locks PATH.lock for as long as the agent runs; returns its descriptor. */
static int take_lock(const char *path, struct error *err)
{
	char name[sizeof((struct sockaddr_un *)0)->sun_path + sizeof ".lock"];
	int fd, code;

	file_make_folder_of(path);
	snprintf(name, sizeof name, "%s.lock", path);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	code = fd >= 0 && errno == EWOULDBLOCK ? error_set(err, EADDRINUSE, "%s: another agent answers here", path)
					       : error_set(err, errno, "%s: %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
	return code;
}

/* Creates the socket and listens on it. Any user may connect, but only slurmctld's gets an answer (may_ask()). */
static int listen_at(const char *path, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;
	int fd, code;

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	if (stat(path, &status) == 0 && S_ISSOCK(status.st_mode))
		unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && chmod(path, 0666) == 0 &&
	    listen(fd, SOMAXCONN) == 0)
		return fd;
	code = error_set(err, errno, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return code;
}

struct answers *answers_create(const char *path, answers_decide *decide, void *context, struct error *err)
{
	struct answers *answers = calloc(1, sizeof *answers);
	int code;

	if (!answers) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	answers->decide = decide;
	answers->context = context;
	pthread_mutex_init(&answers->lock, NULL);
	answers->lock_fd = answers->fd = -1;
	if (strlen(path) >= sizeof answers->path)
		error_set(err, ENAMETOOLONG, "%s: too long for the path of a unix socket", path);
	else
		answers->lock_fd = take_lock(path, err);
	if (answers->lock_fd >= 0)
		answers->fd = listen_at(path, err);
	if (answers->fd >= 0) {
		snprintf(answers->path, sizeof answers->path, "%s", path);
		code = pthread_create(&answers->thread, NULL, run, answers);
		if (code == 0)
			return answers;
		error_set(err, code, "cannot start a thread: %s", strerror(code));
		unlink(path);
		close(answers->fd);
	}
	if (answers->lock_fd >= 0)
		close(answers->lock_fd);
	pthread_mutex_destroy(&answers->lock);
	free(answers);
	return NULL;
}

void answers_destroy(struct answers *answers)
{
	if (!answers)
		return;
	pthread_mutex_lock(&answers->lock);
	answers->stop = true;
	pthread_mutex_unlock(&answers->lock);
	pthread_join(answers->thread, NULL);
	unlink(answers->path);
	close(answers->fd);
	close(answers->lock_fd);
	json_decref(answers->curves);
	free(answers->partition);
	pthread_mutex_destroy(&answers->lock);
	free(answers);
}

void answers_allow(struct answers *answers, uint32_t uid)
{
	pthread_mutex_lock(&answers->lock);
	answers->allowed = uid;
	pthread_mutex_unlock(&answers->lock);
}

void answers_offer(struct answers *answers, json_t *curves, const char *partition, bool queue)
{
	pthread_mutex_lock(&answers->lock);
	free(answers->partition);
	answers->partition = partition ? strdup(partition) : NULL;
	answers->queue = queue;
	json_decref(answers->curves);
	answers->curves = curves;
	answers->until = ns_add(ns_now_monotonic(), ns_from_us(VALID_S * 1e6));
	pthread_mutex_unlock(&answers->lock);
}
