/* SPDX-License-Identifier: BSD-3-Clause */
/* The sockets on which a server listens. */
#include "serve_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/file.h>

enum { BACKLOG = 512 };

/* Opens the unix socket; first removes a socket file on which nobody listens any more. */
int listen_unix(const struct serve_options *options, struct error *err)
{
	const char *path = options->unix_path;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;
	int fd;

	if (path[0] == '\0' || strlen(path) >= sizeof address.sun_path)
		return error_set(err, ENAMETOOLONG, "%s: the path of a socket has 1 to %zu bytes", path,
				 sizeof address.sun_path - 1);
	/* connect() fails with ECONNREFUSED on files of other types, too. */
	if (lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode))
		return error_set(err, EEXIST, "%s exists and is no socket: choose another path", path);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set(err, errno, "%s: %s", path, strerror(errno));
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
		close(fd);
		return error_set(err, EADDRINUSE, "%s: another server listens there", path);
	}
	if (errno == ECONNREFUSED)
		unlink(path);
	file_make_folder_of(path);
	close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
	    chmod(path, options->unix_mode ? options->unix_mode : 0666) < 0 || listen(fd, BACKLOG) < 0) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return error_set(err, code, "%s: %s", path, strerror(code));
	}
	return fd;
}

int listen_tcp(const struct serve_options *options, uint16_t *port, struct error *err)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(options->port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(options->port)};
	bool is_four = inet_pton(AF_INET, options->address, &four.sin_addr) == 1;
	struct sockaddr *address = is_four ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	socklen_t bytes = is_four ? sizeof four : sizeof six;
	int fd, on = 1, code;

	if (!is_four && inet_pton(AF_INET6, options->address, &six.sin6_addr) != 1)
		return error_set(err, EINVAL, "bad address '%s'; expected an IPv4 or IPv6 address", options->address);
	fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 || bind(fd, address, bytes) < 0 ||
	    listen(fd, BACKLOG) < 0 || getsockname(fd, address, &bytes) < 0) {
		code = errno;
		if (fd >= 0)
			close(fd);
		return error_set(err, code, "%s port %u: %s", options->address, options->port, strerror(code));
	}
	*port = ntohs(is_four ? four.sin_port : six.sin6_port);
	return fd;
}
