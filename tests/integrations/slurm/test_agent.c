/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent with a simulated slurmctld: of another version, or with arrays in any state. Functions of libslurm are
 * replaced by the test's.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <integrations/slurm/agent.h>

#include "answers.h"
#include "view.h"

extern bitstr_t *slurm_bit_alloc(int64_t bits);
extern void slurm_bit_set(bitstr_t *bits, int64_t bit);
extern void slurm_bit_free(bitstr_t **bits);

static char *version; /* NULL: the release series of this build */
static int version_errno, node_errno;
static job_info_t records[3];
static job_info_msg_t jobs = {.last_update = 100, .job_array = records};
static node_info_msg_t nodes;
static uint32_t element_error;
static char ordered[64];

void slurm_init(const char *conf)
{
	(void)conf;
}

static char *make_version(void)
{
	static char same[32];

	snprintf(same, sizeof same, "%u.%02u.99", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
		 SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
	return same;
}

int slurm_load_ctl_conf(time_t since, slurm_conf_t **conf)
{
	(void)since;
	errno = version_errno;
	if (version_errno)
		return SLURM_ERROR;
	*conf = calloc(1, sizeof **conf);
	(*conf)->version = version ? version : make_version();
	return SLURM_SUCCESS;
}

void slurm_free_ctl_conf(slurm_conf_t *conf)
{
	free(conf);
}

int slurm_load_node(time_t since, node_info_msg_t **message, uint16_t flags)
{
	(void)since;
	(void)flags;
	errno = node_errno;
	*message = &nodes;
	return node_errno ? SLURM_ERROR : SLURM_SUCCESS;
}

void slurm_free_node_info_msg(node_info_msg_t *message)
{
	(void)message;
}

/* The default partition has all nodes. */
int slurm_load_partitions(time_t since, partition_info_msg_t **message, uint16_t flags)
{
	static partition_info_t whole = {.name = (char *)"main",
					 .flags = PART_FLAG_DEFAULT,
					 .state_up = PARTITION_UP,
					 .max_nodes = INFINITE,
					 .max_share = 1};
	static partition_info_msg_t list = {.record_count = 1, .partition_array = &whole};

	(void)since;
	(void)flags;
	whole.total_nodes = nodes.record_count;
	*message = &list;
	return SLURM_SUCCESS;
}

void slurm_free_partition_info_msg(partition_info_msg_t *message)
{
	(void)message;
}

int slurm_load_jobs(time_t since, job_info_msg_t **message, uint16_t flags)
{
	(void)since;
	(void)flags;
	*message = &jobs;
	return SLURM_SUCCESS;
}

int slurm_load_job(job_info_msg_t **message, uint32_t id, uint16_t flags)
{
	(void)id;
	(void)flags;
	*message = &jobs;
	return SLURM_SUCCESS;
}

void slurm_free_job_info_msg(job_info_msg_t *message)
{
	(void)message;
}

int slurm_update_job2(job_desc_msg_t *order, job_array_resp_msg_t **answer)
{
	snprintf(ordered, sizeof ordered, "%s priority %u%s", order->job_id_str, order->priority,
		 order->begin_time > 0 ? " begins" : "");
	*answer = calloc(1, sizeof **answer);
	(*answer)->job_array_count = 1;
	(*answer)->error_code = &element_error;
	return SLURM_SUCCESS;
}

void slurm_free_job_array_resp(job_array_resp_msg_t *answer)
{
	free(answer);
}

static int run_agent(const char *socket, struct error *err)
{
	struct slurm_agent_options options = {.schedd = "/nonexistent/schedd", .socket = socket, .poll_s = 0.01};
	volatile sig_atomic_t stop = 0;

	return slurm_agent_run(&options, &stop, err);
}

static char folder[64], path[96];

static void make_folder(void)
{
	snprintf(folder, sizeof folder, "/tmp/nomora-agent.XXXXXX");
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/socket", folder);
}

static void remove_folder(void)
{
	char lock[112];

	snprintf(lock, sizeof lock, "%s.lock", path);
	unlink(lock);
	cr_assert_eq(rmdir(folder), 0);
}

TestSuite(slurm_agent, .init = make_folder, .fini = remove_folder);

Test(slurm_agent, ends_with_a_slurmctld_of_another_version)
{
	char other[] = "19.05.8";
	struct error err = {0};

	version = other;
	cr_assert_eq(run_agent(path, &err), -EPROTO);
	cr_assert(strstr(err.text, "slurmctld has version 19.05.8; this agent was built for "), "%s", err.text);
}

Test(slurm_agent, ends_with_one_that_refuses_its_messages)
{
	struct error err = {0};

	version_errno = SLURM_PROTOCOL_VERSION_ERROR;
	cr_assert_eq(run_agent(path, &err), -EPROTO);
	cr_assert_str_eq(err.text,
			 "cannot read Slurm's configuration: Incompatible versions of client and server code");
}

Test(slurm_agent, a_later_release_of_the_same_series_will_do)
{
	struct slurm_view checked = {0};
	struct error err = {0};

	cr_assert_eq(slurm_view_update(&checked, &err), 1, "%s", err.text);
	version_errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
	cr_assert_eq(slurm_view_update(&checked, &err), -EREMOTEIO);
	slurm_view_free(&checked);
}

static uint32_t decided_tasks;

/* Decides about jobs with the curve spark. */
static bool decide(void *context, const struct slurm_request *request, uint32_t tasks, char answer[static ANSWER_BYTES])
{
	decided_tasks = tasks;
	snprintf(answer, ANSWER_BYTES, "PLACE for %s %s %u", (const char *)context, request->curve, request->root);
	return strcmp(request->curve, "spark") == 0;
}

Test(slurm_agent, a_second_agent_is_refused)
{
	struct error err = {0};
	struct answers *first = answers_create(path, decide, NULL, &err);

	cr_assert(first);
	cr_assert_eq(run_agent(path, &err), -EADDRINUSE);
	cr_assert(strstr(err.text, "another agent answers here"), "%s", err.text);
	answers_destroy(first);
	first = answers_create(path, decide, NULL, &err);
	cr_assert(first, "%s", err.text);
	answers_destroy(first);
}

/* Sends a line to the answering thread, and reads everything until it closes the connection. */
static void ask(const char *line, char answer[static 2 * ANSWER_BYTES])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t count = 0;
	ssize_t got;

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	cr_assert_eq(send(fd, line, strlen(line), MSG_NOSIGNAL), (ssize_t)strlen(line));
	shutdown(fd, SHUT_WR);
	while ((got = recv(fd, answer + count, 2 * ANSWER_BYTES - 1 - count, 0)) > 0)
		count += (size_t)got;
	answer[count] = '\0';
	close(fd);
}

