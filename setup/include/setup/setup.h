/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configures this host's part of a live mesh: writes the options of its systemd units (see integrations/systemd), and
 * enables and starts them. One thread.
 */
#ifndef SETUP_H
#define SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <base/error.h>

enum setup_role {
	SETUP_HOST, /* is measured: joins, probes its peers, publishes what it measures */
	SETUP_PAGE, /* keeps the list of members, collects what they publish, serves the page */
};
extern const char *const setup_role_names[]; /* by role, ends with NULL */

struct setup_options {
	enum setup_role role;
	const char *server; /* nats://HOST:PORT */
	const char *folder; /* of the units' options, /etc/nomora */
	/* of a host; NULL, except for the interface: as the kernel says */
	const char *interface, *address, *gateway, *name, *rack, *keys;
};

enum { SETUP_UNITS = 3 };

struct setup_plan {
	char *paths[SETUP_UNITS], *texts[SETUP_UNITS]; /* a file for each unit */
	char *units[SETUP_UNITS];
	char *server, *address, *name; /* of a host's membership; NULL for a page */
};

/*
 * Finds what the options leave open, and fills an uninitialised plan; changes nothing. Returns 0, or -errno with err
 * set: -EINVAL if an option is missing or cannot be in a unit's options, -ENODEV, -EADDRNOTAVAIL. setup_free() is legal
 * after both.
 */
int setup_make(const struct setup_options *options, struct setup_plan *plan, struct error *err);
void setup_free(struct setup_plan *plan);

/* Writes the files. Unless `replace`, fails with -EEXIST, and writes none, if one exists with another content. */
int setup_write(const struct setup_plan *plan, bool replace, struct error *err);
/* Enables and starts the units, or stops and disables them. */
int setup_start(const struct setup_plan *plan, bool start, struct error *err);
int setup_remove(const struct setup_plan *plan, struct error *err); /* the files */
/* Ends the membership of a host, whose units have stopped. */
int setup_leave(const struct setup_plan *plan, struct error *err);
void setup_print(const struct setup_plan *plan, FILE *out);

#endif
