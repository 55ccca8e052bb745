/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits the rates of a lab's links, and sends TCP transfers between its hosts, each at its own rate.
 *
 * lab_limit_links() puts a hierarchical token bucket on both ends of a host's link, or, in a routed lab, of every link:
 * the host's eth0 limits the data that the host sends, the switch's port the data that the host receives. Shapers count
 * frames, so MB/s of payload become MB/s x 1514/1448 on the wire; the link's own limit is 3 % higher for
 * acknowledgements.
 *
 * Transfers need an agent on each host: a child process in the host's network namespace, which dies when this process
 * dies, even by SIGKILL. Each transfer has a traffic class on its sender's link; its packets have the SO_PRIORITY of
 * the class, so no filter is needed. Rates can change while transfers run. Root only; one thread. Volumes are bytes of
 * payload, rates MB/s of payload.
 */
#ifndef LAB_TRANSFER_H
#define LAB_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <lab/lab.h>

/*
 * Limits the rate of every link. In a lab of bridges, the limit is MBps; in a routed lab, MBps is ignored and each link
 * has the limits in struct lab_link. Returns 0, or -errno with err set.
 */
int lab_limit_links(const struct lab *lab, double MBps, struct error *err);
/* Returns 0 if every host has a limited link, else -ENOENT with a hint in err. */
int lab_check_links(const struct lab *lab, struct error *err);

/* Takes the switch's end of a host's link up or down. Returns 0, or -errno with err set. */
int lab_change_host_link(const struct lab *lab, int host, bool up, struct error *err);

enum transfer_state {
	TRANSFER_IDLE,
	TRANSFER_RUNNING,
	TRANSFER_DONE,   /* the receiver's kernel has acknowledged every byte */
	TRANSFER_FAILED, /* the sender's connection broke, or the receiver received nothing for TRANSFER_SILENCE_MS */
};

enum { TRANSFER_SILENCE_MS = 500 };

struct transfer {
	int from, to; /* hosts, from 0 */
	uint64_t bytes, acknowledged;
	enum transfer_state state;
	int reporter;             /* if the transfer failed: the host whose agent reported it */
	struct ns started, ended; /* times of the monotonic clock */
};

struct transfers;

/* Starts the agents and creates `count` idle transfers. Returns NULL with err set on failure. */
struct transfers *transfers_create(const struct lab *lab, uint32_t count, struct error *err);
/* Ends the agents and frees the transfers; the traffic classes remain on the links. NULL is legal. */
void transfers_destroy(struct transfers *transfers);

/*
 * Sets the rates of the transfers' traffic classes. rate_MBps[]: by number of the transfer. A class whose rate is 0 or
 * NAN is not changed; a transfer that has no class yet is limited by the link only. Returns 0, or -errno with err set.
 */
int transfers_set_rates(struct transfers *transfers, const double *rate_MBps, struct error *err);
/*
 * transfers_set_hosts() must be called before transfers_set_rates(). transfers_start() begins to send `bytes` bytes and
 * does not wait; a transfer that is not idle starts again from its first byte. Returns 0, or -EHOSTDOWN with err set if
 * the sender's agent was killed. transfers_cancel() makes a transfer idle.
 */
void transfers_set_hosts(struct transfers *transfers, uint32_t number, int from, int to);
int transfers_start(struct transfers *transfers, uint32_t number, uint64_t bytes, struct error *err);
void transfers_cancel(struct transfers *transfers, uint32_t number);
/* Kills the agent of a host, so that its transfers break as if the host had failed. */
void transfers_kill_host(struct transfers *transfers, int host);

/* Waits until agents report, but at most for `timeout`, and reads the reports. Returns 0, or -errno with err set. */
int transfers_poll(struct transfers *transfers, struct ns timeout, struct error *err);
const struct transfer *transfers_get(const struct transfers *transfers, uint32_t number);

#endif
