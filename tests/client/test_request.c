/* SPDX-License-Identifier: BSD-3-Clause */
#include <client/request.h>

#include <criterion/criterion.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <serve/serve.h>

static char folder[] = "/tmp/nomora-client-XXXXXX", path[64];
static struct serve *serve;
static atomic_bool stop;
static pthread_t thread;

static void reply(struct serve_call *call, unsigned status, const char *text)
{
	serve_reply(call, status, "application/json", text, strlen(text));
}

/* Replies with the status that the path ends with, and the error in the body, if there is one. */
static void answer_with(void *context, struct serve_call *call)
{
	(void)context;
	reply(call, (unsigned)atoi(call->tail), call->body[0] ? call->body : "{}");
}

static void answer_badly(void *context, struct serve_call *call)
{
	(void)context;
	reply(call, 200, "{\"cut\": ");
}

/* Refuses the jobs in the words of their line. */
static void take_jobs(void *context, struct serve_call *call)
{
	(void)context;
	if (strstr(call->body, "of-all"))
		reply(call, 503, "{\"error\": \"no space\", \"jobs\": []}");
	else if (strstr(call->body, "of-one"))
		reply(call, 400,
		      "{\"error\": \"of all\", \"jobs\": [{\"error\": \"bad job\"}, {\"error\": \"second\"}]}");
	else
		reply(call, strcmp(call->method, "POST") == 0 ? 201 : 500, "{\"jobs\": []}");
}

/* A journal of five lines, in parts of two. */
static void journal(void *context, struct serve_call *call)
{
	long after = atol(serve_query(call, "after")), next = after + 2 < 5 ? after + 2 : 5;
	char text[200] = "{\"lines\": \"";

	(void)context;
	for (long line = after; line < next; line++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "line %ld\\n", line);
	snprintf(text + strlen(text), sizeof text - strlen(text), "\", \"next\": %ld}", next);
	reply(call, 200, text);
}

static const struct serve_route routes[] = {
	{"GET", "/status", answer_with}, {"POST", "/status", answer_with}, {"GET", "/bad", answer_badly},
	{"POST", "/v1/jobs", take_jobs}, {"GET", "/v1/journal", journal},  {NULL, NULL, NULL},
};

static void *run(void *context)
{
	struct pollfd polled = {.fd = serve_fd(serve), .events = POLLIN};

	while (!stop) {
		poll(&polled, 1, 10);
		serve_run(serve);
	}
	return context;
}

static void start(void)
{
	struct serve_options options = {.unix_path = path, .routes = routes};
	struct error err = {0};

	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/socket", folder);
	serve = serve_create(&options, &err);
	cr_assert_not_null(serve, "%s", err.text);
	cr_assert_eq(pthread_create(&thread, NULL, run, NULL), 0);
}

static void end(void)
{
	stop = true;
	pthread_join(thread, NULL);
	serve_destroy(serve);
	rmdir(folder);
}

TestSuite(client_request, .init = start, .fini = end);

Test(client_request, a_request_returns_the_status_and_the_answer)
{
	struct error err = {0};
	json_t *answer;

	cr_assert_eq(client_request(path, "POST", "/status/418", "{\"a\": 5}", &answer, &err), 418);
	cr_assert_eq(json_integer_value(json_object_get(answer, "a")), 5);
	json_decref(answer);
	setenv("NOMORA_SCHEDD", path, 1);
	cr_assert_eq(client_request(NULL, "GET", "/status/200", NULL, &answer, &err), 200);
	json_decref(answer);
	cr_assert_lt(client_request("/no/socket", "GET", "/status/200", NULL, &answer, &err), 0,
		     "a given path comes first");
}

Test(client_request, no_daemon_and_no_json_are_errors)
{
	struct error err = {0};
	json_t *answer;

	cr_assert_eq(client_request("/no/socket", "GET", "/", NULL, &answer, &err), -ENOTCONN);
	cr_assert_str_eq(err.text, "/no/socket: no daemon answers; start it with 'nomora schedd'");
	cr_assert_null(answer);
	setenv("NOMORA_SCHEDD", "", 1);
	cr_assert_eq(client_request(NULL, "GET", "/", NULL, &answer, &err), -ENOTCONN);
	cr_assert(strstr(err.text, CLIENT_SOCKET ": no daemon answers"), "%s", err.text);
	cr_assert_eq(client_request(path, "GET", "/bad", NULL, &answer, &err), -EINVAL);
	cr_assert(strstr(err.text, "the daemon's answer:1: not valid JSON"), "%s", err.text);
	cr_assert_null(answer);
}

