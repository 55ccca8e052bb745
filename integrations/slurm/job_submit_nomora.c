/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm's job_submit plug-in: asks the agent (nomora slurm-agent) what to do with a job whose comment begins with
 * "nomora:". Needs only libslurm's headers; slurmctld accepts it if it has the same major and minor version.
 *
 * The protocol: lines over a unix socket, $NOMORA_SLURM_SOCKET or /run/nomora-slurm/slurm.sock. The plug-in sends
 *
 *   SUBMIT TASKS PARTITION COMMENT    PARTITION: "-" for Slurm's default
 *
 * The agent answers with one of
 *
 *   PASS                          leave the job to Slurm
 *   REFUSE TEXT                   refuse the job; TEXT is for the user
 *   PLACE HOSTS COUNT MARK        place the job on HOSTS ("n1,n3"); COUNT: number of hosts
 *
 * While the plug-in waits, slurmctld holds its lock on the jobs. If no valid answer arrives within ANSWER_MS, the job
 * is left to Slurm. So are all jobs of the next QUIET_S seconds, without a request.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

enum { ANSWER_MS = 20, QUIET_S = 5, LINE_BYTES = 4096 };

const char plugin_name[] = "placement by nomora";
const char plugin_type[] = "job_submit/nomora";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int init(void);
int fini(void);
int job_submit(job_desc_msg_t *job, uint32_t uid, char **message);
int job_modify(job_desc_msg_t *job, void *record, uint32_t uid);

/*
 * Functions of libslurmfull, which slurmctld has loaded. slurmctld frees the strings of a job, so they must come from
 * its allocator.
 */
extern char *slurm_xstrdup(const char *text) __attribute__((weak));
extern void slurm_xfree_ptr(void *memory) __attribute__((weak));
extern __typeof__(slurm_init_job_desc_msg) slurm_init_job_desc_msg __attribute__((weak));
extern void slurm_info(const char *format, ...) __attribute__((weak, format(printf, 1, 2)));

static int64_t quiet_until_ms;

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t now_ms(void)
{
	return now_us() / 1000;
}

static bool is_ready(int fd, short events, int64_t until_ms)
{
	struct pollfd polled = {.fd = fd, .events = events};
	int64_t left_ms = until_ms - now_ms();

	return left_ms > 0 && poll(&polled, 1, (int)left_ms) == 1;
}

