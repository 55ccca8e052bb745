/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent between a simulated slurmctld and a simulated schedd. The functions of libslurm, of lib/client and of
 * answers.c that the agent calls are replaced by the test's. Each test runs some turns of the agent, and compares what
 * the agent told the two servers: its orders to Slurm, and its requests to schedd other than GET.
 */
#ifndef TESTS_SLURM_TURNS_WORLD_H
#define TESTS_SLURM_TURNS_WORLD_H

#include <stdbool.h>
#include <time.h>

#include <slurm/slurm.h>

#include "agent_priv.h"

enum { JOBS = 4, NODES = 4 };

extern char told[16384]; /* the log */
/* Asserts the requests and orders since the last call. */
void expect_told(const char *expected, int line);
#define TOLD(expected) expect_told(expected, __LINE__)

extern time_t passed_s; /* by which the clocks are ahead */

/* slurmctld. Each ..._errno is that of its answers, 0: it answers; each ..._since is the time that it was asked for. */
extern job_info_t records[JOBS];
extern job_info_msg_t jobs;
extern node_info_t node_records[NODES];
extern node_info_msg_t nodes;
extern topo_info_t leaves[3];
extern topo_info_response_msg_t topology;
extern slurm_conf_t settings;
extern const char *slurm_version; /* NULL: that for which the agent was built */
extern partition_info_t whole;    /* the default partition, of all nodes */
extern int settings_errno, jobs_errno, nodes_errno, order_errno, requeue_errno;
extern time_t settings_since, jobs_since, nodes_since;
extern int turn;
extern void (*before_turn)(int turn); /* NULL: none */

/* schedd: answers by method and path. Without one, a GET finds nothing, and everything else succeeds. */
extern int schedd_errno; /* of every request */
void schedd_answers(const char *request, const char *text, int code);
/* schedd has the job with these numbers of tasks, placed on n1, n1 and n3. */
void schedd_has(const char *id, int waiting, int decided, int running, int failed);

/* What the agent gave to answers.c. */
extern answers_decide *decide;
extern void *decide_context;
extern char curves[64], offered[16]; /* offered: the partition */
extern bool has_queue;
extern size_t told_before_offer; /* bytes of `told` before the first offer of a run */

extern char comment[], placed[]; /* of a job that asks for placement; the mark of one that was placed */
extern struct slurm_agent_options options;
/* Runs the agent for some turns. Returns its code with err set. */
int run_agent(int count, struct error *err);
/* The same; asserts that it ends without an error. */
void run_turns(int count);

/* Make job 7 of three tasks, with a mark; "" for none. make_requeued(): it has run, and was requeued in an earlier
 * second. make_running(): on two CPUs of n1 and one of n3. */
job_info_t *make_job(uint32_t state, const char *mark, uint32_t priority);
job_info_t *make_requeued(const char *mark);
job_info_t *make_running(const char *mark);

#define PASSED(reason) "order 7 begin nodes '' 1-3 cpus 3 mark nomora:pass " reason "\n"

#define ADOPTED                                                                                                        \
	"DELETE /v1/jobs/slurm-7 \n"                                                                                   \
	"POST /v1/jobs {\"id\": \"slurm-7\", \"curve\": \"spark\", \"root\": 1, \"minimum_tasks\": 3, \"tasks\": "     \
	"[{\"name\": \"t0\", "                                                                                         \
	"\"machine\": \"n1\", \"running_s\": 0.0}, {\"name\": \"t1\", \"machine\": \"n1\", \"running_s\": 0.0}, "      \
	"{\"name\": \"t2\", \"machine\": \"n3\", \"running_s\": 0.0}]}\n"

#endif
