/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Slurm agent's socket: clients whose requests arrive in parts and late, by a fake clock. Each whole request gets
 * one line, a broken one none, and no client holds the agent for longer than READ_MS. The functions are
 * static, hence the include.
 */
#include <poll.h>
#include <sys/socket.h>

#include <base/ns.h>

#include "fuzz_events.h"

static int fake_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
static ssize_t fake_recv(int fd, void *bytes, size_t count, int flags);
static ssize_t fake_send(int fd, const void *bytes, size_t count, int flags);
static struct ns fake_now(void);

#define poll fake_poll
#define recv fake_recv
#define send fake_send
#define ns_now_monotonic fake_now
#include "../../integrations/slurm/answers.c"
#undef poll
#undef recv
#undef send
#undef ns_now_monotonic

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLIENT = 1000, LISTENER = 1001 };

static const char *const pieces[] = {
	"SUBMIT 4 main nomora:curve=memcached",
	"SUBMIT 2 - nomora:curve=spark,root=1",
	"SUBMIT 1 other nomora:curve=memcached",
	" ",
	"SUBMIT 99999999999 main nomora:curve=none\n",
	"nomora:curve=none,root=7",
	"\n",
	"SUBMIT 4 main no request of ours\n",
};

static struct {
	int64_t now_ns;
	struct events events;
	const uint8_t *part; /* of a request, on its way */
	size_t left;
	bool newline; /* the client has sent one */
	int lines, decisions;
} world;

static struct ns fake_now(void)
{
	return (struct ns){world.now_ns += 1000};
}

static int fake_poll(struct pollfd *polled, nfds_t count, int timeout_ms)
{
	int wait = events_byte(&world.events);

	law(count == 1 && timeout_ms >= 0 && timeout_ms <= READ_MS);
	if (polled->fd == LISTENER)
		return wait & 1;
	law(polled->fd == CLIENT && timeout_ms > 0);
	/* Most parts follow at once. */
	wait = wait < 200 ? 0 : wait - 200;
	world.now_ns += (int64_t)(wait < timeout_ms ? wait : timeout_ms) * 1000000;
	return wait < timeout_ms;
}

static ssize_t fake_recv(int fd, void *bytes, size_t count, int flags)
{
	uint8_t kind;
	size_t part;

	law(fd == CLIENT && flags == 0 && count > 0);
	if (!world.left) {
		if (!events_left(&world.events))
			return 0;
		kind = events_byte(&world.events);
		world.part = (const uint8_t *)pieces[kind & 7];
		world.left = strlen(pieces[kind & 7]);
		if (kind & 64)
			world.part = events_bytes(&world.events, events_byte(&world.events), &world.left);
		if (kind & 128 && (kind & 63) == 63)
			return -1;
	}
	part = world.left < count ? world.left : count;
	if (events_byte(&world.events) & 1 && part > 1)
		part = 1 + part / 2;
	memcpy(bytes, world.part, part);
	world.newline |= memchr(world.part, '\n', part) != NULL;
	world.part += part;
	world.left -= part;
	return (ssize_t)part;
}

static ssize_t fake_send(int fd, const void *bytes, size_t count, int flags)
{
	const char *line = bytes;

	law(fd == CLIENT && flags & MSG_NOSIGNAL);
	law(count > 0 && count <= ANSWER_BYTES && line[count - 1] == '\n' && !memchr(line, '\n', count - 1));
	law(world.newline);
	law(world.lines == 0);
	law(strncmp(line, "PLACE ", 6) != 0 || world.decisions == 1);
	world.lines++;
	return (ssize_t)count;
}

static bool decide(void *context, const struct slurm_request *request, uint32_t tasks, char answer[static ANSWER_BYTES])
{
	(void)context;
	law(request->curve[0] && tasks > 0 && tasks <= SLURM_TASKS_MAXIMUM);
	world.decisions++;
	snprintf(answer, ANSWER_BYTES, "PLACE h1,h2 2 %sid h1,h2", SLURM_REQUEST_PREFIX);
	return events_byte(&world.events) & 1;
}

static void offer(struct answers *answers, uint8_t kind)
{
	answers_offer(answers, kind & 1 ? json_pack("[s,s,i]", "memcached", "spark", 3) : NULL,
		      kind & 2 ? "main" : NULL, kind & 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answers answers = {.fd = LISTENER, .decide = decide};
	uint8_t kind;

	world.events = (struct events){data, size};
	world.now_ns = 1000000000;
	pthread_mutex_init(&answers.lock, NULL);
	for (int i = 0; i < 8 && events_left(&world.events); i++) {
		int64_t before = world.now_ns;

		kind = events_byte(&world.events);
		if (kind & 1)
			offer(&answers, kind >> 1);
		if (kind & 8)
			world.now_ns += (int64_t)(kind >> 4) * 1000000000;
		before = world.now_ns;
		world.left = 0;
		world.lines = world.decisions = 0;
		world.newline = false;
		serve_one(&answers, CLIENT);
		law(world.now_ns - before <= (READ_MS + 10) * INT64_C(1000000));
		law(world.decisions <= world.lines && (world.lines == 0 || world.newline));
	}
	json_decref(answers.curves);
	free(answers.partition);
	pthread_mutex_destroy(&answers.lock);
	return 0;
}
