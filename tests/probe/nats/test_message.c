/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <probe/nats/message.h>

static const struct ns now = {INT64_C(1795188700) * NS_PER_S};
static const struct mesh_message whole = {
	.source = {"", "r1", "p1"},
	.destination = {"h*2>%", "r2", ""},
	.entry = {.rtt_p50_us = 23.104,
		  .rtt_p99_us = 41.1,
		  .rtt_max_us = 88.063,
		  .loss = 0.1,
		  .samples = 15000,
		  .updated_at = {INT64_C(1795188663250000001)},
		  .disturbed = 0.001f,
		  .error_us = 0.05f,
		  .paths = 4,
		  .paths_covered = 3},
};

static struct mesh_message sample(void)
{
	struct mesh_message message = whole;

	strcpy(message.source.name, "h1.rack\xc3\xa9");
	return message;
}

static enum mesh_refusal decode(const char *subject, const char *payload, struct mesh_message *message,
				struct error *err)
{
	return mesh_message_decode("nomora.mesh", subject, payload, strlen(payload), now, message, err);
}

Test(mesh_message, round_trip)
{
	struct mesh_message in = sample(), out = {0};
	char subject[MESH_SUBJECT_BYTES];
	char *payload = mesh_message_encode(&in, "nomora.mesh", subject);
	struct error err = {0};

	cr_assert_not_null(payload);
	cr_expect_str_eq(subject, "nomora.mesh.h1%2Erack%C3%A9.h%2A2%3E%25");
	cr_assert_eq(decode(subject, payload, &out, &err), MESH_REFUSAL_NONE, "%s", err.text);
	cr_expect_str_eq(out.source.name, in.source.name);
	cr_expect_str_eq(out.source.rack, "r1");
	cr_expect_str_eq(out.source.pod, "p1");
	cr_expect_str_eq(out.destination.name, "h*2>%");
	cr_expect_str_eq(out.destination.rack, "r2");
	cr_expect_str_eq(out.destination.pod, "");
	cr_expect_eq(out.entry.rtt_p50_us, in.entry.rtt_p50_us);
	cr_expect_eq(out.entry.rtt_p99_us, in.entry.rtt_p99_us);
	cr_expect_eq(out.entry.rtt_max_us, in.entry.rtt_max_us);
	cr_expect_eq(out.entry.loss, in.entry.loss);
	cr_expect_eq(out.entry.samples, in.entry.samples);
	cr_expect_eq(out.entry.updated_at.v, in.entry.updated_at.v);
	cr_expect_eq(out.entry.disturbed, in.entry.disturbed);
	cr_expect_eq(out.entry.error_us, in.entry.error_us);
	cr_expect_eq(out.entry.paths, 4);
	cr_expect_eq(out.entry.paths_covered, 3);
	cr_expect_eq(out.entry.state, LATENCY_STATE_MEASURED);
	free(payload);
}

Test(mesh_message, longest_names_fit)
{
	struct mesh_message in = sample(), out;
	char subject[MESH_SUBJECT_BYTES], prefix[MESH_PREFIX_BYTES], *payload;

	memset(prefix, 'p', sizeof prefix - 1);
	prefix[sizeof prefix - 1] = '\0';
	cr_assert(mesh_prefix_is_valid(prefix));
	memset(in.source.name, '.', LATENCY_NAME_BYTES - 1);
	memset(in.destination.name, '*', LATENCY_NAME_BYTES - 1);
	payload = mesh_message_encode(&in, prefix, subject);
	cr_assert_not_null(payload);
	cr_expect_eq(mesh_message_decode(prefix, subject, payload, strlen(payload), now, &out, NULL),
		     MESH_REFUSAL_NONE);
	cr_expect_str_eq(out.source.name, in.source.name);
	cr_expect_str_eq(out.destination.name, in.destination.name);
	free(payload);
}

Test(mesh_message, unreachable_pair)
{
	struct mesh_message in = sample(), out;
	char subject[MESH_SUBJECT_BYTES], *payload;

	in.entry.samples = 0;
	in.entry.state = LATENCY_STATE_UNREACHABLE;
	in.entry.rtt_p50_us = in.entry.rtt_p99_us = in.entry.rtt_max_us = NAN;
	payload = mesh_message_encode(&in, "nomora.mesh", subject);
	cr_assert_not_null(payload);
	cr_expect_eq(decode(subject, payload, &out, NULL), MESH_REFUSAL_NONE);
	cr_expect(isnan(out.entry.rtt_p50_us) && isnan(out.entry.rtt_max_us));
	cr_expect_eq(out.entry.state, LATENCY_STATE_UNREACHABLE);
	free(payload);
}

