/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <probe/nats/message.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first line is the subject, the rest the payload. An accepted row is unchanged after it was sent on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ns now = {INT64_C(1795188700) * NS_PER_S};
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t length = end ? (size_t)(end - data) : 0;
	struct mesh_message message, again;
	enum latency_host_status status;
	char host[LATENCY_NAME_BYTES];
	char subject[MESH_SUBJECT_BYTES], *first, *payload, *sent;
	struct error err = {0};

	if (!end)
		return 0;
	first = strndup((const char *)data, length);
	/* A copy of exactly that size, so that reads past its end are detected. */
	payload = malloc(size - length);
	if (!first || !payload)
		abort();
	memcpy(payload, end + 1, size - length - 1);
	if (mesh_message_decode("m", first, payload, size - length - 1, now, &message, &err)) {
		if (err.code <= 0)
			abort();
	} else {
		sent = mesh_message_encode(&message, "m", subject);
		if (!sent || strcmp(subject, first) != 0 ||
		    mesh_message_decode("m", subject, sent, strlen(sent), now, &again, NULL) ||
		    strcmp(message.source.name, again.source.name) != 0 ||
		    message.entry.updated_at.v != again.entry.updated_at.v ||
		    message.entry.samples != again.entry.samples ||
		    (message.entry.samples > 0 && message.entry.rtt_p99_us != again.entry.rtt_p99_us))
			abort();
		free(sent);
	}
	if (!mesh_status_decode("m", first, payload, size - length - 1, host, &status, NULL)) {
		sent = mesh_status_encode(host, status, "m", subject);
		if (!sent || strcmp(subject, first) != 0)
			abort();
		free(sent);
	}
	free(payload);
	free(first);
	return 0;
}
