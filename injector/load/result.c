/* SPDX-License-Identifier: BSD-3-Clause */
/* The measurements of a run: counts of answers, histograms of times. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "load_priv.h"

int result_init(struct load_result *result, struct error *err)
{
	struct histogram **all[] = {&result->response_ns, &result->get_ns, &result->set_ns, &result->service_ns};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		*all[i] = histogram_create(100, 60 * NS_PER_S, 3);
		if (!*all[i])
			return error_set(err, errno, "out of memory");
	}
	return 0;
}

static void count_reply(struct load_counts *counts, const struct reply *reply)
{
	switch (reply->kind) {
	case REPLY_HIT:
		counts->hits++;
		break;
	case REPLY_MISS:
		counts->misses++;
		break;
	case REPLY_STORED:
		counts->stored++;
		break;
	case REPLY_NOT_STORED:
	case REPLY_ERROR:
		counts->errors++;
		break;
	}
}

void result_add(struct load_result *result, const struct request *request, const struct reply *reply, const char *line,
		int64_t now, bool measured)
{
	int64_t response = now - request->due_ns;

	count_reply(&result->total, reply);
	if (result->total.errors == 1 && !result->refusal[0])
		snprintf(result->refusal, sizeof result->refusal, "%.*s", (int)sizeof result->refusal - 1, line);
	if (!measured)
		return;
	count_reply(&result->measured, reply);
	histogram_record(result->response_ns, response);
	histogram_record(result->service_ns, now - request->sent_ns);
	if (request->is_set) {
		result->measured.sets++;
		histogram_record(result->set_ns, response);
	} else {
		result->measured.gets++;
		histogram_record(result->get_ns, response);
	}
}

void load_result_free(struct load_result *result)
{
	histogram_destroy(result->response_ns);
	histogram_destroy(result->get_ns);
	histogram_destroy(result->set_ns);
	histogram_destroy(result->service_ns);
	memset(result, 0, sizeof *result);
}