Test(mesh_message, subjects_that_are_none)
{
	static const char *const subjects[] = {
		"nomora.mesh",
		"nomora.mesh.",
		"nomora.mesh.h1",
		"nomora.mesh.h1.",
		"nomora.mesh..h2",
		"nomora.mesh.h1.h2.h3",
		"nomora.meshes.h1.h2",
		"other.mesh.h1.h2",
		"nomora.mesh.h%2.h2",
		"nomora.mesh.h1.h%zz",
		"nomora.mesh.h%2e1.h2" /* lower case */,
		"nomora.mesh.%68.h2" /* needs no escape */,
		"nomora.mesh.h%001.h2",
		"nomora.mesh.h%201.h2" /* a blank */,
		"nomora.mesh.%FF.h2" /* no UTF-8 */,
		"nomora.mesh.h1.0123456789012345678901234567890123456789012345678901234567890123",
	};
	struct mesh_message in = sample(), out;
	char subject[MESH_SUBJECT_BYTES];
	char *payload = mesh_message_encode(&in, "nomora.mesh", subject);

	cr_assert_not_null(payload);
	for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
		cr_expect_eq(decode(subjects[i], payload, &out, NULL), MESH_REFUSAL_SUBJECT, "%s", subjects[i]);
	cr_expect_eq(decode("nomora.mesh.h1.h2", payload, &out, NULL), MESH_REFUSAL_NONE);
	free(payload);
}

Test(mesh_message, prefixes)
{
	cr_expect(mesh_prefix_is_valid("a"));
	cr_expect(mesh_prefix_is_valid("site-1.mesh_2"));
	cr_expect_not(mesh_prefix_is_valid(""));
	cr_expect_not(mesh_prefix_is_valid("a."));
	cr_expect_not(mesh_prefix_is_valid(".a"));
	cr_expect_not(mesh_prefix_is_valid("a..b"));
	cr_expect_not(mesh_prefix_is_valid("a.*"));
	cr_expect_not(mesh_prefix_is_valid("a b"));
}

/* A payload with one member replaced. */
static enum mesh_refusal judge(const char *figures, const char *rest)
{
	struct mesh_message out;
	char payload[1024];

	snprintf(payload, sizeof payload, "{\"schema\":\"nomora.mesh_row/1\",%s,\"loss\":0,%s}", figures, rest);
	return decode("nomora.mesh.h1.h2", payload, &out, NULL);
}

#define TIMES "\"rtt_p50_us\":10,\"rtt_p99_us\":20,\"rtt_max_us\":30"
#define REST "\"samples\":5,\"state\":\"measured\",\"updated_at_ns\":"

Test(mesh_message, payloads)
{
	struct mesh_message out;

	cr_expect_eq(judge(TIMES, REST "1795188700000000000"), MESH_REFUSAL_NONE);
	cr_expect_eq(judge(TIMES, REST "1795188760000000000"), MESH_REFUSAL_NONE);
	cr_expect_eq(judge(TIMES, REST "1795188760000000001"), MESH_REFUSAL_FUTURE);
	cr_expect_eq(judge(TIMES, REST "-1"), MESH_REFUSAL_PAYLOAD);
	cr_expect_eq(judge(TIMES, REST "1,\"src_rack\":\"a b\""), MESH_REFUSAL_PAYLOAD);
	cr_expect_eq(judge(TIMES, REST "1,\"disturbed\":2"), MESH_REFUSAL_PAYLOAD);
	cr_expect_eq(judge("\"rtt_p50_us\":21,\"rtt_p99_us\":20,\"rtt_max_us\":30", REST "1"), MESH_REFUSAL_FIGURES);
	cr_expect_eq(judge("\"rtt_p50_us\":10,\"rtt_p99_us\":31,\"rtt_max_us\":30", REST "1"), MESH_REFUSAL_FIGURES);
	cr_expect_eq(judge("\"rtt_p50_us\":10,\"rtt_p99_us\":20,\"rtt_max_us\":null", REST "1"), MESH_REFUSAL_FIGURES);
	cr_expect_eq(judge("\"rtt_p50_us\":-1,\"rtt_p99_us\":20,\"rtt_max_us\":30", REST "1"), MESH_REFUSAL_PAYLOAD);
	cr_expect_eq(judge(TIMES, "\"samples\":0,\"state\":\"unreachable\",\"updated_at_ns\":1"), MESH_REFUSAL_FIGURES);
	cr_expect_eq(judge(TIMES, "\"samples\":5,\"state\":\"unreachable\",\"updated_at_ns\":1"), MESH_REFUSAL_FIGURES);
	cr_expect_eq(judge(TIMES, "\"samples\":5,\"state\":\"stale\",\"updated_at_ns\":1"), MESH_REFUSAL_PAYLOAD);
	cr_expect_eq(decode("nomora.mesh.h1.h2", "", &out, NULL), MESH_REFUSAL_PAYLOAD);
	cr_expect_eq(decode("nomora.mesh.h1.h2", "[]", &out, NULL), MESH_REFUSAL_PAYLOAD);
	cr_expect_eq(decode("nomora.mesh.h1.h2", "{\"schema\":\"nomora.mesh_row/2\"}", &out, NULL),
		     MESH_REFUSAL_PAYLOAD);
}

