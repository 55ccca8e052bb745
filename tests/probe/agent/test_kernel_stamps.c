/* SPDX-License-Identifier: BSD-3-Clause */
/* The packet filter on a socket pair: the kernel runs it on every packet sent there. */
#include <criterion/criterion.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent_priv.h"

static int ends[2];

/* Number of bytes of the frame that pass; -1 = refused. */
static ssize_t pass(const uint8_t *frame, size_t length)
{
	uint8_t received[2048];

	cr_assert_eq(send(ends[0], frame, length, 0), (ssize_t)length);
	return recv(ends[1], received, sizeof received, MSG_DONTWAIT);
}

static size_t udp_of(bool six, uint8_t *out, uint16_t source_port, uint16_t destination_port)
{
	const ip_address prefix = six ? (ip_address)0x20010db8 << 96 : 0;
	struct frame frame = {.kind = FRAME_UDP,
			      .source_address = prefix | 0x0a000001,
			      .destination_address = prefix | 0x0a000002,
			      .source_port = source_port,
			      .destination_port = destination_port,
			      .payload = (const uint8_t *)"0123456789abcdefghij",
			      .payload_bytes = 20};

	return frame_write_udp(&frame, out, 2048);
}

static size_t udp(uint8_t *out, uint16_t source_port, uint16_t destination_port)
{
	return udp_of(false, out, source_port, destination_port);
}

static void open_ends(bool arp)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
	cr_assert_eq(kernel_stamps_filter(ends[1], 862, arp), 0);
}

Test(kernel_stamps, the_filter_takes_stamp_packets_whole_and_nothing_else)
{
	uint8_t frame[2048];
	size_t length;

	open_ends(false);
	length = udp(frame, 50000, 862);
	cr_assert_eq(pass(frame, length), (ssize_t)length, "a request");
	length = udp(frame, 862, 50000);
	cr_assert_eq(pass(frame, length), (ssize_t)length, "an answer");
	length = udp(frame, 50000, 863);
	cr_assert_eq(pass(frame, length), -1, "another UDP port");
	length = udp(frame, 50000, 862);
	frame[23] = 6;
	cr_assert_eq(pass(frame, length), -1, "TCP");
	length = udp(frame, 50000, 862);
	frame[21] = 9; /* fragment offset 72 */
	cr_assert_eq(pass(frame, length), -1, "a fragment has no ports");
	for (int six = 0; six < 2; six++) {
		length = udp_of(six, frame, 862, 50000);
		cr_assert_eq(pass(frame, length), (ssize_t)length, "IPv%d", six ? 6 : 4);
		length = udp_of(six, frame, 861, 50000);
		cr_assert_eq(pass(frame, length), -1, "IPv%d", six ? 6 : 4);
	}
	length = udp_of(true, frame, 50000, 862);
	cr_assert_eq(pass(frame, length), (ssize_t)length, "a request over IPv6");
	frame[20] = 6;
	cr_assert_eq(pass(frame, length), -1, "TCP over IPv6");
}

Test(kernel_stamps, the_driver_gets_ipv6_packets_with_extension_headers)
{
	static const uint8_t extensions[] = {0 /* hop by hop */, 43 /* routing */, 60 /* destination */};
	uint8_t frame[2048];

	for (int driver = 0; driver < 2; driver++) {
		open_ends(driver);
		for (size_t i = 0; i < sizeof extensions; i++) {
			size_t length = udp_of(true, frame, 50000, 862);

			frame[20] = extensions[i];
			cr_expect_eq(pass(frame, length), driver ? (ssize_t)length : -1, "header %d", extensions[i]);
		}
		close(ends[0]);
		close(ends[1]);
	}
}

Test(kernel_stamps, the_filter_takes_arp_where_it_is_wanted)
{
	struct frame ask = {.kind = FRAME_WHO_HAS, .source_address = 1, .destination_address = 2};
	uint8_t frame[2048];
	size_t length;

	for (int arp = 0; arp < 2; arp++) {
		open_ends(arp);
		length = frame_write_neighbour(&ask, frame, sizeof frame);
		cr_assert_eq(pass(frame, length), arp ? (ssize_t)length : -1);
		for (ask.kind = FRAME_WHO_HAS; ask.kind <= FRAME_IS_AT; ask.kind++) {
			ask.source_address = ask.destination_address = (ip_address)0x20010db8 << 96 | 1;
			length = frame_write_neighbour(&ask, frame, sizeof frame);
			cr_assert_eq(pass(frame, length), arp ? (ssize_t)length : -1, "IPv6 %d", ask.kind);
		}
		ask = (struct frame){.kind = FRAME_WHO_HAS, .source_address = 1, .destination_address = 2};
		length = udp(frame, 50000, 862);
		cr_assert_eq(pass(frame, length), (ssize_t)length);
		length = udp(frame, 50000, 53);
		cr_assert_eq(pass(frame, length), -1);
		frame[23] = 1; /* ICMP, with its type where UDP has the source port */
		frame[34] = 11;
		cr_assert_eq(pass(frame, length), arp ? (ssize_t)length : -1, "time exceeded");
		frame[34] = 8;
		cr_assert_eq(pass(frame, length), -1, "an echo request");
	}
}
