/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job_submit plug-in, with an agent that answers correctly, incorrectly or not at all. The test replaces the
 * plug-in's clock and its poll(), so that the plug-in waits for the answer however busy the machine is.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

char *slurm_xstrdup(const char *text);
void slurm_xfree_ptr(void *memory);

/* Symbols that slurmctld provides to the plug-in. */
char *slurm_xstrdup(const char *text)
{
	return strdup(text);
}
void slurm_xfree_ptr(void *memory)
{
	free(memory);
}

int poll(void *polled, unsigned long count, int timeout_ms);

static bool patient; /* the clock stands at clock_ms, and poll() waits as long as is necessary */
static int64_t clock_ms = 1000000;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!patient)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = (struct timespec){.tv_sec = clock_ms / 1000, .tv_nsec = clock_ms % 1000 * 1000000};
	return 0;
}

int poll(void *polled, unsigned long count, int timeout_ms)
{
	struct timespec limit = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};

	if (patient)
		limit = (struct timespec){.tv_sec = 60};
	return (int)syscall(SYS_ppoll, polled, count, timeout_ms < 0 && !patient ? NULL : &limit, NULL, 0);
}

struct agent {
	char folder[64], path[108];
	int fd;
	pthread_t thread;
	const char *answer; /* NULL: reads, but never answers */
	size_t bytes;
	bool dribbles; /* sends a byte every 2 ms, without an end */
	char asked[4096];
	unsigned questions;
};

static int (*job_submit)(job_desc_msg_t *, uint32_t, char **);

/* Submits a job to an agent that answers. */
static int submit(job_desc_msg_t *job, char **message)
{
	int code;

	patient = true;
	code = job_submit(job, 0, message);
	patient = false;
	return code;
}

static void *serve(void *context)
{
	struct agent *agent = context;
	int fd;

	while ((fd = accept(agent->fd, NULL, NULL)) >= 0) {
		ssize_t got = recv(fd, agent->asked, sizeof agent->asked - 1, 0);

		agent->asked[got > 0 ? got : 0] = '\0';
		agent->questions++;
		if (agent->dribbles)
			while (send(fd, "P", 1, MSG_NOSIGNAL) == 1)
				usleep(2000);
		else if (agent->answer)
			send(fd, agent->answer, agent->bytes, MSG_NOSIGNAL);
		else /* until the plug-in closes the connection */
			while (recv(fd, agent->asked + 2048, 1, 0) > 0)
				;
		close(fd);
	}
	return NULL;
}

static struct agent *start(const char *answer)
{
	struct agent *agent = calloc(1, sizeof *agent);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(agent->folder, sizeof agent->folder, "/tmp/nomora-plugin.XXXXXX");
	cr_assert(mkdtemp(agent->folder));
	snprintf(agent->path, sizeof agent->path, "%s/socket", agent->folder);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", agent->path);
	agent->answer = answer;
	agent->bytes = answer ? strlen(answer) : 0;
	agent->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(bind(agent->fd, (struct sockaddr *)&address, sizeof address), 0);
	cr_assert_eq(listen(agent->fd, 16), 0);
	setenv("NOMORA_SLURM_SOCKET", agent->path, 1);
	cr_assert_eq(pthread_create(&agent->thread, NULL, serve, agent), 0);
	return agent;
}

static void stop(struct agent *agent)
{
	shutdown(agent->fd, SHUT_RDWR);
	pthread_join(agent->thread, NULL);
	close(agent->fd);
	unlink(agent->path);
	rmdir(agent->folder);
	free(agent);
}

static job_desc_msg_t make_job(const char *comment)
{
	job_desc_msg_t job;

	slurm_init_job_desc_msg(&job);
	job.het_job_offset = NO_VAL; /* as sbatch does */
	job.num_tasks = 3;
	job.comment = comment ? strdup(comment) : NULL;
	return job;
}

static void free_job(job_desc_msg_t *job)
{
	free(job->comment);
	free(job->admin_comment);
	free(job->req_nodes);
}

