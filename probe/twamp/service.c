/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/twamp/twamp.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <base/address.h>

/* AGAIN_MS: time until the listener is looked at again if accept4() failed, for example without a free descriptor. */
enum { BACKLOG = 64, STEP_MS = 1000, AGAIN_MS = 20 };
/* A peer that is gone while its sessions run is noticed after about two minutes. */
enum { KEEPALIVE_IDLE_S = 60, KEEPALIVE_GAP_S = 15, KEEPALIVE_COUNT = 4 };

struct connection {
	int fd; /* -1 = free */
	ip_address host;
	struct twamp_server server;
};

/* Only the service's thread uses the connections and counters; others wait for its end. */
struct twamp_service {
	struct twamp_terms terms;
	int listener, stop;
	pthread_t thread;
	struct twamp_service_counters counters;
	struct connection connections[TWAMP_CONNECTIONS];
};

static void end(struct twamp_service *service, struct connection *connection)
{
	service->counters.sessions += connection->server.accepted;
	service->counters.refused += connection->server.refused;
	close(connection->fd);
	connection->fd = -1;
}

/* A peer that does not read is not served: its socket has room for every answer otherwise. */
static bool sends(int fd, const struct twamp_message *message)
{
	return send(fd, message->bytes, message->length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)message->length;
}

static struct connection *find_place(struct twamp_service *service, ip_address host)
{
	struct connection *place = NULL;
	int of_host = 0;

	for (size_t i = 0; i < TWAMP_CONNECTIONS; i++) {
		struct connection *connection = &service->connections[i];

		if (connection->fd < 0)
			place = connection;
		else
			of_host += connection->host == host;
	}
	return of_host < TWAMP_HOST_CONNECTIONS ? place : NULL;
}

static void keep_alive(int fd)
{
	const int on = 1, idle = KEEPALIVE_IDLE_S, gap = KEEPALIVE_GAP_S, count = KEEPALIVE_COUNT;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &gap, sizeof gap);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

/* RFC 4656 section 3.1: a greeting without a mode refuses the client. */
static void turn_away(struct twamp_service *service, int fd, const uint8_t *random)
{
	struct twamp_server server;
	struct twamp_message greeting;

	service->counters.turned_away++;
	twamp_server_begin(&server, &service->terms, false, random, ns_now_monotonic(), &greeting);
	(void)sends(fd, &greeting);
	close(fd);
}

/* Accepts one connection. Returns false if there is none, or none can be accepted now. */
static bool welcome(struct twamp_service *service)
{
	const struct twamp_terms *terms = &service->terms;
	struct sockaddr_storage from = {0};
	socklen_t length = sizeof from;
	uint8_t random[TWAMP_RANDOM_BYTES];
	struct twamp_message greeting;
	struct connection *place;
	ip_address host;
	int fd = accept4(service->listener, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return false;
	if (getrandom(random, sizeof random, 0) != sizeof random) {
		close(fd);
		return true;
	}
	host = address_of_socket((struct sockaddr *)&from);
	place = find_place(service, host);
	if (!place || (terms->allow_count && !reflector_is_listed(terms->allow, terms->allow_count, host))) {
		turn_away(service, fd, random);
		return true;
	}
	service->counters.connections++;
	keep_alive(fd);
	place->fd = fd;
	place->host = host;
	twamp_server_begin(&place->server, terms, true, random, ns_now_monotonic(), &greeting);
	if (!sends(fd, &greeting))
		end(service, place);
	return true;
}

/* Takes what has arrived, at most one buffer: the others have their turn. */
static void serve(struct twamp_service *service, struct connection *connection)
{
	uint8_t bytes[1024];
	ssize_t got = recv(connection->fd, bytes, sizeof bytes, MSG_DONTWAIT);
	struct twamp_message answer;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		end(service, connection);
		return;
	}
	for (size_t at = 0; at < (size_t)got && connection->server.state != TWAMP_SERVER_OVER;) {
		at += twamp_server_take(&connection->server, bytes + at, (size_t)got - at, ns_now_monotonic(),
					ns_now_wall(), &answer);
		if (answer.length && !sends(connection->fd, &answer))
			connection->server.state = TWAMP_SERVER_OVER;
	}
	if (connection->server.state == TWAMP_SERVER_OVER)
		end(service, connection);
}