static int open_socket(void)
{
	const char *path = getenv("NOMORA_SLURM_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	snprintf(address.sun_path, sizeof address.sun_path, "%s",
		 path && path[0] ? path : "/run/nomora-slurm/slurm.sock");
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Reads a line, without its end, until until_ms is reached. */
static bool read_answer(int fd, char line[static LINE_BYTES], int64_t until_ms)
{
	size_t count = 0;
	char *end = NULL;

	while (!end && count < LINE_BYTES - 1 && is_ready(fd, POLLIN, until_ms)) {
		ssize_t got = recv(fd, line + count, LINE_BYTES - 1 - count, 0);

		if (got <= 0)
			break;
		count += (size_t)got;
		line[count] = '\0';
		end = strchr(line, '\n');
	}
	if (end)
		*end = '\0';
	return end != NULL;
}

/* Gets the agent's answer. Returns false if there is none. */
static bool ask(const job_desc_msg_t *job, char line[static LINE_BYTES])
{
	int64_t until_ms = now_ms() + ANSWER_MS;
	uint32_t tasks = job->num_tasks == NO_VAL ? 1 : job->num_tasks;
	int fd = open_socket(), length;
	bool answered = false;

	if (fd < 0)
		return false;
	length = snprintf(line, LINE_BYTES, "SUBMIT %u %s %s\n", tasks,
			  job->partition && job->partition[0] ? job->partition : "-", job->comment);
	if (length < LINE_BYTES && send(fd, line, (size_t)length, MSG_NOSIGNAL) == length)
		answered = read_answer(fd, line, until_ms);
	close(fd);
	return answered;
}

static void set_text(char **text, const char *value)
{
	if (*text && slurm_xfree_ptr)
		slurm_xfree_ptr(*text);
	*text = slurm_xstrdup ? slurm_xstrdup(value) : NULL;
}

/* Sets the job's nodes and mark from "HOSTS COUNT MARK". */
static bool place(job_desc_msg_t *job, char *line)
{
	char *hosts = strsep(&line, " "), *count = strsep(&line, " ");
	unsigned long nodes = count ? strtoul(count, NULL, 10) : 0;

	if (!line || hosts[0] == '\0' || line[0] == '\0' || nodes == 0 || nodes > UINT16_MAX)
		return false;
	set_text(&job->req_nodes, hosts);
	set_text(&job->admin_comment, line);
	job->min_nodes = job->max_nodes = (uint32_t)nodes;
	return true;
}

/* Bytes of job_desc_msg_t that do not constrain where or when the job runs. */
struct free_field {
	size_t offset, bytes;
};

#define FREE_FIELD(field)                                                                                              \
	{                                                                                                              \
		offsetof(job_desc_msg_t, field), sizeof((job_desc_msg_t *)0)->field                                    \
	}

static const struct free_field free_fields[] = {
	/* who submits what */
	FREE_FIELD(account), FREE_FIELD(acctg_freq), FREE_FIELD(alloc_node), FREE_FIELD(alloc_resp_port),
	FREE_FIELD(alloc_sid), FREE_FIELD(argc), FREE_FIELD(argv), FREE_FIELD(comment), FREE_FIELD(environment),
	FREE_FIELD(env_hash), FREE_FIELD(env_size), FREE_FIELD(group_id), FREE_FIELD(mail_type), FREE_FIELD(mail_user),
	FREE_FIELD(name), FREE_FIELD(submit_line), FREE_FIELD(user_id), FREE_FIELD(work_dir), FREE_FIELD(wckey),
	FREE_FIELD(script), FREE_FIELD(script_buf), FREE_FIELD(script_hash), FREE_FIELD(selinux_context),
	FREE_FIELD(open_mode), FREE_FIELD(std_err), FREE_FIELD(std_in), FREE_FIELD(std_out), FREE_FIELD(other_port),
	FREE_FIELD(resp_host), FREE_FIELD(spank_job_env), FREE_FIELD(spank_job_env_size), FREE_FIELD(profile),
	FREE_FIELD(x11), FREE_FIELD(x11_magic_cookie), FREE_FIELD(x11_target), FREE_FIELD(x11_target_port),
	/* how it is run on its nodes, and how it ends */
	FREE_FIELD(cpu_bind), FREE_FIELD(cpu_bind_type), FREE_FIELD(mem_bind), FREE_FIELD(mem_bind_type),
	FREE_FIELD(kill_on_node_fail), FREE_FIELD(requeue), FREE_FIELD(wait_all_nodes), FREE_FIELD(warn_flags),
	FREE_FIELD(warn_signal), FREE_FIELD(warn_time), FREE_FIELD(time_limit),
	/* judged by is_ours() and the agent */
	FREE_FIELD(begin_time), FREE_FIELD(dependency), FREE_FIELD(bitflags), FREE_FIELD(num_tasks),
	FREE_FIELD(min_cpus), FREE_FIELD(min_nodes), FREE_FIELD(max_nodes), FREE_FIELD(cpus_per_task),
	FREE_FIELD(partition), FREE_FIELD(contiguous), FREE_FIELD(het_job_offset), FREE_FIELD(task_dist),
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
	FREE_FIELD(select_jobinfo), /* set by slurmctld */
#else
	FREE_FIELD(oom_kill_step), /* how it ends */
	FREE_FIELD(resv_port_cnt), /* judged by reserves_ports() */
#endif
};

/* True if the job asks for ports on its nodes. A job without this option has NO_VAL16 in 24.11. */
static bool reserves_ports(const job_desc_msg_t *job)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
	(void)job;
	return false; /* one of the other fields */
#else
	return job->resv_port_cnt != 0 && job->resv_port_cnt != NO_VAL16;
#endif
}

