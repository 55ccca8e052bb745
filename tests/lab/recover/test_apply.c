/* SPDX-License-Identifier: BSD-3-Clause */
/* A recovery that is applied to a lab whose transfers take their time by a clock of the test. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <lab/lab.h>
#include <lab/recover/apply.h>
#include <lab/transfer.h>

enum { FLOWS = 6, NEVER = -1 };

/*
 * A's flow and one of B's leave S0, B's other one S1. B weighs twice as much. C stays within S1, and nothing is left to
 * send for D. E ends within a second. A fourth server is spare.
 */
static const char scenario_text[] =
	"{\"schema\": \"nomora.recovery/1\", \"servers\": ["
	"{\"name\": \"S0\", \"cpu\": 2, \"egress_MBps\": 10, \"ingress_MBps\": 10},"
	"{\"name\": \"S1\", \"cpu\": 2, \"egress_MBps\": 10, \"ingress_MBps\": 10},"
	"{\"name\": \"S2\", \"cpu\": 1, \"egress_MBps\": 10, \"ingress_MBps\": 10},"
	"{\"name\": \"S3\", \"cpu\": 1, \"egress_MBps\": 10, \"ingress_MBps\": 10}], \"applications\": ["
	"{\"name\": \"A\", \"weight\": 1, \"tasks\": [{\"name\": \"1\", \"cpu\": 1, \"server\": \"S0\"},"
	"{\"name\": \"2\", \"cpu\": 0.5, \"server\": \"S1\"}], \"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": "
	"30}]},"
	"{\"name\": \"B\", \"weight\": 2, \"tasks\": [{\"name\": \"1\", \"cpu\": 1, \"server\": \"S0\"},"
	"{\"name\": \"2\", \"cpu\": 1, \"server\": \"S2\", \"relaunch_s\": 0.5},"
	"{\"name\": \"3\", \"cpu\": 0.5, \"server\": \"S1\"}],"
	" \"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": 10}, {\"from\": \"3\", \"to\": \"2\", \"MB\": 5}]},"
	"{\"name\": \"C\", \"weight\": 1, \"tasks\": [{\"name\": \"1\", \"cpu\": 0.5, \"server\": \"S1\"},"
	"{\"name\": \"2\", \"cpu\": 0.5, \"server\": \"S1\"}], \"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": "
	"1}]},"
	"{\"name\": \"D\", \"weight\": 1, \"tasks\": [{\"name\": \"1\", \"cpu\": 0, \"server\": \"S1\"},"
	"{\"name\": \"2\", \"cpu\": 0, \"server\": \"S3\"}],"
	" \"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": 1, \"sent_MB\": 1}]},"
	"{\"name\": \"E\", \"weight\": 8, \"tasks\": [{\"name\": \"1\", \"cpu\": 0, \"server\": \"S1\"},"
	"{\"name\": \"2\", \"cpu\": 0, \"server\": \"S3\"}], \"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": "
	"3}]}]}";

static struct lab lab;
static struct recovery_scenario *scenario;
static int64_t now_ns;
static struct transfer transfers[FLOWS];
static double rates[FLOWS];
static int killed;           /* host */
static int64_t breaks_ns;    /* when its transfers break */
static int breaking = NEVER; /* a transfer that breaks at once */
static bool are_fast;        /* transfers take no time */
static char links[64];       /* the changes of host links */
static uid_t user;
static const char *failing; /* the call that fails */

struct ns __wrap_ns_now_monotonic(void);
uid_t __wrap_geteuid(void);
int __wrap_lab_read(const char *name, struct lab *read, struct error *err);
int __wrap_lab_check_links(const struct lab *read, struct error *err);
int __wrap_lab_change_host_link(const struct lab *given, int host, bool up, struct error *err);
struct transfers *__wrap_transfers_create(const struct lab *given, uint32_t count, struct error *err);
void __wrap_transfers_destroy(struct transfers *all);
void __wrap_transfers_set_hosts(struct transfers *all, uint32_t number, int from, int to);
int __wrap_transfers_set_rates(struct transfers *all, const double *MBps, struct error *err);
int __wrap_transfers_start(struct transfers *all, uint32_t number, uint64_t bytes, struct error *err);
void __wrap_transfers_cancel(struct transfers *all, uint32_t number);
void __wrap_transfers_kill_host(struct transfers *all, int host);
int __wrap_transfers_poll(struct transfers *all, struct ns timeout, struct error *err);
const struct transfer *__wrap_transfers_get(const struct transfers *all, uint32_t number);

static int answer(const char *call, struct error *err)
{
	return failing && strcmp(failing, call) == 0 ? error_set(err, EIO, "%s fails", call) : 0;
}

struct ns __wrap_ns_now_monotonic(void)
{
	return (struct ns){now_ns};
}

uid_t __wrap_geteuid(void)
{
	return user;
}

int __wrap_lab_read(const char *name, struct lab *read, struct error *err)
{
	cr_assert_str_eq(name, "lab0");
	*read = lab;
	return answer("read", err);
}

int __wrap_lab_check_links(const struct lab *read, struct error *err)
{
	(void)read;
	return answer("check", err);
}

int __wrap_lab_change_host_link(const struct lab *given, int host, bool up, struct error *err)
{
	size_t length = strlen(links);

	(void)given;
	snprintf(links + length, sizeof links - length, "%s %s;", lab.hosts[host].name, up ? "up" : "down");
	return answer(up ? "up" : "down", err);
}

struct transfers *__wrap_transfers_create(const struct lab *given, uint32_t count, struct error *err)
{
	(void)given;
	cr_assert_eq(count, FLOWS);
	return answer("create", err) ? NULL : (struct transfers *)transfers;
}

void __wrap_transfers_destroy(struct transfers *all)
{
	(void)all;
}

void __wrap_transfers_set_hosts(struct transfers *all, uint32_t number, int from, int to)
{
	(void)all;
	transfers[number].from = from;
	transfers[number].to = to;
}

int __wrap_transfers_set_rates(struct transfers *all, const double *MBps, struct error *err)
{
	(void)all;
	now_ns += 10 * NS_PER_MS;
	memcpy(rates, MBps, sizeof rates);
	return answer("rates", err);
}

int __wrap_transfers_start(struct transfers *all, uint32_t number, uint64_t bytes, struct error *err)
{
	(void)all;
	transfers[number].bytes = bytes;
	transfers[number].acknowledged = 0;
	transfers[number].state = TRANSFER_RUNNING;
	now_ns += 5 * NS_PER_MS;
	return answer("start", err);
}

void __wrap_transfers_cancel(struct transfers *all, uint32_t number)
{
	(void)all;
	transfers[number].state = TRANSFER_IDLE;
	transfers[number].acknowledged = 0;
}

void __wrap_transfers_kill_host(struct transfers *all, int host)
{
	(void)all;
	killed = host;
	breaks_ns = now_ns + TRANSFER_SILENCE_MS * NS_PER_MS;
}

static void advance(struct transfer *t, double MBps, int64_t step_ns)
{
	int64_t left_ns = llround((double)(t->bytes - t->acknowledged) / MBps * 1e3);

	if (t->from == killed || t->to == killed) {
		if (now_ns + step_ns >= breaks_ns) {
			t->state = TRANSFER_FAILED;
			t->reporter = t->from == killed ? t->to : t->from;
		}
	} else if (left_ns <= step_ns) {
		t->acknowledged = t->bytes;
		t->ended.v = now_ns + left_ns;
		t->state = TRANSFER_DONE;
	} else {
		t->acknowledged += (uint64_t)llround(MBps * (double)step_ns / 1e3);
	}
}

int __wrap_transfers_poll(struct transfers *all, struct ns timeout, struct error *err)
{
	(void)all;
	cr_assert_lt(now_ns, 60 * NS_PER_S, "it does not end");
	for (uint32_t i = 0; i < FLOWS; i++) {
		if (transfers[i].state != TRANSFER_RUNNING)
			continue;
		advance(&transfers[i], are_fast ? 1e9 : rates[i] > 0 ? rates[i] : 4, timeout.v);
		if ((int)i == breaking) {
			transfers[i].state = TRANSFER_FAILED;
			transfers[i].reporter = transfers[i].from;
		}
	}
	now_ns += timeout.v;
	return answer("poll", err);
}

const struct transfer *__wrap_transfers_get(const struct transfers *all, uint32_t number)
{
	(void)all;
	return &transfers[number];
}

static void make(void)
{
	struct lab_spec spec = {.name = "lab0", .hosts = 4, .racks = 1, .slots = 4, .mtu_bytes = 1500};
	struct error err = {0};

	memset(transfers, 0, sizeof transfers);
	memset(rates, 0, sizeof rates);
	links[0] = '\0';
	killed = breaking = NEVER;
	are_fast = false;
	failing = NULL;
	user = 0;
	now_ns = NS_PER_S;
	cr_assert_eq(lab_plan(&spec, &lab, &err), 0, "%s", err.text);
	scenario = recovery_parse("s", scenario_text, strlen(scenario_text), &err);
	cr_assert(scenario, "%s", err.text);
}

/* Applies the scenario, and returns what it prints. */
static char *apply(struct lab_recover_settings settings, int wanted, struct error *err)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int code;

	settings.lab = "lab0";
	settings.options = recover_options(&(struct recover_settings){.eta = 1, .seed = 1});
	code = lab_recover_apply(scenario, &settings, out, err);
	fclose(out);
	cr_assert_eq(code, wanted, "%d: %s", code, err->text);
	recovery_destroy(scenario);
	return text;
}

