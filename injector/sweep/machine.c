/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>
#include <client/request.h>

/* Columns of /proc/stat, proc(5): user nice system idle iowait irq softirq steal */
enum { TICKS_NICE = 1, TICKS_IDLE = 3, TICKS_WAIT = 4, TICKS_STEAL = 7, TICKS = 8 };

static double read_ticks(const char *fields, double ticks[TICKS])
{
	double sum = 0;

	if (sscanf(fields, "%lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
		   &ticks[5], &ticks[6], &ticks[7]) != TICKS)
		return 0;
	for (int i = 0; i < TICKS; i++)
		sum += ticks[i];
	return sum;
}

void machine_state_read(struct machine_state *state)
{
	char *text = file_read_all("/proc/stat", 1 << 20, NULL, NULL), *save = NULL;
	double ticks[TICKS] = {0};
	cpu_set_t ours;

	*state = (struct machine_state){0};
	if (sched_getaffinity(0, sizeof ours, &ours) != 0)
		CPU_ZERO(&ours);
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && strncmp(line, "cpu", 3) == 0;
	     line = strtok_r(NULL, "\n", &save)) {
		char *fields = line + 3;
		unsigned long cpu;

		if (*fields == ' ') {
			state->total_ticks = read_ticks(fields, ticks);
			state->steal_ticks = ticks[TICKS_STEAL];
			continue;
		}
		cpu = strtoul(fields, &fields, 10);
		if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &ours)) {
			state->our_processors++;
			state->our_ticks += read_ticks(fields, ticks);
			state->our_free_ticks += ticks[TICKS_IDLE] + ticks[TICKS_WAIT] + ticks[TICKS_NICE];
		}
	}
	free(text);
	if (getloadavg(&state->load, 1) != 1)
		state->load = 0;
}