static void end_late(struct twamp_service *service)
{
	struct ns now = ns_now_monotonic();

	for (size_t i = 0; i < TWAMP_CONNECTIONS; i++) {
		struct connection *connection = &service->connections[i];

		if (connection->fd < 0 || now.v < connection->server.deadline.v)
			continue;
		service->counters.late++;
		end(service, connection);
	}
}

static void *run(void *context)
{
	struct twamp_service *service = context;
	struct pollfd polled[TWAMP_CONNECTIONS + 2];
	bool waits = false;

	for (;;) {
		polled[0] = (struct pollfd){service->stop, POLLIN, 0};
		polled[1] = (struct pollfd){waits ? -1 : service->listener, POLLIN, 0};
		for (size_t i = 0; i < TWAMP_CONNECTIONS; i++) /* poll() skips those below 0 */
			polled[i + 2] = (struct pollfd){service->connections[i].fd, POLLIN, 0};
		if (poll(polled, TWAMP_CONNECTIONS + 2, waits ? AGAIN_MS : STEP_MS) < 0 && errno != EINTR)
			return NULL;
		if (polled[0].revents)
			return NULL;
		for (size_t i = 0; i < TWAMP_CONNECTIONS; i++)
			if (service->connections[i].fd >= 0 && polled[i + 2].revents)
				serve(service, &service->connections[i]);
		end_late(service);
		waits = polled[1].revents && !welcome(service);
	}
}

static int listen_at(ip_address address, uint16_t port, struct error *err)
{
	char text[ADDRESS_TEXT_BYTES];
	struct sockaddr_storage place = {0};
	socklen_t length = address_to_socket(address, port, &place);
	int on = 1, code, fd;

	address_print(address, text);
	if (!address_interface(address))
		return error_set(err, EADDRNOTAVAIL,
				 "no interface has %s: TWAMP-Control needs the kernel to have it; run 'ip address add'",
				 text);
	fd = socket(place.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
	    bind(fd, (struct sockaddr *)&place, length) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	code = errno;
	if (fd >= 0)
		close(fd);
	return error_set(err, code, "%s TCP port %u: %s%s", text, port, strerror(code),
			 code == EADDRINUSE ? "; another TWAMP server has it" : "");
}

static struct twamp_service *discard(struct twamp_service *service)
{
	if (service->listener >= 0)
		close(service->listener);
	if (service->stop >= 0)
		close(service->stop);
	free(service);
	return NULL;
}

struct twamp_service *twamp_service_start(const struct twamp_terms *terms, uint16_t port, struct error *err)
{
	struct twamp_service *service = calloc(1, sizeof *service);
	int code;

	if (!service) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	service->terms = *terms;
	for (size_t i = 0; i < TWAMP_CONNECTIONS; i++)
		service->connections[i].fd = -1;
	service->stop = eventfd(0, EFD_CLOEXEC);
	service->listener = listen_at(terms->address, port, err);
	if (service->listener < 0)
		return discard(service);
	code = service->stop < 0 ? errno : pthread_create(&service->thread, NULL, run, service);
	if (!code)
		return service;
	error_set(err, code, "cannot start the thread of the TWAMP server: %s", strerror(code));
	return discard(service);
}

void twamp_service_stop(struct twamp_service *service, struct twamp_service_counters *counters)
{
	const uint64_t one = 1;

	if (!service)
		return;
	if (write(service->stop, &one, sizeof one) == sizeof one)
		pthread_join(service->thread, NULL);
	for (size_t i = 0; i < TWAMP_CONNECTIONS; i++)
		if (service->connections[i].fd >= 0)
			end(service, &service->connections[i]);
	if (counters)
		*counters = service->counters;
	discard(service);
}
