/* SPDX-License-Identifier: BSD-3-Clause */
/* A prober's samples: every accepted sample can be found, and survives writing and reading. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <model/rtt_samples.h>

static void check(const struct rtt_samples *samples)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct rtt_samples again;
	struct file_lines *lines;

	rtt_samples_print_head(out);
	for (size_t i = 0; i < samples->count; i++) {
		const struct rtt_sample *sample = &samples->items[i];
		const char *peer = samples->peers[sample->peer];

		rtt_samples_print(sample, peer, out);
		if (!rtt_samples_find(samples, peer, sample->source_port, sample->sequence, sample->sent_at,
				      (struct ns){0}))
			abort();
	}
	fclose(out);
	lines = file_lines_from_memory("again", text, bytes, NULL);
	if (rtt_samples_parse(lines, &again, NULL) != 0 || again.count != samples->count ||
	    again.items[0].sent_at.v != samples->items[0].sent_at.v)
		abort();
	rtt_samples_free(&again);
	file_lines_close(lines);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_lines *lines = file_lines_from_memory("fuzz", (const char *)data, size, NULL);
	struct rtt_samples samples;
	struct error err = {0};

	if (rtt_samples_parse(lines, &samples, &err) == 0)
		check(&samples);
	else if (err.code == 0 || err.text[0] == '\0')
		abort(); /* a refusal says why */
	rtt_samples_free(&samples);
	file_lines_close(lines);
	return 0;
}
