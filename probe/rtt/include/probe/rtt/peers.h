/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hosts of a mesh, from a text file of lines "name address [mac] [rack]": blanks between, '#' starts a comment.
 * "-" stands for a MAC to be resolved by ARP, which is also what a missing one means; a word in third place that is
 * no MAC is the rack. Two hosts with one name, address or MAC are refused.
 */
#ifndef RTT_PEERS_H
#define RTT_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/file.h>

#include <probe/rtt/frame.h>

enum { PEER_NAME_BYTES = 64, PEERS_MAXIMUM = 4096 };

struct peer {
	char name[PEER_NAME_BYTES], rack[PEER_NAME_BYTES]; /* rack "" when not given */
	uint32_t address;                                  /* IPv4, host order */
	bool has_mac;
	uint8_t mac[FRAME_MAC_BYTES];
};

struct peers {
	size_t count, capacity;
	struct peer *items;
};

/* 0 or -errno with err set ("file:line: field: ..."); at least one peer. Free with peers_free(). */
int peers_read(const char *path, struct peers *peers, struct error *err);
int peers_parse(struct file_lines *lines, struct peers *peers, struct error *err);
void peers_free(struct peers *peers);

/* NULL if no peer has it. */
const struct peer *peers_find(const struct peers *peers, uint32_t address);

#endif