/* Copies the value of "model name" in /proc/cpuinfo; some architectures have none. */
static void read_cpu(char *cpu, size_t bytes)
{
	static const char key[] = "model name";
	char *text = file_read_all("/proc/cpuinfo", 16 << 20, NULL, NULL);
	char *found = text ? strstr(text, key) : NULL, *value = found ? strchr(found, ':') : NULL;

	if (value)
		snprintf(cpu, bytes, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
	free(text);
}

static void read_ports(const char *control, struct sweep_log_machine *machine)
{
	json_t *answer = client_ask_injector(control, "stats", NULL, (struct ns){5 * NS_PER_S}, NULL);
	struct error scratch = {0};
	struct json_reader reader = {.file = control, .err = &scratch};

	injector_state_ports_from_json(&reader, answer, machine->port);
	json_decref(answer);
}

void machine_describe(const char *control, struct sweep_log_machine *machine)
{
	time_t now = time(NULL);
	struct machine_state state;
	struct utsname kernel;
	struct tm utc;

	*machine = (struct sweep_log_machine){.version = NOMORA_VERSION};
	machine_state_read(&state);
	machine->processors = state.our_processors;
	if (uname(&kernel) == 0)
		snprintf(machine->kernel, sizeof machine->kernel, "%s %s %s %s", kernel.sysname, kernel.release,
			 kernel.version, kernel.machine);
	if (gmtime_r(&now, &utc))
		strftime(machine->started_at, sizeof machine->started_at, "%Y-%m-%dT%H:%M:%SZ", &utc);
	read_cpu(machine->cpu, sizeof machine->cpu);
	read_ports(control, machine);
}

double machine_steal_percent(const struct machine_state *before, const struct machine_state *after)
{
	double ticks = after->total_ticks - before->total_ticks;

	return ticks > 0 ? 100 * (after->steal_ticks - before->steal_ticks) / ticks : 0;
}

/*
 * Keeps processors awake. A processor idles between a request and its delayed answer. The deeper it sleeps, the longer
 * it takes to wake up, which adds to the injected delay (17 to 40 us in a virtual machine, whose idle instruction goes
 * through the hypervisor).
 *
 * If the kernel can idle by polling (state 0 of its cpuidle driver is POLL), a request for zero latency
 * (/dev/cpu_dma_latency) makes it do so: then a write to memory is enough to wake the processor. Otherwise, a loop of
 * the idle scheduling class runs on each processor. The loop takes time from no other process, but to wake a process
 * there, the waking processor (the injector's) must send an interprocessor interrupt.
 */

struct awake {
	int latency; /* descriptor of /dev/cpu_dma_latency, -1 = not available */
	size_t count;
	pid_t pids[CPU_SETSIZE];
};

/* Leaves the core's execution units to its other hardware thread. */
static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void spin(int cpu) __attribute__((noreturn));

static void spin(int cpu)
{
	struct sched_param lowest = {0};
	cpu_set_t only;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	/*
	 * The loop's time counts as niced work, so machine_state_read() can distinguish it from other programs' time.
	 */
	setpriority(PRIO_PROCESS, 0, 19);
	if (sched_setaffinity(0, sizeof only, &only) != 0 || sched_setscheduler(0, SCHED_IDLE, &lowest) != 0)
		_exit(1);
	signal(SIGTERM, SIG_DFL);
	for (;;)
		relax();
}

static bool idles_by_polling(int cpu)
{
	char path[96];
	char *name;
	bool polls;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpuidle/state0/name", cpu);
	name = access(path, R_OK) == 0 ? file_read_all(path, 64, NULL, NULL) : NULL;
	polls = name && strncmp(name, "POLL", 4) == 0;
	free(name);
	return polls;
}

struct awake *awake_start(struct error *err)
{
	struct awake *awake = calloc(1, sizeof *awake);
	static const int none_us = 0;
	cpu_set_t cpus;

	if (!awake || sched_getaffinity(0, sizeof cpus, &cpus) != 0) {
		error_set(err, errno, "cannot keep the processors awake: %s", strerror(errno));
		free(awake);
		return NULL;
	}
	awake->latency = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	if (awake->latency >= 0 && write(awake->latency, &none_us, sizeof none_us) != sizeof none_us) {
		close(awake->latency);
		awake->latency = -1;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		bool needed = CPU_ISSET(cpu, &cpus) && !(awake->latency >= 0 && idles_by_polling(cpu));
		pid_t pid = needed ? fork() : -1;

		if (pid == 0)
			spin(cpu);
		if (pid > 0)
			awake->pids[awake->count++] = pid;
	}
	return awake;
}

void awake_stop(struct awake *awake)
{
	if (!awake)
		return;
	for (size_t i = 0; i < awake->count; i++) {
		kill(awake->pids[i], SIGKILL);
		while (waitpid(awake->pids[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (awake->latency >= 0)
		close(awake->latency);
	free(awake);
}

enum { WATCH_NS = 500000000 /* the kernel counts in hundredths of a second */, COMMAND_BYTES = 32, LAB_BYTES = 16 };

static const double rival_percent = 5;

/* A thread of a process, from /proc/PID/task/TID/stat. */
struct thread {
	int process, id, cpu;
	unsigned long long ticks;
};

struct threads {
	size_t count, capacity;
	struct thread *items;
};

int machine_find_listener(const struct sockaddr_un *address, socklen_t bytes)
{
	struct ucred who = {0};
	socklen_t length = sizeof who;
	int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (descriptor < 0)
		return 0;
	if (connect(descriptor, (const struct sockaddr *)address, bytes) != 0 ||
	    getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0)
		who.pid = 0;
	close(descriptor);
	return who.pid;
}

/*
 * Parses /proc/PID/task/TID/stat, see proc(5): the command is in parentheses and may have any characters; utime and
 * stime are fields 14 and 15, the processor is field 39. Returns false if the text is invalid.
 */
static bool parse_stat(const char *text, struct thread *thread)
{
	const char *close = strrchr(text, ')');
	unsigned long long user, system;

	if (!close ||
	    sscanf(close + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %*u %*u %*d %*u "
		   "%*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
		   &user, &system, &thread->cpu) != 3)
		return false;
	thread->ticks = user + system;
	return true;
}

static void read_process(int process, struct threads *threads)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/task", process);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		struct thread thread = {.process = process, .id = atoi(entry->d_name)};
		struct thread *grown;
		char *text;

		if (thread.id <= 0)
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%d/stat", process, thread.id);
		text = file_read_all(path, 4096, NULL, NULL);
		grown = text && parse_stat(text, &thread)
				? array_grow(threads->items, threads->count, &threads->capacity, sizeof thread)
				: NULL;
		free(text);
		if (!grown)
			continue;
		threads->items = grown;
		threads->items[threads->count++] = thread;
	}
	if (folder)
		closedir(folder);
}

static struct threads read_all(void)
{
	struct threads threads = {0};
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			read_process(atoi(entry->d_name), &threads);
	if (folder)
		closedir(folder);
	return threads;
}

/* Returns the ticks that a thread has used since `before` was read, or since it began if `before` is NULL. */
static unsigned long long ticks_since(const struct threads *before, const struct thread *now)
{
	if (!before)
		return now->ticks;
	for (size_t i = 0; i < before->count; i++)
		if (before->items[i].id == now->id && before->items[i].process == now->process)
			return now->ticks - before->items[i].ticks;
	return 0;
}

/*
 * Returns the thread that has used the most ticks (ticks_since()), and their number in *most; NULL if none has used
 * any. Considers only threads
 * - of `process`, or if `process` is negative, of all processes but -process
 * - on CPU `cpu`, or on any CPU if `cpu` is -1
 */
static const struct thread *find_busiest(const struct threads *before, const struct threads *now, int process, int cpu,
					 unsigned long long *most)
{
	const struct thread *busiest = NULL;

	*most = 0;
	for (size_t i = 0; i < now->count; i++) {
		const struct thread *thread = &now->items[i];
		bool counts = process > 0 ? thread->process == process : thread->process != -process;
		unsigned long long ticks = ticks_since(before, thread);

		if (!counts || (cpu >= 0 && thread->cpu != cpu) || ticks <= *most)
			continue;
		*most = ticks;
		busiest = thread;
	}
	return busiest;
}

/* Reads the name of a process; its threads may have other names. */
static void name_process(int process, char name[COMMAND_BYTES])
{
	char path[64], *text;

	snprintf(path, sizeof path, "/proc/%d/comm", process);
	text = file_read_all(path, COMMAND_BYTES, NULL, NULL);
	snprintf(name, COMMAND_BYTES, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
	free(text);
}

/*
 * Writes " of lab NAME" if the process is an injector of a lab, else "". An injector of a lab has a file of the labs'
 * folder, such as its control socket, in its command line.
 */
static void name_lab(int process, char text[LAB_BYTES + 16])
{
	static const char folder[] = "/run/nomora/";
	char path[64], *line;
	size_t bytes = 0, length;

	text[0] = '\0';
	snprintf(path, sizeof path, "/proc/%d/cmdline", process);
	line = file_read_all(path, 1 << 16, &bytes, NULL);
	for (char *word = line; word && word < line + bytes; word += strlen(word) + 1) {
		char *name = strstr(word, folder);

		if (!name)
			continue;
		name += strlen(folder);
		length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
		if (length > 0 && length < LAB_BYTES)
			snprintf(text, LAB_BYTES + 16, " of lab %.*s", (int)length, name);
		break;
	}
	free(line);
}

bool poller_find_rival(const char *control, char *text, size_t bytes)
{
	double ticks_per_watch = (double)sysconf(_SC_CLK_TCK) * WATCH_NS / 1e9, percent = 0;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int injector;
	const struct thread *polling, *rival = NULL;
	struct threads before, now;
	unsigned long long ticks;
	char lab[LAB_BYTES + 16], name[COMMAND_BYTES];

	snprintf(address.sun_path, sizeof address.sun_path, "%s", control);
	injector = machine_find_listener(&address, sizeof address);
	if (injector <= 0)
		return false;
	before = read_all();
	nanosleep(&(struct timespec){.tv_nsec = WATCH_NS}, NULL);
	now = read_all();
	/*
	 * Finds the polling thread by the ticks since it began, not by those during the watch: a rival may leave it no
	 * CPU time.
	 */
	polling = find_busiest(NULL, &now, injector, -1, &ticks);
	if (polling)
		rival = find_busiest(&before, &now, -injector, polling->cpu, &ticks);
	if (rival)
		percent = 100 * (double)ticks / ticks_per_watch;
	if (percent >= rival_percent) {
		name_lab(rival->process, lab);
		name_process(rival->process, name);
		snprintf(text, bytes, "%s %d%s uses %.0f %% of CPU %d, which the injector polls on", name,
			 rival->process, lab, percent > 100 ? 100 : percent, polling->cpu);
	}
	free(before.items);
	free(now.items);
	return percent >= rival_percent;
}