static void check_answer(const char *line, const char *expected, int at)
{
	char answer[2 * ANSWER_BYTES];

	ask(line, answer);
	cr_assert_str_eq(answer, expected, "line %d: %s", at, answer);
}

#define ANSWER(line, expected) check_answer(line, expected, __LINE__)

/*
 * Until schedd has answered once, jobs are left to Slurm; then those with a known curve are placed, unless jobs wait
 * for nodes.
 */
Test(slurm_agent, the_plug_in_is_answered)
{
	static char context[] = "x";
	struct error err = {0};
	struct answers *answers = answers_create(path, decide, context, &err);

	cr_assert(answers, "%s", err.text);
	ANSWER("SUBMIT 3 - nomora:curve=spark\n", "PASS\n");
	ANSWER("SUBMIT 3 - nomora:curve=spark,root=3\n",
	       "REFUSE nomora: comment: bad root '3'; expected the number of a task, 0 to 2\n");
	answers_offer(answers, json_pack("[s, s]", "spark", "hadoop"), "main", false);
	ANSWER("SUBMIT 3 - nomora:curve=spark,root=1\n", "PLACE for x spark 1\n");
	cr_assert_eq(decided_tasks, 3);
	ANSWER("SUBMIT 100000 - nomora:curve=hadoop\n", "PASS\n");
	cr_assert_eq(decided_tasks, 100000);
	ANSWER("SUBMIT 1 main nomora:curve=spark\n", "PLACE for x spark 0\n");
	ANSWER("SUBMIT 3 - nomora:curve=tensorflow\n", "REFUSE nomora: comment: unknown curve 'tensorflow'\n");
	ANSWER("SUBMIT 3 big nomora:curve=spark\n", "PASS\n"); /* not the partition with all nodes */
	ANSWER("SUBMIT 0 - nomora:curve=spark\n", "PASS\n");
	ANSWER("SUBMIT 100001 - nomora:curve=spark\n", "PASS\n");
	ANSWER("SUBMIT 3,nomora:curve=spark\n", "PASS\n");
	ANSWER("SUBMIT 3 - curve=spark\n", "PASS\n");
	ANSWER("PLACE 3 nomora:curve=spark\n", "PASS\n");
	ANSWER("SUBMIT 3 - nomora:curve=spark", ""); /* cut */
	answers_offer(answers, json_pack("[s]", "spark"), "main", true);
	ANSWER("SUBMIT 3 - nomora:curve=spark\n", "PASS\n"); /* others wait for nodes */
	ANSWER("SUBMIT 3 - nomora:curve=tensorflow\n", "REFUSE nomora: comment: unknown curve 'tensorflow'\n");
	answers_offer(answers, NULL, NULL, false);
	ANSWER("SUBMIT 3 - nomora:curve=spark\n", "PASS\n"); /* no partition has all nodes */
	answers_offer(answers, NULL, "main", false);
	ANSWER("SUBMIT 3 - nomora:curve=tensorflow\n", "PASS\n"); /* schedd has not decided */
	answers_destroy(answers);
	cr_assert_neq(access(path, F_OK), 0);
}

