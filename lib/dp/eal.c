/* SPDX-License-Identifier: BSD-3-Clause */
#include <dp/eal.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_config.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <base/number.h>

#include "port_priv.h"

enum { ARGUMENTS_MAXIMUM = 160, ARGUMENT_BYTES = 4096, DEFAULT_MEMORY_MIB = 256, WORKERS_MAXIMUM = 64 };

#define RUNTIME_PREFIX "nomora-"

/* EAL exists once per process, and so does this state. Written only by dp_eal_start() and dp_eal_stop(). */
static struct {
	bool started, hugepages;
	unsigned int workers;
} eal;

struct arguments {
	char *items[ARGUMENTS_MAXIMUM + 1];
	int count;
	bool failed; /* an argument was not added, as memory or items[] was full; checked once, at the end */
};

static void add_argument(struct arguments *arguments, const char *text)
{
	char *copy = arguments->count < ARGUMENTS_MAXIMUM ? strdup(text) : NULL;

	if (!copy)
		arguments->failed = true;
	else
		arguments->items[arguments->count++] = copy;
}

static void free_arguments(struct arguments *arguments)
{
	for (int i = 0; i < arguments->count; i++)
		free(arguments->items[i]);
}

/*
 * Returns true if one of the user's own EAL arguments is `option`: alone, as "option=value" or, for an option such as
 * -x, as "-xvalue".
 */
static bool user_gave(const struct dp_eal_options *options, const char *option)
{
	size_t length = strlen(option);

	for (int i = 0; i < options->extra_count; i++) {
		const char *word = options->extra[i];

		if (strncmp(word, option, length) != 0)
			continue;
		if (word[length] == '\0' || word[length] == '=' || option[1] != '-')
			return true;
	}
	return false;
}

/* Returns the free memory in hugepages of the usual sizes; 0 if there is none or it is not known. */
static uint64_t free_hugepage_bytes(void)
{
	static const unsigned int sizes_kB[] = {2048, 1048576};
	uint64_t total = 0;

	for (size_t i = 0; i < sizeof sizes_kB / sizeof sizes_kB[0]; i++) {
		char path[128];
		unsigned long pages = 0;
		FILE *file;

		snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%ukB/free_hugepages", sizes_kB[i]);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%lu", &pages) == 1)
			total += (uint64_t)pages * sizes_kB[i] * 1024;
		fclose(file);
	}
	return total;
}

static void add_memory(struct arguments *arguments, const struct dp_eal_options *options)
{
	unsigned int memory_MiB = options->memory_MiB ? options->memory_MiB : DEFAULT_MEMORY_MIB;
	char text[32];

	if (user_gave(options, "--in-memory") || user_gave(options, "--huge-dir") ||
	    user_gave(options, "--socket-mem")) {
		eal.hugepages = true;
		return;
	}
	/* Usually only root may map hugepages; other users do without them. */
	eal.hugepages = !user_gave(options, "--no-huge") && geteuid() == 0 &&
			free_hugepage_bytes() >= (uint64_t)memory_MiB << 20;
	if (eal.hugepages) {
		add_argument(arguments, "--in-memory");
		return;
	}
	if (!user_gave(options, "--no-huge"))
		add_argument(arguments, "--no-huge");
	add_argument(arguments, "--no-shconf");
	if (!user_gave(options, "-m")) {
		snprintf(text, sizeof text, "%u", memory_MiB);
		add_argument(arguments, "-m");
		add_argument(arguments, text);
	}
}

static void add_pci(struct arguments *arguments, const struct dp_eal_options *options)
{
	bool any = user_gave(options, "-a") || user_gave(options, "--allow");

	for (size_t i = 0; i < options->port_count; i++) {
		if (!dp_port_is_pci(options->ports[i]))
			continue;
		any = true;
		add_argument(arguments, "-a");
		add_argument(arguments, options->ports[i]);
	}
	if (!any && !user_gave(options, "--no-pci"))
		add_argument(arguments, "--no-pci");
}

/*
 * Adds the CPUs of the lcores, for example "--lcores 0@(0-3),1@2". The main lcore (0) may run on every CPU that this
 * process may use. A worker runs on its own CPU or, if no CPUs were chosen for the workers, on the same CPUs as the
 * main lcore.
 */
static int add_lcores(struct arguments *arguments, const struct dp_eal_options *options, struct error *err)
{
	unsigned int cpus[WORKERS_MAXIMUM];
	char any[1024], text[ARGUMENT_BYTES];
	size_t length;
	int pinned;

	if (user_gave(options, "-l") || user_gave(options, "-c") || user_gave(options, "--lcores"))
		return 0;
	pinned = dp_cpus_choose(options->cpus, options->workers, cpus, err);
	if (pinned < 0)
		return pinned;
	dp_cpus_allowed(any, sizeof any);
	length = (size_t)snprintf(text, sizeof text, "0@(%s)", any);
	for (unsigned int i = 0; i < options->workers && length < sizeof text; i++) {
		if (pinned)
			length += (size_t)snprintf(text + length, sizeof text - length, ",%u@%u", i + 1, cpus[i]);
		else
			length += (size_t)snprintf(text + length, sizeof text - length, ",%u@(%s)", i + 1, any);
	}
	if (length >= sizeof text)
		return error_set(err, E2BIG, "too many workers (%u) for this host's list of CPUs", options->workers);
	add_argument(arguments, "--lcores");
	add_argument(arguments, text);
	return 0;
}

