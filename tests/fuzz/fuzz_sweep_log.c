/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of a sweep's log: it terminates for any input, and its events are within their ranges. */
#include <stdint.h>
#include <stdlib.h>

#include <model/sweep_log.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct sweep_log_reader *reader =
		sweep_log_open(file_lines_from_memory("fuzz", (const char *)data, size, &err), &err);
	struct sweep_log_event event;
	int status = 0;

	while (reader && (status = sweep_log_next(reader, &event, &err)) > 0) {
		if (event.kind == SWEEP_LOG_ATTEMPT &&
		    (event.attempt.run.attempt < 1 || !(event.attempt.elapsed_s >= 0) ||
		     (event.attempt.has_injector && !(event.attempt.injector.lcores >= 1))))
			abort();
		if (event.kind == SWEEP_LOG_ACCEPTED && !(event.accepted.delay_us >= 0))
			abort();
	}
	if (status < 0 && !err.text[0])
		abort();
	sweep_log_close(reader);
	return 0;
}
