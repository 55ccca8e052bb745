/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts EAL with arguments that DPDK would otherwise need from the user:
 * - `-a` for each PCI port that the caller names; `--no-pci` if none is named
 * - `--in-memory` if there are enough free hugepages, else `--no-huge` (DPDK 22.11 refuses both together)
 * - `--lcores` for the main lcore and the workers
 * - `--no-telemetry`, and a `--file-prefix` of our own
 *
 * The user's arguments after "--" come last and override these. EAL's log is captured, see dp_eal_last_log(). To use
 * interfaces of a network namespace, start the process in it (`ip netns exec`).
 *
 * The calling thread becomes the main lcore: it is the control thread and may sleep. Workers are lcores 1..workers;
 * find them with dp_eal_worker(). EAL can be started once in a process.
 */
#ifndef DP_EAL_H
#define DP_EAL_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>

struct dp_eal_options {
	const char *program;      /* for messages; NULL = "nomora" */
	const char *const *ports; /* names of all ports that will be opened; EAL probes only PCI addresses among them */
	size_t port_count;
	unsigned int workers; /* number of busy lcores in addition to the main lcore, 0..64 */
	const char *cpus; /* "3" or "2,4-5": one CPU for each worker; NULL = isolated CPUs, or any CPUs if there are too
			     few isolated ones */
	unsigned int memory_MiB; /* memory that EAL needs, MiB; 0 = 256 */
	char **extra;            /* the user's arguments for EAL (those after "--"); may be NULL */
	int extra_count;
	bool verbose; /* print EAL's notices on stderr */
};

/*
 * Returns 0, or -errno with err set: -EPERM/-EACCES, -EINVAL (bad CPU list or EAL argument), -ENOMEM, -EALREADY. Takes
 * 0.1 to 0.3 s.
 */
int dp_eal_start(const struct dp_eal_options *options, struct error *err);

/* Close every port first. Safe when EAL was not started. */
void dp_eal_stop(void);

/* Returns the lcore id of worker 0..workers-1. */
unsigned int dp_eal_worker(unsigned int index);

/*
 * Starts function(argument) on a worker. Returns 0, or -EBUSY if the worker is running a function. dp_lcore_wait()
 * waits for its end.
 */
int dp_lcore_run(unsigned int lcore, int (*function)(void *argument), void *argument);
void dp_lcore_wait(unsigned int lcore);

/* Returns the NUMA node of the lcore's CPUs, or -1 if it may run on several nodes. */
int dp_lcore_numa_node(unsigned int lcore);

/* Memory for the data of a busy loop: zeroed, on a cache line of its own, from hugepages where there are any. */
void *dp_memory(size_t bytes); /* NULL if out of memory */
void dp_memory_free(void *memory);

/* Returns true when memory comes from hugepages. */
bool dp_eal_has_hugepages(void);

/*
 * Returns the last line that EAL or a driver logged, "" if there is none; usually it is the reason why a DPDK call
 * failed. The text is valid until the same thread calls this function again.
 */
const char *dp_eal_last_log(void);

#endif