/* True if all other fields have the values of a job without options. */
static bool has_no_other_option(const job_desc_msg_t *job)
{
	job_desc_msg_t given, plain;

	if (!slurm_init_job_desc_msg)
		return false;
	slurm_init_job_desc_msg(&plain);
	memcpy(&given, job, sizeof given);
	for (size_t f = 0; f < sizeof free_fields / sizeof *free_fields; f++)
		memcpy((char *)&given + free_fields[f].offset, (const char *)&plain + free_fields[f].offset,
		       free_fields[f].bytes);
	return memcmp(&given, &plain, sizeof given) == 0;
}

/*
 * True if nomora is to place the job. Slurm places all jobs with an option that constrains nodes, CPUs, memory, order
 * or time, arrays and jobs that depend on others, also with one that a later version of Slurm adds: schedd does not
 * know these constraints, and a placement that breaks one makes Slurm refuse the job or keep it waiting for ever.
 */
static bool is_ours(const job_desc_msg_t *job)
{
	const uint64_t harmless = KILL_INV_DEP | NO_KILL_INV_DEP | JOB_SEND_ENV | JOB_SEND_SCRIPT | JOB_NTASKS_SET |
				  JOB_CPUS_SET | USE_DEFAULT_ACCT | USE_DEFAULT_PART | USE_DEFAULT_QOS |
				  USE_DEFAULT_WCKEY;
	uint32_t tasks = job->num_tasks == NO_VAL ? 1 : job->num_tasks;

	return job->comment && strncmp(job->comment, "nomora:", 7) == 0 && strpbrk(job->comment, "\r\n") == NULL &&
	       (job->min_nodes == NO_VAL || job->min_nodes <= 1) && (job->max_nodes == NO_VAL || job->max_nodes == 0) &&
	       (job->cpus_per_task == NO_VAL16 || job->cpus_per_task <= 1) &&
	       (job->contiguous == 0 || job->contiguous == NO_VAL16) && job->het_job_offset == NO_VAL &&
	       !(job->dependency && job->dependency[0]) &&
	       (job->task_dist == NO_VAL || (job->task_dist & SLURM_DIST_STATE_BASE) == SLURM_DIST_UNKNOWN) &&
	       (job->min_cpus == NO_VAL || job->min_cpus <= tasks) && !(job->bitflags & ~harmless) &&
	       job->begin_time <= time(NULL) && !reserves_ports(job) && has_no_other_option(job);
}

/* Carries out the answer. Returns false if the line is not understood: the job is then unchanged. */
static bool obey(job_desc_msg_t *job, char *line, char **message, int *code)
{
	*code = SLURM_SUCCESS;
	if (strcmp(line, "PASS") == 0)
		return true;
	if (strncmp(line, "REFUSE ", 7) == 0) {
		if (message)
			*message = slurm_xstrdup ? slurm_xstrdup(line + 7) : NULL;
		*code = ESLURM_ACCESS_DENIED;
		return true;
	}
	return strncmp(line, "PLACE ", 6) == 0 && place(job, line + 6);
}

int init(void)
{
	if (slurm_info)
		slurm_info("%s: loaded", plugin_type);
	return SLURM_SUCCESS;
}

int fini(void)
{
	return SLURM_SUCCESS;
}

int job_submit(job_desc_msg_t *job, uint32_t uid, char **message)
{
	char line[LINE_BYTES];
	int64_t begun_us = now_us();
	int code = SLURM_SUCCESS;

	(void)uid;
	if (!is_ours(job) || begun_us / 1000 < quiet_until_ms)
		return SLURM_SUCCESS;
	if (!ask(job, line) || !obey(job, line, message, &code))
		quiet_until_ms = now_ms() + QUIET_S * 1000;
	if (slurm_info)
		slurm_info("%s: %lld us", plugin_type, (long long)(now_us() - begun_us));
	return code;
}

int job_modify(job_desc_msg_t *job, void *record, uint32_t uid)
{
	(void)job;
	(void)record;
	(void)uid;
	return SLURM_SUCCESS;
}
