/* SPDX-License-Identifier: BSD-3-Clause */
#include "rtt_priv.h"

#include <string.h>

bool replay_is_known(struct replay_memory *memory, const uint8_t *request)
{
	uint64_t tag, *set;

	memcpy(&tag, request + STAMP_AUTHENTICATED_BYTES - STAMP_HMAC_BYTES, sizeof tag);
	set = memory->tags[tag % REPLAY_SETS];
	for (int i = 0; i < REPLAY_WAYS; i++)
		if (set[i] == tag)
			return true;
	memmove(set + 1, set, (REPLAY_WAYS - 1) * sizeof *set);
	set[0] = tag;
	return false;
}

bool replay_is_old(struct replay_window *window, const struct stamp_request *request)
{
	int64_t ahead = (int32_t)(request->sequence - window->highest);
	bool later = request->sent_at.v > window->newest_ns;

	if (window->seen && ahead <= 0 && ahead > -64 && !(window->seen >> -ahead & 1)) {
		window->seen |= UINT64_C(1) << -ahead;
	} else if (window->seen && ahead <= 0 && !later) {
		return true;
	} else {
		window->seen = window->seen && ahead > 0 && ahead < 64 ? window->seen << ahead | 1 : 1;
		window->highest = request->sequence;
	}
	if (later)
		window->newest_ns = request->sent_at.v;
	return false;
}
