/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>
#include <base/name.h>
#include <base/text_stream.h>
#include <integrations/executor/executor.h>

enum { NAME_BYTES = 128, SLOTS_MOST = 100000 };
#define EXCHANGE_S 20 /* time limit of an exchange, seconds; connecting takes at most 10 */

extern const char local_script[];

static char *text_of(struct json_reader *reader, const json_t *object, const char *key, const char *fallback)
{
	const char *text = json_may_string(reader, object, "", key, fallback);
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		json_no_memory(reader);
	else if (text && (!name_is_valid(text, NAME_BYTES) || text[0] == '-' || text[0] == '.' || strpbrk(text, "/'")))
		json_fail(reader, "", key,
			  "bad name '%s'; expected one without blanks, quotes, '/', or a first '-' or '.'", text);
	return copy;
}

static void read_machine(struct json_reader *reader, const json_t *object, struct machines *machines)
{
	static const char *const keys[] = {"name", "slots", "rack", "ssh", "state", NULL};
	struct machine *items = array_grow(machines->items, machines->count, &machines->capacity, sizeof *items), *new;

	if (!items) {
		json_no_memory(reader);
		return;
	}
	machines->items = items;
	new = &items[machines->count++];
	*new = (struct machine){0};
	json_need_known(reader, object, "", keys);
	json_need_string(reader, object, "", "name");
	new->name = text_of(reader, object, "name", "");
	new->slots = (uint32_t)json_need_integer(reader, object, "", "slots", 0, SLOTS_MOST);
	new->rack = text_of(reader, object, "rack", NULL);
	new->ssh = text_of(reader, object, "ssh", NULL);
	new->state = text_of(reader, object, "state", "up");
	if (!reader->failed && strcmp(new->state, "up") && strcmp(new->state, "draining") && strcmp(new->state, "down"))
		json_fail(reader, "", "state", "unknown state '%s'; expected up, draining or down", new->state);
	if (!reader->failed && machines_find(machines, new->name) != new)
		json_fail(reader, "", "name", "duplicate machine '%s'", new->name);
}

int machines_read(struct machines *machines, const char *path, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	struct json_reader reader = {.file = path, .err = err};
	char *line;
	int code = lines ? 1 : error_code(err, EIO);

	while (code > 0 && (code = file_lines_next(lines, &line, err)) == 1) {
		json_t *object;

		if (!line[strspn(line, " \t")])
			continue;
		reader.line = file_lines_number(lines);
		object = json_read_text(path, reader.line, line, strlen(line), err);
		if (object)
			read_machine(&reader, object, machines);
		code = object && !reader.failed ? 1 : -EINVAL;
		json_decref(object);
	}
	file_lines_close(lines);
	if (code == 0 && machines->count == 0)
		code = error_set(err, EINVAL, "%s: no machines; expected lines {\"name\": \"n1\", \"slots\": 4}", path);
	return code;
}

void machines_free(struct machines *machines)
{
	for (size_t m = 0; m < machines->count; m++) {
		struct machine *machine = &machines->items[m];

		process_destroy(machine->exchange);
		json_decref(machine->runs);
		json_decref(machine->flows);
		free(machine->orders);
		free(machine->name);
		free(machine->rack);
		free(machine->ssh);
		free(machine->state);
	}
	free(machines->items);
}

struct machine *machines_find(const struct machines *machines, const char *name)
{
	for (size_t m = 0; m < machines->count; m++)
		if (strcmp(machines->items[m].name, name) == 0)
			return &machines->items[m];
	return NULL;
}

void machine_order(struct machine *machine, const json_t *words, const char *format, ...)
{
	char *text = NULL;
	size_t bytes, at;
	const json_t *word;
	FILE *out = text_stream_open(&text, &bytes);
	va_list list;

	if (!out)
		return; /* the next turn orders it again */
	va_start(list, format);
	fputs(machine->orders ? machine->orders : "", out);
	vfprintf(out, format, list);
	va_end(list);
	json_array_foreach (words, at, word) {
		fputc(' ', out);
		shell_print(out, json_string_value(word), json_string_length(word));
	}
	fputc('\n', out);
	if (fclose(out) != 0)
		return;
	free(machine->orders);
	machine->orders = text;
}

