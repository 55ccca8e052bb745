/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora lab: makes, shows and removes the virtual rack. */
#include "command.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/control.h>
#include <base/log.h>
#include <base/number.h>
#include <lab/lab.h>

int command_lab(int argc, char **argv);

enum { LABS_SHOWN = 64 };

struct up_settings {
	const char *name, *while_command, *cluster, *peers;
	int64_t hosts, racks, slots, mtu_bytes;
	double delay_us;
	struct option_list inject;
	bool foreground, json;
};

static const struct option_row up_rows[] = {
	OPTION_HEADING("The rack"),
	OPTION_STRING(struct up_settings, name, "name", 'n', "NAME",
		      "name of the lab; two labs can stand side by side"),
	OPTION_INTEGER(struct up_settings, hosts, "hosts", 'H', "N", 1, LAB_HOSTS_MAXIMUM, "hosts, h1 to hN"),
	OPTION_INTEGER(struct up_settings, racks, "racks", 'R', "N", 1, LAB_RACKS_MAXIMUM,
		       "racks that share the hosts"),
	OPTION_INTEGER(struct up_settings, slots, "slots", 's', "N", 0, 1000000,
		       "tasks that a host holds, for --cluster"),
	OPTION_INTEGER(struct up_settings, mtu_bytes, "mtu", 0, "BYTES", 68, 9000, "largest packet on every link"),
	OPTION_HEADING("The injector"),
	OPTION_LIST(struct up_settings, inject, "inject", 'i', "PLACE",
		    "put an injector's two ports in the path of a host (h3), of a rack (rack1) or between two racks "
		    "(core)"),
	OPTION_DOUBLE(struct up_settings, delay_us, "delay-us", 'd', "US", -1, 10000,
		      "start the injectors with this delay per direction; -1 leaves that to you"),
	OPTION_HEADING("How long"),
	OPTION_FLAG(struct up_settings, foreground, "foreground", 'f',
		    "stay, and remove the lab when this command ends"),
	OPTION_STRING(struct up_settings, while_command, "while", 'w', "COMMAND",
		      "run COMMAND with the lab and remove the lab when it ends"),
	OPTION_HEADING("Files"),
	OPTION_STRING(struct up_settings, cluster, "cluster", 0, "FILE",
		      "write the machines for 'nomora place' (JSON)"),
	OPTION_STRING(struct up_settings, peers, "peers", 0, "FILE", "write the list of peers for 'nomora probe'"),
	OPTION_FLAG(struct up_settings, json, "json", 'j', "print the lab as JSON"),
	OPTION_END,
};

static const struct option_usage up_usage = {
	.command = "nomora lab up",
	.operands = "[-- INJECTOR-ARGUMENT...]",
	.summary = "Makes hosts as network namespaces in racks on bridges, with an injector in the path.",
	.teach = "Example: eight hosts in two racks, 200 us each way between the racks.\n"
		 "  nomora lab up --hosts 8 --racks 2 --inject core --delay-us 200\n"
		 "  nomora lab exec h1 -- ping -c 3 10.77.2.1\n"
		 "  nomora lab down\n"
		 "Nothing is made outside the namespaces NAME-h1.., NAME-sw and NAME-inj. With --while or --foreground "
		 "the\n"
		 "lab goes when this process ends, killed or not. A host behind an injector has no network until the\n"
		 "injector runs: give --delay-us, or start it yourself as 'nomora lab status' shows.",
	.rows = up_rows,
};

static volatile sig_atomic_t stop_signal;

static void note_signal(int number)
{
	stop_signal = number;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = note_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* Blocked between the look and the sleep: a signal that comes there must not be slept over. */
static void wait_for_signal(void)
{
	sigset_t wanted, old;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGHUP);
	sigprocmask(SIG_BLOCK, &wanted, &old);
	while (!stop_signal)
		sigsuspend(&old);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static int own_program(char path[PATH_MAX], struct error *err)
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (length < 0)
		return error_set(err, errno, "cannot find my own program file: %s", strerror(errno));
	path[length] = '\0';
	return 0;
}

