/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD, for tests of daemons: makes one call of the C library fail once, as if the system had refused it.
 * Acts in the program FAIL_CALL_PROGRAM alone, not in its children. A call is identified by its function and its site
 * (fail_site.h). FAIL_CALL_FUNCTION=NAME with FAIL_CALL_SITE=KEY fails that call, from the time on at which the file
 * FAIL_CALL_FROM exists (without it: at once); FAIL_CALL_ERROR=N selects one of its errors. FAIL_CALL_LIST=FILE gets a
 * line "site KEY FUNCTION ADDRESS ERRORS" for each call that is reached, and "failed FUNCTION ERROR". A failed
 * clock_gettime() or time() is a step of the wall clock by an hour, which stays. glibc only.
 */
#undef _FILE_OFFSET_BITS /* both of open() and open64() are defined here */
#include "fail_site.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

enum { ERRORS = 3 };
static const int on_open[ERRORS] = {EMFILE, EIO}, on_write[ERRORS] = {ENOSPC, EIO}, on_read[ERRORS] = {EIO, EINTR},
		 on_change[ERRORS] = {EIO, ENOSPC}, on_socket[ERRORS] = {EMFILE, ENOBUFS},
		 on_exchange[ERRORS] = {EINTR, ECONNRESET, ENOBUFS}, on_setting[ERRORS] = {ENOBUFS},
		 on_wait[ERRORS] = {EINTR, ENOMEM}, on_lock[ERRORS] = {ENOLCK, EINTR}, on_map[ERRORS] = {ENOMEM},
		 on_start[ERRORS] = {EAGAIN}, on_memory[ERRORS] = {ENOMEM}, on_clock[ERRORS] = {3600, -3600};

static uint64_t failing_key;
static int failing_error, list_fd = -1;
static const char *from, *failing_function;
static bool ready;
static atomic_bool *failed; /* shared with child processes that execute no other program yet */
static atomic_long clock_step_s;
static __thread bool inside;

static void note(const char *text, int length)
{
	if (length > 0 && syscall(SYS_write, list_fd, text, (size_t)length) < 0)
		abort();
}

