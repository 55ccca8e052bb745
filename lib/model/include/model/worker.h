/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of a dataflow job that one process runs, and the reports of this process. Each is a JSON object, described
 * in docs/formats.md:
 *
 *   {"schema": "nomora.worker/1", "task": "count.sum.0", "number": 2, "address": "10.77.1.2", "port": 7800,
 *    "inputs": 2, "tuple_bytes": 1000, "cpu_us": 5,
 *    "edges": [{"copies": "one", "selectivity": 1,
 *               "targets": [{"address": "10.77.2.1", "port": 7801, "share": 0.5}]}]}
 *
 * Plain data, owned by the caller through worker_plan_destroy(). Rates are MB/s (10^6 bytes of tuples).
 */
#ifndef MODEL_WORKER_H
#define MODEL_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <base/address.h>
#include <base/error.h>

enum {
	WORKER_NAME_BYTES = 256,
	WORKER_TUPLE_MINIMUM = 64, /* bytes of a tuple with its header */
	WORKER_TUPLE_MAXIMUM = 65536,
	WORKER_TARGETS_MAXIMUM = 10000, /* of an edge */
};

struct worker_target {
	ip_address address;
	uint16_t port, source_port; /* source_port 0: any */
	double share; /* share of the edge's tuples that this target gets, > 0; not used if each target gets a copy */
};

struct worker_edge {
	bool to_all;        /* each target gets a copy of each tuple */
	double selectivity; /* tuples sent along this edge per tuple received, or per tuple emitted by a source */
	struct worker_target *targets;
	uint32_t target_count;
};

/* A task without inputs is a source, one without edges a sink. */
struct worker_plan {
	char task[WORKER_NAME_BYTES];
	uint32_t number; /* unique among the tasks that exchange tuples; the tuples of a source carry it */
	ip_address address;
	uint16_t port;
	uint32_t inputs; /* number of incoming connections */
	uint32_t tuple_bytes;
	double MBps, MB; /* a source's maximum rate and volume; INFINITY: no limit */
	double cpu_us;   /* CPU time per tuple that the task receives, or emits if it is a source */
	struct worker_edge *edges;
	uint32_t edge_count;
};

/* Counters are since the start, percentiles since the last report. */
struct worker_report {
	char task[WORKER_NAME_BYTES];
	double s;                              /* seconds since the start */
	uint64_t received, sent;               /* tuples, counting each copy; a source receives none */
	double received_MBps, sent_MBps;       /* since the last report */
	uint64_t lost, duplicated;             /* tuples, by the sequence numbers of each connection */
	double latency_p50_us, latency_p99_us; /* from emission by the source to receipt; NAN: no tuple came */
	double gap_ms; /* longest time between two successive tuples of a connection, since the last report */
	bool done;     /* this is the last report: every tuple was received and sent on */
};

/* Reads a plan ("-" = stdin). Returns NULL with err set (file and field). */
struct worker_plan *worker_plan_read(const char *path, struct error *err);
struct worker_plan *worker_plan_parse(const char *name, const char *text, size_t bytes, struct error *err);
void worker_plan_destroy(struct worker_plan *plan); /* NULL is legal */
/* New reference, NULL if out of memory. */
json_t *worker_plan_to_json(const struct worker_plan *plan);

/* Returns nomora.worker-report/1 as a new reference, or NULL if out of memory. */
json_t *worker_report_to_json(const struct worker_report *report);
/* 0 or -EINVAL with err set. */
int worker_report_parse(const char *name, const char *text, size_t bytes, struct worker_report *report,
			struct error *err);

#endif