static void load(void)
{
	void *plugin = dlopen(getenv("NOMORA_TEST_PLUGIN"), RTLD_NOW | RTLD_LOCAL);

	cr_assert(plugin, "%s", dlerror());
	*(void **)&job_submit = dlsym(plugin, "job_submit");
	cr_assert(job_submit);
}

TestSuite(slurm_plugin, .init = load);

/* True if the plug-in left the job to Slurm. */
static bool has_passed(const job_desc_msg_t *job)
{
	return job->priority == NO_VAL && !job->req_nodes && !job->admin_comment;
}

Test(slurm_plugin, place_sets_nodes_and_counts)
{
	struct agent *agent = start("PLACE n1,n3 2 nomora:slurm-9 n1,n3*2\n");
	job_desc_msg_t job = make_job("nomora:curve=memcached");

	cr_assert_eq(submit(&job, NULL), SLURM_SUCCESS);
	cr_assert_str_eq(job.req_nodes, "n1,n3");
	cr_assert_eq(job.min_nodes, 2);
	cr_assert_eq(job.max_nodes, 2);
	cr_assert_eq(job.pn_min_cpus, NO_VAL16); /* Slurm gives a CPU to each task */
	cr_assert_str_eq(job.admin_comment, "nomora:slurm-9 n1,n3*2");
	free_job(&job);
	stop(agent);
}

/* schedd could not say which elements and which dependents are next. */
Test(slurm_plugin, arrays_and_dependents_pass_without_a_question)
{
	struct agent *agent = start("PLACE n1,n3 2 nomora:slurm-9 n1,n3*2\n");
	job_desc_msg_t array = make_job("nomora:curve=memcached"), dependent = make_job("nomora:curve=memcached");

	array.array_inx = strdup("0-3");
	dependent.dependency = strdup("afterok:7");
	cr_assert_eq(submit(&array, NULL), SLURM_SUCCESS);
	cr_assert_eq(submit(&dependent, NULL), SLURM_SUCCESS);
	cr_assert(has_passed(&array) && has_passed(&dependent));
	cr_assert_eq(agent->questions, 0);
	free(array.array_inx);
	free(dependent.dependency);
	free_job(&array);
	free_job(&dependent);
	stop(agent);
}

Test(slurm_plugin, refuse_says_why)
{
	struct agent *agent = start("REFUSE unknown curve 'x'\n");
	job_desc_msg_t job = make_job("nomora:curve=x");
	char *message = NULL;
	int code = submit(&job, &message);

	cr_assert_eq(code, ESLURM_ACCESS_DENIED);
	cr_assert_str_eq(message, "unknown curve 'x'");
	cr_assert(has_passed(&job));
	free(message);
	free_job(&job);
	stop(agent);
}