Test(mesh_message, a_wrong_clock_of_the_publisher_is_corrected)
{
	static const int64_t skews_s[] = {-3600, 3600, -11, 11};
	struct mesh_message in, out;
	char subject[MESH_SUBJECT_BYTES], *payload;

	for (size_t i = 0; i < 4; i++) {
		in = sample();
		in.sent_at.v = now.v + skews_s[i] * NS_PER_S;
		in.entry.updated_at.v = in.sent_at.v - 5 * NS_PER_S;
		in.entry.answered_at.v = in.sent_at.v - 90 * NS_PER_S;
		payload = mesh_message_encode(&in, "nomora.mesh", subject);
		cr_assert_eq(decode(subject, payload, &out, NULL), MESH_REFUSAL_NONE);
		cr_assert_eq(now.v - out.entry.updated_at.v, 5 * NS_PER_S);
		cr_assert_eq(now.v - out.entry.answered_at.v, 90 * NS_PER_S);
		free(payload);
	}
	in.sent_at.v = now.v - 10 * NS_PER_S;
	in.entry.answered_at.v = 0;
	payload = mesh_message_encode(&in, "nomora.mesh", subject);
	cr_assert_eq(decode(subject, payload, &out, NULL), MESH_REFUSAL_NONE);
	cr_assert_eq(out.entry.updated_at.v, in.entry.updated_at.v, "a small difference is left");
	cr_assert_eq(out.entry.answered_at.v, 0);
	free(payload);
}

Test(mesh_message, the_status_of_a_host)
{
	enum latency_host_status status = LATENCY_HOST_ACTIVE;
	char subject[MESH_SUBJECT_BYTES], host[LATENCY_NAME_BYTES];
	char *payload = mesh_status_encode("h.2", LATENCY_HOST_DRAINED, "nomora.mesh", subject);
	struct mesh_message message;
	struct error err = {0};

	cr_assert_str_eq(subject, "nomora.mesh.h%2E2.%status");
	cr_assert_str_eq(payload, "{\"schema\":\"nomora.mesh_status/1\",\"status\":\"drained\"}");
	cr_assert(mesh_status_is(subject) && !mesh_status_is("nomora.mesh.h1.h2"));
	cr_assert_eq(mesh_status_decode("nomora.mesh", subject, payload, strlen(payload), host, &status, &err), 0, "%s",
		     err.text);
	cr_assert_str_eq(host, "h.2");
	cr_assert_eq(status, LATENCY_HOST_DRAINED);
	cr_assert_eq(decode(subject, payload, &message, &err), MESH_REFUSAL_SUBJECT, "it is no row");
	cr_assert_eq(mesh_status_decode("nomora.mesh", "nomora.mesh.h%2.%status", payload, strlen(payload), host,
					&status, &err),
		     MESH_REFUSAL_SUBJECT);
	free(payload);
	payload = strdup("{\"schema\":\"nomora.mesh_status/1\",\"status\":\"ill\"}");
	cr_assert_eq(mesh_status_decode("nomora.mesh", subject, payload, strlen(payload), host, &status, &err),
		     MESH_REFUSAL_PAYLOAD);
	cr_assert_not_null(strstr(err.text, "expected active, drained or gone"), "%s", err.text);
	free(payload);
}
