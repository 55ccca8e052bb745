/* SPDX-License-Identifier: BSD-3-Clause */
/* A measurement over a link with a simulated peer clock and NIC: which samples count. */
#include <criterion/criterion.h>

#include <errno.h>

#include <probe/ptp/measure.h>

/* One exchange: software and NIC stamps of the request's transmission and the response's arrival; 0 = no stamp. */
struct script {
	int64_t left, arrived, nic_left, nic_arrived;
	bool silent;
};

struct fake {
	const struct script *script;
	size_t lines, at, exchanges;
	struct ptp_message asked;
	int answers; /* of this exchange */
};

static struct stamp stamp(enum clock clock, int64_t ns)
{
	return (struct stamp){ns, clock, ns != 0};
}

static int send_request(void *context, const struct ptp_message *request, struct ptp_moment *left, struct error *err)
{
	struct fake *fake = context;
	const struct script *now;

	(void)err;
	fake->at = fake->exchanges < fake->lines ? fake->exchanges : fake->lines - 1;
	fake->exchanges++;
	now = &fake->script[fake->at];
	fake->asked = *request;
	fake->answers = 0;
	left->by[PTP_SOFTWARE] = stamp(CLOCK_WALL, now->left);
	left->by[PTP_HARDWARE] = stamp(CLOCK_NIC, now->nic_left);
	return 0;
}

/* A one-step peer that takes 100 ns; then an answer of another clock arrives. */
static int receive_message(void *context, struct ns timeout, struct ptp_message *message, struct ptp_moment *arrived)
{
	struct fake *fake = context;
	const struct script *now = &fake->script[fake->at];

	(void)timeout;
	if (!fake->exchanges || now->silent || fake->answers == 2)
		return 0;
	*message = (struct ptp_message){.type = PTP_PEER_RESPONSE,
					.sequence = fake->asked.sequence,
					.correction = {100},
					.from = {{1, 2, 3}, (uint16_t)(1 + fake->answers++)},
					.to = fake->asked.from};
	arrived->by[PTP_SOFTWARE] = stamp(CLOCK_WALL, now->arrived);
	arrived->by[PTP_HARDWARE] = stamp(CLOCK_NIC, now->nic_arrived);
	return 1;
}

/* The script's last line is repeated. */
static void run(const struct script *script, size_t lines, size_t count, int64_t timeout_ns, bool has_hardware,
		struct ptp_result *result)
{
	const struct ptp_options options = {
		.mechanism = PTP_PEER_DELAY, .count = count, .timeout = {timeout_ns}, .interval = {1}};
	struct fake fake = {.script = script, .lines = lines};
	struct ptp_link link = {.identity = {{9}, 1},
				.has_hardware = has_hardware,
				.context = &fake,
				.send = send_request,
				.receive = receive_message};
	volatile sig_atomic_t stop = 0;
	struct error err = {0};

	cr_assert_eq(ptp_measure(&options, &link, result, &stop, &err), 0, "%s", err.text);
}

static const struct script script[] = {
	{1000, 1700, 5010, 5510, false}, /* 600 by software stamps, 400 by the NIC */
	{1000, 1700, 5010, 0, false},    /* only one NIC stamp */
	{1000, 1700, 5010, 5711, false}, /* 601: longer than by software stamps */
	{1000, 1700, 5010, 5109, false}, /* -1 */
	{1000, 1700, 5010, 5710, false}, /* 600: the bound itself */
	{0, 0, 0, 0, true},
};

Test(ptp_measure, stamps_of_the_nic_count_within_the_bound_that_software_gives)
{
	struct ptp_result result;
	struct ptp_figures figures;

	run(script, 6, 6, NS_PER_MS, true, &result);
	cr_assert(result.requests == 6 && result.unanswered == 1 && result.one_step == 5);
	cr_assert(result.unstamped == 1 && result.outliers == 2, "%lu %lu", result.unstamped, result.outliers);
	cr_assert(result.by[PTP_SOFTWARE].count == 5 && result.by[PTP_HARDWARE].count == 2);
	cr_assert_eq(result.peer.port, 1, "the first clock that answers");
	cr_assert_eq(ptp_figures(&result.by[PTP_HARDWARE], PTP_DELAY, &figures), 0);
	cr_assert(figures.min_us == 0.2 && figures.max_us == 0.3);
	cr_assert_eq(ptp_figures(&result.by[PTP_HARDWARE], PTP_OFFSET, &figures), -ENODATA);
	ptp_result_free(&result);
}

Test(ptp_measure, without_a_clock_in_the_nic_nothing_is_missing)
{
	struct ptp_result result;

	run(script, 5, 5, NS_PER_MS, false, &result);
	cr_assert(result.by[PTP_SOFTWARE].count == 5 && result.by[PTP_HARDWARE].count == 0);
	cr_assert(result.unstamped == 0 && result.outliers == 0 && !result.has_hardware);
	ptp_result_free(&result);
}

Test(ptp_measure, a_clock_that_is_not_master_is_the_reason_of_no_answer)
{
	static const struct script silence[] = {{0, 0, 0, 0, true}};
	const struct ptp_options options = {.mechanism = PTP_E2E, .count = 2, .timeout = {NS_PER_MS}, .interval = {1}};
	struct fake fake = {.script = silence, .lines = 1};
	const struct ptp_link link = {
		.identity = {{9}, 1}, .context = &fake, .send = send_request, .receive = receive_message};
	volatile sig_atomic_t stop = 0;
	struct ptp_result result;
	struct error err = {0};

	cr_assert_eq(ptp_measure(&options, &link, &result, &stop, &err), 0, "%s", err.text);
	cr_assert(result.requests == 2 && result.unanswered == 2 && result.unsynced == 2);
	ptp_result_free(&result);
	run(silence, 1, 1, NS_PER_MS, false, &result);
	cr_assert(result.unanswered == 1 && result.unsynced == 0, "peer delay needs no Sync");
	ptp_result_free(&result);
}

Test(ptp_measure, a_request_whose_answer_was_not_stamped_is_sent_again)
{
	static const struct script late_stamps[] = {
		{1000, 0, 0, 0, false}, {2000, 0, 0, 0, false}, {3000, 3700, 0, 0, false}};
	static const struct script no_stamps[] = {{1000, 0, 0, 0, false}};
	struct ptp_result result;
	struct ptp_figures figures;

	run(late_stamps, 3, 1, NS_PER_S, false, &result);
	cr_assert(result.requests == 1 && result.unanswered == 0 && result.by[PTP_SOFTWARE].count == 1);
	cr_assert_eq(ptp_figures(&result.by[PTP_SOFTWARE], PTP_DELAY, &figures), 0);
	cr_assert_eq(figures.max_us, 0.3, "the last request's stamps");
	ptp_result_free(&result);
	run(no_stamps, 1, 1, 3 * NS_PER_MS, false, &result);
	cr_assert(result.requests == 1 && result.unanswered == 1, "gives up after the timeout");
	ptp_result_free(&result);
}
