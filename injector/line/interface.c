/* SPDX-License-Identifier: BSD-3-Clause */
#include "line_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/file.h>
#include <base/log.h>

enum { PATH_BYTES = 128, NOTED_FLAGS = IFF_UP | IFF_PROMISC };

static const char folder[] = "/run/nomora";

void interface_of_port(const char *port, char name[IF_NAMESIZE])
{
	const char *given = strstr(port, "iface=");
	size_t length;

	given = given ? given + strlen("iface=") : port;
	length = strcspn(given, ",");
	name[0] = '\0';
	if (length == 0 || length >= IF_NAMESIZE)
		return;
	memcpy(name, given, length);
	name[length] = '\0';
	if (if_nametoindex(name) == 0)
		name[0] = '\0';
}

static bool is_link_local(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* Finds the interface's first address that is not link-local, as text. Returns false if there is none. */
static bool find_address(const char *name, char *text, socklen_t bytes)
{
	struct ifaddrs *all = NULL;
	bool found = false;

	if (getifaddrs(&all) != 0)
		return false;
	for (const struct ifaddrs *one = all; one && !found; one = one->ifa_next) {
		const struct sockaddr *address = one->ifa_addr;

		if (!address || strcmp(one->ifa_name, name) != 0 || is_link_local(address))
			continue;
		if (address->sa_family == AF_INET)
			found = inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text,
					  bytes);
		else if (address->sa_family == AF_INET6)
			found = inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
					  text, bytes);
	}
	freeifaddrs(all);
	return found;
}

/*
 * Returns true if the IPv4 routing table has the interface. Each line of the table begins with the name of an
 * interface.
 */
static bool has_route(const char *name)
{
	char *table = file_read_all("/proc/net/route", 1 << 24, NULL, NULL), *save = NULL;
	bool found = false;

	for (char *line = table ? strtok_r(table, "\n", &save) : NULL; line && !found;
	     line = strtok_r(NULL, "\n", &save))
		found = strcspn(line, " \t") == strlen(name) && strncmp(line, name, strlen(name)) == 0;
	free(table);
	return found;
}

/* Finds the bridge, bond, VRF or virtual switch that the interface is a member of. Returns false if there is none. */
static bool find_master(const char *name, char *master, size_t bytes)
{
	char link[PATH_BYTES], target[PATH_BYTES];
	ssize_t length;

	snprintf(link, sizeof link, "/sys/class/net/%s/master", name);
	length = readlink(link, target, sizeof target - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	snprintf(master, bytes, "%.15s", strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
	return true;
}

int interface_check_unused(const char *name, struct error *err)
{
	char address[INET6_ADDRSTRLEN], master[IF_NAMESIZE];

	if (find_address(name, address, sizeof address))
		return error_set(
			err, EBUSY,
			"%s has the address %s: an injector would cut this host off from that network; use another "
			"interface, or --take-interface if this is intended",
			name, address);
	if (has_route(name))
		return error_set(
			err, EBUSY,
			"%s is in a route of this host: an injector would cut this host off from that network; use "
			"another interface, or --take-interface if this is intended",
			name);
	if (find_master(name, master, sizeof master))
		return error_set(
			err, EBUSY,
			"%s is a member of %s, which would also forward its packets, without the delay: run 'ip "
			"link set dev %s nomaster' first, or give --take-interface if this is intended",
			name, master, name);
	return 0;
}

static bool ask(unsigned long question, struct ifreq *request)
{
	int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool done = descriptor >= 0 && ioctl(descriptor, question, request) == 0;

	if (descriptor >= 0)
		close(descriptor);
	return done;
}

static bool read_flags(const char *name, unsigned int *flags)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
	if (!ask(SIOCGIFFLAGS, &request))
		return false;
	*flags = (unsigned short)request.ifr_flags;
	return true;
}

/* The file's name contains the network namespace, because the index of an interface is unique only in its namespace. */
static void name_note(const struct interface *interface, char path[PATH_BYTES])
{
	struct stat status = {0};

	stat("/proc/self/ns/net", &status);
	snprintf(path, PATH_BYTES, "%s/interface-%llu-%u-%s", folder, (unsigned long long)status.st_ino,
		 interface->index, interface->name);
}

/* Reads the flags from another injector's note. Returns true if that injector has ended without restoring them. */
static bool read_note(const char *path, unsigned int *flags)
{
	FILE *file = fopen(path, "re");
	int process;
	bool valid = file && fscanf(file, "%d %u", &process, flags) == 2 && process > 0 && kill(process, 0) != 0 &&
		     errno == ESRCH;

	if (file)
		fclose(file);
	return valid;
}

void interface_note(const char *port, struct interface *interface)
{
	char path[PATH_BYTES];
	unsigned int noted;
	FILE *file;

	*interface = (struct interface){0};
	interface_of_port(port, interface->name);
	if (!interface->name[0])
		return;
	interface->index = if_nametoindex(interface->name);
	if (!read_flags(interface->name, &interface->flags)) {
		interface->name[0] = '\0';
		return;
	}
	name_note(interface, path);
	if (read_note(path, &noted)) {
		log_info("%s: a killed injector left its flags changed; they will be restored at the end",
			 interface->name);
		interface->flags = noted;
	}
	/* Errors are ignored: the note is only needed if we are killed. */
	mkdir(folder, 0755);
	file = fopen(path, "we");
	if (!file)
		return;
	fprintf(file, "%d %u\n", (int)getpid(), interface->flags & NOTED_FLAGS);
	fclose(file);
}

void interface_restore(const struct interface *interface)
{
	struct ifreq request = {0};
	char path[PATH_BYTES];
	unsigned int now;

	if (!interface->name[0])
		return;
	name_note(interface, path);
	unlink(path);
	/* The name may belong to another interface by now. */
	if (if_nametoindex(interface->name) != interface->index || !read_flags(interface->name, &now))
		return;
	if ((now & NOTED_FLAGS) == (interface->flags & NOTED_FLAGS))
		return;
	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface->name);
	request.ifr_flags = (short)((now & ~(unsigned int)NOTED_FLAGS) | (interface->flags & NOTED_FLAGS));
	if (!ask(SIOCSIFFLAGS, &request))
		log_warning("%s: cannot restore its flags: %s", interface->name, strerror(errno));
}
