/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which link explains that some paths of a prober are worse than the other paths to the same peers. Keeps the paths of
 * each peer's last window, with --paths auto. Pure; one thread.
 *
 * A path is slow if its median round trip exceeds that of the peer's best path by over a half and by over 20 us, of at
 * least 10 undisturbed samples each; it is lossy if it loses over 1 % of its probes, and at least 2, on the way there.
 * It counts as such if it was so in two windows one after the other. An answer may return over another path, so good
 * paths can look slow as well: the culprit is the link that at least 60 % of the paths over it accuse, and 40
 * percentage points more than of the other paths; of several, the one with the most bad paths. A link needs at least 4
 * bad paths.
 */
#ifndef MESH_CULPRIT_H
#define MESH_CULPRIT_H

#include <probe/mesh/row.h>

struct culprits;

struct culprits *culprits_create(void);           /* NULL: out of memory */
void culprits_destroy(struct culprits *culprits); /* NULL is legal */
/* Takes the paths of a peer's window in place of its older ones. Returns 0 or -ENOMEM. */
int culprits_take(struct culprits *culprits, const struct mesh_pair *pair);
/* Forgets the paths of peers that are not in the list. */
void culprits_keep(struct culprits *culprits, const struct peers *peers);
/*
 * Sets entry->hop, next_hop, hop_us and hop_loss of the peer's entry if its own path over the culprit is bad. A slow
 * link goes before a lossy one. Returns 0 or -ENOMEM.
 */
int culprits_name(const struct culprits *culprits, ip_address peer, struct latency_entry *entry);

#endif
