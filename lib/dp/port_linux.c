/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/log.h>

#ifndef SOL_XDP
#define SOL_XDP 283
#endif

bool dp_port_is_pci(const char *name)
{
	static const char *const shapes[] = {"xxxx:xx:xx.x", "xx:xx.x"};

	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		const char *shape = shapes[i];
		size_t at = 0;

		while (shape[at] && (shape[at] == 'x' ? isxdigit((unsigned char)name[at]) != 0 : name[at] == shape[at]))
			at++;
		if (!shape[at] && !name[at])
			return true;
	}
	return false;
}

bool dp_port_is_vdev(const char *name)
{
	return strncmp(name, "net_", 4) == 0 || strncmp(name, "eth_", 4) == 0 || strchr(name, ',');
}

bool dp_port_vdev_interface(const char *arguments, char *interface, size_t bytes)
{
	const char *found = strstr(arguments, "iface=");
	size_t length;

	if (!found)
		return false;
	found += strlen("iface=");
	length = strcspn(found, ",");
	snprintf(interface, bytes, "%.*s", (int)length, found);
	return true;
}

static int bring_up(int socket_fd, const char *interface, struct error *err)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
	if (ioctl(socket_fd, SIOCGIFFLAGS, &request) != 0)
		return error_set(err, errno, "%s: cannot read its state: %s", interface, strerror(errno));
	if (request.ifr_flags & IFF_UP)
		return 0;
	request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
	if (ioctl(socket_fd, SIOCSIFFLAGS, &request) != 0)
		return error_set(err, errno, "%s is down and cannot be brought up: %s", interface, strerror(errno));
	log_info("%s was down: brought it up", interface);
	return 0;
}

int dp_interface_check(const char *interface, struct error *err)
{
	int socket_fd, status;

	if (strlen(interface) >= IFNAMSIZ || if_nametoindex(interface) == 0)
		return error_set(err, ENODEV,
				 "there is no network interface '%.64s' in this network namespace ('ip link' lists "
				 "them; other ports: "
				 "a PCI address, or a virtual device such as net_null0)",
				 interface);
	socket_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (socket_fd < 0)
		return error_set(err, errno,
				 "%s: no permission to open raw sockets (%s): run as root, or with CAP_NET_RAW",
				 interface, strerror(errno));
	status = bring_up(socket_fd, interface, err);
	close(socket_fd);
	return status;
}

/* Makes one ioctl about an interface. Returns false if it fails. */
static bool ask_interface(const char *interface, unsigned long question, struct ifreq *request)
{
	int socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), status;

	if (socket_fd < 0)
		return false;
	snprintf(request->ifr_name, sizeof request->ifr_name, "%s", interface);
	status = ioctl(socket_fd, question, request);
	close(socket_fd);
	return status == 0;
}

bool dp_interface_address(const char *interface, uint8_t address[ETH_ALEN])
{
	struct ifreq request = {0};

	if (!ask_interface(interface, SIOCGIFHWADDR, &request))
		return false;
	memcpy(address, request.ifr_hwaddr.sa_data, ETH_ALEN);
	return true;
}

unsigned int dp_interface_mtu(const char *interface)
{
	struct ifreq request = {0};

	return ask_interface(interface, SIOCGIFMTU, &request) ? (unsigned int)request.ifr_mtu : 0;
}

bool dp_interface_running(const char *interface, unsigned int index)
{
	struct ifreq request = {0};
	const int running = IFF_UP | IFF_RUNNING;

	/*
	 * Another interface may have taken the name of a deleted one; our socket does not receive the new one's
	 * traffic.
	 */
	return if_nametoindex(interface) == index && ask_interface(interface, SIOCGIFFLAGS, &request) &&
	       (request.ifr_flags & running) == running;
}

/* Asks the kernel for an interface by netlink. Returns the length of the answer, or -1. */
static ssize_t ask_netlink(unsigned int index, void *answer, size_t bytes)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg interface;
	} request = {.head = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
		     .interface = {.ifi_index = (int)index}};
	int socket_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t length = -1;

	if (socket_fd < 0)
		return -1;
	if (send(socket_fd, &request, sizeof request, 0) == (ssize_t)sizeof request)
		length = recv(socket_fd, answer, bytes, 0); /* the kernel answers within send() */
	close(socket_fd);
	return length;
}

uint32_t dp_interface_link_changes(unsigned int index)
{
	union {
		struct nlmsghdr head;
		char bytes[8192];
	} answer;
	ssize_t length = ask_netlink(index, &answer, sizeof answer);
	const struct rtattr *attribute;
	uint32_t changes = 0;
	size_t left;

	if (length < (ssize_t)NLMSG_LENGTH(sizeof(struct ifinfomsg)) || answer.head.nlmsg_type != RTM_NEWLINK ||
	    answer.head.nlmsg_len > (size_t)length)
		return 0;
	attribute = IFLA_RTA(NLMSG_DATA(&answer.head));
	left = IFLA_PAYLOAD(&answer.head);
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		if (attribute->rta_type == IFLA_CARRIER_CHANGES)
			memcpy(&changes, RTA_DATA(attribute), sizeof changes);
	}
	return changes;
}