static atomic_uint accepts_fail, pauses;

int __real_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
	if (accepts_fail > 0) {
		accepts_fail--;
		errno = EMFILE;
		return -1;
	}
	return __real_accept4(fd, address, bytes, flags);
}

int __real_nanosleep(const struct timespec *pause, struct timespec *left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left)
{
	pauses += pause->tv_sec == 0 && pause->tv_nsec >= 1000000;
	return __real_nanosleep(pause, left);
}

/* The connection waits until there are descriptors again. */
Test(slurm_agent, without_descriptors_the_agent_pauses)
{
	struct error err = {0};
	struct answers *answers = answers_create(path, decide, NULL, &err);

	cr_assert(answers, "%s", err.text);
	accepts_fail = 10;
	ANSWER("SUBMIT 3 - nomora:curve=spark\n", "PASS\n");
	cr_assert_eq(pauses, 10);
	ANSWER("SUBMIT 3 - nomora:curve=spark\n", "PASS\n");
	cr_assert_eq(pauses, 10);
	answers_destroy(answers);
}

static char comment[] = "nomora:curve=memcached", mark_12[] = "nomora:pass x", mark_7[] = "nomora:slurm-7 n1";

/* An array whose elements 1 and 3 wait and whose element 2 was split off; and a job. */
static void make_jobs(void)
{
	records[0] = (job_info_t){.job_id = 12,
				  .array_job_id = 12,
				  .array_task_id = NO_VAL,
				  .num_tasks = 2,
				  .comment = comment,
				  .admin_comment = mark_12,
				  .array_bitmap = slurm_bit_alloc(5)};
	slurm_bit_set(records[0].array_bitmap, 1);
	slurm_bit_set(records[0].array_bitmap, 3);
	records[1] = (job_info_t){.job_id = 13, .array_job_id = 12, .array_task_id = 2, .num_tasks = 2};
	records[2] = (job_info_t){.job_id = 7, .array_task_id = NO_VAL, .num_tasks = 1, .admin_comment = mark_7};
	jobs.record_count = 3;
}