/* Starts the script with the orders. Forgets the runs. */
static int begin(struct machine *machine, const struct local_agent_options *options, struct error *err)
{
	struct ns now = ns_now_monotonic();
	bool take = machine->token == 0;
	uint64_t token = take ? (uint64_t)ns_now_wall().v : machine->token;
	char *script = NULL, *remote = NULL, control[4096];
	size_t bytes, remote_bytes;
	FILE *out = text_stream_open(&script, &bytes);
	const char *here[] = {"sh", "-c", NULL, NULL};
	const char *there[] = {"ssh",
			       "-oBatchMode=yes",
			       "-oConnectTimeout=10",
			       "-oControlMaster=auto",
			       "-oControlPersist=60",
			       control,
			       "-F",
			       options->ssh_config,
			       machine->ssh,
			       NULL,
			       NULL};

	json_decref(machine->runs);
	json_decref(machine->flows);
	machine->runs = machine->flows = NULL;
	if (!out)
		return error_set(err, ENOMEM, "out of memory");
	fprintf(out, "%s\nenter '%s/%s' %llu %d\n%slist%s\n", local_script, options->state, machine->name,
		(unsigned long long)token, take, machine->orders ? machine->orders : "",
		options->flows ? " flows" : "");
	if (fclose(out) == 0 && machine->ssh && (out = text_stream_open(&remote, &remote_bytes))) {
		fputs("exec sh -c ", out);
		shell_print(out, script, bytes);
		fclose(out);
	}
	if (!(machine->ssh ? remote : script)) {
		free(script);
		return error_set(err, ENOMEM, "out of memory");
	}
	here[2] = script;
	there[9] = remote;
	snprintf(control, sizeof control, "-oControlPath=%s/ssh-%%C", options->state);
	if (!options->ssh_config)
		there[6] = there[7] = "-q";
	machine->exchange = process_start(&(struct process_options){.argv = machine->ssh ? there : here}, err);
	machine->until = ns_add(now, ns_from_us(EXCHANGE_S * 1e6));
	machine->token = token;
	free(machine->orders);
	machine->orders = NULL;
	free(script);
	free(remote);
	return machine->exchange ? 0 : error_code(err, EIO);
}

/* Reads the lines of list() in machine.sh. Returns the runs, and sets *flows. NULL: the answer is not complete. */
static json_t *read_runs(char *output, json_t **flows)
{
	json_t *runs = json_object();
	char *line, *next = output, *state;

	while ((line = strsep(&next, "\n"))) {
		if (strcmp(line, "done") == 0)
			return runs;
		if (strncmp(line, "flow ", 5) == 0)
			json_array_append_new(*flows, json_string(line + 5));
		else if ((state = strchr(line, ' '))) {
			*state++ = '\0';
			json_object_set_new(runs, line, json_string(state));
		}
	}
	json_decref(runs);
	return NULL;
}

/* Ends an exchange. If it failed, its orders may come later, or never: the next one takes the machine over. */
static void end(struct machine *machine, int code, char *output)
{
	char text[200];

	machine->flows = json_array();
	machine->runs = code == 0 && output ? read_runs(output, &machine->flows) : NULL;
	process_destroy(machine->exchange);
	machine->exchange = NULL;
	if (!machine->runs)
		machine->token = 0;
	snprintf(text, sizeof text, "machine %s", machine->name);
	executor_note(&machine->silent, !machine->runs, text,
		      code == -ETIMEDOUT    ? "no answer in time"
		      : output && output[0] ? output
					    : "no answer");
}

void machines_begin(struct machines *machines, const struct local_agent_options *options)
{
	for (size_t m = 0; m < machines->count; m++) {
		struct machine *machine = &machines->items[m];
		struct error err = {0};

		if (machine->exchange || strcmp(machine->state, "down") == 0)
			continue;
		if (begin(machine, options, &err) < 0)
			end(machine, err.code, err.text);
	}
}

void machines_wait(struct machines *machines, struct ns until)
{
	for (size_t m = 0; m < machines->count; m++) {
		struct machine *machine = &machines->items[m];
		struct process_result result = {0};
		struct ns now = ns_now_monotonic(), left = {until.v > now.v ? until.v - now.v : 0};
		int code = machine->exchange ? process_wait(machine->exchange, left, &result, NULL) : -ECHILD;

		if (code != -ECHILD && (code != -ETIMEDOUT || now.v > machine->until.v))
			end(machine, code == 0 ? result.exit_code : code, result.output);
		process_result_free(&result);
	}
}
