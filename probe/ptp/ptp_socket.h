/* SPDX-License-Identifier: BSD-3-Clause */
/* The sockets of a PTP port: messages out and in, with the kernel's time stamps. One thread. */
#ifndef PTP_SOCKET_H
#define PTP_SOCKET_H

#include <probe/ptp/measure.h>

struct ptp_socket {
	int event, general; /* general: -1 on Ethernet, where one socket has all */
	int interface;
	const struct ptp_options *options;
	struct ptp_identity identity; /* ours: EUI-64 of the interface's MAC */
};

int ptp_socket_open(struct ptp_socket *socket, const struct ptp_options *options, struct error *err);
void ptp_socket_close(struct ptp_socket *socket);

/* Sends a request and waits for the stamp of its leaving. 0 or -errno with err set. */
int ptp_socket_send(struct ptp_socket *socket, const struct ptp_message *request, struct ns *left, struct error *err);

/* Waits up to `timeout` for a PTP message of another clock; `arrived` is 0 without a stamp. 1, 0 = none, -errno. */
int ptp_socket_receive(struct ptp_socket *socket, struct ns timeout, struct ptp_message *message, struct ns *arrived);

#endif
