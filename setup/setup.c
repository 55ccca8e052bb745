/* SPDX-License-Identifier: BSD-3-Clause */
#include <setup/setup.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/address.h>
#include <base/file.h>
#include <base/process.h>
#include <base/program.h>

#include "setup_priv.h"

const char *const setup_role_names[] = {"host", "page", NULL};

enum { NAME_BYTES = 64, FILE_BYTES = 1 << 16 };

static const char peers_path[] = "/var/lib/nomora-mesh/peers.txt"; /* of nomora-mesh-join.service */

/* What the options of a host leave open. */
struct host {
	char address[ADDRESS_TEXT_BYTES], gateway[ADDRESS_TEXT_BYTES], name[NAME_BYTES];
	int bits;
};

/* systemd divides a unit's options at blanks, and has rules of its own for quotes, '$' and '\'. */
static int check_word(const char *option, const char *word, struct error *err)
{
	for (const char *c = word; c && *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._:/@%+,=~-", *c))
			return error_set(err, EINVAL, "%s: found '%s', expected letters, digits and ._:/@%%+,=~-",
					 option, word);
	return word && !*word ? error_set(err, EINVAL, "%s is empty", option) : 0;
}

static int check_options(const struct setup_options *options, struct error *err)
{
	const char *const words[][2] = {
		{"--server", options->server},   {"--interface", options->interface}, {"--address", options->address},
		{"--gateway", options->gateway}, {"--name", options->name},           {"--rack", options->rack},
		{"--keys", options->keys},
	};

	if (!options->server)
		return error_set(err, EINVAL, "missing option --server: expected nats://HOST:PORT or tls://HOST:PORT");
	if (options->role == SETUP_HOST && !options->interface)
		return error_set(err, EINVAL, "missing option --interface");
	if (options->interface && strchr(options->interface, '/'))
		return error_set(err, EINVAL, "--interface: found '%s', expected a Linux interface",
				 options->interface);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (check_word(words[i][0], words[i][1], err) != 0)
			return -EINVAL;
	return 0;
}

/* "IP/BITS" */
static int parse_address(const char *text, struct host *host, struct error *err)
{
	char copy[ADDRESS_TEXT_BYTES], *slash, *end;
	ip_address address;

	snprintf(copy, sizeof copy, "%s", text);
	slash = strchr(copy, '/');
	if (slash)
		*slash++ = '\0';
	host->bits = slash ? (int)strtol(slash, &end, 10) : 0;
	if (!slash || !*slash || *end || address_parse(copy, &address) != 0 || !address_is_host(address) ||
	    host->bits < 1 || host->bits > address_bits(address))
		return error_set(err, EINVAL, "--address: found '%s', expected an address such as 10.77.1.102/24",
				 text);
	address_print(address, host->address);
	return 0;
}

static int find_host(const struct setup_options *options, struct host *host, struct error *err)
{
	ip_address address, gateway = 0;
	int code;

	*host = (struct host){0};
	if (options->name)
		snprintf(host->name, sizeof host->name, "%s", options->name);
	else if (gethostname(host->name, sizeof host->name - 1) != 0)
		return error_set(err, errno, "cannot read the host's name: %s: give --name", strerror(errno));
	if (!options->name)
		host->name[strcspn(host->name, ".")] = '\0';
	if (check_word("--name", host->name, err) != 0)
		return -EINVAL;
	code = options->address ? parse_address(options->address, host, err)
				: interface_address(options->interface, &address, &host->bits, err);
	if (code == 0 && !options->address)
		address_print(address, host->address);
	if (!options->gateway)
		gateway = interface_gateway(options->interface);
	if (gateway && strchr(host->address, '.'))
		address_print(gateway, host->gateway);
	if (options->gateway)
		snprintf(host->gateway, sizeof host->gateway, "%s", options->gateway);
	return code;
}

__attribute__((format(printf, 4, 5))) static bool add(struct setup_plan *plan, const struct setup_options *options,
						      const char *name, const char *format, ...)
{
	size_t i = 0;
	bool is_agent = options->role == SETUP_HOST && strcmp(name, options->interface) == 0;
	char *words = NULL;
	va_list list;
	int bytes;

	while (plan->units[i])
		i++;
	va_start(list, format);
	bytes = vasprintf(&words, format, list);
	va_end(list);
	if (bytes < 0)
		return false;
	if (asprintf(&plan->paths[i], "%s/mesh-%s.env", options->folder, name) < 0)
		plan->paths[i] = NULL;
	if (asprintf(&plan->texts[i], "# Written by nomora setup.\nOPTIONS=\"%s\"\n", words) < 0)
		plan->texts[i] = NULL;
	if (asprintf(&plan->units[i], "nomora-mesh-%s%s.service", is_agent ? "agent@" : "", name) < 0)
		plan->units[i] = NULL;
	free(words);
	return plan->paths[i] && plan->texts[i] && plan->units[i];
}

static bool plan_host(const struct setup_options *options, const struct host *host, struct setup_plan *plan)
{
	const char *rack = options->rack ? options->rack : "", *keys = options->keys ? options->keys : "";

	plan->server = strdup(options->server);
	plan->address = strdup(host->address);
	plan->name = strdup(host->name);
	return plan->server && plan->address && plan->name &&
	       add(plan, options, "join", "--server %s --address %s --name %s%s%s", options->server, host->address,
		   host->name, *rack ? " --rack " : "", rack) &&
	       add(plan, options, options->interface, "--address %s/%d --peers %s%s%s%s%s", host->address, host->bits,
		   peers_path, *host->gateway ? " --gateway " : "", host->gateway, *keys ? " --keys " : "", keys) &&
	       add(plan, options, "publish", "--server %s", options->server);
}

int setup_make(const struct setup_options *options, struct setup_plan *plan, struct error *err)
{
	struct host host;
	int code = check_options(options, err);
	bool complete;

	*plan = (struct setup_plan){0};
	if (code == 0 && options->role == SETUP_HOST)
		code = find_host(options, &host, err);
	if (code != 0)
		return code;
	if (options->role == SETUP_HOST)
		complete = plan_host(options, &host, plan);
	else
		complete = add(plan, options, "members", "--server %s", options->server) &&
			   add(plan, options, "collect", "--server %s", options->server) &&
			   add(plan, options, "serve", "--listen 127.0.0.1 --port 8862");
	return complete ? 0 : error_set(err, ENOMEM, "out of memory");
}

void setup_free(struct setup_plan *plan)
{
	for (size_t i = 0; i < SETUP_UNITS; i++) {
		free(plan->paths[i]);
		free(plan->texts[i]);
		free(plan->units[i]);
	}
	free(plan->server);
	free(plan->address);
	free(plan->name);
	*plan = (struct setup_plan){0};
}

/* Returns 1 if the file has this text, 0 if there is no file, or -errno with err set. */
static int is_there(const char *path, const char *text, bool replace, struct error *err)
{
	struct error reason = {0};
	char *found = file_read_all(path, FILE_BYTES, NULL, &reason);
	bool same = found && strcmp(found, text) == 0;

	free(found);
	if (same || (!found && reason.code == ENOENT))
		return same;
	if (!found) {
		*err = reason;
		return -reason.code;
	}
	return replace ? 0
		       : error_set(err, EEXIST,
				   "%s exists with other settings: look at it, and use --replace to replace it", path);
}

static int write_text(const char *path, const char *text, struct error *err)
{
	struct file_writer *writer;

	file_make_folder_of(path);
	writer = file_writer_open(path, err);
	if (!writer)
		return error_code(err, EIO);
	fputs(text, file_writer_stream(writer));
	return file_writer_commit(writer, err);
}

int setup_write(const struct setup_plan *plan, bool replace, struct error *err)
{
	int there[SETUP_UNITS], code = 0;

	for (size_t i = 0; i < SETUP_UNITS; i++) {
		there[i] = is_there(plan->paths[i], plan->texts[i], replace, err);
		if (there[i] < 0)
			return there[i];
	}
	for (size_t i = 0; i < SETUP_UNITS && code == 0; i++)
		if (!there[i])
			code = write_text(plan->paths[i], plan->texts[i], err);
	return code;
}

static int run_systemctl(const struct setup_plan *plan, const char *verb, const char *option, struct error *err)
{
	const char *words[SETUP_UNITS + 4] = {"systemctl", verb, option};
	const struct process_options options = {.argv = words};
	struct process_result result = {0};
	int code;

	for (size_t i = 0; i < SETUP_UNITS; i++)
		words[3 + i] = plan->units[i];
	code = process_run(&options, (struct ns){120 * NS_PER_S}, &result, err);
	if (code == 0 && result.timed_out)
		code = error_set(err, ETIMEDOUT, "systemctl %s: not finished after 120 s", verb);
	else if (code == 0 && result.exit_code != 0)
		code = error_set(err, EIO, "systemctl %s: %.*s", verb, (int)strcspn(result.output, "\n"),
				 result.output);
	process_result_free(&result);
	return code;
}

int setup_start(const struct setup_plan *plan, bool start, struct error *err)
{
	int code;

	if (!start)
		return run_systemctl(plan, "disable", "--now", err);
	code = run_systemctl(plan, "enable", "--quiet", err);
	return code ? code : run_systemctl(plan, "restart", "--quiet", err); /* those that run read their new options */
}

int setup_remove(const struct setup_plan *plan, struct error *err)
{
	for (size_t i = 0; i < SETUP_UNITS; i++)
		if (unlink(plan->paths[i]) != 0 && errno != ENOENT)
			return error_set(err, errno, "%s: cannot remove it: %s", plan->paths[i], strerror(errno));
	return 0;
}

int setup_leave(const struct setup_plan *plan, struct error *err)
{
	char program[PATH_MAX];
	const char *const words[] = {program,     "mesh",        "leave",  "--server", plan->server,
				     "--address", plan->address, "--name", plan->name, NULL};
	const struct process_options options = {.argv = words};
	struct process_result result = {0};
	int code = program_path(program, err);

	if (code == 0)
		code = process_run(&options, (struct ns){30 * NS_PER_S}, &result, err);
	if (code == 0 && (result.timed_out || result.exit_code != 0))
		code = error_set(err, EIO, "the units are removed, but the host is still a member: %.*s",
				 result.timed_out ? 7 : (int)strcspn(result.output, "\n"),
				 result.timed_out ? "timeout" : result.output);
	process_result_free(&result);
	return code;
}

void setup_print(const struct setup_plan *plan, FILE *out)
{
	for (size_t i = 0; i < SETUP_UNITS; i++)
		fprintf(out, "%-32s %s: %s", plan->units[i], plan->paths[i], strchr(plan->texts[i], '\n') + 1);
}