static void print_lab(const struct lab *lab, FILE *out)
{
	fprintf(out, "lab %s: %d hosts in %d rack%s, %d slots each, MTU %d\n", lab->name, lab->host_count,
		lab->rack_count, lab->rack_count == 1 ? "" : "s", lab->slots, lab->mtu_bytes);
	fprintf(out, "  %-5s %-6s %-15s %-12s %-12s %s\n", "host", "rack", "namespace", "address", "for probes", "MAC");
	for (int i = 0; i < lab->host_count; i++)
		fprintf(out, "  %-5s rack%-2d %-15s %-12s %-12s %s\n", lab->hosts[i].name, lab->hosts[i].rack,
			lab->hosts[i].netns, lab->hosts[i].address, lab->hosts[i].probe_address, lab->hosts[i].mac);
	for (size_t i = 0; i < lab->injector_count; i++) {
		const struct lab_injector *injector = &lab->injectors[i];
		json_t *stats = control_request(injector->control, "stats", (struct ns){NS_PER_S}, NULL);

		fprintf(out, "  injector at %s: ports %s and %s in %s, %s\n", injector->place, injector->port_a,
			injector->port_b, lab->injector_netns,
			stats ? "running; talk to it by" : "not running; start it by");
		if (stats)
			fprintf(out, "    nomora inject-ctl %s stats\n", injector->control);
		else
			fprintf(out, "    ip netns exec %s nomora inject %s %s --delay-us 10 --control %s\n",
				lab->injector_netns, injector->port_a, injector->port_b, injector->control);
		json_decref(stats);
	}
	fprintf(out, "  run something on a host: nomora lab exec h1 --name %s -- COMMAND\n", lab->name);
}

