/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protects the Linux interfaces behind an injector's ports. Refuses an interface that the host itself uses. Restores
 * the flags of an interface at the end; if the injector is killed before, the next injector restores them. Call these
 * functions on the control thread.
 */
#ifndef INJECTOR_INTERFACE_PRIV_H
#define INJECTOR_INTERFACE_PRIV_H

#include <net/if.h>
#include <stdbool.h>

#include <base/error.h>

struct interface {
	char name[IF_NAMESIZE]; /* "" = the port is not an interface */
	unsigned int index;
	unsigned int flags; /* flags of the interface before the injector changed them: IFF_UP, IFF_PROMISC */
};

/* Sets `name` to the interface that a port's name (dp/port.h) refers to, or to "" if there is none. */
void interface_of_port(const char *port, char name[IF_NAMESIZE]);

/*
 * Returns 0, or -EBUSY with err set if the host uses the interface, that is, if it has an address or is in an IPv4
 * route. Link-local IPv6 addresses, which every interface has, do not count.
 */
int interface_check_unused(const char *name, struct error *err);

/*
 * Reads the flags of a port's interface and writes them to a note, the file /run/nomora/interface-*. If a killed
 * injector left such a note, takes the flags from it, because the interface still has the flags of the killed injector.
 */
void interface_note(const char *port, struct interface *interface);

/* Restores the flags, and removes the note. */
void interface_restore(const struct interface *interface);

#endif