/* The text, or the JSON with sorted keys and rounded numbers. */
Test(lab_recover, prints_the_ends_of_the_flows_beside_their_prediction)
{
	static const struct {
		struct lab_recover_settings settings;
		char links[32], text[500];
	} rows[] = {
		/* A's 30 MB and, at twice the weight, 10 MB of B share 10 MB/s. Starting a flow takes 5 ms. */
		{{.sharing = LAB_RECOVER_PERFORMANCE},
		 "",
		 "application     predicted   first ends    last ends    error\n"
		 "A                 5.000 s      5.020 s      5.020 s   +0.40%\n"
		 "B                 2.500 s      2.520 s      2.520 s   +0.80%\n"
		 "E                 0.625 s      0.645 s      0.645 s   +3.20%\n"},
		{{.sharing = LAB_RECOVER_EQUAL},
		 "",
		 "application     predicted   first ends    last ends    error\n"
		 "A                 6.000 s      6.020 s      6.020 s   +0.33%\n"
		 "B                 2.000 s      1.020 s      2.020 s   +1.00%\n"
		 "E                 0.600 s      0.620 s      0.620 s   +3.33%\n"},
		{{.sharing = LAB_RECOVER_TCP},
		 "",
		 "application     predicted   first ends    last ends    error\n"
		 "A                    none      7.520 s      7.520 s\n"
		 "B                    none      1.270 s      2.520 s\n"
		 "E                    none      0.770 s      0.770 s\n"},
		/* A has 21.12 MB left; B's flow from S0 sends its 10 MB in 4.659 s / 2 - 0.5 s. */
		{{.sharing = LAB_RECOVER_PERFORMANCE, .fail = "S2", .fail_at_s = 1},
		 "h3 down;h3 up;",
		 "S2 failed after 1.00 s; noticed 500 ms later; solved in 0.0 ms; new rates set 10 ms after it was "
		 "noticed\n"
		 "application     predicted   first ends    last ends    error\n"
		 "A                 4.659 s      4.669 s      4.669 s   +0.21%\n"
		 "B                 2.329 s      2.339 s      2.339 s   +0.43%\n"},
		{{.sharing = LAB_RECOVER_TCP, .json = true},
		 "",
		 "{\"flows\":["
		 "{\"MB\":30.0,\"application\":\"A\",\"from\":\"1\",\"measured_s\":7.52,\"predicted_s\":null,\"to\":"
		 "\"2\"},"
		 "{\"MB\":10.0,\"application\":\"B\",\"from\":\"1\",\"measured_s\":2.52,\"predicted_s\":null,\"to\":"
		 "\"2\"},"
		 "{\"MB\":5.0,\"application\":\"B\",\"from\":\"3\",\"measured_s\":1.27,\"predicted_s\":null,\"to\":"
		 "\"2\"},"
		 "{\"MB\":3.0,\"application\":\"E\",\"from\":\"1\",\"measured_s\":0.77,\"predicted_s\":null,\"to\":"
		 "\"2\"}],"
		 "\"p\":0.3846,\"schema\":\"nomora.recover-apply/1\"}"},
		{{.sharing = LAB_RECOVER_PERFORMANCE, .json = true, .fail = "S2", .fail_at_s = 1},
		 "h3 down;h3 up;",
		 "{\"failed_at_s\":1.0,\"flows\":["
		 "{\"MB\":21.12,\"application\":\"A\",\"from\":\"1\",\"measured_s\":4.669,\"predicted_s\":4.659,\"to\":"
		 "\"2\"},"
		 "{\"MB\":10.0,\"application\":\"B\",\"from\":\"1\",\"measured_s\":2.339,\"predicted_s\":2.329,\"to\":"
		 "\"2\"},"
		 "{\"MB\":5.0,\"application\":\"B\",\"from\":\"3\",\"measured_s\":2.339,\"predicted_s\":2.329,\"to\":"
		 "\"2\"}],"
		 "\"in_force_ms\":10.0,\"noticed_ms\":500.0,\"p\":0.3584,\"schema\":\"nomora.recover-apply/"
		 "1\",\"solve_ms\":0.0}"},
	};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		struct error err = {0};
		json_t *root;
		char *text;

		make();
		if (rows[r].settings.fail)
			recovery_fail_server(scenario, 3); /* does not count */
		text = apply(rows[r].settings, 0, &err);
		if (rows[r].settings.json) {
			root = json_loads(text, 0, NULL);
			free(text);
			text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(4));
			json_decref(root);
		}
		cr_expect_str_eq(text, rows[r].text, "row %zu:\n%s", r, text);
		cr_expect_str_eq(links, rows[r].links, "row %zu: %s", r, links);
		free(text);
	}
}

