/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hosts of a mesh: a text file of lines "name address [mac] [rack]", separated by blanks; '#' starts a comment. If
 * the MAC is "-" or missing, it is resolved by ARP or neighbour discovery. A third word that is not a MAC is the rack.
 * Names, addresses and MACs must be unique. Plain data, owned by the caller.
 */
#ifndef MODEL_PEERS_H
#define MODEL_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/address.h>
#include <base/error.h>
#include <base/file.h>

enum { PEER_NAME_BYTES = 64, PEERS_MAXIMUM = 1 << 17 };

struct peer {
	char name[PEER_NAME_BYTES], rack[PEER_NAME_BYTES]; /* rack "" when not given */
	ip_address address;
	bool has_mac;
	uint8_t mac[ADDRESS_MAC_BYTES];
};

struct peers {
	size_t count, capacity;
	struct peer *items;
};

/*
 * Reads a file of peers; a file without a peer is an error. Returns 0, or -errno with err set ("file:line: field:
 * ..."). Free with peers_free().
 */
int peers_read(const char *path, struct peers *peers, struct error *err);
int peers_parse(struct file_lines *lines, struct peers *peers, struct error *err);
void peers_free(struct peers *peers);

/* Writes a file for peers_read(), whole or not at all ("-" = stdout). Returns 0, or -errno with err set. */
int peers_write(const struct peers *peers, const char *path, struct error *err);

/* Returns the peer with this address, or NULL. */
const struct peer *peers_find(const struct peers *peers, ip_address address);

#endif
