/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/check/delays.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/hash.h>
#include <injector/pcapng/pcapng.h>

#include "pending_priv.h"

/* Tolerance for the rounding of two stamps to a nanosecond each and for the error of the counter's rate. */
enum { ROUNDING_NS = 10 };

/*
 * The largest value of the histograms, 73 years: a capture may contain any time stamps, and with a smaller range a
 * percentile would be clamped and could be below the minimum.
 */
static const int64_t highest_ns = INT64_MAX / 4;

struct matcher {
	struct pending *pending[CHECK_DIRECTIONS];
	uint64_t arrivals[CHECK_DIRECTIONS], latest_released[CHECK_DIRECTIONS];
};

/*
 * Returns a hash of the captured bytes and the length. Frames that differ only beyond the snap length have the same
 * hash; they are matched in order.
 */
static uint64_t digest(const struct pcapng_packet *packet)
{
	return hash_fnv_add(hash_fnv_bytes(HASH_FNV_START, packet->bytes, packet->captured), packet->length);
}

static int take_arrival(struct matcher *matcher, enum check_direction d, const struct pcapng_packet *packet,
			struct check_direction_report *report, struct error *err)
{
	report->in++;
	if (pending_put(matcher->pending[d], digest(packet),
			(struct arrival){.time_ns = packet->time.v, .sequence = ++matcher->arrivals[d]}))
		return error_set(err, ENOMEM, "out of memory for packets that wait to be matched");
	return 0;
}

static void take_departure(struct matcher *matcher, enum check_direction d, const struct pcapng_packet *packet,
			   double expected_us, struct check_direction_report *report)
{
	struct arrival arrival;
	int64_t delay_ns, deviation_ns;

	report->out++;
	if (!pending_take(matcher->pending[d], digest(packet), &arrival)) {
		report->extra++;
		return;
	}
	report->matched++;
	if (arrival.sequence < matcher->latest_released[d])
		report->reordered++;
	else
		matcher->latest_released[d] = arrival.sequence;
	delay_ns = packet->time.v - arrival.time_ns;
	histogram_record(report->delay_ns, delay_ns);
	if (expected_us < 0)
		return;
	deviation_ns = delay_ns - llround(expected_us * 1e3);
	report->early += deviation_ns < -ROUNDING_NS;
	histogram_record(report->deviation_ns, llabs(deviation_ns));
}

static int create(struct matcher *matcher, struct check_report *report)
{
	memset(report, 0, sizeof *report);
	for (int d = 0; d < CHECK_DIRECTIONS; d++) {
		matcher->pending[d] = pending_create();
		report->direction[d].delay_ns = histogram_create(1, highest_ns, 4);
		report->direction[d].deviation_ns = histogram_create(1, highest_ns, 4);
		if (!matcher->pending[d] || !report->direction[d].delay_ns || !report->direction[d].deviation_ns)
			return -ENOMEM;
	}
	return 0;
}

static int match_all(const char *path, struct pcapng_reader *reader, struct matcher *matcher,
		     const double expected_us[CHECK_DIRECTIONS], struct check_report *report, struct error *err)
{
	struct pcapng_packet packet;
	int status;

	while ((status = pcapng_next(reader, &packet, err)) > 0) {
		bool from_a = packet.interface == 0;

		report->frames++;
		if (packet.interface > 1 || packet.direction == PCAPNG_UNKNOWN)
			return error_set(err, EBADMSG,
					 "%s: frame %llu has interface %u and direction %d (1 inbound, 2 outbound, 0 "
					 "unknown): expected a capture of the injector"
					 " (interface 0 or 1, each frame inbound or outbound)",
					 path, (unsigned long long)report->frames, packet.interface, packet.direction);
		if (packet.direction == PCAPNG_INBOUND) {
			enum check_direction d = from_a ? CHECK_AB : CHECK_BA;

			status = take_arrival(matcher, d, &packet, &report->direction[d], err);
			if (status)
				return status;
		} else {
			enum check_direction d = from_a ? CHECK_BA : CHECK_AB;

			take_departure(matcher, d, &packet, expected_us[d], &report->direction[d]);
		}
	}
	for (int d = 0; d < CHECK_DIRECTIONS; d++)
		report->direction[d].missing = report->direction[d].in - report->direction[d].matched;
	report->lost = pcapng_dropped(reader);
	report->cut_off = pcapng_cut_off(reader);
	return status;
}

int check_delays(const char *path, const double expected_us[CHECK_DIRECTIONS], struct check_report *report,
		 struct error *err)
{
	struct matcher matcher = {0};
	struct pcapng_reader *reader = NULL;
	int status = create(&matcher, report);

	if (status) {
		error_set(err, ENOMEM, "%s: out of memory", path);
	} else {
		reader = pcapng_open(path, err);
		status = reader ? match_all(path, reader, &matcher, expected_us, report, err) : -ENOENT;
	}
	pcapng_close(reader);
	for (int d = 0; d < CHECK_DIRECTIONS; d++)
		pending_destroy(matcher.pending[d]);
	return status;
}

void check_report_free(struct check_report *report)
{
	for (int d = 0; d < CHECK_DIRECTIONS; d++) {
		histogram_destroy(report->direction[d].delay_ns);
		histogram_destroy(report->direction[d].deviation_ns);
	}
	memset(report, 0, sizeof *report);
}