static uint64_t hash(uint64_t key, const char *name)
{
	for (; *name; name++)
		key = (key ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return key;
}

static bool is_time(void)
{
	struct stat status;

	return !from || syscall(SYS_newfstatat, AT_FDCWD, from, &status, 0) == 0;
}

static void list(uint64_t key, const char *name, uintptr_t own, const int *errors)
{
	char text[160];
	int length = snprintf(text, sizeof text, "site %llx %s 0x%llx", (unsigned long long)key, name,
			      (unsigned long long)own - 1);

	for (int e = 0; e < ERRORS && errors[e] != 0; e++)
		length += snprintf(text + length, sizeof text - (size_t)length, " %d", errors[e]);
	text[length] = '\n';
	note(text, length + 1);
}

/* Returns 0, or the error of this call, which then is errno. */
static __attribute__((noinline)) int fails(const char *name, const int *errors)
{
	struct site site;
	uint64_t key;
	int error = 0, old = errno;

	if (!ready || inside || *failed || (failing_function && strcmp(name, failing_function) != 0))
		return 0;
	inside = true;
	site = site_find(3);
	key = hash(site.key, name);
	if (site.key != 0 && is_time()) {
		if (!failing_function && site_add(key) > 0 && (errors != on_memory || site_survives(&site)))
			list(key, name, site.own, errors);
		if (failing_function && key == failing_key && !atomic_exchange(failed, true)) {
			char text[80];

			error = errors[failing_error];
			note(text, snprintf(text, sizeof text, "failed %s %d\n", name, error));
		}
	}
	inside = false;
	errno = error != 0 ? error : old;
	return error;
}

__attribute__((constructor)) static void begin(void)
{
	const char *program = getenv("FAIL_CALL_PROGRAM"), *key = getenv("FAIL_CALL_SITE"),
		   *error = getenv("FAIL_CALL_ERROR"), *path = getenv("FAIL_CALL_LIST");

	if (!path || !program || strcmp(program, program_invocation_short_name) != 0)
		return;
	from = getenv("FAIL_CALL_FROM");
	failing_function = getenv("FAIL_CALL_FUNCTION");
	failing_key = key ? strtoull(key, NULL, 16) : 0;
	failing_error = error ? atoi(error) : 0;
	list_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (list_fd >= 0)
		list_fd = fcntl(list_fd, F_DUPFD_CLOEXEC, 900); /* programs expect small numbers for their own files */
	site_begin();
	failed = (void *)syscall(SYS_mmap, NULL, sizeof *failed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				 0);
	ready = list_fd >= 0 && failed != MAP_FAILED;
}

#define REAL(name) (__extension__(__typeof__(name) *) dlsym(RTLD_NEXT, #name))
/* A function with its errors, the value that it returns then, its parameters and its arguments. */
#define CALL(type, name, errors, value, parameters, arguments)                                                         \
	type name parameters                                                                                           \
	{                                                                                                              \
		static __typeof__(name) *real;                                                                         \
                                                                                                                       \
		if (!real)                                                                                             \
			real = REAL(name);                                                                             \
		return fails(#name, errors) ? value : real arguments;                                                  \
	}

CALL(ssize_t, read, on_read, -1, (int fd, void *to, size_t bytes), (fd, to, bytes))
CALL(ssize_t, pread, on_read, -1, (int fd, void *to, size_t bytes, off_t at), (fd, to, bytes, at))
CALL(ssize_t, pread64, on_read, -1, (int fd, void *to, size_t bytes, off64_t at), (fd, to, bytes, at))
CALL(ssize_t, write, on_write, -1, (int fd, const void *data, size_t bytes), (fd, data, bytes))
CALL(ssize_t, pwrite, on_write, -1, (int fd, const void *data, size_t bytes, off_t at), (fd, data, bytes, at))
CALL(ssize_t, pwrite64, on_write, -1, (int fd, const void *data, size_t bytes, off64_t at), (fd, data, bytes, at))
CALL(int, fsync, on_change, -1, (int fd), (fd))
CALL(int, fdatasync, on_change, -1, (int fd), (fd))
CALL(int, ftruncate, on_change, -1, (int fd, off_t bytes), (fd, bytes))
CALL(int, ftruncate64, on_change, -1, (int fd, off64_t bytes), (fd, bytes))
CALL(int, rename, on_change, -1, (const char *old, const char *new), (old, new))
CALL(int, unlink, on_change, -1, (const char *path), (path))
CALL(int, mkdir, on_change, -1, (const char *path, mode_t mode), (path, mode))
CALL(int, chmod, on_change, -1, (const char *path, mode_t mode), (path, mode))
CALL(int, fchmod, on_change, -1, (int fd, mode_t mode), (fd, mode))
CALL(int, mkostemp, on_open, -1, (char *path, int flags), (path, flags))
CALL(int, stat, on_read, -1, (const char *path, struct stat *status), (path, status))
CALL(int, fstat, on_read, -1, (int fd, struct stat *status), (fd, status))
CALL(int, lstat, on_read, -1, (const char *path, struct stat *status), (path, status))
CALL(FILE *, fopen, on_open, NULL, (const char *path, const char *mode), (path, mode))
CALL(FILE *, fopen64, on_open, NULL, (const char *path, const char *mode), (path, mode))
CALL(FILE *, fdopen, on_open, NULL, (int fd, const char *mode), (fd, mode))
CALL(int, fflush, on_write, EOF, (FILE * stream), (stream))
CALL(int, socket, on_socket, -1, (int family, int type, int protocol), (family, type, protocol))
CALL(int, bind, on_setting, -1, (int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes), (fd, address, bytes))
CALL(int, listen, on_setting, -1, (int fd, int backlog), (fd, backlog))
CALL(int, accept, on_socket, -1, (int fd, __SOCKADDR_ARG address, socklen_t *bytes), (fd, address, bytes))
CALL(int, accept4, on_socket, -1, (int fd, __SOCKADDR_ARG address, socklen_t *bytes, int flags),
     (fd, address, bytes, flags))
CALL(int, connect, on_exchange, -1, (int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes), (fd, address, bytes))
CALL(ssize_t, recv, on_exchange, -1, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags))
CALL(ssize_t, recvfrom, on_exchange, -1,
     (int fd, void *to, size_t bytes, int flags, __SOCKADDR_ARG address, socklen_t *size),
     (fd, to, bytes, flags, address, size))
CALL(ssize_t, recvmsg, on_exchange, -1, (int fd, struct msghdr *message, int flags), (fd, message, flags))
CALL(ssize_t, send, on_exchange, -1, (int fd, const void *data, size_t bytes, int flags), (fd, data, bytes, flags))
CALL(ssize_t, sendto, on_exchange, -1,
     (int fd, const void *data, size_t bytes, int flags, __CONST_SOCKADDR_ARG address, socklen_t size),
     (fd, data, bytes, flags, address, size))
CALL(ssize_t, sendmsg, on_exchange, -1, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
CALL(int, setsockopt, on_setting, -1, (int fd, int level, int name, const void *value, socklen_t bytes),
     (fd, level, name, value, bytes))
CALL(int, getsockopt, on_setting, -1, (int fd, int level, int name, void *value, socklen_t *bytes),
     (fd, level, name, value, bytes))
CALL(int, getsockname, on_setting, -1, (int fd, __SOCKADDR_ARG address, socklen_t *bytes), (fd, address, bytes))
CALL(int, getpeername, on_setting, -1, (int fd, __SOCKADDR_ARG address, socklen_t *bytes), (fd, address, bytes))
CALL(int, poll, on_wait, -1, (struct pollfd * set, nfds_t count, int ms), (set, count, ms))
CALL(int, ppoll, on_wait, -1, (struct pollfd * set, nfds_t count, const struct timespec *time, const sigset_t *mask),
     (set, count, time, mask))
CALL(int, epoll_create1, on_socket, -1, (int flags), (flags))
CALL(int, epoll_wait, on_wait, -1, (int fd, struct epoll_event *events, int count, int ms), (fd, events, count, ms))
CALL(int, eventfd, on_socket, -1, (unsigned count, int flags), (count, flags))
CALL(int, timerfd_create, on_socket, -1, (int clock, int flags), (clock, flags))
CALL(int, timerfd_settime, on_map, -1, (int fd, int flags, const struct itimerspec *new, struct itimerspec *old),
     (fd, flags, new, old))
CALL(int, pipe2, on_socket, -1, (int fds[2], int flags), (fds, flags))
CALL(int, flock, on_lock, -1, (int fd, int what), (fd, what))
CALL(void *, mmap, on_map, MAP_FAILED, (void *at, size_t bytes, int access, int flags, int fd, off_t offset),
     (at, bytes, access, flags, fd, offset))
CALL(void *, mmap64, on_map, MAP_FAILED, (void *at, size_t bytes, int access, int flags, int fd, off64_t offset),
     (at, bytes, access, flags, fd, offset))
CALL(pid_t, fork, on_start, -1, (void), ())
CALL(int, pthread_create, on_start, EAGAIN,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context),
     (thread, attributes, run, context))
CALL(int, nanosleep, on_wait, -1, (const struct timespec *time, struct timespec *left), (time, left))

/* The file is closed, and its last write has failed. */
int fclose(FILE *stream)
{
	int error = fails("fclose", on_write), code = REAL(fclose)(stream);

	if (error == 0)
		return code;
	errno = error;
	return EOF;
}

int close(int fd)
{
	int error = fails("close", on_change), code = (int)syscall(SYS_close, fd);

	if (error == 0)
		return code;
	errno = error;
	return -1;
}

/* A removal needs no memory. */
int epoll_ctl(int fd, int what, int of, struct epoll_event *event)
{
	if (what != EPOLL_CTL_DEL && fails("epoll_ctl", on_map))
		return -1;
	return (int)syscall(SYS_epoll_ctl, fd, what, of, event);
}

static mode_t mode_of(int flags, va_list more)
{
	return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(more, int) : 0;
}

#define OPEN(name)                                                                                                     \
	int name(const char *path, int flags, ...)                                                                     \
	{                                                                                                              \
		va_list more;                                                                                          \
		mode_t mode;                                                                                           \
                                                                                                                       \
		va_start(more, flags);                                                                                 \
		mode = mode_of(flags, more);                                                                           \
		va_end(more);                                                                                          \
		return fails(#name, on_open) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);             \
	}
OPEN(open)
OPEN(open64)

int openat(int folder, const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = mode_of(flags, more);
	va_end(more);
	return fails("openat", on_open) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

/* Locks; an unlock does not fail. */
static bool locks(int what, long value)
{
	return (what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK) &&
	       ((const struct flock *)value)->l_type != F_UNLCK;
}

#define FCNTL(name)                                                                                                    \
	int name(int fd, int what, ...)                                                                                \
	{                                                                                                              \
		va_list more;                                                                                          \
		long value;                                                                                            \
                                                                                                                       \
		va_start(more, what);                                                                                  \
		value = va_arg(more, long);                                                                            \
		va_end(more);                                                                                          \
		return locks(what, value) && fails(#name, on_lock) ? -1 : (int)syscall(SYS_fcntl, fd, what, value);    \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int code = (int)syscall(SYS_clock_gettime, clock, time);

	if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
		return code;
	if (fails("clock_gettime", on_clock))
		clock_step_s = on_clock[failing_error];
	time->tv_sec += clock_step_s;
	return code;
}

time_t time(time_t *at)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	if (fails("clock_gettime", on_clock))
		clock_step_s = on_clock[failing_error];
	now.tv_sec += clock_step_s;
	if (at)
		*at = now.tv_sec;
	return now.tv_sec;
}

void *malloc(size_t bytes)
{
	return fails("malloc", on_memory) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return fails("calloc", on_memory) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return fails("realloc", on_memory) ? NULL : __libc_realloc(old, bytes);
}