static int build_arguments(struct arguments *arguments, const struct dp_eal_options *options, struct error *err)
{
	char prefix[64];
	int status;

	add_argument(arguments, options->program ? options->program : "nomora");
	snprintf(prefix, sizeof prefix, "--file-prefix=" RUNTIME_PREFIX "%ld", (long)getpid());
	add_argument(arguments, prefix);
	add_argument(arguments, "--no-telemetry");
	add_memory(arguments, options);
	add_pci(arguments, options);
	status = add_lcores(arguments, options, err);
	if (status)
		return status;
	for (int i = 0; i < options->extra_count; i++)
		add_argument(arguments, options->extra[i]);
	if (arguments->failed)
		return error_set(err, ENOMEM, "too many arguments for EAL (over %d), or out of memory",
				 ARGUMENTS_MAXIMUM);
	return 0;
}

/* EAL reports EINVAL for much that is not an argument, as when memory is short: it is the user's only if one is. */
static int explain_failure(const struct arguments *arguments, bool users, struct error *err)
{
	int code = rte_errno > 0 ? rte_errno : EIO;
	char line[2048] = "";
	size_t length = 0;

	for (int i = 1; i < arguments->count && length < sizeof line; i++)
		length += (size_t)snprintf(line + length, sizeof line - length, " %s", arguments->items[i]);
	return error_set(err, code == EINVAL && !users ? EIO : code,
			 "DPDK does not start: %s (EAL said \"%s\"; its arguments were:%.600s)", strerror(code),
			 dp_eal_last_log(), line);
}

/*
 * EAL creates a folder for each file prefix and does not remove it. Removes the folder of this process, and empty
 * folders of processes that have ended.
 */
static void remove_runtime_folders(void)
{
	char parent[PATH_MAX], path[PATH_MAX + 300];
	char *slash;
	DIR *folder;

	snprintf(parent, sizeof parent, "%s", rte_eal_get_runtime_dir());
	slash = strrchr(parent, '/');
	if (!slash || strncmp(slash + 1, RUNTIME_PREFIX, strlen(RUNTIME_PREFIX)) != 0)
		return; /* the user chose a prefix */
	rmdir(parent);
	*slash = '\0';
	folder = opendir(parent);
	for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
		int64_t process;

		if (strncmp(entry->d_name, RUNTIME_PREFIX, strlen(RUNTIME_PREFIX)) != 0 ||
		    number_parse_i64(entry->d_name + strlen(RUNTIME_PREFIX), &process) != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
		if (kill((pid_t)process, 0) != 0 && errno == ESRCH)
			rmdir(path); /* fails if it is not empty */
	}
	if (folder)
		closedir(folder);
}

int dp_eal_start(const struct dp_eal_options *options, struct error *err)
{
	struct arguments arguments = {0};
	int status;

	if (eal.started)
		return error_set(err, EALREADY, "DPDK was started already in this process");
	if (options->workers > WORKERS_MAXIMUM)
		return error_set(err, EINVAL, "%u workers requested; maximum %d", options->workers, WORKERS_MAXIMUM);
	status = build_arguments(&arguments, options, err);
	if (!status) {
		char *words[ARGUMENTS_MAXIMUM + 1];

		/*
		 * EAL permutes its argument vector, so it gets a copy: `arguments` must keep all strings, to free them.
		 */
		memcpy(words, arguments.items, sizeof words);
		dp_eal_log_capture(options->verbose);
		dp_eal_log_mute(true);
		status = rte_eal_init(arguments.count, words) < 0 ? -1 : 0;
		dp_eal_log_mute(false);
		if (status)
			status = explain_failure(&arguments, options->extra_count > 0, err);
		remove_runtime_folders();
	}
	free_arguments(&arguments);
	if (status)
		return status;
	dp_eal_log_quiet_libraries();
	eal.started = true;
	eal.workers = rte_lcore_count() - 1;
	if (eal.workers < options->workers) {
		dp_eal_stop();
		return error_set(err, EINVAL, "%u worker lcores are needed, but the EAL arguments leave %u",
				 options->workers, eal.workers);
	}
	return 0;
}

void dp_eal_stop(void)
{
	if (!eal.started)
		return;
	rte_eal_cleanup();
	dp_eal_log_release();
	eal.started = false;
}

unsigned int dp_eal_worker(unsigned int index)
{
	unsigned int lcore = rte_get_next_lcore(-1U, 1, 0);

	while (index-- > 0 && lcore < RTE_MAX_LCORE)
		lcore = rte_get_next_lcore(lcore, 1, 0);
	return lcore;
}

int dp_lcore_run(unsigned int lcore, int (*function)(void *argument), void *argument)
{
	return rte_eal_remote_launch(function, argument, lcore);
}

void dp_lcore_wait(unsigned int lcore)
{
	rte_eal_wait_lcore(lcore);
}

int dp_lcore_numa_node(unsigned int lcore)
{
	return (int)rte_lcore_to_socket_id(lcore);
}

bool dp_eal_has_hugepages(void)
{
	return eal.hugepages;
}
