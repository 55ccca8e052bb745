/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PTP measurement over a fake link with a fake clock: Syncs, answers and follow-ups of two clocks in any order, with
 * any numbers and stamps; each request counts exactly once.
 */
#include <errno.h>
#include <string.h>

#include <probe/ptp/measure.h>

#include "fuzz_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t clock_ns;

struct ns __wrap_ns_now_monotonic(void);
struct ns __wrap_ns_now_monotonic(void)
{
	return (struct ns){clock_ns += 100};
}

struct world {
	struct events events;
	struct ptp_link link;
	uint64_t sends;
	uint16_t sequence; /* of the last request */
};

static struct ptp_identity clock_number(uint8_t number)
{
	return (struct ptp_identity){.clock = {2, 0, 0, 0xff, 0xfe, 0, 0, number}, .port = 1};
}

/* A time near now; or, seldom, any time. */
static int64_t some_time(struct events *events)
{
	uint8_t kind = events_byte(events);
	int64_t time = clock_ns + (kind >> 2) * 100;

	if ((kind & 3) == 3)
		for (int i = 0; i < 8; i++)
			time = (int64_t)((uint64_t)time << 8 | events_byte(events));
	return time;
}

static struct ptp_moment some_moment(struct events *events)
{
	uint8_t kind = events_byte(events);
	struct ptp_moment moment = {0};

	moment.by[PTP_SOFTWARE] = (struct stamp){clock_ns, CLOCK_WALL, (kind & 7) != 7};
	if (kind & 8)
		moment.by[PTP_HARDWARE] = stamp_at(CLOCK_NIC, some_time(events));
	return moment;
}

static int send_request(void *context, const struct ptp_message *request, struct ptp_moment *left, struct error *err)
{
	struct world *world = context;

	law(ptp_same_identity(&request->from, &world->link.identity));
	world->sends++;
	world->sequence = request->sequence;
	*left = some_moment(&world->events);
	left->by[PTP_SOFTWARE].valid = true;
	if ((events_byte(&world->events) & 63) == 63)
		return error_set(err, EIO, "no link");
	return 0;
}

static int receive(void *context, struct ns timeout, struct ptp_message *message, struct ptp_moment *arrived)
{
	static const enum ptp_type types[] = {
		PTP_SYNC,           PTP_FOLLOW_UP,     PTP_PEER_RESPONSE, PTP_PEER_FOLLOW_UP,
		PTP_DELAY_RESPONSE, PTP_DELAY_REQUEST, PTP_PEER_REQUEST,  PTP_SYNC};
	struct world *world = context;
	struct events *events = &world->events;
	uint8_t event = events_byte(events), kind;

	law(timeout.v > 0);
	if (!events_left(events) || event >> 5 == 7) {
		clock_ns += timeout.v;
		return (event & 31) == 31 ? -EIO : 0;
	}
	clock_ns += event >> 5;
	kind = events_byte(events);
	*message = (struct ptp_message){.type = types[event & 7],
					.domain = (kind & 31) == 31,
					.two_step = event & 8,
					.sequence = (uint16_t)(world->sequence - ((kind >> 5) & 1)),
					.from = clock_number(kind & 64 ? 1 : 2),
					.to = kind & 128 ? clock_number(3) : world->link.identity,
					.stamp = {some_time(events)}};
	if (event & 16)
		message->correction.v = (int64_t)((uint64_t)some_time(events) - (uint64_t)clock_ns);
	*arrived = some_moment(events);
	return 1;
}

static void check_sample(const struct ptp_sample *sample)
{
	/* Sums wrap around. */
	law(sample->delay_only || (uint64_t)sample->out.v + (uint64_t)sample->back.v == (uint64_t)sample->round_trip.v);
}

static void check(const struct ptp_options *options, struct ptp_result *result, const struct world *world, int code)
{
	struct ptp_samples *software = &result->by[PTP_SOFTWARE], *hardware = &result->by[PTP_HARDWARE];
	struct ptp_figures figures;

	law(code == -EIO || result->requests == options->count);
	law(result->requests - result->unanswered - software->count <= (code == -EIO));
	law(world->sends >= result->requests - (code == -EIO));
	law(result->unsynced <= result->unanswered);
	law(result->one_step <= software->count);
	law(!result->has_hardware || software->count == hardware->count + result->unstamped + result->outliers);
	law(result->has_hardware || hardware->count == 0);
	for (size_t i = 0; i < software->count; i++)
		check_sample(&software->items[i]);
	for (size_t i = 0; i < hardware->count; i++) {
		check_sample(&hardware->items[i]);
		law(hardware->items[i].round_trip.v >= 0);
	}
	for (int quantity = 0; quantity < PTP_QUANTITIES; quantity++)
		if (ptp_figures(software, (enum ptp_quantity)quantity, &figures) == 0)
			law(figures.min_us <= figures.p50_us && figures.p50_us <= figures.p99_us &&
			    figures.p99_us <= figures.max_us);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const volatile sig_atomic_t stop;
	struct world world = {.events = {data, size}};
	uint8_t kind = events_byte(&world.events);
	struct ptp_options options = {.mechanism = kind & 1 ? PTP_E2E : PTP_PEER_DELAY,
				      .count = kind >> 4,
				      .interval = {NS_PER_S},
				      .timeout = {100 * NS_PER_MS}};
	struct ptp_result result;
	struct error err = {0};
	int code;

	clock_ns = INT64_C(1795188663000000000);
	world.link = (struct ptp_link){.identity = clock_number(0),
				       .has_hardware = kind & 2,
				       .context = &world,
				       .send = send_request,
				       .receive = receive};
	code = ptp_measure(&options, &world.link, &result, &stop, &err);
	law(code == 0 || code == -EIO);
	check(&options, &result, &world, code);
	ptp_result_free(&result);
	return 0;
}
