/* SPDX-License-Identifier: BSD-3-Clause */
/* The server's thread where no descriptor is free. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include <base/ns.h>
#include <probe/twamp/twamp.h>

enum { FAILURES = 10, GREETING_BYTES = 64 };

static atomic_int calls;
static _Atomic int64_t first_ns, last_ns;

int __real_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	int call = atomic_fetch_add(&calls, 1);

	if (call == 0)
		first_ns = ns_now_monotonic().v;
	if (call < FAILURES) {
		last_ns = ns_now_monotonic().v;
		errno = EMFILE;
		return -1;
	}
	return __real_accept4(fd, address, length, flags);
}

/* The thread pauses after each failure, and the connection is accepted once there is a descriptor. */
Test(twamp_service, a_connection_waits_for_a_free_descriptor)
{
	struct twamp_terms terms = {.address = INADDR_LOOPBACK};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct twamp_service_counters counters;
	struct twamp_service *service = NULL;
	struct error err = {0};
	uint8_t greeting[GREETING_BYTES];
	uint16_t port = (uint16_t)(20000 + getpid() % 10000);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (int tries = 0; tries < 100 && !service; tries++) {
		err = (struct error){0};
		service = twamp_service_start(&terms, ++port, &err);
	}
	cr_assert(service && fd >= 0, "%s", err.text);
	to.sin_port = htons(port);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	cr_assert_eq(recv(fd, greeting, sizeof greeting, MSG_WAITALL), GREETING_BYTES);
	cr_expect_eq(atomic_load(&calls), FAILURES + 1);
	cr_expect_geq(last_ns - first_ns, (FAILURES - 1) * INT64_C(15000000), "it did not pause");
	close(fd);
	twamp_service_stop(service, &counters);
	cr_expect_eq(counters.connections, 1);
}