Test(slurm_agent, each_element_of_an_array_is_a_job)
{
	static const char *const names[] = {"12_1", "12_3", "12_2", "7"};
	static const uint32_t ids[] = {12, 12, 13, 7};
	struct slurm_view view = {0};
	struct error err = {0};

	make_jobs();
	cr_assert_eq(slurm_view_update(&view, &err), 1);
	cr_assert_eq(view.job_count, 4);
	for (uint32_t j = 0; j < 4; j++) {
		cr_assert_str_eq(view.jobs[j].name, names[j]);
		cr_assert_eq(view.jobs[j].id, ids[j]);
		cr_assert(view.jobs[j].simple);
	}
	cr_assert_str_eq(view.jobs[1].mark, mark_12);
	slurm_bit_free(&records[0].array_bitmap);
	slurm_view_free(&view);
}

Test(slurm_agent, a_simple_job_has_one_cpu_a_task_and_is_no_part_of_another)
{
	static const struct {
		uint32_t het_job;
		uint16_t cpus;
		bool simple;
	} rows[] = {{0, 1, true}, {0, 2, false}, {9, 1, false}, {9, 2, false}};

	jobs.record_count = 1;
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		struct slurm_view view = {0};
		struct error err = {0};

		records[0] = (job_info_t){.job_id = 9,
					  .array_task_id = NO_VAL,
					  .num_tasks = 1,
					  .het_job_id = rows[r].het_job,
					  .cpus_per_task = rows[r].cpus};
		cr_assert_eq(slurm_view_update(&view, &err), 1);
		cr_assert_eq(view.jobs[0].simple, rows[r].simple, "row %zu", r);
		slurm_view_free(&view);
	}
}

Test(slurm_agent, orders_name_the_element_and_report_its_error)
{
	struct slurm_job job = {.id = 12, .name = "12_3"};
	struct error err = {0};

	cr_assert_eq(slurm_order_mark(&job, NULL, &err), 0);
	cr_assert(strncmp(ordered, "12_3", 4) == 0);
	element_error = ESLURM_JOB_FINISHED;
	cr_assert_eq(slurm_order_mark(&job, NULL, &err), -EREMOTEIO);
	cr_assert_str_eq(err.text, "cannot mark the job: Job has already finished");
}

/* A start time set by the user stays. A requeued job would wait until its old credential has expired. */
Test(slurm_agent, only_a_requeued_job_gets_a_time_to_begin)
{
	struct slurm_job job = {.id = 7, .name = "7", .tasks = 1};
	char hosts[] = "n1", mark[] = "nomora:slurm-7 n1", keeps[64];
	struct error err = {0};

	snprintf(keeps, sizeof keeps, "7 priority %u", NO_VAL);
	cr_assert_eq(slurm_order_place(&job, hosts, 1, mark, &err), 0);
	cr_assert_str_eq(ordered, keeps);
	job.restarts = 1;
	cr_assert_eq(slurm_order_pass(&job, mark, &err), 0);
	cr_assert_str_eq(ordered + strlen(keeps), " begins");
}

static bool has_mark(const char *job, const char *mark)
{
	struct slurm_job_name name;
	struct slurm_view view;
	struct error err = {0};
	bool same;

	cr_assert(slurm_job_name_parse(job, &name));
	same = slurm_view_read_job(&view, &name, &err) == 0 && strcmp(view.jobs[0].mark, mark) == 0;
	slurm_view_free(&view);
	return same;
}

/* An array's job id is also the id of its last element. */
Test(slurm_agent, the_mark_is_that_of_the_element)
{
	static char mark_13[] = "nomora:slurm-12_2 n3";

	make_jobs();
	records[1].admin_comment = mark_13;
	cr_assert(has_mark("7", mark_7));
	cr_assert(has_mark("12_2", mark_13));
	cr_assert(!has_mark("12", mark_13));
	slurm_bit_free(&records[0].array_bitmap);
}

Test(slurm_agent, names_of_jobs_are_numbers)
{
	static const char *const bad[] = {"",   "x", "12x", "12_",   "12_x",      "12_3_4",
					  "_3", "0", "-1",  "12_-3", "4294967296"};
	struct slurm_job_name name;

	for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
		cr_assert(!slurm_job_name_parse(bad[b], &name), "'%s'", bad[b]);
	cr_assert(slurm_job_name_parse("12_0", &name));
	cr_assert(name.is_element && name.job == 12 && name.element == 0);
}