Test(slurm_plugin, jobs_that_do_not_ask_or_say_where_or_when_pass_without_a_question)
{
	struct agent *agent = start("PLACE n1 1 m\n");
	job_desc_msg_t job = make_job(NULL);

	submit(&job, NULL);
	job.comment = strdup("nomora:curve=memcached");
	job.req_nodes = strdup("n1");
	submit(&job, NULL);
	free(job.req_nodes);
	job.req_nodes = NULL;
	job.min_nodes = 2;
	submit(&job, NULL);
	job.min_nodes = NO_VAL;
	job.cpus_per_task = 2;
	submit(&job, NULL);
	job.cpus_per_task = 1;
	job.priority = 0; /* held by its user */
	submit(&job, NULL);
	job.priority = NO_VAL;
	job.begin_time = time(NULL) + 3600;
	submit(&job, NULL);
	job.begin_time = 0;
	job.het_job_offset = 0;
	submit(&job, NULL);
	cr_assert_eq(agent->questions, 0);
	job.het_job_offset = NO_VAL;
	/* -C, -x, --reservation, --gres, --mem, --mincpus, -O, -N 1, --nice, --exclusive, --spread-job */
#define PASSES(field, value)                                                                                           \
	do {                                                                                                           \
		const job_desc_msg_t before = job;                                                                     \
		job.field = value;                                                                                     \
		submit(&job, NULL);                                                                                    \
		cr_assert_eq(agent->questions, 0, #field);                                                             \
		job = before;                                                                                          \
	} while (0)
	PASSES(features, (char *)"slow");
	PASSES(exc_nodes, (char *)"n1");
	PASSES(reservation, (char *)"r");
	PASSES(tres_per_node, (char *)"gres:fpga:1");
	PASSES(pn_min_memory, 3000);
	PASSES(pn_min_cpus, 4);
	PASSES(min_cpus, 4);
	PASSES(overcommit, 1);
	PASSES(max_nodes, 1);
	PASSES(nice, NICE_OFFSET + 1);
	PASSES(qos, (char *)"q");
	PASSES(shared, 0);
	PASSES(bitflags, SPREAD_JOB);
	PASSES(task_dist, SLURM_DIST_CYCLIC);
	submit(&job, NULL);
	cr_assert_eq(agent->questions, 1, "without options");
	free(job.admin_comment);
	job.admin_comment = NULL;
	cr_assert_null(job.admin_comment);
	free_job(&job);
	stop(agent);
}

Test(slurm_plugin, silence_passes_and_is_followed_by_silence)
{
	struct agent *agent = start(NULL);
	job_desc_msg_t job = make_job("nomora:curve=memcached");

	for (int i = 0; i < 3; i++)
		cr_assert_eq(job_submit(&job, 0, NULL), SLURM_SUCCESS);
	cr_assert(has_passed(&job));
	stop(agent);
	unsetenv("NOMORA_SLURM_SOCKET");
	free_job(&job);
}

/* After a bad answer, the plug-in does not ask for 5 s; after a good one, it asks at once. */
Test(slurm_plugin, a_bad_answer_is_followed_by_a_pause)
{
	struct agent *agent = start("nonsense\n");
	job_desc_msg_t job = make_job("nomora:curve=memcached");

	submit(&job, NULL);
	cr_assert_eq(agent->questions, 1);
	clock_ms += 4999;
	submit(&job, NULL);
	cr_assert_eq(agent->questions, 1);
	clock_ms += 1;
	agent->answer = "PASS\n";
	agent->bytes = 5;
	submit(&job, NULL);
	cr_assert_eq(agent->questions, 2);
	cr_assert(has_passed(&job));
	agent->answer = "REFUSE x\n";
	agent->bytes = strlen(agent->answer);
	submit(&job, NULL);
	cr_assert_eq(agent->questions, 3);
	agent->answer = "PLACE n1 1 m\n";
	agent->bytes = strlen(agent->answer);
	submit(&job, NULL);
	cr_assert_eq(agent->questions, 4);
	cr_assert_str_eq(job.req_nodes, "n1");
	free_job(&job);
	stop(agent);
}

/* A job without a number of tasks has one. */
Test(slurm_plugin, the_question_has_tasks_and_comment)
{
	struct agent *agent = start("PASS\n");
	job_desc_msg_t job = make_job("nomora:curve=spark,root=2");

	submit(&job, NULL);
	cr_assert_str_eq(agent->asked, "SUBMIT 3 - nomora:curve=spark,root=2\n");
	job.num_tasks = NO_VAL;
	job.dependency = strdup("");
	submit(&job, NULL);
	cr_assert_str_eq(agent->asked, "SUBMIT 1 - nomora:curve=spark,root=2\n");
	free(job.dependency);
	free_job(&job);
	stop(agent);
}

/* Each of these alone leaves the job to Slurm without a question; its neighbour does not. */
Test(slurm_plugin, the_limits_of_jobs_that_ask)
{
	struct agent *agent = start("PASS\n");
	job_desc_msg_t job = make_job("nomora:curve=spark");

	job.min_nodes = 1;
	job.cpus_per_task = 1;
	job.begin_time = time(NULL) - 5;
	submit(&job, NULL);
	cr_assert_eq(agent->questions, 1);
	job.ntasks_per_node = 2;
	submit(&job, NULL);
	job.ntasks_per_node = NO_VAL16;
	free(job.admin_comment);
	job.admin_comment = strdup("mine");
	submit(&job, NULL);
	free(job.admin_comment);
	job.admin_comment = NULL;
	free(job.comment);
	job.comment = strdup("nomora:curve=spark\nSUBMIT");
	submit(&job, NULL);
	cr_assert_eq(agent->questions, 1);
	free_job(&job);
	stop(agent);
}

Test(slurm_plugin, the_largest_placement)
{
	struct agent *agent = start("PLACE n[1-65535] 65535 m\n");
	job_desc_msg_t job = make_job("nomora:curve=spark");

	submit(&job, NULL);
	cr_assert(job.min_nodes == 65535 && job.max_nodes == 65535);
	free_job(&job);
	stop(agent);
}

Test(slurm_plugin, nobody_there_passes)
{
	job_desc_msg_t job = make_job("nomora:curve=memcached");

	setenv("NOMORA_SLURM_SOCKET", "/nonexistent/socket", 1);
	cr_assert_eq(job_submit(&job, 0, NULL), SLURM_SUCCESS);
	cr_assert(has_passed(&job));
	free_job(&job);
}

/* One process per case: after a bad answer the plug-in does not ask for a while. */
static void bad_answer(const char *answer, size_t bytes)
{
	struct agent *agent = start(answer);
	job_desc_msg_t job = make_job("nomora:curve=memcached");

	agent->bytes = bytes;
	cr_assert_eq(submit(&job, NULL), SLURM_SUCCESS);
	cr_assert(has_passed(&job), "'%s'", answer);
	free_job(&job);
	stop(agent);
}

Test(slurm_plugin, a_huge_answer_passes)
{
	static char answer[1 << 20];

	memset(answer, 'P', sizeof answer - 1);
	memcpy(answer, "PLACE ", 6);
	bad_answer(answer, sizeof answer - 1);
}

static const char bad_answers[][64] = {"",
				       "\n",
				       "PASS",
				       "pass\n",
				       "HOLD\n",
				       "PLACE\n",
				       "PLACE \n",
				       "PLACE n1\n",
				       "PLACE n1 1\n",
				       "PLACE n1 1 \n",
				       "PLACE n1 0 m\n",
				       "PLACE n1 65536 m\n",
				       "PLACE  1 m\n",
				       "PLACE n1 x m\n",
				       "REFUSE\n"};

ParameterizedTestParameters(slurm_plugin, bad_answers_pass)
{
	static size_t numbers[sizeof bad_answers / sizeof *bad_answers];

	for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
		numbers[n] = n;
	return cr_make_param_array(size_t, numbers, sizeof numbers / sizeof *numbers);
}

ParameterizedTest(size_t *number, slurm_plugin, bad_answers_pass)
{
	bad_answer(bad_answers[*number], strlen(bad_answers[*number]));
}

Test(slurm_plugin, a_line_without_end_passes)
{
	static char much[20000];

	memset(much, 'x', sizeof much - 1);
	bad_answer(much, sizeof much - 1);
}

/* Each byte arrives in time, but the line never ends. */
Test(slurm_plugin, an_answer_without_end_in_small_parts_passes)
{
	struct agent *agent = start("");
	job_desc_msg_t job = make_job("nomora:curve=memcached");

	agent->dribbles = true;
	cr_assert_eq(job_submit(&job, 0, NULL), SLURM_SUCCESS);
	cr_assert(has_passed(&job));
	free_job(&job);
	stop(agent);
}

/* A truncated line is not an answer. */
Test(slurm_plugin, a_cut_answer_passes)
{
	static const char answer[] = "PLACE n1,n3 2 nomora:slurm-9 n1,n3*2";

	bad_answer(answer, sizeof answer - 1);
}
