/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm's two texts: a comment is read or refused with a reason; the mark of a placed job survives printing and
 * reading.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <integrations/slurm/request.h>

static void check_mark(const struct slurm_mark *mark)
{
	char *text = slurm_mark_placed(mark->id, mark->hosts, mark->host_count);
	struct slurm_mark again;

	if (!text || slurm_mark_parse(text, &again) < 0 || again.kind != SLURM_MARK_PLACED ||
	    again.host_count != mark->host_count || strcmp(again.id, mark->id) != 0)
		abort();
	for (uint32_t h = 0; h < mark->host_count; h++)
		if (strcmp(again.hosts[h], mark->hosts[h]) != 0)
			abort();
	slurm_mark_free(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct slurm_request request;
	struct slurm_mark mark;
	struct error err = {0};
	int code;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	code = slurm_request_parse(text, 7, &request, &err);
	if ((code < 0) != (err.text[0] != '\0') || (code == 1 && (request.root >= 7 || !request.curve[0])))
		abort();
	if (slurm_mark_parse(text, &mark) < 0)
		abort();
	if (mark.kind == SLURM_MARK_PLACED)
		check_mark(&mark);
	slurm_mark_free(&mark);
	free(text);
	return 0;
}