static int print_json(json_t *value)
{
	struct error err = {0};

	if (!value) {
		error_set(&err, ENOMEM, "out of memory");
		return command_fail(&err, COMMAND_FAILED);
	}
	json_dumpf(value, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(value);
	return COMMAND_OK;
}

static int write_files(const struct lab *lab, const struct up_settings *settings, struct error *err)
{
	int code = 0;

	if (settings->cluster)
		code = lab_write_cluster(lab, settings->cluster, err);
	if (!code && settings->peers)
		code = lab_write_peers(lab, settings->peers, err);
	return code;
}

/* A shell with our terminal: the command may be interactive. It dies with us. */
static pid_t start_shell(const char *command)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* The command's own exit code, 128 + signal if one ended it. What it leaves in the namespaces ends with the lab. */
static int run_while(const char *command)
{
	struct error err = {0};
	pid_t pid = start_shell(command);
	int status = 0;

	if (pid < 0) {
		error_set(&err, errno, "cannot start a shell: %s", strerror(errno));
		return command_fail(&err, COMMAND_FAILED);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			break;
		if (stop_signal)
			kill(pid, SIGTERM);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_up(const struct lab *lab, const struct up_settings *settings, char **extra, struct error *err)
{
	char program[PATH_MAX];
	int code = lab_up(lab, err);

	if (code)
		return code;
	if (settings->delay_us >= 0 && lab->injector_count > 0) {
		code = own_program(program, err);
		if (!code)
			code = lab_start_injectors(lab, program, settings->delay_us, (const char *const *)extra, err);
	}
	if (!code)
		code = write_files(lab, settings, err);
	if (code)
		lab_down(lab->name, NULL);
	return code;
}

/* While the guard lives, our death by whatever means takes the lab down. */
static int stay(const struct lab *lab, const struct up_settings *settings, char **extra)
{
	struct error err = {0};
	struct lab_guard *guard;
	int code, outcome = COMMAND_OK;

	catch_signals();
	/* First, so that no lab of somebody else comes under the guard; again, under a lock, in lab_up(). */
	if (lab_check_free(lab->name, &err) != 0)
		return command_fail(&err, COMMAND_FAILED);
	guard = lab_guard_start(lab->name, &err);
	if (!guard)
		return command_fail(&err, COMMAND_FAILED);
	code = run_up(lab, settings, extra, &err);
	if (code) {
		lab_guard_release(guard, false, NULL);
		return command_fail(&err, COMMAND_FAILED);
	}
	if (settings->while_command) {
		outcome = run_while(settings->while_command);
	} else {
		print_lab(lab, stdout);
		printf("  it stays until this command ends (Ctrl-C)\n");
		fflush(stdout);
		wait_for_signal();
	}
	if (lab_guard_release(guard, true, &err) < 0)
		return command_fail(&err, COMMAND_FAILED);
	return outcome;
}

static int lab_command_up(int argc, char **argv)
{
	struct up_settings settings = {
		.name = "lab0", .hosts = 8, .racks = 2, .slots = 4, .mtu_bytes = 1500, .delay_us = -1};
	struct option_operands operands;
	struct error err = {0};
	struct lab lab;
	int code = command_parse(&up_usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	struct lab_spec spec = {.name = settings.name,
				.hosts = (int)settings.hosts,
				.racks = (int)settings.racks,
				.slots = (int)settings.slots,
				.mtu_bytes = (int)settings.mtu_bytes,
				.places = settings.inject.items,
				.place_count = settings.inject.count};

	if (lab_plan(&spec, &lab, &err) != 0) {
		code = command_fail(&err, COMMAND_USAGE);
	} else if (settings.foreground || settings.while_command) {
		code = stay(&lab, &settings, operands.rest);
	} else if (run_up(&lab, &settings, operands.rest, &err) != 0) {
		code = command_fail(&err, COMMAND_FAILED);
	} else {
		code = COMMAND_OK;
		if (settings.json)
			code = print_json(lab_to_json(&lab));
		else
			print_lab(&lab, stdout);
	}
	options_free(&operands);
	return code;
}

struct name_settings {
	const char *name, *cluster, *peers;
	bool json;
};

static const struct option_row down_rows[] = {
	OPTION_STRING(struct name_settings, name, "name", 'n', "NAME", "name of the lab"),
	OPTION_END,
};

static const struct option_usage down_usage = {
	.command = "nomora lab down",
	.operands = "",
	.summary = "Ends what runs in the lab and removes it.",
	.teach =
		"Works by the names alone, so also after a crash. Every process in the lab's namespaces gets SIGTERM,\n"
		"after two seconds SIGKILL. Exit 0 also when there was nothing to remove.\n"
		"  nomora lab down --name lab0",
	.rows = down_rows,
};

static int lab_command_down(int argc, char **argv)
{
	struct name_settings settings = {.name = "lab0"};
	struct option_operands operands;
	struct error err = {0};
	int removed, code = command_parse(&down_usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	removed = lab_down(settings.name, &err);
	if (removed == 0)
		log_info("there is no lab '%s'", settings.name);
	code = removed < 0 ? command_fail(&err, err.code == EINVAL ? COMMAND_USAGE : COMMAND_FAILED) : COMMAND_OK;
	options_free(&operands);
	return code;
}

static const struct option_row status_rows[] = {
	OPTION_STRING(struct name_settings, name, "name", 'n', "NAME", "only this lab"),
	OPTION_FLAG(struct name_settings, json, "json", 'j', "print JSON"),
	OPTION_END,
};

static const struct option_usage status_usage = {
	.command = "nomora lab status",
	.operands = "",
	.summary = "Shows the labs: hosts, racks, addresses, injector ports, and how to run things in them.",
	.teach = "  nomora lab status\n  nomora lab status --name lab0 --json",
	.rows = status_rows,
};

static int status_of(const char *name, bool json, json_t *all)
{
	struct error err = {0};
	struct lab lab;

	if (lab_read(name, &lab, &err) != 0) {
		if (all || err.code != ENOENT)
			log_warning("lab '%s' is not whole (%s): remove it by 'nomora lab down --name %s'", name,
				    err.text, name);
		return err.code == ENOENT && !all ? command_fail(&err, COMMAND_FAILED) : COMMAND_FAILED;
	}
	if (json)
		json_array_append_new(all, lab_to_json(&lab));
	else
		print_lab(&lab, stdout);
	return COMMAND_OK;
}

static int lab_command_status(int argc, char **argv)
{
	static char names[LABS_SHOWN][LAB_NAME_MAXIMUM + 1];
	struct name_settings settings = {0};
	struct option_operands operands;
	struct error err = {0};
	json_t *all = NULL;
	int count, code = command_parse(&status_usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	if (settings.json)
		all = json_array();
	count = settings.name ? 1 : lab_list(names, LABS_SHOWN, &err);
	code = count < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
	for (int i = 0; i < count; i++) {
		int outcome = status_of(settings.name ? settings.name : names[i], settings.json, all);

		code = outcome ? outcome : code;
	}
	if (settings.json && code == COMMAND_OK)
		code = print_json(json_pack("{s:s,s:O}", "schema", "nomora.labs/1", "labs", all));
	else if (count == 0)
		printf("there is no lab\n");
	json_decref(all);
	options_free(&operands);
	return code;
}

static const struct option_row exec_rows[] = {
	OPTION_STRING(struct name_settings, name, "name", 'n', "NAME", "name of the lab"),
	OPTION_END,
};

static const struct option_usage exec_usage = {
	.command = "nomora lab exec",
	.operands = "HOST -- COMMAND...",
	.summary =
		"Runs a command on a host of the lab; HOST may be h1.., sw (the switch) or inj (the injector's ports).",
	.teach = "  nomora lab exec h1 -- ping -c 3 10.77.2.1\n  nomora lab exec inj --name lab1 -- ip -br link",
	.rows = exec_rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
};

static int lab_command_exec(int argc, char **argv)
{
	struct name_settings settings = {.name = "lab0"};
	struct option_operands operands;
	struct error err = {0};
	const struct lab_host *host;
	const char *netns, *target;
	struct lab lab;
	char **words;
	int code = command_parse(&exec_usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	target = operands.items[0];
	if (operands.rest_count == 0) {
		error_set(&err, EINVAL, "no command: give it behind '--', as in 'nomora lab exec %s -- ip addr'",
			  target);
		return command_fail(&err, COMMAND_USAGE);
	}
	if (lab_read(settings.name, &lab, &err) != 0)
		return command_fail(&err, COMMAND_FAILED);
	host = lab_find_host(&lab, target);
	netns = host                         ? host->netns
		: strcmp(target, "sw") == 0  ? lab.switch_netns
		: strcmp(target, "inj") == 0 ? lab.injector_netns
					     : NULL;
	if (!netns) {
		error_set(&err, EINVAL, "lab '%s' has no host '%s': expected h1..h%d, sw or inj", lab.name, target,
			  lab.host_count);
		return command_fail(&err, COMMAND_USAGE);
	}
	words = calloc((size_t)operands.rest_count + 5, sizeof *words);
	if (words) {
		const char *prefix[] = {"ip", "netns", "exec", netns};

		memcpy(words, prefix, sizeof prefix);
		memcpy(words + 4, operands.rest, (size_t)operands.rest_count * sizeof *words);
		execvp("ip", words);
	}
	error_set(&err, errno, "cannot run ip: %s", strerror(errno));
	free(words);
	return command_fail(&err, COMMAND_FAILED);
}

static const struct option_row inventory_rows[] = {
	OPTION_STRING(struct name_settings, name, "name", 'n', "NAME", "name of the lab"),
	OPTION_STRING(struct name_settings, cluster, "cluster", 'c', "FILE",
		      "machines with rack, pod and slots (JSON)"),
	OPTION_STRING(struct name_settings, peers, "peers", 'p', "FILE", "list of peers for 'nomora probe'"),
	OPTION_END,
};

static const struct option_usage inventory_usage = {
	.command = "nomora lab inventory",
	.operands = "",
	.summary = "Writes the lab as the files that probe and place read; to stdout with '-'.",
	.teach = "  nomora lab inventory --cluster cluster.json --peers peers.txt",
	.rows = inventory_rows,
};

static int lab_command_inventory(int argc, char **argv)
{
	struct name_settings settings = {.name = "lab0"};
	struct option_operands operands;
	struct error err = {0};
	struct lab lab;
	int code = command_parse(&inventory_usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	if (!settings.cluster && !settings.peers) {
		error_set(&err, EINVAL, "nothing to write: give --cluster FILE, --peers FILE, or both");
		code = command_fail(&err, COMMAND_USAGE);
	} else {
		struct up_settings files = {.cluster = settings.cluster, .peers = settings.peers};

		code = COMMAND_OK;
		if (lab_read(settings.name, &lab, &err) != 0 || write_files(&lab, &files, &err) != 0)
			code = command_fail(&err, COMMAND_FAILED);
	}
	options_free(&operands);
	return code;
}

int command_lab(int argc, char **argv)
{
	static const struct command commands[] = {
		{"up", "make a lab", lab_command_up, NULL},
		{"down", "remove a lab", lab_command_down, NULL},
		{"status", "show the labs", lab_command_status, NULL},
		{"exec", "run a command on a host", lab_command_exec, NULL},
		{"inventory", "write the lab as files for probe and place", lab_command_inventory, NULL},
		{NULL, NULL, NULL, NULL},
	};

	return command_dispatch("nomora lab", "The virtual rack: hosts, switch and injector in network namespaces.",
				commands, argc, argv);
}
