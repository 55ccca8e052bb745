/* SPDX-License-Identifier: BSD-3-Clause */
#include <integrations/slurm/request.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/name.h>
#include <base/text_stream.h>

static int parse_root(const char *value, uint32_t tasks, uint32_t *root, struct error *err)
{
	char *end;
	unsigned long number = strtoul(value, &end, 10);

	if (value[0] < '0' || value[0] > '9' || *end != '\0' || number >= tasks)
		return error_set(err, EINVAL, "comment: bad root '%s'; expected the number of a task, 0 to %u", value,
				 tasks - 1);
	*root = (uint32_t)number;
	return 0;
}

static int parse_field(const char *name, const char *value, uint32_t tasks, struct slurm_request *request,
		       struct error *err)
{
	if (strcmp(name, "curve") == 0) {
		if (!name_is_valid(value, sizeof request->curve))
			return error_set(err, EINVAL, "comment: bad curve '%s'; expected a name", value);
		snprintf(request->curve, sizeof request->curve, "%s", value);
		return 0;
	}
	if (strcmp(name, "root") == 0)
		return parse_root(value, tasks, &request->root, err);
	if (strcmp(name, "move") == 0 && (strcmp(value, "yes") == 0 || strcmp(value, "no") == 0)) {
		request->move = value[0] == 'y';
		return 0;
	}
	return error_set(err, EINVAL, "comment: bad field '%s=%s'; expected curve=NAME, root=TASK, move=yes|no", name,
			 value);
}

int slurm_request_parse(const char *comment, uint32_t tasks, struct slurm_request *request, struct error *err)
{
	static const size_t prefix = sizeof SLURM_REQUEST_PREFIX - 1;
	char *copy, *rest, *field;
	int code = 0;

	*request = (struct slurm_request){.move = true};
	if (!comment || strncmp(comment, SLURM_REQUEST_PREFIX, prefix) != 0)
		return 0;
	copy = strdup(comment + prefix);
	if (!copy)
		return error_set(err, ENOMEM, "out of memory");
	rest = copy;
	while (code == 0 && (field = strsep(&rest, ",")) != NULL) {
		char *equals = strchr(field, '=');

		if (equals)
			*equals = '\0';
		code = parse_field(field, equals ? equals + 1 : "", tasks, request, err);
	}
	free(copy);
	if (code == 0 && request->curve[0] == '\0')
		code = error_set(err, EINVAL, "comment: missing field curve=NAME");
	return code < 0 ? code : 1;
}

static int add_hosts(struct slurm_mark *mark, size_t *capacity, const char *name, unsigned long count)
{
	while (count-- > 0) {
		char **hosts = array_grow(mark->hosts, mark->host_count, capacity, sizeof *hosts);

		if (!hosts)
			return -ENOMEM;
		mark->hosts = hosts;
		hosts[mark->host_count] = strdup(name);
		if (!hosts[mark->host_count])
			return -ENOMEM;
		mark->host_count++;
	}
	return 0;
}

/* Parses "n3,n1*2". Returns 1 if the text is a layout, 0 if not, or -ENOMEM. */
static int parse_layout(char *text, struct slurm_mark *mark)
{
	size_t capacity = 0;
	char *name;

	while ((name = strsep(&text, ",")) != NULL) {
		char *star = strchr(name, '*'), *end = NULL;
		unsigned long count = star ? strtoul(star + 1, &end, 10) : 1;

		if (star)
			*star = '\0';
		if (!name_is_valid(name, SLURM_NAME_BYTES) || count == 0 ||
		    count > SLURM_TASKS_MAXIMUM - mark->host_count || (end && *end != '\0'))
			return 0;
		if (add_hosts(mark, &capacity, name, count) < 0)
			return -ENOMEM;
	}
	return mark->host_count > 0;
}

static void clear_hosts(struct slurm_mark *mark)
{
	for (uint32_t h = 0; h < mark->host_count; h++)
		free(mark->hosts[h]);
	free(mark->hosts);
	mark->hosts = NULL;
	mark->host_count = 0;
}

/*
 * Parses "ID moving" or "ID LAYOUT"; any other text leaves the mark at SLURM_MARK_NONE. Returns 0 or
 * -ENOMEM.
 */
static int parse_words(char *text, struct slurm_mark *mark)
{
	char *space = strchr(text, ' ');
	int code;

	if (!space)
		return 0;
	*space = '\0';
	if (!name_is_valid(text, sizeof mark->id))
		return 0;
	if (strcmp(space + 1, "moving") == 0) {
		mark->kind = SLURM_MARK_MOVING;
	} else {
		code = parse_layout(space + 1, mark);
		if (code <= 0) {
			clear_hosts(mark);
			return code;
		}
		mark->kind = SLURM_MARK_PLACED;
	}
	snprintf(mark->id, sizeof mark->id, "%s", text);
	return 0;
}

int slurm_mark_parse(const char *text, struct slurm_mark *mark)
{
	static const size_t prefix = sizeof SLURM_REQUEST_PREFIX - 1;
	char *copy;
	int code = 0;

	*mark = (struct slurm_mark){.kind = SLURM_MARK_NONE};
	if (!text || strncmp(text, SLURM_REQUEST_PREFIX, prefix) != 0)
		return 0;
	text += prefix;
	if (strncmp(text, "pass ", 5) == 0) {
		mark->kind = SLURM_MARK_PASS;
	} else {
		copy = strdup(text);
		code = copy ? parse_words(copy, mark) : -ENOMEM;
		free(copy);
	}
	return code;
}

void slurm_mark_free(struct slurm_mark *mark)
{
	clear_hosts(mark);
}

char *slurm_mark_placed(const char *id, char *const *hosts, uint32_t count)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&text, &bytes);

	if (!out)
		return NULL;
	fprintf(out, "%s%s ", SLURM_REQUEST_PREFIX, id);
	for (uint32_t h = 0, run; h < count; h += run) {
		for (run = 1; h + run < count && strcmp(hosts[h], hosts[h + run]) == 0;)
			run++;
		fprintf(out, "%s%s", h > 0 ? "," : "", hosts[h]);
		if (run > 1)
			fprintf(out, "*%u", run);
	}
	fclose(out);
	return text;
}
