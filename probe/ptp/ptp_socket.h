/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sockets of a PTP port on a Linux interface. Sends and receives messages with the kernel's time stamps. One
 * thread.
 */
#ifndef PTP_SOCKET_H
#define PTP_SOCKET_H

#include <probe/ptp/measure.h>

struct ptp_socket {
	int event, general; /* general: -1 on Ethernet, where one socket receives all messages */
	int interface;
	const struct ptp_options *options;
	struct ptp_link link; /* link.context points to this struct */
};

int ptp_socket_open(struct ptp_socket *socket, const struct ptp_options *options, struct error *err);
void ptp_socket_close(struct ptp_socket *socket);

#endif
