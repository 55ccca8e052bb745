/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time that Slurm's job_submit plug-in costs slurmctld per submission: with an agent that answers at once, without an
 * agent, with a stopped agent, and in the quiet period after that. Argument: the plug-in.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include <base/ns.h>
#include <base/quantile.h>

char *slurm_xstrdup(const char *text);
void slurm_xfree_ptr(void *memory);

/* Functions that slurmctld provides to the plug-in. */
char *slurm_xstrdup(const char *text)
{
	return strdup(text);
}
void slurm_xfree_ptr(void *memory)
{
	free(memory);
}

struct submission {
	double us;
	bool held;
};

static void *serve(void *context)
{
	const int *listener = context;
	char asked[512];
	int fd;

	while ((fd = accept(*listener, NULL, NULL)) >= 0) {
		if (recv(fd, asked, sizeof asked, 0) > 0)
			send(fd, "HOLD\n", 5, MSG_NOSIGNAL);
		close(fd);
	}
	return NULL;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 16) < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

static struct submission submit(int (*job_submit)(job_desc_msg_t *, uint32_t, char **))
{
	static char comment[] = "nomora:curve=memcached";
	job_desc_msg_t job = {.num_tasks = 3, .comment = comment};
	struct ns began;
	struct submission submission;

	job.min_nodes = job.max_nodes = job.het_job_offset = job.priority = NO_VAL;
	job.ntasks_per_node = job.cpus_per_task = job.pn_min_cpus = NO_VAL16;
	began = ns_now_monotonic();
	job_submit(&job, 0, NULL);
	submission.us = 1e6 * ns_to_s(ns_sub(ns_now_monotonic(), began));
	submission.held = job.priority == 0;
	free(job.admin_comment);
	return submission;
}

/* Reloading the plug-in resets its quiet period. */
static void measure(const char *plugin, const char *figure, int count, bool quiet)
{
	double *us = calloc((size_t)count, sizeof *us);
	int held = 0;
	void *handle = NULL;
	int (*job_submit)(job_desc_msg_t *, uint32_t, char **) = NULL;

	for (int n = 0; us && n < count; n++) {
		struct submission submission;

		if (!handle) {
			handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
			*(void **)&job_submit = handle ? dlsym(handle, "job_submit") : NULL;
			if (!job_submit) {
				fprintf(stderr, "bench_plugin: %s\n", dlerror());
				exit(1);
			}
			if (quiet)
				submit(job_submit);
		}
		submission = submit(job_submit);
		us[n] = submission.us;
		held += submission.held;
		if (!quiet) {
			dlclose(handle);
			handle = NULL;
		}
	}
	if (us)
		quantile_median(us, count); /* sorts */
	if (us)
		printf("{\"benchmark\": \"slurm_plugin\", \"figure\": \"%s\", \"submissions\": %d, \"held\": %d, "
		       "\"p50_us\": %.1f, "
		       "\"p99_us\": %.1f, \"max_us\": %.1f, \"limit_us\": 25000}\n",
		       figure, count, held, us[count / 2], us[count * 99 / 100], us[count - 1]);
	if (handle)
		dlclose(handle);
	free(us);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/nomora-bench.XXXXXX", path[64];
	pthread_t thread;
	int fd;

	if (argc != 2 || !mkdtemp(folder))
		return 2;
	snprintf(path, sizeof path, "%s/socket", folder);
	setenv("NOMORA_SLURM_SOCKET", path, 1);
	fd = listen_at(path);
	pthread_create(&thread, NULL, serve, &fd);
	measure(argv[1], "agent that answers at once", 2000, false);
	shutdown(fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(fd);
	measure(argv[1], "agent killed", 2000, false);
	fd = listen_at(path);
	measure(argv[1], "agent stopped", 10, false);
	measure(argv[1], "agent stopped, in the 5 s after that", 2000, true);
	close(fd);
	unlink(path);
	rmdir(folder);
	return 0;
}
