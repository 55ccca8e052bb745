/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packets of a capture: pcap or pcapng, with microsecond or nanosecond stamps; Ethernet frames, or "cooked" ones as
 * captured on the interface 'any'. One thread.
 */
#ifndef RTT_PACKETS_H
#define RTT_PACKETS_H

#include <stddef.h>

#include <base/error.h>
#include <base/ns.h>
#include <probe/rtt/frame.h>

struct packets;

/*
 * Open a capture: a file ("-" = stdin), or bytes in memory, which are borrowed; `name` (borrowed) is for messages.
 * Return NULL with err set if there is no such file, if it is not a capture, or if it has another link type.
 */
struct packets *packets_open(const char *path, struct error *err);
struct packets *packets_open_memory(const char *name, const void *bytes, size_t length, struct error *err);
void packets_close(struct packets *packets); /* NULL is legal */

/* Called for each packet in the order of the file. packets_read() stops at a result other than 0, and returns it. */
typedef int (*packet_visit)(void *context, const struct frame *frame, struct ns at);

/* Reads all packets. Returns 0, or -EBADMSG with err set if the capture ends within a packet. */
int packets_read(struct packets *packets, packet_visit visit, void *context, struct error *err);

#endif
