/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job_submit plug-in, inside slurmctld, with arbitrary bytes from its socket: the job is changed completely or not
 * at all. The first byte selects the kind of job. The plug-in's functions are static, hence the include.
 */
#include "../../integrations/slurm/job_submit_nomora.c"

char *slurm_xstrdup(const char *text)
{
	return strdup(text);
}

void slurm_xfree_ptr(void *memory)
{
	free(memory);
}

static bool is_unchanged(const job_desc_msg_t *job)
{
	return !job->req_nodes && !job->admin_comment && job->priority == NO_VAL && job->min_nodes == NO_VAL &&
	       job->max_nodes == NO_VAL && job->pn_min_cpus == NO_VAL16;
}

static void check(const job_desc_msg_t *job, bool understood, int code, const char *message)
{
	bool held = job->priority == 0, placed = job->req_nodes != NULL;

	if (!understood && (!is_unchanged(job) || code != SLURM_SUCCESS))
		abort();
	if (code != SLURM_SUCCESS && (code != ESLURM_ACCESS_DENIED || !message || !is_unchanged(job)))
		abort();
	if (held && (placed || !job->admin_comment))
		abort();
	if (placed && (!job->req_nodes[0] || !job->admin_comment || !job->admin_comment[0] || job->array_inx ||
		       job->min_nodes != job->max_nodes || job->min_nodes == 0 || job->pn_min_cpus == 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char elements[] = "0-3";
	char line[LINE_BYTES], *message = NULL;
	job_desc_msg_t job;
	bool understood;
	int sockets[2], code = SLURM_SUCCESS;

	if (size == 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		return 0;
	memset(&job, 0, sizeof job);
	job.priority = job.min_nodes = job.max_nodes = NO_VAL;
	job.pn_min_cpus = NO_VAL16;
	job.array_inx = data[0] & 1 ? elements : NULL;
	understood = send(sockets[0], data + 1, size - 1, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size - 1;
	close(sockets[0]);
	understood = understood && read_answer(sockets[1], line, now_ms() + 1000) && obey(&job, line, &message, &code);
	close(sockets[1]);
	check(&job, understood, code, message);
	free(job.req_nodes);
	free(job.admin_comment);
	free(message);
	return 0;
}
