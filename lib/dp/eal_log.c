/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_priv.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <rte_log.h>

#include <dp/eal.h>

/* One log per process, as in DPDK. The mutex guards `line`; dp_eal_last_log() returns a thread's own copy. */
static struct {
	pthread_mutex_t mutex;
	FILE *stream;
	bool verbose;
	char line[512];
	int saved[2]; /* copies of the descriptors of stdout and stderr while those are muted */
} capture = {.mutex = PTHREAD_MUTEX_INITIALIZER, .saved = {-1, -1}};

static ssize_t capture_write(void *cookie, const char *text, size_t bytes)
{
	size_t length = bytes;

	(void)cookie;
	while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
		length--;
	if (length > 0) {
		pthread_mutex_lock(&capture.mutex);
		snprintf(capture.line, sizeof capture.line, "%.*s", (int)length, text);
		pthread_mutex_unlock(&capture.mutex);
	}
	if (capture.verbose)
		fwrite(text, 1, bytes, stderr);
	return (ssize_t)bytes;
}

void dp_eal_log_capture(bool verbose)
{
	static const cookie_io_functions_t functions = {.write = capture_write};

	capture.verbose = verbose;
	if (capture.stream)
		return;
	capture.stream = fopencookie(NULL, "w", functions);
	if (!capture.stream)
		return; /* DPDK then logs to stderr itself, which is harmless */
	setvbuf(capture.stream, NULL, _IOLBF, 1024);
	rte_openlog_stream(capture.stream);
}

void dp_eal_log_mute(bool mute)
{
	if (capture.verbose)
		return;
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		int descriptor = STDOUT_FILENO + i;
		int null = mute ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

		if (mute && null >= 0) {
			capture.saved[i] = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
			if (capture.saved[i] >= 0)
				dup2(null, descriptor);
			close(null);
		} else if (!mute && capture.saved[i] >= 0) {
			dup2(capture.saved[i], descriptor);
			close(capture.saved[i]);
			capture.saved[i] = -1;
		}
	}
}

typedef int (*print_function)(int level, const char *format, va_list arguments);
typedef print_function (*set_print_function)(print_function print);

static void quiet_library(const char *file, const char *setter)
{
	/* With RTLD_NOLOAD, this succeeds only if the driver has already loaded the library. */
	void *library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
	set_print_function set;

	if (!library)
		return;
	*(void **)&set = dlsym(library, setter);
	if (set)
		set(NULL);
	dlclose(library);
}

void dp_eal_log_quiet_libraries(void)
{
	if (capture.verbose)
		return;
	quiet_library("libxdp.so.1", "libxdp_set_print");
	quiet_library("libbpf.so.1", "libbpf_set_print");
}

void dp_eal_log_release(void)
{
	if (!capture.stream)
		return;
	rte_openlog_stream(NULL);
	fclose(capture.stream);
	capture.stream = NULL;
}

const char *dp_eal_last_log(void)
{
	static _Thread_local char copy[sizeof capture.line];

	pthread_mutex_lock(&capture.mutex);
	memcpy(copy, capture.line, sizeof copy);
	pthread_mutex_unlock(&capture.mutex);
	return copy;
}
