/* SPDX-License-Identifier: BSD-3-Clause */
/* Six machines m0..m5 of two slots in two racks, and one curve "steep": 1 at 0 us, 0.2 less per 10 us. */
#ifndef TESTS_LIVE_FIXTURE_H
#define TESTS_LIVE_FIXTURE_H

#include <sched/live/live.h>

struct live *fixture_make(struct live_settings *settings);
struct live *fixture_make_default(void);
int fixture_submit(struct live *live, const char *id, uint32_t tasks, bool may_move, struct error *err);
/* graph: as in jobs.jsonl, a name or a list of edges; NULL: none */
int fixture_submit_graph(struct live *live, const char *id, uint32_t tasks, bool may_move, struct job_limits limits,
			 const char *graph, struct error *err);
int fixture_submit_limited(struct live *live, const char *id, uint32_t tasks, bool may_move, struct job_limits limits,
			   struct error *err);
/* Submits a job whose tasks t0 (the root), t1, ... run on these machines, for example "m0 m3"; -: waits. */
int fixture_submit_running(struct live *live, const char *id, const char *machines, bool may_move, double running_s,
			   double now_s, struct error *err);
void fixture_measure(struct live *live, const char *a, const char *b, float rtt_us, double now_s);
int fixture_step(struct live *live, double now_s);
const struct live_task *fixture_task_of(const struct live *live, const char *job, uint32_t task);
const char *fixture_machine_of(const struct live *live, const char *job, uint32_t task);
/* Confirms every task of a job that is decided or moving. */
void fixture_confirm(struct live *live, const char *job, double now_s);

#endif
