/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the lab share: names of namespaces and the processes in them. */
#ifndef LAB_LAB_PRIV_H
#define LAB_LAB_PRIV_H

#include <lab/lab.h>

#define NETNS_FOLDER "/run/netns"

/* Longest wait for links, sockets and processes. */
enum { LAB_PATIENCE_MS = 5000 };

/* True if `netns` is NAME-h<number>, NAME-sw or NAME-inj; `name` gets NAME when not NULL. */
bool lab_owns_netns(const char *netns, const char *lab_name, char name[LAB_NAME_MAXIMUM + 1]);

/* Whether any namespace of that lab is there. */
bool lab_has_netns(const char *lab_name);

/* Ends every process whose network namespace is NETNS_FOLDER/netns: SIGTERM, a grace period, SIGKILL. */
int lab_stop_processes(const char *netns, struct error *err);

/* LAB_FOLDER, made if need be, locked (flock) against other labs' changes. Returns a descriptor to close, or -errno. */
int lab_lock(struct error *err);

void lab_state_path(const char *name, char *path, size_t bytes);

#endif