/* Unlike /sys/class/net, /proc/net/dev always shows the process's own network namespace. */
bool dp_interface_packets(const char *interface, uint64_t *rx, uint64_t *tx)
{
	FILE *table = fopen("/proc/net/dev", "re");
	char line[512], name[IFNAMSIZ + 1];
	bool found = false;

	while (table && !found && fgets(line, sizeof line, table)) {
		char *colon = strchr(line, ':');

		found = colon && sscanf(line, " %16[^:]", name) == 1 && strcmp(name, interface) == 0 &&
			sscanf(colon + 1, "%*u %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, rx, tx) == 2;
	}
	if (table)
		fclose(table);
	return found;
}

bool dp_interface_is_virtual(const char *interface)
{
	char path[128];

	snprintf(path, sizeof path, "/sys/class/net/%.32s/device", interface);
	return if_nametoindex(interface) != 0 && access(path, F_OK) != 0;
}

unsigned int dp_interface_rx_queues(const char *interface)
{
	char path[128];
	unsigned int count = 0;
	DIR *folder;

	snprintf(path, sizeof path, "/sys/class/net/%.32s/queues", interface);
	folder = opendir(path);
	if (!folder)
		return 1;
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
		count += strncmp(entry->d_name, "rx-", 3) == 0;
	closedir(folder);
	return count ? count : 1;
}

int dp_port_lock(const char *name, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int lock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int length, code;

	if (lock < 0)
		return error_set(err, errno, "%s: cannot lock it: %s", name, strerror(errno));
	/* Abstract socket names belong to the network namespace, as interface names do, and leave no file. */
	length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "nomora-port/%.80s", name) + 1;
	if (bind(lock, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length)) == 0)
		return lock;
	code = errno;
	close(lock);
	if (code == EADDRINUSE)
		return error_set(err, EBUSY, "%s is taken: another nomora process has this port open", name);
	return error_set(err, code, "%s: cannot lock it: %s", name, strerror(code));
}

int dp_pci_check(const char *address, struct error *err)
{
	char device[128], link[256], target[256];
	const char *driver;
	ssize_t length;

	snprintf(device, sizeof device, "/sys/bus/pci/devices/%s%.32s", strlen(address) < 12 ? "0000:" : "", address);
	if (access(device, F_OK) != 0)
		return error_set(err, ENODEV,
				 "there is no PCI device %s ('dpdk-devbind.py --status-dev net' lists them)", address);
	snprintf(link, sizeof link, "%s/driver", device);
	length = readlink(link, target, sizeof target - 1);
	if (length < 0)
		return error_set(err, ENODEV, "PCI device %s has no driver: run 'dpdk-devbind.py -b vfio-pci %s' first",
				 address, address);
	target[length] = '\0';
	driver = strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
	/* Mellanox drivers (mlx4, mlx5) share the device with the kernel; any other device must belong to DPDK only. */
	if (strcmp(driver, "vfio-pci") == 0 || strcmp(driver, "igb_uio") == 0 ||
	    strcmp(driver, "uio_pci_generic") == 0 || strncmp(driver, "mlx", 3) == 0)
		return 0;
	return error_set(err, EBUSY,
			 "PCI device %s belongs to the kernel's driver %s: run 'dpdk-devbind.py -b vfio-pci %s' first",
			 address, driver, address);
}

static int socket_domain(int descriptor)
{
	int domain = -1;
	socklen_t length = sizeof domain;

	if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0)
		return -1;
	return domain;
}

void dp_sockets_look(struct dp_sockets *sockets)
{
	memset(sockets, 0, sizeof *sockets);
	for (int descriptor = 0; descriptor < 1024; descriptor++) {
		int domain = socket_domain(descriptor);

		if (domain == AF_PACKET || domain == AF_XDP)
			sockets->open[descriptor / 8] |= (uint8_t)(1U << (descriptor % 8));
	}
}

int dp_sockets_new(const struct dp_sockets *before)
{
	struct dp_sockets now;

	dp_sockets_look(&now);
	for (int descriptor = 0; descriptor < 1024; descriptor++) {
		unsigned int bit = 1U << (descriptor % 8);

		if ((now.open[descriptor / 8] & bit) && !(before->open[descriptor / 8] & bit))
			return dup(descriptor);
	}
	return -1;
}

uint64_t dp_socket_missed(int socket_fd, uint64_t *xdp_total_before)
{
	if (socket_domain(socket_fd) == AF_PACKET) {
		struct tpacket_stats statistics = {0};
		socklen_t length = sizeof statistics;

		/* Reading clears the statistics. */
		if (getsockopt(socket_fd, SOL_PACKET, PACKET_STATISTICS, &statistics, &length) != 0)
			return 0;
		return statistics.tp_drops;
	}
	if (socket_domain(socket_fd) == AF_XDP) {
		struct xdp_statistics statistics = {0};
		socklen_t length = sizeof statistics;
		uint64_t total, difference;

		if (getsockopt(socket_fd, SOL_XDP, XDP_STATISTICS, &statistics, &length) != 0)
			return 0;
		/*
		 * rx_dropped already includes drops at an empty fill ring; drops at a full RX ring have their own
		 * counter.
		 */
		total = statistics.rx_dropped + statistics.rx_ring_full;
		difference = total - *xdp_total_before;
		*xdp_total_before = total;
		return difference;
	}
	return 0;
}