Test(client_request, a_refusal_is_an_error_with_the_daemons_text)
{
	static const struct {
		int status, code;
	} cases[] = {{200, 0}, {399, 0}, {400, -EINVAL}, {403, -EPERM}, {404, -ENOENT}, {409, -EINVAL}, {503, -EINVAL}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct error err = {0};
		json_t *answer;
		char to[32];

		snprintf(to, sizeof to, "/status/%d", cases[i].status);
		cr_assert_eq(client_ask(path, "POST", to, "{\"error\": \"not so\"}", &answer, &err), cases[i].code,
			     "%d", cases[i].status);
		cr_assert_eq(answer != NULL, cases[i].code == 0);
		cr_assert_str_eq(err.text, cases[i].code ? "not so" : "");
		json_decref(answer);
		cr_assert_eq(client_ask(path, "GET", to, NULL, &answer, &err), cases[i].code);
		cr_assert_str_eq(err.text, cases[i].code ? "the daemon refused the request and gave no reason" : "");
		json_decref(answer);
	}
}

Test(client_request, a_refused_job_has_its_own_reason_before_that_of_all)
{
	struct error err = {0};

	cr_assert_eq(client_submit(path, "{\"id\": \"fine\"}", 5000, &err), 0, "%s", err.text);
	cr_assert_eq(client_submit(path, "of-one", 5000, &err), -EINVAL);
	cr_assert_str_eq(err.text, "bad job");
	cr_assert_eq(client_submit(path, "of-all", 5000, &err), -EIO);
	cr_assert_str_eq(err.text, "no space");
	cr_assert_eq(client_submit("/no/socket", "{}", 5000, &err), -ENOTCONN);
}

Test(client_request, a_journal_is_printed_to_its_end)
{
	struct error err = {0};
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	cr_assert_eq(client_print_journal(path, out, &err), 0, "%s", err.text);
	fclose(out);
	cr_assert_str_eq(text, "line 0\nline 1\nline 2\nline 3\nline 4\n");
	free(text);
	cr_assert_eq(client_print_journal("/no/socket", stdout, &err), -ENOTCONN);
}

Test(client_request, a_question_has_changes_jobs_and_its_limits)
{
	static char first[] = "drain rack r7", second[] = "remove machine m1", not_utf8[] = "drain rack \xff";
	char *const changes[] = {first, second, not_utf8};
	struct error err = {0};
	char jobs[80];
	json_t *request = client_what_if_request(changes, 2, NULL, true, 2.5, &err), *expected;
	FILE *file;

	expected =
		json_pack("{s:[s,s], s:s, s:b, s:f}", "changes", first, second, "jobs", "", "move", 1, "within_s", 2.5);
	cr_assert(json_equal(request, expected));
	json_decref(request);
	json_decref(expected);
	snprintf(jobs, sizeof jobs, "%s/jobs", folder);
	file = fopen(jobs, "w");
	cr_assert(file && fputs("{\"id\": \"a\"}\n", file) >= 0 && fclose(file) == 0);
	request = client_what_if_request(changes, 0, jobs, false, 1, &err);
	unlink(jobs);
	expected =
		json_pack("{s:[], s:s, s:b, s:f}", "changes", "jobs", "{\"id\": \"a\"}\n", "move", 0, "within_s", 1.0);
	cr_assert(json_equal(request, expected));
	json_decref(request);
	json_decref(expected);
	cr_assert_null(client_what_if_request(changes, 1, "/no/such/file", false, 1, &err));
	cr_assert_eq(err.code, ENOENT);
	cr_assert_null(client_what_if_request(changes, 3, NULL, false, 1, &err));
	cr_assert_str_eq(err.text, "the changes and jobs are not UTF-8 text");
}