/* Nothing is printed, and the failed server's link is up again. */
Test(lab_recover, errors)
{
	static const struct {
		char fail[4], failing[8];
		int hosts, breaking;
		bool are_fast;
		int code;
		char links[16], text[100];
	} rows[] = {
		{"", "user", 4, NEVER, false, EPERM, "",
		 "--apply enters network namespaces and needs root: run it with sudo"},
		{"", "read", 4, NEVER, false, EIO, "", "read fails"},
		{"", "", 3, NEVER, false, ENOSPC, "", "the scenario has 4 servers, but lab 'lab0' has 3 hosts"},
		{"", "check", 4, NEVER, false, EIO, "", "check fails"},
		{"S9", "", 4, NEVER, false, ENOENT, "", "--fail: unknown server 'S9'"},
		{"", "create", 4, NEVER, false, EIO, "", "create fails"},
		{"", "rates", 4, NEVER, false, EIO, "", "rates fails"},
		{"", "start", 4, NEVER, false, EIO, "", "start fails"},
		{"", "poll", 4, NEVER, false, EIO, "", "poll fails"},
		{"S2", "down", 4, NEVER, false, EIO, "h3 down;", "down fails"},
		{"S2", "up", 4, NEVER, false, EIO, "h3 down;h3 up;", "up fails"},
		{"", "", 4, 0, false, EIO, "", "a transfer to or from host h2 failed"},
		{"S0", "", 4, NEVER, false, ENOSPC, "h1 down;h1 up;", "the failed tasks cannot be placed: infeasible"},
		{"S0", "up", 4, NEVER, false, ENOSPC, "h1 down;h1 up;",
		 "the failed tasks cannot be placed: infeasible"},
		{"S2", "", 4, NEVER, true, ENODATA, "h3 down;h3 up;",
		 "no transfer noticed that S2 failed: use a smaller --at"},
	};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		struct lab_recover_settings settings = {.fail = rows[r].fail[0] ? rows[r].fail : NULL, .fail_at_s = 1};
		struct error err = {0};
		char *text;

		make();
		lab.host_count = rows[r].hosts;
		failing = rows[r].failing;
		user = strcmp(failing, "user") == 0;
		breaking = rows[r].breaking;
		are_fast = rows[r].are_fast;
		text = apply(settings, -rows[r].code, &err);
		cr_expect_str_empty(text, "row %zu: %s", r, text);
		cr_expect_str_eq(err.text, rows[r].text, "row %zu: %s", r, err.text);
		cr_expect_str_eq(links, rows[r].links, "row %zu: %s", r, links);
		free(text);
	}
}
